"""Strays: rows of one component that a hard partition gives to another, and their effect on the totals of both.

Where components overlap, each looks narrower than it is and further from the others, whatever the number of rows. A
model predicts which of its own rows a partition gives away. Their totals are subtracted, and the model is computed
again, until the partition of its rows would give the released totals. Rows are drawn from the model with a fixed seed,
so this is post-processing of released answers: free, and public.
"""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.regions import Cells
from pubpriv.released.law import Mixture

_DRAWN = 20_000
"""Number of rows drawn from a model."""

_FAR = 5.7
"""Two components have no strays if their means are this many sds of the difference of two rows apart: 8 of either."""


@dataclass(frozen=True)
class Strays:
    """What a partition adds to the totals of components, per row of the table.

    Attributes:
        counts: (k,) change of the counts.
        sums: (k, d) change of the sums of rows, mapped and clipped as in a round.
        moments: (k, d, d) change of their second moments.
        outside: rows in no component, by region (regions - k,).
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    outside: np.ndarray

    @classmethod
    def sum_of(cls, several: "list[Strays]", weights: np.ndarray) -> "Strays":
        """Add several up with weights (len(several),)."""
        parts = (np.stack([getattr(each, field.name) for each in several]) for field in fields(cls))
        return cls(*(np.tensordot(weights, part, axes=1) for part in parts))


@dataclass(frozen=True)
class Sorting:
    """How a round assigns, maps and clips rows.

    Attributes:
        partition: a region for each component, and perhaps regions outside.
        frames: (center, matrix) that map each component's rows, in standard coordinates.
        radius: clip radius of mapped rows.
    """

    partition: Cells | ComponentShells
    frames: list[tuple[np.ndarray, np.ndarray]]
    radius: float

    def totals(
        self, rows: np.ndarray, owners: np.ndarray, shares: np.ndarray, takers: np.ndarray | None = None
    ) -> Strays:
        """Sum what rows (m, d) of weights `shares` (m,) add where assigned, and take away from their `owners` (m,).

        An owner of -1 is no component. `takers` (m,) are the regions they are assigned to; None: found from the frames.
        """
        k, d = len(self.frames), rows.shape[1]
        mapped = [(rows - center) @ matrix.T for center, matrix in self.frames]
        squares = np.stack([np.einsum("ij,ij->i", own, own) for own in mapped])
        takers = self._takers(squares) if takers is None else takers
        away = np.flatnonzero(takers != owners)
        counts, sums, moments = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for j in range(k):
            signed = shares[away] * ((takers[away] == j).astype(float) - (owners[away] == j))
            clip = np.minimum(1.0, self.radius / np.sqrt(np.maximum(squares[j][away], 1e-300)))
            own = mapped[j][away] * clip[:, None]
            counts[j], sums[j], moments[j] = signed.sum(), signed @ own, (own * signed[:, None]).T @ own
        everywhere = np.bincount(takers, shares, minlength=self.partition.n_regions)
        return Strays(counts, sums, moments, everywhere[k:])

    def _takers(self, squares: np.ndarray) -> np.ndarray:
        """Find the region of each row from squared lengths (k, m) in the frames."""
        cells = self.partition if isinstance(self.partition, Cells) else self.partition.cells
        takers = np.asarray(np.argmax(np.array(cells.offsets)[:, None] - squares / 2, axis=0))
        if isinstance(self.partition, Cells):
            return takers
        lengths = np.sqrt(squares[takers, np.arange(len(takers))])
        shell = np.searchsorted(np.array(self.partition.edges), lengths)
        return np.asarray(np.where(shell > 0, len(squares) - 1 + shell, takers))


def overlapping(mixture: Mixture) -> bool:
    """Decide whether two components are so close that rows of one may be assigned to the other."""
    weights, means, covariances = mixture.arrays
    return any(
        float(gap @ np.linalg.solve(covariances[i] + covariances[j], gap)) < _FAR**2
        for i in range(len(weights))
        for j in range(i)
        for gap in [means[i] - means[j]]
    )


def strays(
    sorting: Sorting, model: Mixture, rows: np.ndarray | None = None, takers: np.ndarray | None = None
) -> Strays:
    """Compute what a partition does to the totals of a model's components.

    Args:
        sorting: contains the partition.
        model: the model whose rows are assigned, in standard coordinates.
        rows: (k, count, d) rows that represent each component; None: Gaussian ones.
        takers: (k * count,) component that each of these is assigned to; None: found from the frames.
    """
    weights = model.arrays[0]
    rows = drawn(model, _DRAWN // len(weights)) if rows is None else rows.reshape(-1, rows.shape[-1])
    each = len(rows) // len(weights)
    owners = np.repeat(np.arange(len(weights)), each)
    return sorting.totals(rows, owners, weights[owners] / each, takers)


def drawn(model: Mixture, each: int, wider: float = 1.0) -> np.ndarray:
    """Draw `each` rows around each component, `wider` times as wide: (k each, d); the seed is fixed."""
    _, means, covariances = model.arrays
    parts = zip(means, _standard(len(means), each, means.shape[1]), covariances, strict=True)
    return np.concatenate([m + wider * z @ np.linalg.cholesky(c).T for m, z, c in parts])


@lru_cache(maxsize=2)  # a round needs the same rows about ten times
def _standard(k: int, each: int, d: int) -> np.ndarray:
    """Draw `each` standard Gaussian rows for each of k components: (k, each, d)."""
    rows = np.random.default_rng(0).standard_normal((k, each, d))
    rows.flags.writeable = False
    return rows
