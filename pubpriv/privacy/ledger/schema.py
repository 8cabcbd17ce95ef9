"""The database behind the ledger: engine, transactions, migrations. What differs by dialect lives here."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

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
            "kind", "release_id", "key", "body", "state", "previous_hash", "hash", "at", "user", "host", "version",
        )
    ),
)  # fmt: skip


def connect(url: str, create: bool) -> sa.Engine:
    """An engine on the migrated ledger at `url`.

    Raises:
        InvalidInput: not a ledger URL, or no ledger there and `create` is false.
        Unavailable: the file cannot be read or written, or is no ledger.
    """
    path = sqlite_path(url)
    if not path.exists() or path.stat().st_size == 0:
        if not create:
            raise InvalidInput(f"no ledger at {path}: make one with `pubpriv budget set DATASET zcdp:RHO --ledger {url}`")
        _make(path)
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 60})
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _on_begin)
    with transaction(engine, write=False) as connection:
        current = _revision(connection)
    if current != HEAD:
        _migrate(engine)
    return engine


def sqlite_path(url: str) -> Path:
    """The file of a `sqlite:///` URL."""
    if not url.startswith("sqlite:///") or url == "sqlite:///":
        shown = url if "@" not in url else "that one"
        raise InvalidInput(f"a ledger URL is sqlite:///PATH (this version keeps ledgers in SQLite), not {shown}")
    return Path(os.path.abspath(os.path.expanduser(url.removeprefix("sqlite:///"))))


@contextmanager
def transaction(engine: sa.Engine, write: bool = True) -> Iterator[sa.Connection]:
    """One transaction; it is durable when the block has ended. Database failures become `Unavailable`."""
    failure: str | None = None
    try:
        with engine.connect().execution_options(writes=write) as connection, connection.begin():
            yield connection
    except PubPrivError:
        raise
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        failure = str(error.orig) if isinstance(error, sa.exc.DBAPIError) else type(error).__name__
    if failure is not None:
        raise Unavailable(f"the ledger {engine.url.render_as_string()} does not answer ({failure}); try again")


def lock(connection: sa.Connection, dataset: str) -> bool:
    """Hold the dataset's row for this transaction (SQLite holds the whole file already). False: no such dataset."""
    query = sa.select(datasets.c.name).where(datasets.c.name == dataset).with_for_update()
    return connection.execute(query).first() is not None


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


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return str(found) if found else None


def _migrate(engine: sa.Engine) -> None:
    """Run the revisions forwards, in one transaction: of several processes the first does it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with transaction(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
