"""Pool the counts of several rounds into one distribution: the best linear estimate over all their cells.

h are the masses of the cells between all edges. A round releases A h + noise, where each row of A adds up the cells of
one of its own. With a weak Gaussian prior about the public rows' masses, h is a Gaussian again, with a covariance that
the report, the intervals and the forecast share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.data.codec import Matrix, public_value, row_tuples

_TRUST = 0.5
"""Least sd of the prior of a cell's mass, in units of that mass and of `_EVEN` of an even share. Smaller ones would
make more of a hundred public rows than they say; at 2, which leaves them out, errors are 5% larger."""

_VAGUEST = 4.0
"""Largest sd of the prior, in the same units: noise decides then, and a law that is spread over all floats does not."""

_EXACTLY = 1e-7
"""Sd of a number of records that is known, as a part of it: an exact one would make a singular matrix."""

_EVEN = 0.3
"""Part of an even share that a cell may have where no public row is."""


@public_value
@dataclass(frozen=True)
class CellCounts:
    """A column's released counts of one round.

    Attributes:
        edges: rising, finite (k,).
        counts: of the cells between them, and of records without a cell in the column, (k + 2,).
        sd: of the noise in each.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float


@public_value
@dataclass(frozen=True)
class Missing:
    """Records whose cell is missing or infinite.

    Attributes:
        rows: their number, with the noise in it, so perhaps below 0.
        sd: of the noise.
    """

    rows: float
    sd: float


@public_value
@dataclass(frozen=True)
class Pooled:
    """A column's distribution.

    Attributes:
        edges: all edges, rising (k,).
        below: rows at or below each, rising, between 0 and `total`.
        total: rows that have the column.
        covariance: of the noise in the masses of all cells (k + 1, k + 1).
        missing: records that lack it.
    """

    edges: tuple[float, ...]
    below: tuple[float, ...]
    total: float
    covariance: Matrix
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
        return (edges[cell - 1] if cell else -np.inf), (edges[cell] if cell < len(edges) else np.inf)

    def ranks(self, cell: int) -> tuple[float, float]:
        """Return the numbers of rows below a cell and up to its upper edge."""
        below = self._arrays[1]
        return float(below[cell]), float(below[cell + 1])

    @cached_property
    def masses(self) -> np.ndarray:
        """Rows of each cell, (k + 1,), none negative."""
        return np.diff(self._arrays[1])

    @cached_property
    def _variances(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Give variances of rows below each edge (k,), their covariances with all rows (k,), and that of all rows."""
        among = np.cumsum(np.array(self.covariance), axis=0)  # of the rows below each edge with each mass
        below = np.cumsum(among, axis=1)[:-1, :-1].diagonal()
        return below, among[:-1].sum(axis=1), float(among[-1].sum())

    def rank_sds(self, share: float) -> np.ndarray:
        """Return the sds (k,) of the noise in the rows below each edge, less `share` of all rows."""
        below, with_all, of_all = self._variances
        variance = below - 2 * share * with_all + share**2 * of_all
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def sd_near(self, share: float, rank: float) -> float:
        """Return the smaller of those sds at the two edges beside a rank."""
        sds, cell = self.rank_sds(share), self.cell(rank)
        return float(sds[max(cell - 1, 0) : cell + 1].min())


def pooled(
    rounds: Sequence[CellCounts],
    records: float,
    prior: Callable[[np.ndarray], np.ndarray],
    records_sd: float = 0.0,
) -> Pooled:
    """Pool the counts of a column.

    Args:
        rounds: its counts.
        records: number of records, with those whose cell is missing.
        prior: gives the masses of the cells between edges (k,), which add up to one.
        records_sd: of that number, if it was released with noise.
    """
    from sklearn.isotonic import isotonic_regression

    edges = np.unique(np.concatenate([each.edges for each in rounds]))
    k = len(edges) + 1
    mean = np.append(prior(edges) * records, 0.0)
    sd = min(vagueness(rounds, records, prior), _VAGUEST) * (mean + _EVEN * records / k + 1)
    sd[-1] = records  # of the missing ones nothing is known
    sums, counts, noise = [np.ones((1, k + 1))], [[records]], [[max(records_sd, _EXACTLY * records)]]
    for each in rounds:
        own = np.append(np.searchsorted(each.edges, edges, side="left"), [len(each.edges), len(each.edges) + 1])
        sums.append((own == np.arange(len(each.counts))[:, None]).astype(float))
        counts.append(list(each.counts))
        noise.append([each.sd] * len(each.counts))
    rows = np.concatenate(sums)
    spread = rows * sd**2
    gain = np.linalg.solve(spread @ rows.T + np.diag(np.concatenate(noise) ** 2), spread).T
    masses = mean + gain @ (np.concatenate(counts) - rows @ mean)
    covariance = np.diag(sd**2) - gain @ spread
    total = float(np.clip(masses[:-1].sum(), 1.0, records + SURELY * records_sd))
    below = np.clip(isotonic_regression(np.cumsum(masses[:-2])), 0.0, total)
    missing = Missing(float(masses[-1]), float(np.sqrt(max(covariance[-1, -1], 0.0))))
    return Pooled(tuple(edges.tolist()), tuple(below.tolist()), total, row_tuples(covariance[:-1, :-1]), missing)


def vagueness(rounds: Sequence[CellCounts], records: float, prior: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the sd of the prior, in its units: the worst contradiction between public rows and released counts."""
    worst = _TRUST
    for each in rounds:
        mass = prior(np.array(each.edges)) * records
        surprise = np.abs(np.array(each.counts[:-1]) - mass) - 2 * each.sd
        worst = max(worst, float((surprise / (mass + _EVEN * records / len(mass) + 1)).max()))
    return worst
