"""Forecasts of clip-and-noise and CoinPress: their questions and their errors; see `planning`."""

import math
from dataclasses import dataclass

from pubpriv.data.frames import Frame
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.estimators.gaussian.clipping import coinpress_ball, coinpress_clip
from pubpriv.estimators.mean._plan import sum_question, worth
from pubpriv.estimators.mean._reference import (
    clip_radius,
    public_radius,
    reference_plan,
)
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mean
from pubpriv.privacy.budgets import Budget, Purse


@dataclass(frozen=True)
class ReferenceMeanCase:
    """Case of `estimate_mean` by a published method.

    Attributes:
        d, m: number of columns, number of public rows.
        method: `clip-and-noise` or `coinpress`.
        rounds: rounds of CoinPress.
    """

    d: int
    m: int
    method: str
    rounds: int

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the questions, and the noise at the radii to which they will clip."""
        plan = reference_plan(self.method, purse, self.d, self.rounds)
        own = 1 / math.sqrt(n)
        error = Predicted("mean", Predicted.own_sd, own, self._noise(n, plan), own, 1 / math.sqrt(self.m))
        return Forecast(plan, (error,), variation(error.error * math.sqrt(self.d)))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as for the default method; these methods refuse no run by themselves."""
        return worth(self.forecast(n, purse).errors[0].error, self.m)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        return (
            "rows are Gaussian with the covariance that is given, and public ones are drawn from the same law",
            "this method clips around the public mean, and does not undo what that takes",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorem B.2."""
        return for_mean(self.d, terms)

    def _noise(self, n: int, plan: Plan) -> float:
        """Predict the noise sd of a coordinate of the last answer."""
        if self.method == "clip-and-noise":
            return self._noise_of(n, clip_radius(n, self.d, self.m), plan.asks[0])
        ball = public_radius(self.d, self.m)
        for ask in plan.asks:
            noise = self._noise_of(n, coinpress_clip(self.d, ball), ask)
            ball = coinpress_ball(n, self.d, noise)
        return noise

    def _noise_of(self, n: int, radius: float, ask: Ask) -> float:
        """Predict the noise sd of a coordinate of the mean of n records clipped to `radius`."""
        return float(sum_question(Frame((0.0,) * self.d), radius, ask).noise()["sum"].max()) / n
