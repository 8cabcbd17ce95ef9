"""What a dataset's ledger says of its budget, run by run: read only, and without anybody's name or clock.

Times of charges show how long steps took, which may depend on rows (`docs/privacy.md`); so a run is dated by the day
on which it was opened, and nothing else is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import budget_from_json
from pubpriv.privacy.ledger.records import Record, states_of
from pubpriv.privacy.units import UNIT

if TYPE_CHECKING:
    from pubpriv.privacy.ledger import Ledger


@dataclass(frozen=True)
class _PastRun:
    """One run of a dataset.

    Attributes:
        release_id: its name.
        day: on which it was opened (UTC).
        allotment: what it was given, in words.
        spent: what it charged, in the ledger's currency.
        open: it may still charge.
    """

    release_id: str
    day: str
    allotment: str
    spent: float
    open: bool


@dataclass(frozen=True)
class History:
    """A dataset's budget and the runs that spent of it, oldest first.

    Attributes:
        dataset: its name.
        budget: the cap, in words.
        guarantee: of the cap, as `Budget.guarantee` tells it.
        currency: epsilon, rho or mu^2.
        cap, spent, held: in the currency.
        runs: all there were.
    """

    dataset: str
    budget: str
    guarantee: dict[str, Any]
    currency: str
    cap: float
    spent: float
    held: float
    runs: tuple[_PastRun, ...]

    @classmethod
    def of(cls, ledger: "Ledger", dataset: str) -> "History":
        """Read the history of one dataset.

        Raises:
            InvalidInput: the ledger does not know it.
            LedgerViolation: a record cannot be read.
        """
        balance = ledger.balance(dataset)
        return cls(
            dataset=dataset,
            budget=balance.budget.describe(),
            guarantee=balance.budget.guarantee(),
            currency=balance.budget.currency,
            cap=balance.cap.main / UNIT,
            spent=balance.spent.main / UNIT,
            held=balance.held.main / UNIT,
            runs=_runs(ledger.records(dataset)),
        )

    @property
    def remaining(self) -> float:
        """What a new run could hold."""
        return max(0.0, self.cap - self.spent - self.held)


def _runs(records: Sequence[Record]) -> tuple[_PastRun, ...]:
    """Each run from its first record and its last state."""
    first: dict[str, Record] = {}
    last: dict[str, Record] = {}
    for record in records:
        if record.release_id is not None:
            first.setdefault(record.release_id, record)
            last[record.release_id] = record
    return tuple(_run(opened, last[release_id]) for release_id, opened in first.items())


def _run(opened: Record, newest: Record) -> _PastRun:
    state = states_of(newest.state)[1]
    if state is None:
        raise LedgerViolation(f"record {newest.seq} of run {newest.release_id!r} has no balance of it: it was changed")
    return _PastRun(
        release_id=str(opened.release_id),
        day=opened.at[:10],
        allotment=budget_from_json(opened.facts()["allotment"]).describe(),
        spent=state.charged.main / UNIT,
        open=not state.closed,
    )
