"""Days of times that are stored as whole numbers of a unit: exact, or as the nearest floats."""

import numpy as np

NO_DAY = int(np.iinfo(np.int64).min)
"""Stands for the day of a cell without a date."""

_EXACT = 1 << 53
"""Integers up to here are exact as floats."""


def floored(counts: np.ndarray, per_day: int) -> np.ndarray:
    """Return the day on which each time lies, int64.

    Args:
        counts: times in a unit of which a day has `per_day`, integers (length,).
        per_day: number of units in a day.
    """
    return np.asarray(counts // counts.dtype.type(per_day), np.int64)


def endless(counts: np.ndarray) -> np.ndarray:
    """Mark the largest and the smallest integers, bool (length,): databases write infinite dates and times so.

    Args:
        counts: dates or times as their type stores them. DuckDB writes `-infinity` as the negative of the largest
            integer, PostgreSQL as the smallest one.
    """
    largest = np.iinfo(counts.dtype).max
    return np.asarray((counts == largest) | (counts <= -largest))


def in_days(counts: np.ndarray, per_day: int) -> np.ndarray:
    """Return times as days: the floats that are nearest to `counts / per_day`, so every unit gives one number.

    Args:
        counts: as in `floored`, int64.
        per_day: number of units in a day.
    """
    days = counts / per_day
    far = (counts > _EXACT) | (counts < -_EXACT)
    if far.any():  # NumPy rounds such an integer before it divides
        days[far] = _far_in_days(counts[far], per_day)
    return np.asarray(days)


def _far_in_days(counts: np.ndarray, per_day: int) -> np.ndarray:
    """The same for integers that are not exact as floats: most are whole numbers of a larger unit."""
    if per_day % 1000 == 0:
        thousands, rest = np.divmod(counts, 1000)
        if not rest.any():
            return in_days(thousands, per_day // 1000)
    return np.array([count / per_day for count in counts.tolist()])
