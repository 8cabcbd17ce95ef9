"""Forecast of `algorithm-2`: its questions and its errors; see `planning`.

The rounds are followed in the worst direction, the one in which d + 1 public rows spread most, with about 4 times the
variance. There the second moment starts at 1 / (4 L (K + R^2)). A round releases about m + e x, with m the moment, e
the edge of the noise and x distributed by the semicircle law, and the next map divides by its positive part plus
CoinPress's slack.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, LiftedGram
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._preconditioner import check_rows
from pubpriv.estimators.gaussian._reference import (
    STANDING_OUT,
    moment_clip,
    promised,
    reference_plan,
    slack,
)
from pubpriv.estimators.gaussian.clipping import coinpress_ball, coinpress_clip
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_gaussian
from pubpriv.privacy.budgets import Budget, Purse

_BETA = 0.1
"""Default probability that bounds from public rows fail."""

_WIDEST = 4.0
"""Approximate largest eigenvalue of a sample covariance of d + 1 standard rows."""

_ANGLES = np.arange(1, 16) * np.pi / 16
_NODES, _SHARES = np.cos(_ANGLES), np.sin(_ANGLES) ** 2 / 8
"""Nodes and weights of Gaussian quadrature for the semicircle law on [-1, 1]."""


@dataclass(frozen=True)
class _End:
    """The state after all rounds.

    Attributes:
        moment: second moment of the worst direction, in the coordinates of the last round.
        sd: noise sd of a diagonal entry there.
        mean_sd: noise sd of a coordinate of the mean.
    """

    moment: float
    sd: float
    mean_sd: float


@dataclass(frozen=True)
class ReferenceGaussianCase:
    """Case of `estimate_gaussian` by Algorithm 2, on the first d + 1 of m public rows."""

    d: int
    m: int

    most_rows = MOST_ROWS

    def __post_init__(self) -> None:
        check_rows(self.m, self.d)

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict rounds for the second moment, then rounds for the mean."""
        d, plan = self.d, reference_plan(purse, self.d)
        end = self._end(n, plan.covariance, plan.mean)
        own = math.sqrt(d * (d + 1) / n), math.sqrt(d / n)
        noise = end.sd * math.sqrt(d * (d + 1) / 2) / end.moment, end.mean_sd * math.sqrt(d)
        public = math.sqrt(d * (d + 1) / (self.m - 1)), math.sqrt(d / self.m)
        named = ("covariance", Predicted.relative), ("mean", "Mahalanobis")
        errors = tuple(Predicted(*name, own[i], noise[i], own[i], public[i]) for i, name in enumerate(named))
        return Forecast(plan, errors, variation(errors[1].error, errors[0].error))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the smallest eigenvalue will exceed the last round's noise, as a run tests afterwards."""
        plan = reference_plan(purse, self.d)
        end = self._end(n, plan.covariance, plan.mean)
        return end.moment > (STANDING_OUT + 1) * end.sd * math.sqrt(2 * self.d)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the errors assume, and what Algorithm 1 guarantees."""
        _, spread, distance = promised(self.d, _BETA, 0.0)
        return (
            "errors are those of Gaussian rows, in the direction in which the public rows are furthest off",
            f"algorithm 1 promises a spread K of {spread:.2g} and a distance R of {distance:.2g}, where rounds begin",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorems B.5 and B.12, and of methods without public rows."""
        return for_gaussian(self.d, terms)

    def _end(self, n: int, covariance: Sequence[Ask], mean: Sequence[Ask]) -> _End:
        d = self.d
        low, spread, ball = promised(d, _BETA, 0.0)
        following = 1 / (_WIDEST * low * (spread + ball**2))
        for ask in covariance:
            moment, sd = following, _moment_noise(d, ask) / n
            released = np.maximum(moment + sd * math.sqrt(2 * d) * _NODES, 0.0)
            following = min(1.0, moment * float(_SHARES @ (1 / (released + slack(n, d)))))
        for ask in mean:
            mean_sd = _mean_noise(d, coinpress_clip(d, ball), ask) / n
            ball = coinpress_ball(n, d, mean_sd)
        return _End(moment, sd, mean_sd)


def _mean_noise(d: int, radius: float, ask: Ask) -> float:
    """Predict the noise sd of a coordinate of the sum."""
    asked = ClippedSums.priced(Everything(), (Frame((0.0,) * d),), (radius,), ask.price)
    return float(asked.noise()["sum"].max())


def _moment_noise(d: int, ask: Ask) -> float:
    """Predict the noise sd of a diagonal entry of the sum of products."""
    asked = LiftedGram.second_moment(Everything(), (Frame((0.0,) * d),), (moment_clip(d),), ask.price)
    return float(asked.noise()["moment"].max())
