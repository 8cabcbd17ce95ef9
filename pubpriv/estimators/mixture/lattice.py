"""Columns whose values are multiples of a step, as whole numbers are: what the public rows show of them."""

import numpy as np

from pubpriv.released.law import Mixture

_LEVELS = 1000
"""A column with more steps between its least and its largest public value is as good as continuous."""

_REPEATED = 4
"""Rows of which two values are no chance."""

_EXACT = 1e-6
"""Gaps are multiples of a step if they are so to within this share of it."""

_LEFT = 0.05
"""At least this share of a variance is left when what rounding adds to it is taken out."""


def drawn_rows(mixture: Mixture, public: np.ndarray, count: int) -> np.ndarray:
    """Rows (count, d) from a mixture, rounded as the public rows (m, d) are; the seed is fixed, so they are public.

    A rounded column has the variance of what was rounded and a twelfth of its squared step (Sheppard's correction). A
    mixture that was fitted to rounded rows has both, so that part is taken out before rows are drawn and rounded.
    """
    steps = np.array([lattice(column) for column in public.T])
    weights, means, covariances = mixture.arrays
    rows = Mixture.of(weights, means, [_sharpened(own, steps**2 / 12) for own in covariances]).sample(count, seed=0)
    on = steps > 0
    rows[:, on] = public[0, on] + steps[on] * np.rint((rows[:, on] - public[0, on]) / steps[on])
    return rows


def lattice(column: np.ndarray) -> float:
    """Find the largest step of which all gaps between values (m,) are multiples; 0: none, or too small to matter."""
    gaps = np.diff(np.unique(column))
    if len(gaps) < 2:  # two values are on a lattice if they are repeated, and else on any that has both
        return float(gaps.sum()) if len(column) >= _REPEATED else 0.0
    width = float(gaps.sum())
    step = float(gaps.min())
    while step * _LEVELS > width:
        rest = np.abs(gaps - step * np.rint(gaps / step))
        if (rest <= _EXACT * step).all():
            return step
        step = float(rest[rest > _EXACT * step].min())
    return 0.0


def _sharpened(covariance: np.ndarray, added: np.ndarray) -> np.ndarray:
    """A covariance (d, d) less the variances (d,) that were added to it, or as much of them as leaves it positive."""
    if not added.any():
        return covariance
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    most = float(np.linalg.eigvalsh((root * added) @ root.T)[-1])
    return np.asarray(covariance - min(1.0, (1 - _LEFT) / most) * np.diag(added))
