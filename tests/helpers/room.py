"""Where files of tests go: in memory where there is room, for they are thousands, small, made and deleted at once."""

import shutil
import tempfile
from pathlib import Path

_ROOM = 4 << 30
"""Bytes, of which a session takes some hundred million; databases of PostgreSQL are most of it."""


def where() -> str:
    """A folder in memory, or the system's own for temporary files; the code that reads and writes is the same."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else tempfile.gettempdir()
