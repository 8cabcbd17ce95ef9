"""Days of times that are stored as whole numbers of a unit: exact, or as the nearest floats."""

import numpy as np

NO_DAY = int(np.iinfo(np.int64).min)
"""Stands for the day of a cell without a date."""

_EXACT = 1 << 53
"""Integers up to here are exact as floats."""

_ERROR = 2.0**-50
"""More than a part of a day is wrong by; below a power of two floats are twice as dense."""


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
    """The same for integers that are not exact as floats.

    Whole days are exact, and the part of a day is rounded by 2^-54 at most. So the sum is rounded to the right float,
    except where it is nearly half way between two; Python divides those integers, and rounds once.
    """
    whole, rest = np.divmod(counts, per_day)
    days, part = whole.astype(np.float64), rest / per_day
    total = days + part
    rounded_off = np.abs((days - total) + part)
    half = np.spacing(np.abs(total)) / 2
    unsure = np.minimum(np.abs(rounded_off - half), np.abs(rounded_off - half / 2)) < _ERROR
    total[unsure] = [count / per_day for count in counts[unsure].tolist()]
    return np.asarray(total)
