"""A migrated database of Prefect's, made once in an environment: servers of tests need not make theirs anew.

Prefect runs a hundred migrations on an empty database, which takes a server longer than all else that it does to start.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

_KEPT = Path(sys.prefix) / f"prefect-{version('prefect')}.db"
"""In the environment's own folder, which goes with this version of Prefect."""


def lay(database: Path) -> None:
    """Put the migrated database at `database` for a server to find."""
    with _KEPT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several pytest processes makes it, and the others wait
        if not _KEPT.exists():
            _make()
    database.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(_KEPT, database)


def _make() -> None:
    own = _KEPT.with_suffix(".new")
    own.unlink(missing_ok=True)
    command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"PREFECT_HOME": os.environ["PREFECT_HOME"]}
    environment |= {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{own}", "DO_NOT_TRACK": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    own.replace(_KEPT)
