"""Effect of one more run of a period on the period's cap, and on the cap for all periods together."""

from dataclasses import dataclass
from typing import Any

from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.views import Balance
from pubpriv.privacy.units import UNIT


@dataclass(frozen=True)
class Room:
    """A cap, and how much of it a run takes; amounts in the currency of `budget`.

    Attributes:
        budget: the promised cap.
        cap, spent, held: amounts of the cap.
        run: amount that the run would hold.
        runs: number of such runs that fit, if none is closed before the next.
    """

    budget: Budget
    cap: Amount
    spent: Amount
    held: Amount
    run: Amount
    runs: int

    @property
    def remaining(self) -> Amount:
        """The most that a new run could hold."""
        return self.cap - self.spent - self.held

    def to_json(self) -> dict[str, Any]:
        """Return floats in the main unit of the budget."""
        amounts = {name: getattr(self, name).main / UNIT for name in ("cap", "spent", "held", "remaining", "run")}
        return {"budget": self.budget.written(), **amounts, "runs": self.runs}


@dataclass(frozen=True)
class PeriodOutlook:
    """Outlook for a run of one period, and for one like it in each later period.

    Attributes:
        period: name of the period.
        terms: the dataset's terms.
        persons: whether the unit of the dataset is a person.
        own: the period's cap, against which its own runs and runs of all rows count.
        lifetime: the dataset's cap, of which each period's run takes the same amount; None: it was waived.
    """

    period: str
    terms: PeriodTerms
    persons: bool
    own: Room
    lifetime: Room | None

    @classmethod
    def of(cls, balance: Balance, terms: PeriodTerms, allotment: Budget, period: str) -> "PeriodOutlook":
        """Compute the outlook from the balance of a dataset.

        Args:
            balance: balance of the dataset.
            terms: terms of its periods.
            allotment: the run's allotment.
            period: the run's period.

        Raises:
            InvalidInput: not a period of this dataset, or a kind of allotment that cannot be charged to a cap.
        """
        terms.check_named(period)
        persons, cap = balance.person is not None, balance.period_cap
        counted = [each for each in balance.by_period if each.name in (None, period)]
        spent = sum((each.spent for each in counted), Amount(0))
        held = sum((each.held for each in counted), Amount(0))
        fitting = allotment.how_many(terms.budget, cap, cap - spent - held)
        own = Room(terms.budget, cap, spent, held, terms.hold(allotment, persons), fitting)
        return cls(period, terms, persons, own, _lifetime(balance, allotment) if balance.capped else None)

    def to_json(self) -> dict[str, Any]:
        """Turn it into plain data."""
        lifetime = None if self.lifetime is None else self.lifetime.to_json()
        return {"name": self.period, "unit": self.terms.unit, "cap": self.own.to_json(), "lifetime": lifetime}


def _lifetime(balance: Balance, allotment: Budget) -> Room:
    budget, cap = balance.budget, balance.cap
    fitting = allotment.how_many(budget, cap, balance.remaining)
    return Room(budget, cap, balance.spent, balance.held, allotment.hold_on(budget, cap, cap), fitting)
