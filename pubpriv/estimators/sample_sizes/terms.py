"""Terms for which theorems are evaluated: the accuracy that they promise, and the privacy budget."""

import math
from dataclasses import dataclass

from pubpriv.privacy.budgets import ApproximateDP, Budget, PureDP, Purse

ALPHA = 0.1
"""Total variation error that sample sizes are for; divided by 2 k, the floor of weights in algorithms 7 and 10."""

BETA = 0.05
"""Probability of failure in the theorems."""


@dataclass(frozen=True)
class Terms:
    """A budget in the theorems' parameters, and the required accuracy.

    Attributes:
        rho: rho of zCDP; for an (epsilon, delta) budget, mu^2 / 2 of the Gaussian mechanism that it permits; None:
            pure.
        epsilon: epsilon of an (epsilon, delta) or a pure budget; for a zCDP budget, the epsilon that it implies at
            `delta`.
        delta: None: pure.
        alpha: total variation distance of each released component from the true one.
        beta: probability of missing it.
    """

    rho: float | None
    epsilon: float
    delta: float | None
    alpha: float = ALPHA
    beta: float = BETA

    @classmethod
    def of(cls, budget: Budget) -> "Terms":
        """Convert a budget."""
        if isinstance(budget, PureDP):
            return cls(None, float(budget.epsilon), None)
        delta = budget.delta if isinstance(budget, ApproximateDP) else budget.report_delta
        epsilon = budget.epsilon if isinstance(budget, ApproximateDP) else budget.as_epsilon(budget.cap)
        return cls(Purse.of(budget).rho, float(epsilon), float(delta))


def logarithm(value: float) -> float:
    """Return one logarithm in place of a polylogarithm, at least 1."""
    return max(1.0, math.log(value))
