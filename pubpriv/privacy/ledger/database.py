"""The database behind the ledger: one engine, transactions, and the schema brought forwards."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.privacy.ledger import postgresql, sqlite
from pubpriv.privacy.ledger.refusals import Refused
from pubpriv.privacy.ledger.urls import Address, understand

_REVISIONS = ("0001", "0002")
"""Known revisions, oldest first; this version reads and writes the last."""


@dataclass(frozen=True)
class Database:
    """An engine, and where it leads."""

    engine: sa.Engine
    address: Address

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[sa.Connection]:
        """One transaction; it is durable when the block has ended. Database failures become `Unavailable`."""
        failure: str | None = None
        # by this name, so that the dialect's own options and the listener for `begin` both see it
        options = {"writes": write} | (postgresql.options(write) if self._remote else {})
        try:
            with self.engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except (PubPrivError, Refused):
            raise
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            failure = str(error.orig) if isinstance(error, sa.exc.DBAPIError) else "no connection is free"
        if failure is not None:  # raised out here, so that no driver's text hangs on it
            explain = postgresql.failure if self._remote else sqlite.failure
            raise Unavailable(explain(self.address, failure))

    def lock_tables(self, connection: sa.Connection) -> None:
        """Before the dataset's own lock. A writing transaction holds the whole of an SQLite file anyway."""
        if self._remote:
            postgresql.lock_tables(connection)

    def close(self) -> None:
        """Let go of connections."""
        self.engine.dispose()

    @property
    def _remote(self) -> bool:
        return self.address.kind == "postgresql"


def connect(url: object, create: bool) -> Database:
    """The migrated ledger at `url`.

    Raises:
        InvalidInput: not a ledger URL, no ledger there and `create` is false, another kind of database, or a
            ledger of a newer version.
        Unavailable: it cannot be read or written, or is no database.
    """
    address = understand(url)
    remote = address.kind == "postgresql"
    database = Database(postgresql.engine(address) if remote else sqlite.engine(address, create), address)
    try:
        with database.transaction(write=False) as connection:
            if remote:
                postgresql.check(connection)
            current = _revision(connection, address, create)
        if current != _REVISIONS[-1]:
            migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _revision(connection: sa.Connection, address: Address, create: bool) -> str | None:
    """The revision of the ledger; None for an empty database, if `create` allows one.

    Raises:
        InvalidInput: nothing there, somebody else's database, or a revision that this version does not know.
    """
    where = address.path or address.shown
    names = set(sa.inspect(connection).get_table_names())
    if not names and create:
        return None
    if not names:
        raise InvalidInput(
            f"no ledger in {where}: make one with `pubpriv budget set DATASET zcdp:RHO --ledger {address.shown}`"
        )
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


def migrate(database: Database, revision: str = "head") -> None:
    """Run the revisions forwards, in one transaction: of several processes the first does it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    # Alembic's context is global to a process
    with _alembic, database.transaction() as connection:
        if connection.dialect.name == "postgresql":
            postgresql.lock_migration(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
