"""Columns whose values are multiples of a step, such as whole numbers: find the step in the public rows."""

import numpy as np

_LEVELS = 1000
"""A column whose public range spans more steps than this is treated as continuous."""

_REPEATED = 4
"""With at least this many rows, a column of only two values is no coincidence."""

_EXACT = 1e-6
"""Tolerance: a gap counts as a multiple of a step if it is within this share of the step."""


def distinct(column: np.ndarray) -> np.ndarray:
    """Give the distinct values of a column (m,) in order; values that differ only by rounding error count as one."""
    values = np.unique(column)
    gaps = np.diff(values)
    return np.append(values[:1], values[1:][gaps > _EXACT / _LEVELS * gaps.sum()])


def typical_step(column: np.ndarray) -> float:
    """Give the typical distance between neighbouring values (m,) if most rows share their value; else 0."""
    values = distinct(column)
    if not 1 < len(values) <= len(column) / 2:
        return 0.0
    gaps = np.diff(values)
    return float(np.median(np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))))


def lattice(column: np.ndarray) -> float:
    """Find the largest step that divides all gaps between values (m,); 0: there is none, or it is too small to use."""
    gaps = np.diff(distinct(column))
    if len(gaps) < 2:  # two repeated values are a lattice; two unrepeated ones fit any lattice
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
    """Find the step (d,) of each column of rows (m, d), as `lattice` does; all are 0 if any column has no step.

    A column that is constant in the public rows gives no evidence of its own. It gets the smallest step of the other
    columns if all their steps are multiples of that one, as is usual for answers and small counts.
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
