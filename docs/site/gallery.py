"""The reports of the gallery: its page's commands are run, and what they wrote is shown."""

import contextlib
import os
import tempfile
from pathlib import Path

from helpers.pages import run_page


def reports(page: Path) -> dict[str, str]:
    """Run the commands of the page in a fresh folder; return the HTML files and pictures that they made, by name.

    Raises:
        RuntimeError: a command prints something else than the page shows.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        faults = run_page(
            page, {"LOGNAME": "analyst", "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1")}
        )
        if faults:
            raise RuntimeError("\n\n".join(faults))
        made = sorted([*Path().rglob("*.html"), *Path().rglob("*.svg")])
        return {file.name: file.read_text(encoding="utf-8") for file in made}
