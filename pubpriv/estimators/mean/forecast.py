"""What `estimate_mean` would ask, and how far its answer would be off; see `planning`."""

import math
from dataclasses import dataclass

from pubpriv.estimators.mean.plan import combined, feasible, mean_plan, two_step_errors
from pubpriv.estimators.planning import OWN_SD, Forecast, Predicted
from pubpriv.privacy.budgets import Budget, Purse


@dataclass(frozen=True)
class MeanCase:
    """`estimate_mean` by its default method, for d columns and m public rows."""

    d: int
    m: int

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Two steps, combined with the public mean."""
        plan = mean_plan(purse, n, self.d, self.m)
        weights, _ = combined(*plan.steps, n, 1 / self.m)
        own, noise = two_step_errors(plan, weights, (plan.steps[0].privacy, plan.steps[1].privacy))
        error = Predicted("mean", OWN_SD, own, noise, 1 / math.sqrt(n), 1 / math.sqrt(self.m))
        return Forecast(plan, (error,))

    def feasible(self, n: int, purse: Purse) -> bool:
        """As the driver decides."""
        return feasible(n, self.d, self.m, purse.rho)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        return ("rows are Gaussian with the covariance that is given, public ones are drawn from the same law",)
