"""A migrated database of Prefect's, kept from the first server that starts: the next ones need not make theirs anew.

Prefect runs a hundred migrations on an empty database, which takes a server longer than all else that it does to start.
"""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

_KEPT = Path(sys.prefix) / f"prefect-{version('prefect')}.db"
"""In the environment's own folder, which goes with this version of Prefect."""


def lay(database: Path) -> None:
    """Put the migrated database at `database` for a server to find, if there is one yet."""
    if _KEPT.exists():
        database.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_KEPT, database)


def keep(database: Path) -> None:
    """Keep a copy of the database of a server that just started, unless there is one."""
    if _KEPT.exists():
        return
    own = _KEPT.with_suffix(f".{os.getpid()}")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(own)) as copy:
        source.backup(copy)
    own.replace(_KEPT)
