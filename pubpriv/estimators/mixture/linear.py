"""Small linear algebra that several steps share."""

import math
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_thread(step: Callable[_P, _R]) -> Callable[_P, _R]:
    """Run a step's BLAS and OpenMP on one thread: on small problems threads only wait for each other.

    And let scikit-learn look at data only, not at each of its own settings again: for few rows that takes a tenth.
    """

    @wraps(step)
    def alone(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        from sklearn import config_context

        with _pools().limit(limits=1), config_context(skip_parameter_validation=True):
            return step(*args, **kwargs)

    return alone


@cache
def _pools() -> Any:
    """The process's thread pools, looked for once: that takes milliseconds."""
    import sklearn.mixture  # noqa: F401 - what it loads must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def clip_radius(d: int, inflation: float = 1.05) -> float:
    """A little beyond the 99% quantile of |z| for a standard Gaussian z in R^d."""
    from scipy.special import gammaincinv

    return inflation * math.sqrt(2 * float(gammaincinv(d / 2, 0.99)))


def floored(covariance: np.ndarray, floor: np.ndarray | float) -> np.ndarray:
    """C with eigenvalues, relative to diag(floor), of at least one: symmetric and positive definite."""
    root = np.sqrt(np.broadcast_to(floor, covariance.shape[:1]))
    outer = np.outer(root, root)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / outer)
    return np.asarray((vectors * np.maximum(values, 1.0)) @ vectors.T * outer)
