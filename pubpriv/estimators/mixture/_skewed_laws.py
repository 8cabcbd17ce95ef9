"""Laws of one column that are a little skewed; public.

Each has mean 0 and variance 1, and is given by its values at the same chances. Laws of one skewness differ in how far
they reach: the excess kurtosis of lognormal ones is 16/9 of the squared skewness, of gamma ones 3/2, of powers of
Gaussian values 8/9 (of Poisson's it is 1), of Weibull ones less.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from pubpriv.estimators.gaussian.tail_laws import gamma_column, lognormal_column

_SKEWNESS = np.linspace(0.1, 1.0, 19)
"""Skewness of gamma and, nearly, of lognormal laws and of powers."""

_POWER = 1.5
"""Power of Gaussian values."""

_SHAPES = np.linspace(3.2, 1.5, 18)
"""Shapes of Weibull laws, of skewness .09 to 1.07; Rayleigh's has 2."""

_REACH, _STEP = 6.0, 0.004
"""Chances are those of Gaussian values up to the first number, at such steps. Five times as long ones show in counts of
100,000 rows."""

_GAUSSIAN = 0.5
"""Chance of the Gaussian before anything is known; all others are equally likely."""


@dataclass(frozen=True)
class SkewedLaws:
    """Laws of one column; the first is the Gaussian.

    Attributes:
        values: (laws, nodes).
        weights: (nodes,) chances.
        prior: (laws,) chances before anything is known.
        excess: (laws,) fourth moments minus a Gaussian's 3.
    """

    values: np.ndarray
    weights: np.ndarray
    prior: np.ndarray
    excess: np.ndarray


@cache
def skewed_laws() -> SkewedLaws:
    """List all laws, each but the first to either side."""
    from scipy.special import log_ndtr, ndtr

    places = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    weights = ndtr(places + _STEP / 2) - ndtr(places - _STEP / 2)
    weights = weights / weights.sum()
    chances = ndtr(places)
    gammas = [gamma_column(1.5 * skewness**2, chances)[1] for skewness in _SKEWNESS]
    lognormals = [lognormal_column(skewness / 3, chances)[1] for skewness in _SKEWNESS]
    powers = [np.maximum(1 + skewness / (3 * (_POWER - 1)) * places, 0.0) ** _POWER for skewness in _SKEWNESS]
    weibulls = [(-log_ndtr(-places)) ** (1 / shape) for shape in _SHAPES]
    to_a_side = [_standard(values, weights) for values in (*gammas, *lognormals, *powers, *weibulls)]
    values = np.stack([_standard(places, weights), *to_a_side, *(-each for each in to_a_side)])
    others = len(values) - 1
    prior = np.append(_GAUSSIAN, np.full(others, (1 - _GAUSSIAN) / others))
    return SkewedLaws(values, weights, prior, values**4 @ weights - 3)


def _standard(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give values mean 0 and variance 1."""
    values = values - float(weights @ values)
    return np.asarray(values / math.sqrt(float(weights @ values**2)))
