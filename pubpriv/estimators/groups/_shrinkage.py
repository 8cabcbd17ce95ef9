"""How far a group's numbers are shrunk towards those of all groups: empirical Bayes with known errors, at no cost.

Model: a number y of group g is m_g plus an error of known variance V_g, and the m_g have a common mean and variance t.
t solves sum_g (y_g - mean)^2 / (t + V_g) = K - 1, with the mean weighted by 1 / (t + V_g) (Paule and Mandel 1982); its
bounds solve the same equation with quantiles of chi-square instead of K - 1 (Viechtbauer 2007). Then m_g is shrunk
towards that mean with the weight V_g / (t + V_g). A group further out than t explains gets a larger t of its own (Efron
and Morris 1972), so that an outlying group neither pulls the others nor is pulled.

t itself is estimated, so groups are shrunk a little less than the equation says (its quartile of chi-square), and
errors use an upper bound of t that holds in nine runs of ten.
"""

from dataclasses import dataclass

import numpy as np

_DRAWN, _UNSURE = 0.25, 0.10
"""Quantiles of chi-square that determine t for the estimate, and for its error."""

_ODD = 0.99
"""A group outside this central part of a normal law of variance t + V gets a larger t, such that it lies inside."""

_HALVINGS = 60
"""Number of halvings of the interval in the search for a variance: to the last bit of a float."""


@dataclass(frozen=True)
class Drawn:
    """Numbers of groups after shrinkage.

    Attributes:
        values: the shrunk numbers, (K, entries).
        center: what they were shrunk towards, (entries,).
        own: weight of each group's own number, (K, entries) or (K, 1).
        error: standard deviation, shaped like `values`, of the error from shrinkage towards groups that differ.
    """

    values: np.ndarray
    center: np.ndarray
    own: np.ndarray
    error: np.ndarray


def drawn_together(
    values: np.ndarray,
    variances: np.ndarray,
    jointly: bool = False,
    known: tuple[np.ndarray, float] | None = None,
) -> Drawn:
    """Shrink numbers of groups towards their common mean.

    Args:
        values: numbers to shrink, (K, entries).
        variances: variances of their errors, (K, entries) or (K, 1).
        jointly: whether all entries share one t; otherwise each entry has its own.
        known: estimate of their mean from all rows together, (entries,), and its variance.
    """
    from scipy.special import chdtri

    if len(values) == 1:
        one = np.ones_like(values)
        return Drawn(values, values[0], one, 0 * one)
    variances = np.broadcast_to(variances, values.shape)
    between, above = (between_groups(values, variances, chance, jointly) for chance in (_DRAWN, _UNSURE))
    weights = 1 / (between + variances)
    sums, whole = (weights * values).sum(axis=0), weights.sum(axis=0)
    if known is not None:
        sums, whole = sums + known[0] / known[1], whole + 1 / known[1]
    center = sums / whole
    squared = (values - center) ** 2
    entries = 1
    if jointly:
        squared, entries = squared.mean(axis=1, keepdims=True), values.shape[1]
    usual = float(chdtri(entries, 1 - _ODD)) / entries
    own_between = np.maximum(between, squared / usual - variances)
    own = own_between / (own_between + variances)
    spread = np.maximum(above, own_between) + 1 / whole
    return Drawn(center + own * (values - center), center, own, (1 - own) * np.sqrt(spread))


def between_groups(values: np.ndarray, variances: np.ndarray, chance: float, jointly: bool = False) -> np.ndarray:
    """Find the variance between groups, beyond errors, that matches a quantile of chi-square; (entries,) or (1,).

    Args:
        values: numbers of groups, (K, entries), K at least 2.
        variances: variances of their errors, (K, entries).
        chance: quantile of chi-square; a smaller one gives a larger variance.
        jointly: whether to find one variance for all entries.
    """
    from scipy.special import chdtri

    groups, entries = values.shape
    target = float(chdtri((groups - 1) * (entries if jointly else 1), 1 - chance))

    def spread(between: np.ndarray) -> np.ndarray:
        weights = 1 / (between + variances)
        center = (weights * values).sum(axis=0) / weights.sum(axis=0)
        found = (weights * (values - center) ** 2).sum(axis=0)
        return np.asarray(found.sum(keepdims=True) if jointly else found)

    deviations = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    high = (deviations.sum(keepdims=True) if jointly else deviations) / target  # there the sum is at most the target
    low = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = spread(middle) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.where(spread(np.zeros_like(high)) <= target, 0.0, high))
