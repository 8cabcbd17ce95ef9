"""Standard errors of a released Gaussian, sampling and privacy apart, from released quantities alone.

In the coordinates w = F (x - c) of the final release the records are close to standard, so with G = F^-1, g_i its
rows, n records and clip constants (slope and variance of the mean; shape, trace and their variances of the second
moment, see `clipping`):

| of | sampling variance | privacy variance |
|---|---|---|
| mean_i | Sigma_ii variance / (slope^2 n) | |g_i|^2 (sd of the clipped mean / slope)^2, exact |
| covariance_ij | A_ij(Sigma^(1/2) rows, shape_variance / n, trace_variance / n) | A_ij(G rows, sd^2, sd^2) |

The covariance is linearised: A_ij(rows a, s, t) is the variance of a_i' E a_j for symmetric E whose traceless part
has variance s / shape^2 and whose trace part has variance t / trace^2 in every direction of unit Frobenius norm.
Public rows that were pooled in with weight p take the factor (1 - p)^2, and add p^2 times their own sampling variance.
"""

from typing import Any

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants
from pubpriv.estimators.gaussian.learner import Fitted, Measured, expected_covariance_error, expected_mean_error
from pubpriv.estimators.gaussian.plan import LearnerPlan, final_radius, final_theta, joint_question


def standard_errors(measured: Measured, fitted: Fitted, m: int) -> dict[str, Any]:
    """{"mean" (d,), "covariance" (d, d)}: {"sampling", "privacy"}, in the table's units.

    Args:
        measured: the final release.
        fitted: the estimate made of it.
        m: public rows.
    """
    covariance = np.array(fitted.covariance)
    d, n = len(covariance), measured.records
    place, law = mean_constants(d, measured.radius), moment_constants(d, measured.radius)
    colour = np.linalg.inv(measured.frame.dense()[1])
    own = np.diag(covariance)
    p, q = fitted.mean_weight, fitted.covariance_weight
    sampling = _entry_variances(
        covariance, law.shape_variance / (n * law.shape**2), law.trace_variance / (n * law.trace**2)
    )
    noise = _entry_variances(
        colour @ colour.T, (measured.moment_sd / law.shape) ** 2, (measured.moment_sd / law.trace) ** 2
    )
    public = np.outer(own, own) + covariance**2
    return {
        "mean": {
            "sampling": np.sqrt(own * ((1 - p) ** 2 * place.variance / (place.slope**2 * n) + p**2 / m)),
            "privacy": (1 - p) * np.sqrt((colour**2).sum(axis=1)) * measured.mean_sd / place.slope,
        },
        "covariance": {
            "sampling": np.sqrt((1 - q) ** 2 * sampling + q**2 * public / (m - 1)),
            "privacy": (1 - q) * np.sqrt(noise),
        },
    }


def predicted_errors(plan: LearnerPlan, n: int, d: int) -> dict[str, float]:
    """Root mean square errors of the learner before a row is read, if it converges and the rows are Gaussian.

    Returns:
        `covariance`: relative Frobenius error; `mean`: Mahalanobis error; `covariance_noise` and `mean_noise`: the
        same with noise alone; `covariance_best` and `mean_best`: of the non-private estimates.
    """
    ask = plan.final
    radius = final_radius(n, d, ask.rho)
    noise = joint_question(Frame((0.0,) * d), radius, final_theta(d), ask).noise()
    moment, mean = (float(noise[part].max()) / n for part in ("moment", "sum"))
    told = {
        "covariance": expected_covariance_error(n, d, radius, moment),
        "mean": expected_mean_error(n, d, radius, mean),
        "covariance_best": float(np.sqrt(d * (d + 1) / n)),
        "mean_best": float(np.sqrt(d / n)),
    }
    silent = expected_covariance_error(n, d, radius, 0.0), expected_mean_error(n, d, radius, 0.0)
    for part, without in zip(("covariance", "mean"), silent, strict=True):
        told[f"{part}_noise"] = float(np.sqrt(told[part] ** 2 - without**2))
    return told


def plain_errors(
    fitted: Fitted, n: int, mean_noise: tuple[np.ndarray, float], moment_noise: tuple[np.ndarray, float]
) -> dict[str, Any]:
    """The same for an estimate without debiasing or pooling: each noise is (colour G (d, d), sd in its coordinates)."""
    covariance = np.array(fitted.covariance)
    own = np.diag(covariance)
    (mean_colour, mean_sd), (colour, sd) = mean_noise, moment_noise
    return {
        "mean": {"sampling": np.sqrt(own / n), "privacy": np.sqrt((mean_colour**2).sum(axis=1)) * mean_sd},
        "covariance": {
            "sampling": np.sqrt((np.outer(own, own) + covariance**2) / n),
            "privacy": np.sqrt(_entry_variances(colour @ colour.T, sd * sd, sd * sd)),
        },
    }


def _entry_variances(gram: np.ndarray, shape: float, trace: float) -> np.ndarray:
    """Variances of a_i' E a_j, where gram = a a', for E with variances `shape` and `trace` of its two parts.

    a_i' E a_j = <E, H> with H = (a_i a_j' + a_j a_i') / 2, so
    |H|^2 = (|a_i|^2 |a_j|^2 + (a_i . a_j)^2) / 2 and tr H = a_i . a_j.
    """
    d = len(gram)
    own = np.diag(gram)
    square = (np.outer(own, own) + gram**2) / 2
    return np.asarray(shape * (square - gram**2 / d) + trace * gram**2 / d)
