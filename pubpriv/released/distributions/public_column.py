"""What public rows say of a column before a private row is asked: its grain, masses of cells, shape inside a cell."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.released.distributions.grain import Grain

_TAILS = 0.3
"""Prior share of a wide Cauchy law beside the public rows, so that no cell is thought to be empty."""

_SPANS = 4.0
"""A cell that spans a greater factor is divided in proportion, not evenly."""

_KEPT = 200
"""Public rows of a column that a file keeps."""

_LARGEST = 1e307
"""Where the last cells are taken to end: sums of two such numbers are floats."""


@dataclass(frozen=True, eq=False)
class PublicColumn:
    """Public rows of a column.

    Attributes:
        rows: sorted (m,).
        grain: values that it takes.
    """

    rows: np.ndarray
    grain: Grain

    @cached_property
    def thinned(self) -> "PublicColumn":
        """At most 200 of the rows, evenly by rank, that a file keeps: shapes inside cells need no more."""
        if len(self.rows) <= _KEPT:
            return self
        return PublicColumn(self.rows[np.linspace(0, len(self.rows) - 1, _KEPT).round().astype(int)], self.grain)

    @cached_property
    def scale(self) -> float:
        """Distance between the 5% and the 95% quantile; never 0."""
        low, middle, high = np.quantile(self.rows, [0.05, 0.5, 0.95])
        least = max(abs(middle), 1.0) * 1e-9
        return float(max(high - low, np.ptp(self.rows) * 0.1, self.grain.step, least))

    def masses(self, edges: np.ndarray) -> np.ndarray:
        """Return prior masses (k + 1,) of the cells between edges (k,)."""
        middle = np.median(self.rows)
        with np.errstate(over="ignore"):
            tails = np.arctan((edges - middle) / (self.scale / 3)) / math.pi + 0.5
        below = np.searchsorted(self.rows, edges, side="right") / len(self.rows)
        return np.diff(np.concatenate([[0.0], (1 - _TAILS) * below + _TAILS * tails, [1.0]]))

    def value(self, low: float, high: float, share: float) -> float:
        """Return the value below which a share of a cell's rows lies: half evenly, half by the public rows in it.

        Args:
            low: lower border of the cell, which may be infinite.
            high: upper border.
            share: 0 to 1.
        """
        share = min(max(share, 0.0), 1.0)
        if self.grain.is_heap(low, high):
            return high
        low, high = max(low, -_LARGEST), min(high, _LARGEST)
        listed = self.grain.values_between(low, high)
        if listed is not None:
            return self._listed(listed, high, share)
        inside = self.rows[np.searchsorted(self.rows, low, side="right") : np.searchsorted(self.rows, high)]
        if len(inside) < 2:
            return float(_between(low, high, np.array(share)))
        grid = np.linspace(0.0, 1.0, _POINTS)
        points = _between(low, high, grid)
        of_rows = np.interp(points, [low, *inside, high], np.linspace(0.0, 1.0, len(inside) + 2))
        return float(np.interp(share, (grid + of_rows) / 2, points))

    def _listed(self, listed: np.ndarray, high: float, share: float) -> float:
        """The same of a column with a step, all of whose values in the cell are listed."""
        if not len(listed):
            return high
        near = np.searchsorted(self.rows, [listed - self.grain.step / 2, listed + self.grain.step / 2])
        weights = near[1] - near[0] + 0.5 + 0.02 * len(self.rows) / len(listed)
        among = np.cumsum(weights) / weights.sum()
        return float(listed[min(int(np.searchsorted(among, share - 1e-12)), len(listed) - 1)])


_POINTS = 201
"""Points at which the shape inside a cell is tabulated."""


def _between(low: float, high: float, share: np.ndarray) -> np.ndarray:
    """Divide a cell evenly, or in proportion if it spans a great factor."""
    if low > 0 and high / _SPANS > low:
        return np.asarray(np.exp((1 - share) * np.log(low) + share * np.log(high)))
    if high < 0 and low / _SPANS < high:
        return np.asarray(-np.exp((1 - share) * np.log(-low) + share * np.log(-high)))
    return np.asarray(low + (high - low) * share)
