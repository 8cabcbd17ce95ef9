"""The reports of the gallery: its page's commands are run, and what they wrote is shown."""

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from helpers.pages import ran

from pubpriv.released.report.drawing import picture_text

_ELLIPSES = re.compile(r'<svg [^>]*"ellipses-title".*?</svg>', re.DOTALL)


def reports(page: Path) -> dict[str, str]:
    """Run the commands of the page in a fresh folder; return the HTML files and pictures that they made, by name.

    A report that draws ellipses has them as a picture besides, called as the report is.

    Raises:
        RuntimeError: a command prints something else than the page shows.
    """
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    with ran(page, {"LOGNAME": "analyst", "OPENBLAS_NUM_THREADS": threads}) as faults:
        if faults:
            raise RuntimeError("\n\n".join(faults))
        made = sorted([*Path().rglob("*.html"), *Path().rglob("*.svg")])
        found = {file.name: file.read_text(encoding="utf-8") for file in made}
        drawn = {Path(name).with_suffix(".svg").name: _ELLIPSES.search(text) for name, text in found.items()}
        pictures = {name: ET.fromstring(match[0]) for name, match in drawn.items() if match}  # noqa: S314 - of our own
        return found | {name: picture_text(picture) for name, picture in pictures.items()}
