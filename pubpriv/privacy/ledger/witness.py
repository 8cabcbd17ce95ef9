"""The export that is a ledger's witness: its path and its age."""

import os
import time
from pathlib import Path

VARIABLE = "PUBPRIV_LEDGER_WITNESS"
"""Environment variable that may name an export; see `Ledger.open`."""


def witness_of_environment() -> Path | None:
    """Return the absolute path of the export named in the environment, or None."""
    file = os.environ.get(VARIABLE)
    return Path(file).expanduser().absolute() if file else None


def export_age() -> float | None:
    """Return the age of that export in seconds; None without one."""
    file = witness_of_environment()
    return None if file is None else time.time() - file.stat().st_mtime
