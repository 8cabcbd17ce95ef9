"""The reports of the gallery: its page's commands are run, and what they wrote is shown."""

import os
from pathlib import Path

from helpers.pages import ran


def reports(page: Path) -> dict[str, str]:
    """Run the commands of the page in a fresh folder; return the HTML files and pictures that they made, by name.

    Raises:
        RuntimeError: a command prints something else than the page shows.
    """
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    with ran(page, {"LOGNAME": "analyst", "OPENBLAS_NUM_THREADS": threads}) as faults:
        if faults:
            raise RuntimeError("\n\n".join(faults))
        made = sorted([*Path().rglob("*.html"), *Path().rglob("*.svg")])
        return {file.name: file.read_text(encoding="utf-8") for file in made}
