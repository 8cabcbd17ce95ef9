"""What the site has beside its pages: the command line, written from the program, and reports, made by the gallery."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "tests")]

from command_line import command_line  # noqa: E402 - mkdocs puts no folder of a hook on the path
from gallery import reports  # noqa: E402


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the command line and the reports of the gallery."""
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    for name, text in reports(Path(config.docs_dir) / "gallery.md").items():
        files.append(File.generated(config, f"gallery/{name}", content=text))
    return files
