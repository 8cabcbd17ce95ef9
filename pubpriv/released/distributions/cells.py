"""How many rows of a column lie below each of some edges, and what noise is in these numbers."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Missing:
    """Records whose cell is missing or infinite.

    Attributes:
        rows: their number, with the noise in it, so perhaps below 0.
        sd: of the noise.
    """

    rows: float
    sd: float


@dataclass(frozen=True)
class CellNoise:
    """Noise in the rows of k + 1 cells, as far as ranks and shares need it.

    Attributes:
        below: variances of the rows at or below each edge (k,).
        with_all: their covariances with all rows (k,).
        cells: variances of the rows in each cell (k + 1,).
        all: variance of all rows.
    """

    below: tuple[float, ...]
    with_all: tuple[float, ...]
    cells: tuple[float, ...]
    all: float

    @classmethod
    def of(cls, covariance: np.ndarray) -> "CellNoise":
        """Take it from the covariance (k + 1, k + 1) of the masses of all cells."""
        among = np.cumsum(covariance, axis=0)  # of the rows below each edge with each mass
        below = np.cumsum(among, axis=1)[:-1, :-1].diagonal()
        below_each, with_all, cells = (
            tuple(map(float, part)) for part in (below, among[:-1].sum(axis=1), covariance.diagonal())
        )
        return cls(below_each, with_all, cells, float(among[-1].sum()))


@dataclass(frozen=True)
class KnownRows:
    """Rows of a column between edges.

    Attributes:
        edges: rising (k,).
        below: rows at or below each, rising, between 0 and `total`.
        total: rows that have the column.
        noise: in these numbers.
        missing: records that lack the column.
    """

    edges: tuple[float, ...]
    below: tuple[float, ...]
    total: float
    noise: CellNoise
    missing: Missing

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.edges), np.concatenate([[0.0], self.below, [self.total]])

    def cell(self, rank: float) -> int:
        """Return the number of the cell in which a rank lies."""
        return int(np.searchsorted(self._arrays[1][1:-1], rank, side="left"))

    def borders(self, cell: int) -> tuple[float, float]:
        """Return the edges of a cell; infinite ones at the ends."""
        edges = self._arrays[0]
        return (float(edges[cell - 1]) if cell else -np.inf), (float(edges[cell]) if cell < len(edges) else np.inf)

    def ranks(self, cell: int) -> tuple[float, float]:
        """Return the numbers of rows below a cell and up to its upper edge."""
        below = self._arrays[1]
        return float(below[cell]), float(below[cell + 1])

    @cached_property
    def masses(self) -> np.ndarray:
        """Rows of each cell, (k + 1,), none negative."""
        return np.diff(self._arrays[1])

    @cached_property
    def mass_sds(self) -> np.ndarray:
        """Noise in them, (k + 1,)."""
        return np.sqrt(np.maximum(self.noise.cells, 0.0))

    def rank_sds(self, share: float) -> np.ndarray:
        """Return the sds (k,) of the noise in the rows below each edge, less `share` of all rows."""
        noise = self.noise
        variance = np.array(noise.below) - 2 * share * np.array(noise.with_all) + share**2 * noise.all
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def sd_near(self, share: float, rank: float) -> float:
        """Return the smaller of those sds at the two edges beside a rank."""
        sds, cell = self.rank_sds(share), self.cell(rank)
        return float(sds[max(cell - 1, 0) : cell + 1].min())

    def is_whole(self) -> bool:
        """Return whether numbers are finite, edges and ranks rise, and there is noise of each."""
        k, noise = len(self.edges), self.noise
        every = [*self.edges, *self.below, self.total, *noise.below, *noise.with_all, noise.all, *noise.cells]
        shapes = [len(self.below), len(noise.below), len(noise.with_all), len(noise.cells) - 1] == [k] * 4
        rising = all(low < high for low, high in pairwise(self.edges))
        ranks = all(low <= high for low, high in pairwise((0.0, *self.below, self.total)))
        finite = bool(np.isfinite([*every, self.missing.rows, self.missing.sd]).all())
        return k > 0 and shapes and finite and rising and ranks and self.total > 0 <= self.missing.sd
