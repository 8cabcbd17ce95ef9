"""The privacy statement of a run as plain data: its questions, their costs, and the guarantee."""

from dataclasses import asdict, dataclass
from typing import Any

from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.events import Event, PureEvent, RadialEvent, ThresholdEvent
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.wording import statement_of_periods

_NEIGHBOURING = "replace one record; the number of records is public"
_NEIGHBOURING_DATED = "replace one record, its date included; the number of records in a period is private"
_NEIGHBOURING_PERSONS = (
    "replace, add or remove one person with all rows of that person; the numbers of persons and of rows are private"
)


@dataclass(frozen=True)
class _Line:
    """One charge in a statement.

    `sensitivity` is the l2 distance of neighbours' totals in units of the noise (mu of the release, or epsilon of
    a pure mechanism); `noise_scale` has the integer standard deviations of its parts, if the noise is Gaussian.
    """

    label: str
    question: str
    sensitivity: float
    noise_scale: tuple[int, ...]
    cost: str


@dataclass(frozen=True)
class Statement:
    """The privacy statement of a run, in plain data."""

    private: bool
    dataset: str | None
    release_id: str | None
    unit: str
    kind: str
    guarantee: dict[str, Any]
    spent: str
    charges: tuple[_Line, ...]
    chain_head: str | None = None
    person: tuple[str, ...] = ()
    period: str | None = None
    periods: PeriodTerms | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the `privacy` part of a model file.

        `person` has the id columns if the unit is a person. If the dataset has periods, `period` is that of the run
        (null: all of them), and `periods` has the promise for each period.
        """
        by_row = _NEIGHBOURING if self.periods is None else _NEIGHBOURING_DATED
        return {
            "unit": self.unit,
            **({"person": list(self.person)} if self.person else {}),
            **({} if self.periods is None else statement_of_periods(self.periods, self.period, bool(self.person))),
            "neighbouring": _NEIGHBOURING_PERSONS if self.person else by_row,
            "kind": self.kind,
            "guarantee": self.guarantee,
            "spent": self.spent,
            "charges": [asdict(line) for line in self.charges],
        }


def line_of(label: str, question: str, event: Event, cost: Amount, allotment: Budget) -> _Line:
    """Make the line of a charge: what it was for, and what it cost in the currency of the allotment."""
    if isinstance(event, PureEvent | RadialEvent):
        return _Line(label, question, float(event.epsilon), (), allotment.amount_text(cost))
    noisy = event.gaussian if isinstance(event, ThresholdEvent) else event
    scales = tuple(sd for sd, _ in noisy.noise)
    return _Line(label, question, float(noisy.squared_distance) ** 0.5, scales, allotment.amount_text(cost))
