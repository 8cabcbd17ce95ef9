"""Transactions of a ledger: reading and writing a dataset's book, and datasets that are open for reading only.

A ledger is compared with a witness, an export kept elsewhere: a ledger that lacks records of the witness could spend
the same budget twice, so it is open for reading only until it is restored.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import NoReturn

import sqlalchemy as sa

from pubpriv.errors import BooksClosed, InvalidInput
from pubpriv.privacy.budgets import Budget
from pubpriv.privacy.ledger import bundle, schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._database import Database
from pubpriv.privacy.ledger._following import follow_from
from pubpriv.privacy.ledger._names import check_name
from pubpriv.privacy.ledger._refusals import Refused
from pubpriv.privacy.ledger.migrations import triggers
from pubpriv.privacy.ledger.records import Record, awaiting, without_records

_ADD_DATASET = sa.text("INSERT INTO datasets (name) VALUES (:name) ON CONFLICT DO NOTHING")
"""Statement that registers a name: a concurrent second one waits for the first and then finds its row."""


class Access:
    """Reading and writing transactions on one database, and why some datasets are open for reading only.

    Args:
        database: the ledger's database.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._budgets: dict[str, Budget] = {}
        self._units: dict[str, bool] = {}
        self._lacking: Mapping[str, str] = MappingProxyType({})
        self._anchors: Mapping[str, bundle.End] = MappingProxyType({})
        self.unguarded: str | None = None

    @property
    def url(self) -> str:
        """URL of the ledger, without a password."""
        return self.database.address.shown

    def datasets(self) -> list[str]:
        """Names of all datasets."""
        with self.database.transaction(write=False) as connection:
            return names(connection)

    @property
    def read_only(self) -> Mapping[str, str]:
        """Datasets to which nothing can be charged, and why; see `Ledger.read_only`."""
        return self._lacking if self.unguarded is None else dict.fromkeys(self.datasets(), self.unguarded)

    def look_for_guards(self) -> None:
        """Allow only reading if triggers are missing that keep the ledger append-only."""
        with self.database.transaction(write=False) as connection:
            gone = triggers.missing(connection)
        if gone:
            self.unguarded = (
                f"the ledger {self.url} is open for reading only: of the triggers that keep it append-only, "
                f"{', '.join(gone)} are gone or were changed, so records may have been changed too. Compare it with "
                "its last export (`pubpriv ledger verify`, then `pubpriv ledger verify --file EXPORT --ledger URL`); "
                "if all is right, move it to a new database with `pubpriv ledger export` and `pubpriv ledger restore`"
            )

    def watch(self, ends: Mapping[str, bundle.End], witness: Path | None) -> None:
        """Allow only reading of datasets that lack records of a witness with these ends; check the others from it."""
        self._lacking = {
            dataset: (
                f"dataset {dataset!r} of the ledger {self.url} is open for reading only: {missing} "
                f"(witness {witness}). An older copy was restored, or this is another ledger; bring it up to date with "
                f"`pubpriv ledger restore {witness} --ledger {quote(self.url)}`"
            )
            for dataset, missing in self.lacks(ends).items()
        }
        reached = {dataset: end for dataset, end in ends.items() if dataset not in self._lacking}
        self._anchors = {**self._anchors, **reached}

    def lacks(self, ends: Mapping[str, bundle.End]) -> dict[str, str]:
        """Describe by dataset what the ledger lacks of an export with these ends; empty if it has all records."""
        with self.database.transaction(write=False) as connection:
            return lacking(connection, ends)

    def registered(self, dataset: str) -> Budget:
        """The first budget of a dataset, which never changes."""
        if dataset not in self._budgets:
            with self.reading(dataset) as book:
                self._budgets[dataset] = book.registered
        return self._budgets[dataset]

    def protects_persons(self, dataset: str) -> bool:
        """Return whether the unit of a dataset is a person, which never changes."""
        if dataset not in self._units:
            with self.reading(dataset) as book:
                self._units[dataset] = book.person is not None
        return self._units[dataset]

    @contextmanager
    def reading(self, dataset: str) -> Iterator[Book]:
        """One transaction that reads a dataset's book."""
        check_name(dataset, "dataset")
        with self.database.transaction(write=False) as connection:
            book = Book(connection, dataset)
            if book.state is None:
                self.refuse_unknown(connection, dataset)
            book.refuse_awaiting()
            yield book

    @contextmanager
    def reading_rows(self, dataset: str, first: int = 0) -> Iterator[Iterator[tuple[Record, str]]]:
        """One transaction that reads a dataset's records from number `first` on, with their hashes."""
        check_name(dataset, "dataset")
        with self.database.transaction(write=False) as connection:
            if not _is_known(connection, dataset, lock=False):
                self.refuse_unknown(connection, dataset)
            yield rows_of(connection, dataset, first)

    @contextmanager
    def locked(self, dataset: str, create: bool = False, tables: bool = False) -> Iterator[Book]:
        """One writing transaction that locks the dataset, and with `tables` also the declarations of tables.

        If the dataset is open for reading only, the transaction only reads, and its book refuses to append.
        """
        check_name(dataset, "dataset")
        why_not = self.unguarded or self._lacking.get(dataset)
        refused: Refused | None = None
        try:
            with self.database.transaction(write=why_not is None) as connection:
                new = why_not is None and self.hold(connection, dataset, create, tables)
                book = Book(connection, dataset, why_not)
                if book.state is None and create and not new and why_not is None:
                    raise without_records(dataset)
                if new:
                    _refuse_new(connection, dataset)
                book.refuse_awaiting()
                if why_not is None and dataset in self._anchors:
                    follow_from(book, self._anchors[dataset].records - 1)
                    self._anchors = {name: end for name, end in self._anchors.items() if name != dataset}
                yield book
        except Refused as messenger:
            refused = messenger
        if refused is not None:  # nothing is locked here
            raise refused.error()

    def hold(self, connection: sa.Connection, dataset: str, create: bool, tables: bool) -> bool:
        """Lock the dataset's row; returns whether the row was made here."""
        if tables:
            self.database.lock_tables(connection)
        if _is_known(connection, dataset, lock=True):
            return False
        if not create:
            self.refuse_unknown(connection, dataset)
        added = connection.execute(_ADD_DATASET, {"name": dataset}).rowcount
        _is_known(connection, dataset, lock=True)
        return bool(added)

    def refuse_unknown(self, connection: sa.Connection, dataset: str) -> NoReturn:
        """Refuse a dataset that is not registered; the message lists registered ones."""
        every = names(connection)
        known = f"it knows {', '.join(every)}" if every else "it knows none yet"
        raise InvalidInput(
            f"dataset {dataset!r} is not registered in the ledger ({known}): register it with "
            f"`pubpriv budget set {dataset} zcdp:RHO --ledger {quote(self.url)}`"
        )


def names(connection: sa.Connection) -> list[str]:
    """List all datasets, in order."""
    return sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())


def rows_of(connection: sa.Connection, dataset: str, first: int = 0) -> Iterator[tuple[Record, str]]:
    """Read a dataset's records from number `first` on, each with its hash, oldest first, a thousand at a time."""
    table = schema.records
    query = sa.select(table).where(table.c.dataset == dataset, *([table.c.seq >= first] if first else []))
    query = query.order_by(table.c.seq)
    found = connection.execution_options(yield_per=1000).execute(query)
    return (schema.record_of(row) for row in found)


def lacking(connection: sa.Connection, ends: Mapping[str, bundle.End]) -> dict[str, str]:
    """Describe by dataset what the ledger lacks of an export with these ends; empty if it has all records."""
    table, lacks = schema.records, {}
    for dataset, end in ends.items():
        own = table.c.dataset == dataset
        found = connection.execute(sa.select(table).where(own, table.c.seq == end.records - 1)).first()
        if found is None:
            count = connection.execute(sa.select(sa.func.count()).where(own)).scalar_one()
            lacks[dataset] = f"{end.records - int(count)} records that are in the export are missing in the ledger"
        elif schema.record_of(found)[0].digest() != end.head:
            lacks[dataset] = f"record {end.records - 1} is another one than in the export"
    return lacks


def _refuse_new(connection: sa.Connection, dataset: str) -> None:
    """Refuse a new dataset in a ledger whose books are closed, or that waits to continue others.

    Raises:
        BooksClosed: it is such a ledger.
    """
    for other in names(connection):
        state = Book(connection, other).state
        if state is not None and (state.sealed or state.awaits):
            raise BooksClosed(
                f"dataset {dataset!r} cannot be registered in this ledger: its books are closed, and go on in "
                f"{state.sealed}"
                if state.sealed
                else awaiting(str(state.awaits))
            )


def _is_known(connection: sa.Connection, dataset: str, lock: bool) -> bool:
    """Check whether the dataset exists.

    With `lock` its row is locked; in SQLite a writing transaction locks the whole file.
    """
    query = schema.LOCKED_DATASET if lock else schema.DATASET
    return connection.execute(query, {"name": dataset}).first() is not None
