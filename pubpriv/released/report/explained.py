"""The page that explains a run: its picture, every question with its price, and the guarantee."""

import os
from pathlib import Path

from pubpriv.released.estimate import write_atomically
from pubpriv.released.report._markup import figure, template
from pubpriv.released.report._route import route
from pubpriv.released.report._tables import Table
from pubpriv.released.report.drawing import picture_text
from pubpriv.released.report.story import Story


def write_explained(story: Story, path: str | os.PathLike[str]) -> Path:
    """Write the page atomically.

    Args:
        story: story of the run.
        path: path of the HTML file, or of an .svg file for the picture only.

    Returns:
        The path.

    Raises:
        OSError: the disk refuses the file.

    Privacy: none is spent; only names, prices and released numbers are used.
    """
    file = Path(path)
    write_atomically(file, picture_text(route(story)) if file.suffix.lower() == ".svg" else explained(story))
    return file


def explained(story: Story) -> str:
    """Make the text of the page, which is the same for the same story."""
    return template("explained.html").render(
        title=story.title,
        simulation=story.simulation,
        summary=story.summary(),
        picture=figure(route(story), ""),
        questions=Table("Every question, in its order", story.table_heads(), story.table_rows(), "text"),
        guarantees=story.guarantees,
        meaning=story.meaning,
    )
