"""Values that a column takes again and again: multiples of a step, and single values with many rows.

They decide where edges of cells lie, and which values an answer may take.
"""

from dataclasses import dataclass

import numpy as np

_FURTHEST = 1e9
"""Steps from the origin beyond which edges are not moved to half steps, where floats no longer tell them apart."""


@dataclass(frozen=True)
class Grain:
    """What values a column takes.

    Attributes:
        step: distance of neighbouring values; 0: the column is continuous.
        origin: one of the values, if there is a step.
        heaps: values with many rows, if there is no step.
    """

    step: float = 0.0
    origin: float = 0.0
    heaps: tuple[float, ...] = ()

    def edges(self, edges: np.ndarray) -> np.ndarray:
        """Sort edges and move them between values; give heaps among them cells of their own.

        Returns:
            Finite edges, rising.
        """
        edges = edges[np.isfinite(edges)]
        if self.step:
            with np.errstate(over="ignore"):
                steps = (edges - self.origin) / self.step
                between = self.origin + self.step * (np.floor(steps) + 0.5)
            edges = np.where(np.abs(steps) < _FURTHEST, between, edges)
        heaps = np.array([heap for heap in self.heaps if edges.min() <= heap <= edges.max()])
        return np.unique(np.concatenate([edges, heaps, np.nextafter(heaps, -np.inf)]))

    def is_heap(self, low: float, high: float) -> bool:
        """Return whether the cell (low, high] has one value, which is a heap."""
        return high in self.heaps and low == np.nextafter(high, -np.inf)

    def values_between(self, low: float, high: float) -> np.ndarray | None:
        """Return all values in (low, high] of a column with a step, unless they are too many to tell apart."""
        if not self.step or high - low >= _MOST_LISTED * self.step:
            return None
        with np.errstate(over="ignore"):
            first, last = np.floor((np.array([low, high]) - self.origin) / self.step)
        if not max(abs(first), abs(last)) < _FURTHEST:
            return None
        return np.asarray(self.origin + self.step * np.arange(first + 1, last + 1))


_MOST_LISTED = 5000
"""Values of a cell that are told apart; in a wider one they are as good as continuous."""
