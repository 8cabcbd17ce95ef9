"""A dataset's budget in the ledger, run by run, without names of people or times.

Times of charges show how long steps took, which may depend on rows (`docs/privacy.md`). So the only date is the day on
which a run was opened.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubpriv.privacy.units import UNIT

if TYPE_CHECKING:
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.past import PastRun

_MOST_RUNS = 100
"""Number of runs that are shown one by one; earlier runs are counted and summed."""


@dataclass(frozen=True)
class _PastRun:
    """One run of a dataset.

    Attributes:
        release_id: release id.
        day: day on which it was opened (UTC).
        allotment: its allotment, in words.
        spent: its charges, in the ledger's currency.
        open: whether it may still charge.
    """

    release_id: str
    day: str
    allotment: str
    spent: float
    open: bool


@dataclass(frozen=True)
class History:
    """A dataset's budget and its runs, oldest first.

    Attributes:
        dataset: name of the dataset.
        budget: the cap, in words.
        guarantee: guarantee of the cap (`Budget.guarantee`).
        currency: epsilon, rho or mu^2.
        cap, spent, held: amounts in the currency.
        runs: the newest runs.
        earlier: number of earlier runs.
        spent_earlier: amount that those spent, in the currency.
        own: the requested release id, if the ledger has it; it may belong to an earlier run.
        periods: sentence about the budget of each period; empty if the dataset has no periods.
        capped: whether the cap holds for all periods together.
    """

    dataset: str
    budget: str
    guarantee: dict[str, Any]
    currency: str
    cap: float
    spent: float
    held: float
    runs: tuple[_PastRun, ...]
    earlier: int = 0
    spent_earlier: float = 0.0
    own: str | None = None
    periods: str = ""
    capped: bool = True

    @classmethod
    def of(cls, ledger: "Ledger", dataset: str, release_id: str | None = None) -> "History":
        """Read the history of one dataset.

        Args:
            ledger: ledger of the dataset.
            dataset: name of the dataset.
            release_id: release whose page shows the history.

        Raises:
            InvalidInput: the ledger does not have the dataset.
            LedgerViolation: a record cannot be read.
        """
        balance, past = ledger.balance(dataset), ledger.past(dataset, _MOST_RUNS)
        terms = balance.periods
        return cls(
            dataset=dataset,
            budget=balance.budget.describe(),
            guarantee=balance.promised.guarantee(),
            currency=balance.budget.currency,
            cap=balance.cap.main / UNIT,
            spent=balance.spent.main / UNIT,
            held=balance.held.main / UNIT,
            runs=tuple(map(_run, past.runs)),
            earlier=past.earlier,
            spent_earlier=past.spent_earlier.main / UNIT,
            own=release_id if release_id is not None and ledger.ended(dataset, (release_id,)) else None,
            periods="" if terms is None else f"Each {terms.unit} has a budget of its own, {terms.budget.describe()}.",
            capped=balance.capped,
        )

    @property
    def number(self) -> int:
        """Number of all runs."""
        return self.earlier + len(self.runs)

    def knows(self, release_id: str | None) -> bool:
        """Check whether this release id is among the newest runs, or is the requested one."""
        return release_id is not None and release_id in {self.own, *(run.release_id for run in self.runs)}

    @property
    def remaining(self) -> float:
        """The most that a new run could hold."""
        return max(0.0, self.cap - self.spent - self.held)


def _run(run: "PastRun") -> _PastRun:
    return _PastRun(
        release_id=run.release_id,
        day=run.opened_at[:10],
        allotment=run.allotment.describe(),
        spent=run.charged.main / UNIT,
        open=not run.closed,
    )
