"""Forecasts of estimates by group: the question and the errors; see `planning`."""

import math
from dataclasses import dataclass, replace

from pubpriv.data.categories import ByCategory
from pubpriv.data.public_categories import groups_of
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.groups.plan import SHARE, group_ask, parts_of, weights_ask
from pubpriv.estimators.planning import Case, CaseOverAnother, Forecast, Predicted, Size
from pubpriv.estimators.settings import Grouped
from pubpriv.privacy.budgets import Budget, Purse


def case_by_group(settings: Grouped, public: PublicTable | Size, case: Case, of: str) -> Case:
    """Return the case of a run by group, made from the case of all rows together; without groups, that case itself.

    Raises:
        InvalidInput: nothing says which groups there are.
    """
    by = groups_of_case(settings, public)
    return case if by is None else _GroupCase(case, by, of)


def groups_of_case(settings: Grouped, public: PublicTable | Size) -> ByCategory | None:
    """Return the groups of a planned run: as declared, or those of the public rows; None if there are none.

    Raises:
        InvalidInput: nothing says which groups there are.
    """
    if settings.by is None:
        return None
    if settings.by_values:
        return ByCategory(settings.by, settings.by_values)
    if isinstance(public, Size) or public.source is None:
        raise InvalidInput("say which groups there will be: --by-values A,B,C, or --public FILE that has them")
    return groups_of(public.source, settings.by)


@dataclass(frozen=True)
class _GroupCase(CaseOverAnother):
    """Another case, by group.

    Attributes:
        case: the case of all rows together.
        by: the groups.
        of: name of the estimator: `mean`, `gaussian` or `mixture`.
    """

    by: ByCategory
    of: str

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict all rows together with their part of the purse, then groups of equal size."""
        whole, groups = self._parts(purse)
        forecast, rows = self.case.forecast(n, whole), n / self.by.n_regions
        ask = weights_ask(groups, self.by) if self.of == "mixture" else self._moments(groups)
        assert ask.question is not None
        noise = ask.question.noise()
        equal = f"in one of {self.by.n_regions} equal groups, before they are drawn together"
        if self.of == "mixture":
            own, apart = 1 / (2 * math.sqrt(rows)), float(noise["count"].max()) / rows
            error = Predicted(f"weight of a component {equal}", "", own, apart, own, None)
        else:
            own, apart = 1 / math.sqrt(rows), float(noise["sum"].flat[0]) / rows
            error = Predicted(f"mean of a column {equal}", Predicted.own_sd, own, apart, own, None)
        plan = replace(forecast.plan, asks=(*forecast.plan.asks, ask))
        return replace(forecast, plan=plan, errors=(*forecast.errors, error))

    def _moments(self, purse: Purse) -> Ask:
        return group_ask(purse, self.by, self.d, self.of == "gaussian")

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the other case does with its part of the purse."""
        return self.case.feasible(n, self._parts(purse)[0])

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Give the other case's notes, and the price of the groups."""
        whole, _ = parts_of(budget)
        share = f"{float(SHARE):.0%} of the budget is for {self.by.n_regions} groups by {self.by.column}"
        return (*self.case.notes(n, whole), f"{share}, asked at once; more of them cost no more noise")

    def _parts(self, purse: Purse) -> tuple[Purse, Purse]:
        whole, groups = (purse.part(price) for price in purse.split([1 - SHARE, SHARE]))
        return whole, groups
