"""Rows that a column takes far out: what that tells of a single long column among Gaussian ones.

Lengths of rows hardly show such a column among many, and clipping takes more from its variance than all other errors.
So each row is counted for the column in which it is furthest out, if that is beyond `FAR_OUT`, and each column is
compared with the others: what these have beyond a Gaussian's rows is no sign of a single long one.
"""

import math
from fractions import Fraction

import numpy as np

from pubpriv.privacy.budgets import Purse, percent

FAR_OUT = 3.0
"""A column takes a row far out beyond this many standard deviations: Gaussian ones do one row in four hundred, one of t
with five degrees of freedom four times as many, and the difference shows best about here beside noise."""

_NOISE, _MOST, _LEAST = 0.002, percent(3), Fraction(1, 1000)
"""Rows are counted with noise of this share of all, about a quarter of what a long column has more than others, for at
most and at least these shares of the budget; ..."""

_WORTH, _COLUMNS = 5, 3
"""... not where this would take so many times the most: noise would hide all but very long columns, which lengths show;
nor with fewer columns, for the same reason."""

_OF_MEDIAN = math.pi / 2
"""Variance of the median of many numbers over that of their mean."""


def far_share(n: float, d: int, purse: Purse) -> Fraction:
    """Compute the share of the budget for counting such rows, of n rows of d columns; 0: not asked.

    A pure run is not asked: radial noise grows with the number of counts.
    """
    wanted = Fraction(1 / (purse.rho * (_NOISE * n) ** 2)).limit_denominator(1000)
    if d < _COLUMNS or purse.radial or wanted > _WORTH * _MOST:
        return Fraction(0)
    return min(_MOST, max(_LEAST, wanted))


def furthest(d: int, length: float) -> float:
    """Tell how far out one of d columns takes rows of this length, if the others are as usual."""
    return math.sqrt(max(length**2 - (d - 1), 0.0))


def gaussian_tails(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (shares of Gaussian values beyond `ends`, in sds, their slopes in the logarithm of the scale)."""
    from scipy.special import ndtr

    return np.asarray(ndtr(-ends)), np.asarray(ends * np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi))


def long_column_odds(counts: np.ndarray, usual: np.ndarray, variances: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Compute log odds (d, laws) of each law of a long column, for each column, against a Gaussian one.

    Args:
        counts: (d,) released.
        usual: (d,) of Gaussian rows.
        variances: (d,) of the counts by noise, chance, and scales that are not known exactly.
        added: (laws, scales, d), or 1 for all columns: what a long column adds to its count, at equally likely scales.
    """
    d, more = len(counts), counts - usual
    others = [float(np.median(np.delete(more, column))) for column in range(d)]
    more = more - np.maximum(others, 0.0)
    variances = variances + _OF_MEDIAN * (variances.sum() - variances) / (d - 1) ** 2

    def likelihood(expected: np.ndarray) -> np.ndarray:
        whole = variances + np.maximum(expected, 0.0)
        return np.asarray(-((more - expected) ** 2 / whole + np.log(whole)) / 2)

    laws = np.logaddexp.reduce(likelihood(added), axis=1) - math.log(added.shape[1])
    return np.asarray(laws - likelihood(np.zeros(d))).T
