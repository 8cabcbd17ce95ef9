"""What can be read in a ledger: each method is one transaction that writes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, Self

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import Budget, budget_from_json
from pubpriv.privacy.ledger import bundle, schema
from pubpriv.privacy.ledger.book import Book, installed_version
from pubpriv.privacy.ledger.bundle import End, Row
from pubpriv.privacy.ledger.database import Database
from pubpriv.privacy.ledger.names import check_label, check_name
from pubpriv.privacy.ledger.outlook import Lookout, Outlook, Work, how_many
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.replay import Summary, replay
from pubpriv.privacy.ledger.views import Asked, Balance, Run, Standing


class Reader:
    """The reading half of `Ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._budgets: dict[str, Budget] = {}
        self._allotments: dict[tuple[str, str], Budget] = {}

    @staticmethod
    def asked(question: Any) -> Asked | None:  # noqa: ARG004 - see `pubpriv.Ledger`
        """The event and sizes of a stored question: the books alone read questions as data and know of none."""
        return None

    @property
    def url(self) -> str:
        """Where it is, without a password."""
        return self._database.address.shown

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def datasets(self) -> list[str]:
        """Names of all datasets."""
        with self._database.transaction(write=False) as connection:
            return sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())

    def balance(self, dataset: str) -> Balance:
        """What is spent, held and left."""
        with self._reading(dataset) as book:
            terms, state = book.terms, book.known_state()
            budget, tables = budget_from_json(terms["budget"]), tuple(book.tables)
            return Balance(dataset, terms["unit"], budget, state, book.open_runs(), tables, book.head.digest())

    def at_work(self, dataset: str, release_id: str) -> tuple[Work, ...]:
        """Attempts of an open run whose lease is running: somebody may be at work at them."""
        check_name(release_id, "release id")
        with self._reading(dataset) as book:
            closed = book.run_state(release_id).closed
            return () if closed else tuple(work for work in book.work(release_id) if work.running)

    def outlook(self, dataset: str) -> Outlook:
        """The balance, what one more run like the last costs, how many fit, who is at work and who spent most."""
        with self._reading(dataset) as book:
            return book.look()

    def fitting(self, dataset: str, allotment: Budget) -> int:
        """How many runs with this allotment could be opened now, none of them closed before the next.

        Raises:
            InvalidInput: an allotment of a kind that the dataset's budget does not take.
        """
        with self._reading(dataset) as book:
            state = book.known_state()
            return how_many(allotment, book.registered, state.cap, state.remaining)

    def find(self, dataset: str, release_id: str, label: str) -> Standing | None:
        """The charge under this label, with its answer if there is one; None if nothing was charged.

        Raises:
            InvalidInput: a dataset or a run that is not there, or no label.
            LedgerViolation: what stands there was not charged by this ledger.
        """
        check_label(label)
        terms = self._allotment(dataset, release_id), self._registered(dataset)
        with self._reading(dataset) as book:
            standing = book.standing(release_id, label)
            if standing is not None:
                book.check_paid(release_id, label, *terms)
            return standing

    def run(self, dataset: str, release_id: str) -> Run:
        """One run with its bill."""
        check_name(release_id, "release id")
        with self._reading(dataset) as book:
            return book.run(release_id)

    def notes(self, dataset: str, release_id: str) -> dict[str, Any]:
        """What the steps of a run made, by label, as it was noted first."""
        check_name(release_id, "release id")
        with self._reading(dataset) as book:
            book.opened(release_id)
            return book.notes(release_id)

    def history(self, dataset: str) -> list[Run]:
        """All runs of a dataset, oldest first."""
        with self._reading(dataset) as book:
            return [book.run(str(record.release_id)) for record in book.all("opened")]

    def records(self, dataset: str) -> list[Record]:
        """All records of a dataset, oldest first."""
        with self._reading(dataset) as book:
            return book.all()

    def verify(self, dataset: str, expected_head: str | None = None) -> Summary:
        """Replay every record and compare chain, balances, prices, and events with the questions they are of.

        Args:
            dataset: whose records.
            expected_head: a chain head kept outside the ledger (model files carry one). Without one, records
                missing at the very end cannot be noticed.

        Returns:
            What the records come to.

        Raises:
            LedgerViolation: the first record that does not follow from those before it, or `expected_head` is
                not in the chain.
        """
        check_name(dataset, "dataset")
        with self._database.transaction(write=False) as connection:
            if not schema.known(connection, dataset, lock=False):
                self._unknown(connection, dataset)
            return replay(dataset, _rows(connection, dataset), expected_head, self.asked)

    def export(self, path: Path, datasets: Sequence[str] = ()) -> dict[str, End]:
        """Write the auditor's bundle of some datasets, or of all; it replaces an older export of the same ledger.

        Returns:
            Where each chain ends.

        Raises:
            InvalidInput: an unknown dataset, or something else stands at `path`, or an export of more datasets.
            LedgerViolation: the export at `path` has records that this ledger has not.
            Unavailable: it cannot be written.
        """
        with self._database.transaction(write=False) as connection:
            every = sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())
            for dataset in datasets:
                if dataset not in every:
                    self._unknown(connection, dataset)
            chosen = [dataset for dataset in every if not datasets or dataset in datasets]
            if path.exists():
                _check_replaceable(connection, path, chosen)
            heads = {dataset: Book(connection, dataset).head for dataset in chosen}
            ends = {dataset: End(head.seq + 1, head.digest()) for dataset, head in heads.items()}
            rows = (row for dataset in chosen for row in _rows(connection, dataset))
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            bundle.save(path, bundle.lines_of(rows, ends, at, installed_version()))
        return ends

    def lacks(self, ends: Mapping[str, End]) -> dict[str, str]:
        """What the ledger lacks of an export that ended there, in words, by dataset; empty if it has all of it."""
        with self._database.transaction(write=False) as connection:
            return _lacks(connection, ends)

    def _registered(self, dataset: str) -> Budget:
        """The first budget of a dataset, which never changes."""
        if dataset not in self._budgets:
            with self._reading(dataset) as book:
                self._budgets[dataset] = book.registered
        return self._budgets[dataset]

    def _allotment(self, dataset: str, release_id: str) -> Budget:
        """The budget a run was opened with, which never changes."""
        check_name(dataset, "dataset")
        check_name(release_id, "release id")
        if (dataset, release_id) not in self._allotments:
            with self._reading(dataset) as book:
                self._allotments[dataset, release_id] = book.allotment(release_id)
        return self._allotments[dataset, release_id]

    @contextmanager
    def _reading(self, dataset: str) -> Iterator[Lookout]:
        check_name(dataset, "dataset")
        with self._database.transaction(write=False) as connection:
            book = Lookout(connection, dataset)
            if book.state is None:
                self._unknown(connection, dataset)
            yield book

    def _unknown(self, connection: sa.Connection, dataset: str) -> NoReturn:
        names = sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())
        known = f"it knows {', '.join(names)}" if names else "it knows none yet"
        raise InvalidInput(
            f"dataset {dataset!r} is not registered in the ledger ({known}): register it with "
            f"`pubpriv budget set {dataset} zcdp:RHO --ledger {self.url}`"
        )


def _rows(connection: sa.Connection, dataset: str) -> Iterator[Row]:
    """Every record of a dataset with its hash, oldest first, a thousand at a time."""
    table = schema.records
    query = sa.select(table).where(table.c.dataset == dataset).order_by(table.c.seq)
    found = connection.execution_options(yield_per=1000).execute(query)
    return (schema.record_of(row) for row in found)


def _lacks(connection: sa.Connection, ends: Mapping[str, End]) -> dict[str, str]:
    table, lacking = schema.records, {}
    for dataset, end in ends.items():
        own = table.c.dataset == dataset
        found = connection.execute(sa.select(table).where(own, table.c.seq == end.records - 1)).first()
        if found is None:
            count = connection.execute(sa.select(sa.func.count()).where(own)).scalar_one()
            lacking[dataset] = f"{end.records - int(count)} records that are in the export are missing in the ledger"
        elif schema.record_of(found)[0].digest() != end.head:
            lacking[dataset] = f"record {end.records - 1} is another one than in the export"
    return lacking


def _check_replaceable(connection: sa.Connection, path: Path, chosen: Sequence[str]) -> None:
    """An export makes way for one that has all that it has."""
    ends = bundle.ends(path)
    for dataset, reason in _lacks(connection, ends).items():
        raise LedgerViolation(f"{path} is not replaced: dataset {dataset!r}: {reason}")
    left_out = sorted({*ends} - {*chosen})
    if left_out:
        raise InvalidInput(f"{path} also has the datasets {', '.join(left_out)}: export them too, or to another file")
