"""Integer vectors of selected records with their weights, and the sums that all questions share.

A record counts once, or as often as its weight says (`data.questions.per_person`). Images and weights are integers
held in floats. A block has at most 2^12 records, an image at most the length R = 2^16, and a weight is at most 2^9: no
sum of a block exceeds 2^12 * 2^9 * 2^32 = 2^53, so all of them are exact in any order.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import GRID, quantise, squared_norms

MOST_WEIGHT, MOST_SHARES, MOST_TOGETHER = 1 << 6, 1 << 6, 1 << 9
"""Largest weight of a record among the rows of a person, among components, and both together."""


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """Integer vectors of some records of a block.

    Attributes:
        q: (ell, count), zero for records that do not count.
        keep: (count,), whether each record counts.
        weights: (count,) integers; None: each record counts once.
    """

    q: np.ndarray
    keep: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(
        cls,
        z: np.ndarray,
        norms: np.ndarray,
        radius: float,
        weights: np.ndarray | None,
        parts: np.ndarray | float = 1.0,
        room: np.ndarray | float = float(GRID * GRID),
    ) -> "Images":
        """Quantise the columns of z (ell, count), which is overwritten; see `frames.quantise`."""
        return cls(*quantise(z, norms, radius, parts, room), weights)

    def count(self) -> float:
        """Return the sum of the weights of records that count."""
        return float(np.count_nonzero(self.keep) if self.weights is None else self.keep @ self.weights)

    def sum(self) -> np.ndarray:
        """Return the weighted sum of q, (ell,)."""
        return np.asarray(self.q @ (np.ones(self.q.shape[1]) if self.weights is None else self.weights))

    def square(self) -> float:
        """Return the weighted sum of |q|^2."""
        norms = squared_norms(self.q)
        return float(norms.sum() if self.weights is None else norms @ self.weights)

    def gram(self) -> np.ndarray:
        """Return the weighted sum of q q', (ell, ell)."""
        return np.asarray((self.q if self.weights is None else self.q * self.weights) @ self.q.T)


def inhabited(labels: np.ndarray, regions: int) -> np.ndarray:
    """Return whether each region has a record in this block, (regions,): what others add is zero, and costs no time."""
    return np.bincount(labels + 1, minlength=regions + 1)[1 : regions + 1] > 0


def counts_of(labels: np.ndarray, regions: int, weights: np.ndarray | None) -> np.ndarray:
    """Sum weights by region, int64 (regions,); records with label -1 are in no region."""
    inside = labels >= 0
    weights = None if weights is None else weights[inside]
    return np.bincount(labels[inside], weights, minlength=regions).astype(np.int64)
