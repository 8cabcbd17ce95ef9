"""Who may write in a ledger, and how a lost one is found out and brought back.

A ledger is opened against a witness, an export kept elsewhere: one that lacks some of it would spend twice, so it
opens for reading only until it has caught up.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.ledger import bundle, schema
from pubpriv.privacy.ledger.book import Book
from pubpriv.privacy.ledger.database import connect
from pubpriv.privacy.ledger.reader import Reader
from pubpriv.privacy.ledger.refusals import Refused

WITNESS = "PUBPRIV_LEDGER_WITNESS"
"""Environment variable that may name an export; see `Ledger.open`."""


class Custody(Reader):
    """Opening, holding and restoring: the half of `Ledger` that knows nothing of money."""

    read_only: str | None = None
    """Why nothing can be charged: the ledger lacks records that a witness has. None: it can."""

    @classmethod
    def open(cls, url: str, create: bool = True, witness: str | Path | None = None) -> Self:
        """The ledger at `url`, migrated forwards if it is older.

        Args:
            url: `sqlite:///PATH`, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (a database of its own).
            create: make an empty one if there is none; otherwise that is an error.
            witness: an export of this ledger (`export`), kept elsewhere; default: the file that
                `PUBPRIV_LEDGER_WITNESS` names, if it names one. A ledger that lacks some of it, because an older
                copy was restored, opens for reading only: what was charged meanwhile would be spent twice.

        Raises:
            InvalidInput: not a ledger URL, none there and `create` is false, or no export at `witness`.
            Unavailable: it cannot be read or written now.
        """
        witness = witness or os.environ.get(WITNESS) or None
        ends = bundle.ends(Path(witness).expanduser()) if witness else {}
        ledger = cls(connect(url, create))
        try:
            lacking = ledger.lacks(ends)
        except BaseException:
            ledger.close()
            raise
        if lacking:
            ledger.read_only = (
                f"the ledger {ledger.url} is open for reading only: {lacking} (witness {witness}). An older copy was "
                f"restored; bring it up to date with `pubpriv ledger restore {witness} --ledger {ledger.url}`"
            )
        return ledger

    def check_complete(self) -> None:
        """Raise why the ledger is open for reading only, if it is.

        Raises:
            LedgerViolation: it lacks records that its witness has.
        """
        if self.read_only is not None:
            raise LedgerViolation(self.read_only)

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
        bundle.verify(path)
        ends = bundle.ends(path)
        unknown = sorted({*datasets} - {*ends})
        if unknown:
            raise InvalidInput(f"{path} has no dataset {', '.join(unknown)}; it has {', '.join(sorted(ends))}")
        appended = {
            dataset: self._catch_up(dataset, ends[dataset], rows)
            for dataset, rows in bundle.chains(path)
            if not datasets or dataset in datasets
        }
        self.read_only = self.read_only if self.lacks(ends) else None
        return appended

    def _catch_up(self, dataset: str, end: bundle.End, rows: Iterator[bundle.Row]) -> int:
        lacking = self.lacks({dataset: end})
        if lacking is None:
            return 0
        with self._database.transaction() as connection:
            self._hold(connection, dataset, create=True, tables=True)
            book = Book(connection, dataset)
            first = 0 if book.state is None else book.head.seq + 1
            last = None if book.state is None else book.head.digest()
            if first >= end.records:
                raise LedgerViolation(f"the ledger and the export have gone different ways: {lacking}")
            return book.append_all(rows, first, last)

    @contextmanager
    def _locked(self, dataset: str, create: bool = False, tables: bool = False) -> Iterator[Book]:
        """One writing transaction that holds the dataset, and with `tables` who declares which table.

        On a ledger that is open for reading only: a transaction that reads, whose book refuses to append.
        """
        refused: Refused | None = None
        try:
            with self._database.transaction(write=self.read_only is None) as connection:
                if self.read_only is None:
                    self._hold(connection, dataset, create, tables)
                elif not schema.known(connection, dataset, lock=False):
                    self._unknown(connection, dataset)
                yield Book(connection, dataset, self.read_only)
        except Refused as messenger:
            refused = messenger
        if refused is not None:  # nothing is locked here
            raise refused.refusal.error()

    def _hold(self, connection: sa.Connection, dataset: str, create: bool, tables: bool) -> None:
        if tables:
            self._database.lock_tables(connection)
        if schema.known(connection, dataset, lock=True):
            return
        if not create:
            self._unknown(connection, dataset)
        connection.execute(schema.ADD_DATASET, {"name": dataset})
        schema.known(connection, dataset, lock=True)
