"""Who may write in a ledger, and how a lost one is found out and brought back.

A ledger is opened against a witness, an export kept elsewhere: one that lacks some of it would spend twice, so it
opens for reading only until it has caught up.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Self

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.ledger import bundle, guards, schema
from pubpriv.privacy.ledger.book import Book
from pubpriv.privacy.ledger.database import connect
from pubpriv.privacy.ledger.names import check_name
from pubpriv.privacy.ledger.reader import Reader
from pubpriv.privacy.ledger.refusals import Refused

WITNESS = "PUBPRIV_LEDGER_WITNESS"
"""Environment variable that may name an export; see `Ledger.open`."""


class Custody(Reader):
    """Opening, holding and restoring: the half of `Ledger` that knows nothing of money."""

    _read_only: Mapping[str, str] = MappingProxyType({})
    _unguarded: str | None = None
    _anchors: Mapping[str, bundle.End] = MappingProxyType({})

    @property
    def read_only(self) -> Mapping[str, str]:
        """Datasets to which nothing can be charged, and why: the ledger lacks records that a witness has.

        Or it lacks triggers that keep it append-only; then no dataset can be charged.
        """
        if self._unguarded is not None:
            return dict.fromkeys(self.datasets(), self._unguarded)
        return self._read_only

    @classmethod
    def open(cls, url: str, create: bool = True, witness: str | Path | None = None) -> Self:
        """The ledger at `url`, migrated forwards if it is older.

        Args:
            url: `sqlite:///PATH`, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (a database of its own).
            create: make an empty one if there is none; otherwise that is an error.
            witness: an export of this ledger (`export`), kept elsewhere; default: the file that
                `PUBPRIV_LEDGER_WITNESS` names, if it names one. Datasets of which the ledger lacks some of it,
                because an older copy was restored, open for reading only: what was charged meanwhile would be
                spent twice. Of the others, the balance is followed from the witness's end before anything is added.

        Raises:
            InvalidInput: not a ledger URL, none there and `create` is false, or no export at `witness`.
            Unavailable: it cannot be read or written now.
        """
        witness = witness or os.environ.get(WITNESS) or None
        ends = bundle.ends(Path(witness).expanduser()) if witness else {}
        ledger = cls(connect(url, create))
        try:
            ledger._look_for_guards()
            ledger._watch(ends, witness)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _look_for_guards(self) -> None:
        with self._database.transaction(write=False) as connection:
            gone = guards.missing(connection)
        if gone:
            self._unguarded = (
                f"the ledger {self.url} is open for reading only: of the triggers that keep it append-only, "
                f"{', '.join(gone)} are gone or were changed, so records may have been changed too. Compare it with "
                "its last export (`pubpriv ledger verify`, then `pubpriv ledger verify --file EXPORT --ledger URL`); "
                "if all is right, move it to a new database with `pubpriv ledger export` and `pubpriv ledger restore`"
            )

    def _watch(self, ends: Mapping[str, bundle.End], witness: str | Path | None) -> None:
        self._read_only = {
            dataset: (
                f"dataset {dataset!r} of the ledger {self.url} is open for reading only: {lacking} "
                f"(witness {witness}). An older copy was restored, or this is another ledger; bring it up to date with "
                f"`pubpriv ledger restore {witness} --ledger {self.url}`"
            )
            for dataset, lacking in self.lacks(ends).items()
        }
        reached = {dataset: end for dataset, end in ends.items() if dataset not in self._read_only}
        self._anchors = {**self._anchors, **reached}

    def check_complete(self) -> None:
        """Raise why a dataset is open for reading only, if one is.

        Raises:
            LedgerViolation: the ledger lacks records that its witness has, or triggers.
        """
        if self._unguarded is not None:
            raise LedgerViolation(self._unguarded)
        for reason in self.read_only.values():
            raise LedgerViolation(reason)

    def restore(self, path: Path, datasets: Sequence[str] = ()) -> dict[str, int]:
        """Append what a bundle has and this ledger lacks: an older copy catches up, an empty ledger is filled.

        Args:
            path: an export; every record of it is checked first.
            datasets: which; default: all.

        Returns:
            How many records were appended, by dataset.

        Raises:
            InvalidInput, LedgerViolation: see `bundle.verify`; or the ledger's own records are others.
        """
        if self._unguarded is not None:
            raise LedgerViolation(self._unguarded)
        bundle.verify(path, self.asked)
        ends = bundle.ends(path)
        unknown = sorted({*datasets} - {*ends})
        if unknown:
            raise InvalidInput(f"{path} has no dataset {', '.join(unknown)}; it has {', '.join(sorted(ends))}")
        appended = {
            dataset: self._catch_up(dataset, ends[dataset], rows)
            for dataset, rows in bundle.chains(path)
            if not datasets or dataset in datasets
        }
        self._watch({dataset: ends[dataset] for dataset in self.read_only if dataset in ends}, path)
        return appended

    def _catch_up(self, dataset: str, end: bundle.End, rows: Iterator[bundle.Row]) -> int:
        lacking = self.lacks({dataset: end}).get(dataset)
        if lacking is None:
            return 0
        with self._database.transaction() as connection:
            self._hold(connection, dataset, create=True, tables=True)
            book = Book(connection, dataset)
            first = 0 if book.state is None else book.head.seq + 1
            last = None if book.state is None else book.head.digest()
            if first >= end.records:
                raise LedgerViolation(
                    f"the ledger and the export have gone different ways: dataset {dataset!r}: {lacking}"
                )
            appended = book.append_all(rows, first, last)
            if Book(connection, dataset).head.digest() != end.head:  # it was read twice
                raise LedgerViolation(f"the export changed while it was restored: nothing of {dataset!r} is taken")
            return appended

    @contextmanager
    def _locked(self, dataset: str, create: bool = False, tables: bool = False) -> Iterator[Book]:
        """One writing transaction that holds the dataset, and with `tables` who declares which table.

        Of a dataset that is open for reading only: a transaction that reads, whose book refuses to append.
        """
        check_name(dataset, "dataset")
        why_not = self._unguarded or self._read_only.get(dataset)
        refused: Refused | None = None
        try:
            with self._database.transaction(write=why_not is None) as connection:
                new = why_not is None and self._hold(connection, dataset, create, tables)
                book = Book(connection, dataset, why_not)
                if book.state is None and create and not new and why_not is None:
                    raise LedgerViolation(f"dataset {dataset!r} is in the ledger, and its records are not")
                if why_not is None and dataset in self._anchors:
                    book.follow_from(self._anchors[dataset].records - 1)
                    self._anchors = {name: end for name, end in self._anchors.items() if name != dataset}
                yield book
        except Refused as messenger:
            refused = messenger
        if refused is not None:  # nothing is locked here
            raise refused.refusal.error()

    def _hold(self, connection: sa.Connection, dataset: str, create: bool, tables: bool) -> bool:
        """Lock the dataset's row; true if it was made here."""
        if tables:
            self._database.lock_tables(connection)
        if schema.known(connection, dataset, lock=True):
            return False
        if not create:
            self._unknown(connection, dataset)
        added = connection.execute(schema.ADD_DATASET, {"name": dataset}).rowcount
        schema.known(connection, dataset, lock=True)
        return bool(added)
