"""The ledger's database: engine, transactions, and migration of the schema.

In SQLite it is a file with mode 0600, with a write-ahead log, every commit synced, and one writer at a time. In
PostgreSQL 15 or newer a commit is on disk before it is confirmed, and each dataset is locked by its row.
"""

import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.privacy.ledger._refusals import Refused
from pubpriv.privacy.ledger.urls import Address, understand

_REVISIONS = ("0001", "0002", "0003", "0004")
"""Known revisions, oldest first; this version reads and writes the last."""

_PATIENCE = 120
"""Seconds for which a transaction waits for another one."""

_SLEEP = 60
"""Seconds after which the server ends an idle client that holds a lock, and after which a client gives up connecting
to a server."""

_OLDEST_SERVER = 150000
"""Oldest supported version of PostgreSQL, as the server numbers it."""

_BEFORE_WRITING = sa.text(
    "SELECT set_config('lock_timeout', :patience, true), "
    "set_config('idle_in_transaction_session_timeout', :sleep, true), "
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
).bindparams(patience=f"{_PATIENCE}s", sleep=f"{_SLEEP}s")

_QUIET = "ledger"
logging.getLogger(f"sqlalchemy.engine.Engine.{_QUIET}").setLevel(logging.WARNING)
"""Keeps parameters and rows out of messages and of SQLAlchemy's log: an answer that could not be stored was not
published."""

_RELATIVE = "sqlite:///PATH is relative to the folder of the command, sqlite:////PATH is absolute"

_NAME_THE_FIRST = (
    f"give the URL of the ledger that has your datasets ({_RELATIVE}). The very first ledger is made by the first "
    "`pubpriv budget set`; a second one for the same tables would allow their budgets to be spent twice"
)
"""What to do about a ledger that is not there. In most cases the ledger is elsewhere."""

_TABLES_LOCK = 7_210_433_026
_MIGRATION_LOCK = 7_210_433_027
"""Numbers of advisory locks that nobody else is likely to use."""


@dataclass(frozen=True)
class Database:
    """An engine and its address."""

    engine: sa.Engine
    address: Address

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[sa.Connection]:
        """Run the block in one transaction, durable at its end. Database failures become `Unavailable`."""
        failure: str | None = None
        # under this name, so that the dialect's own options and the listener for `begin` both get it
        options = {"writes": write} | (_postgresql_options(write) if self._remote else {})
        try:
            with self.engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except (PubPrivError, Refused):
            raise
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            failure = str(error.orig) if isinstance(error, sa.exc.DBAPIError) else "no connection is free"
        if failure is not None:
            explain = _postgresql_failure if self._remote else _sqlite_failure
            # raised outside of `except`: the text of the driver's error quotes values that were to be written
            raise Unavailable(explain(self.address, failure)) from None

    def lock_tables(self, connection: sa.Connection) -> None:
        """Let one transaction at a time declare tables, so that no two datasets declare the same one at once.

        Call it before locking the dataset. In SQLite a writing transaction locks the whole file anyway.
        """
        if self._remote:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @property
    def _remote(self) -> bool:
        return self.address.kind == "postgresql"


def connect(url: object, create: bool) -> Database:
    """Open the ledger at `url`, migrated.

    Raises:
        InvalidInput: not a ledger URL, no ledger there and `create` is false, another kind of database, or a
            ledger of a newer version.
        Unavailable: it cannot be read or written, or is not a database.
    """
    address = understand(url)
    remote = address.kind == "postgresql"
    database = Database(_postgresql_engine(address) if remote else _sqlite_engine(address, create), address)
    try:
        with database.transaction(write=False) as connection:
            if remote:
                _check_server(connection)
            current = _revision(connection, address, create)
        if current != _REVISIONS[-1]:
            _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _revision(connection: sa.Connection, address: Address, create: bool) -> str | None:
    """The revision of the ledger; None for an empty database, if `create` allows one.

    Raises:
        InvalidInput: no ledger, the database of something else, or a revision that this version does not know.
    """
    where = address.path or address.shown
    names = set(sa.inspect(connection).get_table_names())
    if not names and create:
        return None
    if not names:
        raise InvalidInput(f"no ledger in {where}: {_NAME_THE_FIRST}")
    if not {"alembic_version", "datasets", "records"} <= names:
        raise InvalidInput(
            f"{where} is no ledger: it is the database of something else. A ledger has a database of its own"
        )
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    if found not in _REVISIONS:
        raise InvalidInput(
            f"the ledger {where} was written by a newer version of pubpriv (revision {found}): upgrade pubpriv"
        )
    return str(found)


_alembic = threading.Lock()


def _migrate(database: Database, revision: str = "head") -> None:
    """Run all newer revisions, in one transaction; of several processes only the first does so."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    # Alembic's context is global to a process
    with _alembic, database.transaction() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


# -- SQLite


def _sqlite_engine(address: Address, create: bool) -> sa.Engine:
    """An engine on the file; if there is none, an empty file is made that only its owner may read.

    Raises:
        InvalidInput: there is no file, and `create` is false.
        Unavailable: the file cannot be reached or made.
    """
    path = address.path
    assert path is not None
    if not _has_content(path):
        if not create:
            raise InvalidInput(f"no ledger at {path}: {_NAME_THE_FIRST}")
        _make_file(path)
    _keep_to_owner(path)
    where, settings = sa.URL.create("sqlite", database=str(path)), {"timeout": _PATIENCE}
    made = sa.create_engine(where, connect_args=settings, hide_parameters=True, logging_name=_QUIET)
    sa.event.listen(made, "connect", _on_sqlite_connect)
    sa.event.listen(made, "begin", _on_sqlite_begin)
    return made


def _sqlite_failure(address: Address, text: str) -> str:
    """What a failure of the database means."""
    if "not a database" in text:
        return f"{address.path} is no ledger: the file is not an SQLite database"
    if "disk is full" in text:
        return f"the ledger {address.path} cannot be written: no space is left on its disk; make room, then try again"
    return f"the ledger {address.path} does not answer ({text}); try again"


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Unavailable(f"the ledger {path} cannot be reached: {error.strerror}") from None


def _make_file(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives its side files the same mode.

    A missing folder is not made: the URL is probably relative to another folder, or a disk is not there.
    """
    if not path.parent.exists():
        raise InvalidInput(
            f"no ledger is made at {path}, because there is no folder {path.parent}: correct the ledger's URL "
            f"({_RELATIVE}), or make the folder first"
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Unavailable(f"the ledger {path} cannot be created: {error.strerror}") from None


def _keep_to_owner(path: Path) -> None:
    """Set mode 0600 on a file that we own: a copied or restored ledger may have a wider one."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # another owner's file stays as it is
            if stat.S_IMODE(name.stat().st_mode) & 0o077:
                name.chmod(0o600)


def _on_sqlite_connect(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None
    _log_ahead(connection)
    for pragma in ("synchronous=FULL", "recursive_triggers=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log, with retries: SQLite does not wait here if two processes make the same ledger."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _on_sqlite_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# -- PostgreSQL


def _postgresql_engine(address: Address) -> sa.Engine:
    """An engine on the database.

    Raises:
        InvalidInput: the driver is not installed.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise InvalidInput("a ledger in PostgreSQL needs a driver: pip install 'pubpriv[postgres]'") from None
    assert address.url is not None
    settings: dict[str, Any] = {} if "connect_timeout" in address.url.query else {"connect_timeout": _SLEEP}
    # a connection that was lost with its server is noticed before it is used
    quiet: dict[str, Any] = {"hide_parameters": True, "logging_name": _QUIET}
    made = sa.create_engine(address.url, connect_args=settings, pool_pre_ping=True, **quiet)
    sa.event.listen(made, "begin", _on_postgresql_begin)
    return made


def _check_server(connection: sa.Connection) -> None:
    """Refuse a server that is too old, or that may lose confirmed commits.

    Raises:
        InvalidInput: too old, or fsync is off.
    """
    version, fsync = connection.execute(
        sa.text("SELECT current_setting('server_version_num')::int, current_setting('fsync')")
    ).one()
    if version < _OLDEST_SERVER:
        raise InvalidInput(f"a ledger needs PostgreSQL {_OLDEST_SERVER // 10000} or newer, not {version // 10000}")
    if fsync != "on":
        raise InvalidInput(
            "this PostgreSQL runs with fsync off: a power cut could take back a charge whose answer is known. "
            "Turn it on, or keep the ledger elsewhere"
        )


def _postgresql_options(writes: bool) -> dict[str, Any]:
    """Readers see one snapshot and cannot write; writers see everything committed before they got the lock."""
    if writes:
        return {"isolation_level": "READ COMMITTED"}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _postgresql_failure(address: Address, text: str) -> str:
    """What a failure of the database means."""
    shown = address.masked(text.strip().partition("\n")[0])
    hint = "try again"
    if "no password supplied" in text or "password authentication failed" in text:
        hint = "put the whole URL into PUBPRIV_LEDGER, or the password into PGPASSWORD or a password file"
    elif "does not exist" in text:
        hint = "create the database and the role first, with `createdb` and `createuser`"
    elif "No space left on device" in text:
        hint = "no space is left on its disk: make room, then try again"
    return f"the ledger {address.shown} does not answer ({shown}); {hint}"


def _on_postgresql_begin(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("writes", True):
        connection.execute(_BEFORE_WRITING)
