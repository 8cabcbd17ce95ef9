"""Forecast of a run: its questions, how much wider intervals are than without privacy, and which effects they show."""

import math
from dataclasses import dataclass, replace

from pubpriv.estimators.planning import MOST_ROWS, Case, CaseOverAnother, Forecast, Predicted
from pubpriv.estimators.regression.plan import RegressionPlan, enough, ratio, shared
from pubpriv.privacy.budgets import Budget, Purse

_SHOWN = 2.8
"""Standard errors of an effect that a test at 5% shows in four of five releases."""


@dataclass(frozen=True)
class RegressionCase(CaseOverAnother):
    """Case of `estimate_regression`, made from the case of its start.

    Attributes:
        case: the case of a Gaussian with the target `moments`.
    """

    case: Case

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the errors of coefficients, in sds of the outcome's residual per sd of a column."""
        start, own = shared(purse)
        begun = self.case.forecast(n, start)
        asks = *begun.plan.asks, *RegressionPlan.of(own, self.d).asks
        sampling = 1 / math.sqrt(max(n - self.d, 1))
        noise = sampling * math.sqrt(max(ratio(n, self.d, purse) ** 2 - 1, 0.0))
        public = 1 / math.sqrt(self.m - self.d) if self.m > self.d else None
        unit = "residual sds per sd of a column that others do not explain"
        error = Predicted("coefficient", unit, sampling, noise, sampling, public)
        return Forecast(replace(begun.plan, asks=asks), (error,))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether a run is worth its price."""
        return enough(n, self.d, purse)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what the errors mean, and which effects they show."""
        purse = Purse.of(budget)
        wider = ratio(n, self.d, purse)
        least = _SHOWN * wider / math.sqrt(max(n - self.d, 1))
        shows = (
            f"this budget shows an effect of {least:.2g} residual sds per sd of a column, or more, in four of five "
            "releases, where no other columns explain that column; a share R2 of it explained takes 1 / sqrt(1 - R2) "
            "times as much"
        )
        costs = (
            f"intervals are about {wider:.2f} times as wide as without privacy; interactions and levels are columns, "
            "and cost as columns do"
        )
        return (
            shows,
            costs,
            "three tenths of the budget are for a mean and covariance to start from, which give R2, too",
        )
