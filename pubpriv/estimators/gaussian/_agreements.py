"""Combinations of columns that have one value in most public rows, as two answers that nearly always agree.

The rounds look at the nearer half of the records. Where these agree, the spread of the combination shrinks to nothing,
and the rows that do not agree end thousands of standard deviations out, where the noise drowns every column.
"""

import math

import numpy as np

_HARMLESS = 0.6
"""Where no more of the rows agree, the rounds find their way."""

_MOST_ROWS, _MOST_AXES, _MOST_PAIRS, _STEPS = 200, 8, 50, 10
"""Public rows that are looked at, evenly taken; the shortest axes and the most correlated pairs of columns that are
started from; and steps from each start."""

_CORRELATED = 0.5
"""Pairs of columns are tried by themselves if they are correlated so."""

_EXACT, _ALONE = 1e-8, 1e-6
"""What is less than these parts of the rest is rounding: of singular values; and of weights, or of a value."""


def agreement(rows: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Find a combination of two or more columns that has one value in clearly most rows (m, d), none of them constant.

    The least determinant of a part of the rows is nothing where they lie in one plane. It is looked for by steps of
    concentration (Rousseeuw and Van Driessen 1999), in all columns and in pairs of them that are correlated.

    Returns:
        (weights (d,) of which the heaviest is 1, value, share of the rows that have it); None: there is none.
    """
    rows = rows[:: -(-len(rows) // _MOST_ROWS)]
    m, d = rows.shape
    if d < 2:
        return None
    # of so many pairs chance alone may make some agree
    least = _HARMLESS + math.sqrt(4 * math.log(d) * _HARMLESS * (1 - _HARMLESS) / m)
    scale = rows.std(axis=0)
    if not scale.all():  # of the rows that are looked at
        return None
    standard = (rows - rows.mean(axis=0)) / scale
    for some in ([*range(d)], *_correlated(standard)):
        plane = _plane(standard[:, some], math.ceil(least * m))
        if plane is not None:
            weights = np.zeros(d)
            weights[some] = plane / scale[some]
            heaviest = int(np.argmax(np.abs(weights * scale)))
            weights /= weights[heaviest]
            values = rows @ weights
            value = float(np.median(values))
            agree = np.abs(values - value) <= _ALONE * float(np.abs(rows * weights).max())
            if not agree.all():  # else columns are nearly collinear, which whitening bears
                return weights, value, float(agree.mean())
    return None


def _correlated(standard: np.ndarray) -> list[list[int]]:
    """Give pairs of columns, the most correlated ones first."""
    if standard.shape[1] == 2:
        return []
    sizes = np.triu(np.abs(standard.T @ standard) / len(standard), 1)
    pairs = np.argwhere(sizes > _CORRELATED)
    return [
        [one, other] for one, other in pairs[np.argsort(-sizes[tuple(pairs.T)], kind="stable")][:_MOST_PAIRS].tolist()
    ]


def _plane(standard: np.ndarray, size: int) -> np.ndarray | None:
    """Give the normal (d,) of a plane that holds `size` of the rows (m, d), across two columns or more; None: of none.

    The steps begin with the rows that lie closest along one of the shortest axes.
    """
    m, d = standard.shape
    if not d + 1 < size < m:
        return None
    for axis in np.linalg.svd(standard, full_matrices=False)[2][: -_MOST_AXES - 1 : -1]:
        along = standard @ axis
        nearest = np.argsort(np.abs(along - np.median(along)), kind="stable")[:size]
        plane = _concentrated(standard, nearest)
        if plane is not None:
            return plane
    return None


def _concentrated(standard: np.ndarray, chosen: np.ndarray) -> np.ndarray | None:
    """Go on to the rows that are nearest to those `chosen`: the normal (d,) of the plane where they lie, if in one.

    A plane across a single column is none: that column is mostly one value.
    """
    for _ in range(_STEPS):
        center = standard[chosen].mean(axis=0)
        _, widths, axes = np.linalg.svd(standard[chosen] - center, full_matrices=False)
        if widths[-1] <= _EXACT * widths[0]:
            found = np.where(np.abs(axes[-1]) > _ALONE, axes[-1], 0.0)
            return found if np.count_nonzero(found) > 1 else None
        lengths = np.square((standard - center) @ (axes.T / widths)).sum(axis=1)
        nearest = np.argsort(lengths, kind="stable")[: len(chosen)]
        if np.array_equal(np.sort(nearest), np.sort(chosen)):
            return None
        chosen = nearest
    return None
