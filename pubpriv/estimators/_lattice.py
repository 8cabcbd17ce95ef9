"""Columns whose values are multiples of a step, as whole numbers are: what the public rows show of them."""

import numpy as np

_LEVELS = 1000
"""A column with more steps between its least and its largest public value is as good as continuous."""

_REPEATED = 4
"""Rows of which two values are no chance."""

_EXACT = 1e-6
"""Gaps are multiples of a step if they are so to within this share of it."""


def distinct(column: np.ndarray) -> np.ndarray:
    """Values of a column (m,) in order, each once: those that the rounding of quotients made differ are the same."""
    values = np.unique(column)
    gaps = np.diff(values)
    return np.append(values[:1], values[1:][gaps > _EXACT / _LEVELS * gaps.sum()])


def typical_step(column: np.ndarray) -> float:
    """Tell the typical distance of neighbouring values (m,), where most rows share theirs; else 0."""
    values = distinct(column)
    if not 1 < len(values) <= len(column) / 2:
        return 0.0
    gaps = np.diff(values)
    return float(np.median(np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))))


def lattice(column: np.ndarray) -> float:
    """Find the largest step of which all gaps between values (m,) are multiples; 0: none, or too small to matter."""
    gaps = np.diff(distinct(column))
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


def lattices(rows: np.ndarray) -> np.ndarray:
    """Find the step (d,) of each column of rows (m, d), as `lattice` does."""
    return np.array([lattice(column) for column in rows.T])


def count_steps(rows: np.ndarray) -> np.ndarray:
    """Find the step (d,) of each column of rows (m, d), as `lattice` does; all are 0 where a column is on none.

    A value that no public row has is no sign of another kind of column: one that is constant is taken to have the least
    step of the others, where their steps are multiples of it, as those of answers and small counts are.
    """
    steps, varying = np.zeros(rows.shape[1]), np.ptp(rows, axis=0) > 0
    for i in np.flatnonzero(varying):
        steps[i] = lattice(rows[:, i])
        if not steps[i]:
            return np.zeros(len(steps))
    if varying.any() and not varying.all():
        least = steps[varying].min()
        multiples = steps[varying] / least
        if (np.abs(multiples - np.rint(multiples)) <= _EXACT * multiples).all():
            steps[~varying] = least
    return steps


def rounded(rows: np.ndarray, origin: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Round rows (count, d) to whole steps (d,) from an origin (d,), in the columns whose step is not 0."""
    on = steps > 0
    found = np.array(rows)
    found[:, on] = origin[on] + steps[on] * np.rint((found[:, on] - origin[on]) / steps[on])
    return found
