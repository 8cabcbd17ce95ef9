"""The newest runs of a dataset, and the total of earlier ones; reading takes no longer after years."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._old_runs import OldRun
from pubpriv.privacy.ledger.records import states_of


@dataclass(frozen=True)
class PastRun:
    """A run with its allotment, its charges in the ledger's units, and when it was opened (UTC, ISO 8601)."""

    release_id: str
    opened_at: str
    allotment: Budget
    charged: Amount
    closed: bool


@dataclass(frozen=True)
class Past:
    """Spending of a dataset, run by run.

    Attributes:
        runs: the newest runs, oldest first.
        earlier: number of runs before them.
        spent_earlier: amount that those spent, in the ledger's units, from the running total in the newest record.
    """

    runs: tuple[PastRun, ...]
    earlier: int
    spent_earlier: Amount

    @classmethod
    def of(cls, book: Book, most: int) -> "Past":
        """Read at most `most` runs.

        Raises:
            LedgerViolation: a record that cannot be read, or was changed.
        """
        asked = {"dataset": book.dataset, "most": most}
        opened = [schema.whole(row) for row in book.connection.execute(schema.NEWEST_OPENED, asked)]
        newest = [schema.whole(row) for row in book.connection.execute(schema.NEWEST_RUNS, asked)]
        runs = []
        for first, last in zip(opened, newest, strict=True):
            state = states_of(last.state)[1]
            if state is None or first.release_id != last.release_id:
                raise LedgerViolation(
                    f"record {last.seq} of run {first.release_id!r} has no balance of it: it was changed"
                )
            allotment = budget_from_json(first.facts()["allotment"])
            runs.append(PastRun(str(first.release_id), first.at, allotment, state.charged, state.closed))
        runs = [*map(_closed, book.old.newest(most - len(runs))), *runs]
        spent = sum((run.charged for run in runs), Amount(0))
        return cls(tuple(runs), count_of_runs(book) - len(runs), book.known_state().spent - spent)


def _closed(run: OldRun) -> PastRun:
    return PastRun(run.release_id, run.opened_at, budget_from_json(run.allotment), run.charged, closed=True)


def count_of_runs(book: Book) -> int:
    """Count the runs that were ever opened, in these books and in those that they continue."""
    table = schema.records
    query = sa.select(sa.func.count()).where(table.c.dataset == book.dataset, schema.is_kind("opened"))
    return int(book.connection.execute(query).scalar_one()) + book.old.count()


def ended(book: Book, release_ids: Collection[str]) -> dict[str, bool]:
    """Return for each of these runs whether it is closed; runs that were never opened are left out."""
    table = schema.records
    where = table.c.release_id.in_(release_ids), table.c.kind.in_(("opened", "closed"))
    found = [schema.whole(row) for row in book.connection.execute(book.rows(*where))]
    return dict.fromkeys(book.old.known(release_ids), True) | {
        str(record.release_id): record.kind == "closed" for record in found
    }


def newest_start(book: Book, method: str, wanted: Callable[[str], bool]) -> tuple[str, dict[str, Any]] | None:
    """Find the newest run of a method whose release id is wanted; return its id and its settings.

    Only release ids are read until one is found.
    """
    table = schema.records
    query = sa.select(table.c.seq, table.c.release_id).where(table.c.dataset == book.dataset, schema.is_kind("started"))
    for seq, release_id in book.connection.execute(query.order_by(table.c.seq.desc())):
        if wanted(str(release_id)):
            record = book.last(table.c.seq == seq)
            facts = record.facts() if record else {}
            if facts.get("method") == method:
                return str(release_id), facts
    for start in book.old.starts():
        if wanted(start.release_id) and start.method == method:
            return start.release_id, {"method": method, "configuration": start.configuration}
    return None
