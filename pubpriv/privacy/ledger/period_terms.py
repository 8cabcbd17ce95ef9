"""Terms of a dataset whose table grows: a cap for each period, in addition to that of the dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pubpriv.common.column_names import name_of
from pubpriv.common.periods import UNITS, Span
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.privacy.budgets import Amount, Budget, PureDP, budget_from_json
from pubpriv.privacy.ledger._names import check_text


@dataclass(frozen=True)
class PeriodTerms:
    """Each run asks rows of one period or of all periods, and each period has a cap.

    Attributes:
        unit: unit of the periods: `day`, `week`, `month`, `quarter` or `year`.
        column: date column of the dataset's tables, which says in which period a row lies.
        budget: cap of each period. Runs without a period count in every period.
        lifetime: whether the dataset's own cap holds too; it may be waived if the unit is a row.

    Raises:
        InvalidInput: not such a unit, no column, or a budget whose noise is not Gaussian.
    """

    unit: str
    column: str
    budget: Budget
    lifetime: bool = True

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InvalidInput(
                f"periods are written UNIT:COLUMN, as month:visit_date, and a unit is {', '.join(UNITS)}, not "
                f"{self.unit!r}"
            )
        check_text(self.column, "name of the date column")
        if not isinstance(self.budget, Budget) or isinstance(self.budget, PureDP):
            raise InvalidInput("the cap of a period is written zcdp:RHO or approx:EPSILON,DELTA")

    @classmethod
    def parse(cls, text: str, budget: Budget, lifetime: bool = True) -> "PeriodTerms":
        """Parse `month:visit_date`.

        Raises:
            InvalidInput: the text has another form.
        """
        unit, _, column = text.partition(":")
        return cls(unit.strip(), name_of(column, "the date column of periods"), budget, lifetime)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "PeriodTerms | None":
        """Read the terms from a record that registers a dataset or changes its terms; None: it has no periods."""
        if "periods" not in body:
            return None
        found = body["periods"]
        return cls(found["unit"], found["column"], budget_from_json(found["budget"]), bool(found["lifetime"]))

    def to_json(self) -> dict[str, Any]:
        """Return the terms as stored in a record."""
        return {
            "periods": {
                "unit": self.unit,
                "column": self.column,
                "budget": self.budget.to_json(),
                "lifetime": self.lifetime,
            }
        }

    def cap(self, persons: bool) -> Amount:
        """Return the largest sum of charges of a period.

        If the unit is a row, a row whose date changes is in two periods, so each has half the reserve for failure
        terms (`data.questions.in_period` has the rest of the proof).

        Args:
            persons: whether the unit of the dataset is a person.
        """
        cap = self.budget.cap
        return cap if persons else Amount(cap.main, cap.delta // 2)

    def hold(self, allotment: Budget, persons: bool) -> Amount:
        """Convert a run's allotment to the currency of a period's cap; see `Budget.hold_on`."""
        cap = self.cap(persons)
        return allotment.hold_on(self.budget, cap, cap)

    def check_named(self, period: str | None) -> None:
        """Refuse a name that is not one of these periods; None (all periods) is allowed.

        Raises:
            InvalidInput: it is not.
        """
        if period is not None and Span.of(period).unit != self.unit:
            raise InvalidInput(f"{period!r} is no {self.unit}, and the periods of this dataset are: see --period")

    def described(self) -> str:
        """Describe the terms within a sentence: `each month of visit_date, at most 0.1-zCDP`."""
        return f"each {self.unit} of {self.column}, at most {self.budget.describe()}"


def agreed(
    dataset: str,
    known: PeriodTerms | None,
    asked: PeriodTerms | None,
    budget: Budget,
    persons: bool,
    reason: str | None,
) -> PeriodTerms | None:
    """Return the new terms of a dataset after a request; the promise never becomes weaker.

    A dataset may get periods later, which are one more limit. The dataset's cap may be waived if the unit is a row:
    each period's cap then holds for every row forever, and is not larger than the waived cap.

    Args:
        dataset: name of the dataset.
        known: registered terms.
        asked: requested terms; None: no request about periods.
        budget: first registered budget of the dataset.
        persons: whether its unit is a person.
        reason: reason for waiving the cap.

    Raises:
        SpecMismatch: other periods, or another cap for them.
        InvalidInput: a cap larger than the dataset's or of another kind, or a waiver without a reason or for persons.
    """
    if asked is None or asked == known or (known is not None and asked == replace(known, lifetime=True)):
        return known
    if known is not None and asked != replace(known, lifetime=False):
        raise SpecMismatch(
            f"dataset {dataset!r} has periods already: {known.described()}. They never change, for what was asked "
            "was asked under them"
        )
    if asked.budget.kind != budget.kind or not _within(asked.budget, budget):
        raise InvalidInput(
            f"the cap of a period is a {budget.kind} budget like that of the dataset, and not larger than "
            f"{budget.written()}; it cannot be {asked.budget.written()}"
        )
    if not asked.lifetime and persons:
        raise InvalidInput(
            "where the unit of the dataset is a person, what periods give away of one person adds up, so the dataset's "
            "cap stays: leave out --lifetime none"
        )
    if not asked.lifetime and not reason:
        raise InvalidInput("say why the dataset needs no cap for all periods together: --lifetime none --reason TEXT")
    return asked


def _within(part: Budget, whole: Budget) -> bool:
    """Check that no parameter of a budget is larger than that of another budget of its kind."""
    return all(getattr(part, name) <= getattr(whole, name) for name in whole.parameters)
