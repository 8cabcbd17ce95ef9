"""The database behind the ledger: engine, transactions, migrations. What differs by dialect lives here."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.refusals import Refused

HEAD = "0001"
"""Revision that this version reads and writes."""

metadata = sa.MetaData()
datasets = sa.Table("datasets", metadata, sa.Column("name", sa.Text, primary_key=True))
records = sa.Table(
    "records",
    metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    *(
        sa.Column(name, sa.Text)
        for name in (
            "kind", "release_id", "key", "body", "state", "previous_hash", "hash", "at", "user", "host",
            "version",
        )
    ),
)  # fmt: skip


OPEN_RUNS = sa.text(
    "SELECT o.release_id, (SELECT s.state FROM records s WHERE s.dataset = o.dataset "
    "AND s.release_id = o.release_id ORDER BY s.seq DESC LIMIT 1) "
    "FROM records o WHERE o.dataset = :dataset AND o.kind = 'opened' AND NOT EXISTS (SELECT 1 FROM records c "
    "WHERE c.dataset = o.dataset AND c.release_id = o.release_id AND c.kind = 'closed') ORDER BY o.seq"
)
"""Runs that were opened and not closed, each with its newest state."""


def is_kind(kind: str) -> sa.ColumnElement[bool]:
    """The kind, written into the statement: partial indexes are used for literals only."""
    return records.c.kind == sa.bindparam(None, kind, sa.Text, literal_execute=True)


def record_of(row: Any) -> tuple[Record, str]:
    """A row as a record, and the hash that is stored beside it."""
    values = dict(row._mapping)
    stored = values.pop("hash")
    return Record(**values), stored


def connect(url: str, create: bool) -> sa.Engine:
    """An engine on the migrated ledger at `url`.

    Raises:
        InvalidInput: not a ledger URL, no ledger there and `create` is false, another kind of database, or a
            ledger of a newer version.
        Unavailable: the file cannot be read or written, or is no database.
    """
    path = sqlite_path(url)
    if not _has_content(path):
        if not create:
            raise InvalidInput(
                f"no ledger at {path}: make one with `pubpriv budget set DATASET zcdp:RHO --ledger {url}`"
            )
        _make(path)
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)), connect_args={"timeout": 60})
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _on_begin)
    try:
        with transaction(engine, write=False) as connection:
            current = _revision(connection, path)
        if current is None:
            _migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def sqlite_path(url: str) -> Path:
    """The file of a `sqlite:///` URL."""
    if not isinstance(url, str) or not url.startswith("sqlite:///") or url == "sqlite:///" or "\0" in url:
        shown = "that one" if isinstance(url, str) and "@" in url else repr(url)
        raise InvalidInput(f"a ledger URL is sqlite:///PATH (this version keeps ledgers in SQLite), not {shown}")
    return Path(os.path.abspath(os.path.expanduser(url.removeprefix("sqlite:///"))))


@contextmanager
def transaction(engine: sa.Engine, write: bool = True) -> Iterator[sa.Connection]:
    """One transaction; it is durable when the block has ended. Database failures become `Unavailable`."""
    failure: str | None = None
    try:
        with engine.connect().execution_options(writes=write) as connection, connection.begin():
            yield connection
    except (PubPrivError, Refused):
        raise
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        failure = str(error.orig) if isinstance(error, sa.exc.DBAPIError) else type(error).__name__
    if failure is not None:
        path = engine.url.database
        if "not a database" in failure:
            raise Unavailable(f"{path} is no ledger: the file is not an SQLite database")
        raise Unavailable(f"the ledger {path} does not answer ({failure}); try again")


def known(connection: sa.Connection, dataset: str) -> bool:
    """Is there such a dataset? A writing transaction holds its row (in SQLite it holds the whole file)."""
    query = sa.select(datasets.c.name).where(datasets.c.name == dataset).with_for_update()
    return connection.execute(query).first() is not None


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


def _on_connect(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "recursive_triggers=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _revision(connection: sa.Connection, path: Path) -> str | None:
    """The revision of the ledger; None for an empty database.

    Raises:
        InvalidInput: somebody else's database, or a revision that this version does not know.
    """
    names = set(sa.inspect(connection).get_table_names())
    if not names:
        return None
    if not {"alembic_version", "datasets", "records"} <= names:
        raise InvalidInput(f"{path} is no ledger: it is the database of something else")
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    if found != HEAD:
        raise InvalidInput(
            f"the ledger {path} was written by a newer version of pubpriv (revision {found}): upgrade pubpriv"
        )
    return HEAD


_alembic = threading.Lock()


def _migrate(engine: sa.Engine) -> None:
    """Run the revisions forwards, in one transaction: of several processes the first does it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    # Alembic's context is global to a process
    with _alembic, transaction(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
