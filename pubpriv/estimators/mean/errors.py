"""Standard errors of a released mean: sampling and privacy apart, from the plan and the noise that was drawn.

In whitened coordinates every coordinate of the estimate has the same error, so a column's is that times the standard
deviation that the known covariance gives it. With weights w1, w2, w3 of step 1, step 2 and the public mean:

| part | variance per whitened coordinate |
|---|---|
| sampling | w1^2 s1 + w2^2 s2 + 2 w1 w2 / n + w3^2 / m, s the plan's sampling variance of a debiased step |
| privacy | w1^2 p1 + w2^2 p2, p the noise variance of a debiased step: exact |

The sampling part assumes Gaussian rows of the known covariance, and public rows of the same distribution.
"""

import math
from collections.abc import Mapping

import numpy as np

from pubpriv.estimators.mean.plan import MeanPlan


def two_step_errors(plan: MeanPlan, weights: np.ndarray, noise: tuple[float, float]) -> tuple[float, float]:
    """(sampling, privacy) standard deviations of one whitened coordinate.

    Args:
        plan: with the sampling variance of each step.
        weights: (3,) of step 1, step 2 and the public mean.
        noise: noise variance of one coordinate of each debiased step.
    """
    first, second = plan.steps
    own = weights[0] ** 2 * first.sampling + weights[1] ** 2 * second.sampling + 2 * weights[0] * weights[1] / plan.n
    drawn = weights[0] ** 2 * noise[0] + weights[1] ** 2 * noise[1]
    return math.sqrt(own + weights[2] ** 2 / plan.m), math.sqrt(drawn)


def told_errors(sampling: float, privacy: float, deviations: np.ndarray) -> Mapping[str, Mapping[str, list[float]]]:
    """The `standard_errors` of a mean, in the data's units: {"mean": {"sampling": [d], "privacy": [d]}}."""
    return {"mean": {"sampling": (sampling * deviations).tolist(), "privacy": (privacy * deviations).tolist()}}
