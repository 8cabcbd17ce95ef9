"""What a dataset's ledger says of its budget, run by run: read only, and without anybody's name or clock.

Times of charges show how long steps took, which may depend on rows (`docs/privacy.md`); so a run is dated by the day
on which it was opened, and nothing else is.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubpriv.privacy.units import UNIT

if TYPE_CHECKING:
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.past import PastRun

_MOST_RUNS = 100
"""So many runs are shown one by one; of those before them their number and sum."""


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
        guarantee: of the cap, as `Budget.guarantee` puts it.
        currency: epsilon, rho or mu^2.
        cap, spent, held: in the currency.
        runs: the newest.
        earlier: how many there were before them.
        spent_earlier: by those, in the currency.
        own: release id that was asked for, if the ledger has it; it may be of an earlier run.
        periods: what each period may give away, in a sentence; empty where the dataset has none.
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
            ledger: of the dataset.
            dataset: its name.
            release_id: of a release whose page it is for.

        Raises:
            InvalidInput: the ledger does not know it.
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
        """How many runs there ever were."""
        return self.earlier + len(self.runs)

    def knows(self, release_id: str | None) -> bool:
        """Tell whether a run of this id is among the newest, or is the one that was asked for."""
        return release_id is not None and release_id in {self.own, *(run.release_id for run in self.runs)}

    @property
    def remaining(self) -> float:
        """What a new run could hold."""
        return max(0.0, self.cap - self.spent - self.held)


def _run(run: "PastRun") -> _PastRun:
    return _PastRun(
        release_id=run.release_id,
        day=run.opened_at[:10],
        allotment=run.allotment.describe(),
        spent=run.charged.main / UNIT,
        open=not run.closed,
    )
