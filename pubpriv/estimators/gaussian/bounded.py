"""Columns whose values are bounded: no row of theirs can lie further out than these, so no tail is doubted there.

Bounds are declared, by `clip(column, low, high)`, or plain from the public rows: truth values, and levels as of
ratings, of which the lowest and the highest are common. A column of other values is not bounded, however short the
tails of a few public rows: sixty rows of lengths of stay end where the next one does not. Public.
"""

import math

import numpy as np

from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable

_LEVELS, _COMMON, _TOLD = 12, 0.04, 20
"""A column has levels if so many public rows, at least, have at most so many values, and so large a share of them has
each end of their range: of a count with a tail the highest value is rare. With a larger share fewer scales of ratings
are known for what they are; with a smaller one, counts are taken for ratings."""


def bounds_of_columns(public: PublicTable) -> np.ndarray:
    """Give the bounds (d, 2) of the values of each column; infinite where there are none.

    Two values bound a column by themselves.
    """
    rows = public.rows
    bounds = np.tile([-math.inf, math.inf], (rows.shape[1], 1))
    for j, column in enumerate(parse_columns(public.columns)):
        if column.between is not None:
            bounds[j] = column.between
        elif len(rows) >= _TOLD and _levels(rows[:, j]):
            bounds[j] = rows[:, j].min(), rows[:, j].max()
    return bounds


def _levels(values: np.ndarray) -> bool:
    """Tell whether public values (m,) are truth values or levels of ratings."""
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) <= 2:
        return len(levels) == 2
    return len(levels) <= _LEVELS and min(counts[0], counts[-1]) >= _COMMON * len(values)
