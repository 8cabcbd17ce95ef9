"""A ledger in an SQLite file: made 0600, write-ahead log, every commit synced, one writer at a time."""

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.ledger.urls import Address

_PATIENCE = 120
"""Seconds that a transaction waits for another one."""


def engine(address: Address, create: bool) -> sa.Engine:
    """An engine on the file; an empty file of the owner's alone is made where there is none.

    Raises:
        InvalidInput: none there, and `create` is false.
        Unavailable: the file cannot be reached or made.
    """
    path = address.path
    assert path is not None
    if not _has_content(path):
        if not create:
            raise InvalidInput(
                f"no ledger at {path}: make one with `pubpriv budget set DATASET zcdp:RHO --ledger {address.shown}`"
            )
        _make(path)
    _keep_to_owner(path)
    made = sa.create_engine(sa.URL.create("sqlite", database=str(path)), connect_args={"timeout": _PATIENCE})
    sa.event.listen(made, "connect", _on_connect)
    sa.event.listen(made, "begin", _on_begin)
    return made


def failure(address: Address, text: str) -> str:
    """What a failure of the database means."""
    if "not a database" in text:
        return f"{address.path} is no ledger: the file is not an SQLite database"
    return f"the ledger {address.path} does not answer ({text}); try again"


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Unavailable(f"the ledger {path} cannot be reached: {error.strerror}") from None


def _make(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives its side files the same mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Unavailable(f"the ledger {path} cannot be created: {error.strerror}") from None


def _keep_to_owner(path: Path) -> None:
    """A ledger that was copied or restored may have come with a wider mode: its owner's opening narrows it."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # somebody else's file stays as it is
            if stat.S_IMODE(name.stat().st_mode) & 0o077:
                name.chmod(0o600)


def _on_connect(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "recursive_triggers=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
