"""What theorems are asked about: the accuracy that they promise, and the privacy that they are given."""

import math
from dataclasses import dataclass

from pubpriv.privacy.budgets import ApproximateDP, Budget, PureDP, Purse

ALPHA = 0.1
"""Total variation error that sample sizes are stated for; over 2 k, the floor of weights in algorithms 7 and 10."""

BETA = 0.05
"""Probability of failure in the theorems."""


@dataclass(frozen=True)
class Terms:
    """A budget as theorems read it, and the accuracy that is asked of them.

    Attributes:
        rho: of zCDP; of an (epsilon, delta) budget mu^2 / 2 of the Gaussian mechanism that it admits; None: pure.
        epsilon: of an (epsilon, delta) or a pure budget; of a zCDP budget what it implies at `delta`.
        delta: None: pure.
        alpha: total variation distance of each released component from the true one.
        beta: chance of missing it.
    """

    rho: float | None
    epsilon: float
    delta: float | None
    alpha: float = ALPHA
    beta: float = BETA

    @classmethod
    def of(cls, budget: Budget) -> "Terms":
        """Read a budget."""
        if isinstance(budget, PureDP):
            return cls(None, float(budget.epsilon), None)
        delta = budget.delta if isinstance(budget, ApproximateDP) else budget.report_delta
        epsilon = budget.epsilon if isinstance(budget, ApproximateDP) else budget.as_epsilon(budget.cap)
        return cls(Purse.of(budget).rho, float(epsilon), float(delta))


def logarithm(value: float) -> float:
    """Return one logarithm in the place of a polylogarithm, never below 1."""
    return max(1.0, math.log(value))
