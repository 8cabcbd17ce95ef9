"""What values a column takes again and again, as its public rows show."""

import numpy as np

from pubpriv.estimators._lattice import distinct, lattice
from pubpriv.released.distributions.grain import Grain
from pubpriv.released.distributions.public_column import PublicColumn

_MOST_DISTINCT = 0.7
"""Share of different values beyond which multiples of a step are taken for rounding, not for the column's nature."""

_HEAP = 0.04
"""Share of the public rows from which a value gets a cell of its own: a heap that is cut in two costs half its mass in
rank, and a cell too many costs one more noisy count. At most 25 values have it."""

_FEWEST = 3
"""Public rows that a heap has at least: two equal rows are no rare chance among hundreds."""


def grain_of(column: np.ndarray) -> Grain:
    """Find the grain of public rows (m,)."""
    if len(distinct(column)) <= _MOST_DISTINCT * len(column):
        step = lattice(column)
        if step > 0:
            return Grain(step, float(column.min()))
    values, counts = np.unique(column, return_counts=True)
    return Grain(heaps=tuple(values[counts >= max(_FEWEST, _HEAP * len(column))].tolist()))


def public_column(column: np.ndarray, levels: tuple[float, ...] = ()) -> PublicColumn:
    """Sort public rows (m,), and look for their grain; if there are levels, each has a cell."""
    return PublicColumn(np.sort(column), Grain(heaps=levels) if levels else grain_of(column))
