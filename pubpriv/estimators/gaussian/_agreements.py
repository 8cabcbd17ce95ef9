"""Find combinations of columns that are constant in most public rows, such as two answers that nearly always agree.

The rounds look at the nearer half of the records. If these have the same value, the spread of the combination shrinks
to nothing, and the other rows end up thousands of standard deviations away, where the noise drowns every column.
"""

import math

import numpy as np

_HARMLESS = 0.6
"""With at most this share of rows that agree, the rounds work."""

_MOST_ROWS, _MOST_AXES, _MOST_PAIRS, _STEPS = 200, 8, 50, 10
"""Most public rows that are used, evenly spaced; most shortest axes, and most of the most correlated pairs of columns,
to start from; and most steps from each start."""

_CORRELATED = 0.5
"""Pairs of columns are tried by themselves if their correlation exceeds this."""

_EXACT, _ALONE = 1e-8, 1e-6
"""Values below this share count as rounding errors: of singular values; and of weights, or of a value."""


def agreement(rows: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Find a combination of two or more columns that is constant in clearly most rows (m, d), none of them constant.

    The least determinant of a subset of the rows is 0 if these lie in one plane. It is searched for by concentration
    steps (Rousseeuw and Van Driessen 1999), in all columns and in correlated pairs of them.

    Returns:
        (weights (d,), of which the largest is 1; value; share of the rows with this value); None: there is none.
    """
    rows = rows[:: -(-len(rows) // _MOST_ROWS)]
    m, d = rows.shape
    if d < 2:
        return None
    # with so many pairs, some may agree by chance
    least = _HARMLESS + math.sqrt(4 * math.log(d) * _HARMLESS * (1 - _HARMLESS) / m)
    scale = rows.std(axis=0)
    if not scale.all():  # among the rows that are used
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
            if not agree.all():  # otherwise columns are nearly collinear, which whitening can handle
                return weights, value, float(agree.mean())
    return None


def _correlated(standard: np.ndarray) -> list[list[int]]:
    """List pairs of correlated columns, the most correlated ones first."""
    if standard.shape[1] == 2:
        return []
    sizes = np.triu(np.abs(standard.T @ standard) / len(standard), 1)
    pairs = np.argwhere(sizes > _CORRELATED)
    return [
        [one, other] for one, other in pairs[np.argsort(-sizes[tuple(pairs.T)], kind="stable")][:_MOST_PAIRS].tolist()
    ]


def _plane(standard: np.ndarray, size: int) -> np.ndarray | None:
    """Find the normal (d,) of a plane across two or more columns that contains `size` of the rows (m, d); None: none.

    The steps start from the rows that are closest together along one of the shortest axes.
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
    """Iterate to the nearest rows, starting from `chosen`: the normal (d,) of the plane that they lie in, if any.

    A plane across a single column is not used: that column is mostly one value.
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
