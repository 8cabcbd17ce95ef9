"""Small linear algebra that several steps share."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from pubpriv.data.arithmetic import in_one_thread
from pubpriv.estimators._lengths import length_quantile

_P = ParamSpec("_P")
_R = TypeVar("_R")

_FINEST = 1e-12
"""Least eigenvalue of a correlation matrix, as a part of the largest: sums of squares are exact to some 1e-16."""


def one_thread(step: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run a step on one thread (`in_one_thread`), without scikit-learn's checks of its own settings.

    With few rows, these checks take a tenth of the time.
    """

    @wraps(step)
    def alone(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        from sklearn import config_context

        with in_one_thread(), config_context(skip_parameter_validation=True):
            return step(*args, **kwargs)

    return alone


def clip_radius(d: int, inflation: float = 1.05) -> float:
    """Give a clip radius: `inflation` times the 99% quantile of |z| for a standard Gaussian z in R^d."""
    return inflation * length_quantile(d, 0.99)


def floored(covariance: np.ndarray, floor: np.ndarray | float) -> np.ndarray:
    """Raise the eigenvalues of a covariance, relative to diag(floor), to at least one: symmetric, positive definite."""
    root = np.sqrt(np.broadcast_to(floor, covariance.shape[:1]))
    outer = np.outer(root, root)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / outer)
    return np.asarray((vectors * np.maximum(values, 1.0)) @ vectors.T * outer)


def definite(covariances: np.ndarray) -> np.ndarray:
    """Give covariances (k, d, d) whose correlations have eigenvalues that rounding cannot make negative.

    Those that have them stay as they are. A component that holds clusters far apart is so much longer than it is wide
    that its width is lost when it is mapped to other coordinates.
    """
    found = []
    for covariance in covariances:
        variances = np.diag(covariance)
        values = np.linalg.eigvalsh(covariance / np.sqrt(np.outer(variances, variances)))
        least = _FINEST * values[-1]
        found.append(covariance if values[0] > least else floored(covariance, least * variances))
    return np.array(found)
