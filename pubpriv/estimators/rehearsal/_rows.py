"""Rows like the public ones, as many as a table has: a smooth bootstrap, for runs in simulation.

A drawn row is a public one, moved part of the way towards one of its nearest neighbours, so that exact relations
between columns stay in the bulk. Columns of whole steps are rounded to them, and cells that many public rows share stay
as they are. Beyond the outer rows of a column a generalised Pareto tail goes on (Pickands 1975), since thousands of
rows reach further than sixty do; it ends where the column's values are bounded. Rows that were left out for missing
cells or for codes come back with their share.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattices, rounded
from pubpriv.estimators.gaussian.bounded import bounds_of_columns

FEWEST_ROWS = 20
"""Fewer public rows tell too little of the law of their columns."""

_MOST_BASES = 2000
"""Most public rows that are drawn from, evenly spaced: neighbours of more take longer to find than a run."""

_NEIGHBOURS = 5
"""A row moves towards one of so many: fewer leave the law in lumps, and with more it loses its clusters."""

_SHARED = 0.1
"""A cell is left as it is if at least this share of the public rows has its value."""

_TAIL, _FEWEST_IN_TAIL = 0.15, 5
"""Share of the rows whose distances beyond the others show the tail: more show the bulk, and fewer show nothing."""

_PRIOR, _PRIOR_ROWS = -0.15, 30.0
"""Shape of a tail before its rows are looked at, that of a Gaussian beyond its outer tenth, and as how many rows that
counts: ten rows show no shape by themselves."""

_SHAPES = -0.5, 0.45
"""Least and largest shape of a tail; the variance has none from 1/2 on."""


class SmoothBootstrap:
    """Draws rows like public ones.

    Args:
        public: at least `FEWEST_ROWS` rows.
    """

    def __init__(self, public: PublicTable) -> None:
        self._public = public
        self._rows = public.rows[:: -(-len(public.rows) // _MOST_BASES)]
        self._steps = lattices(self._rows)
        bounds = bounds_of_columns(public)
        self._neighbours = _nearest(self._rows)
        self._shared = np.column_stack([_shared(cells) for cells in self._rows.T])
        self._tails = [tuple(_tails_of(*each)) for each in zip(self._rows.T, bounds, strict=True)]
        least = np.where(self._rows.min(axis=0) >= 0, 0.0, -math.inf)  # sizes and counts have no negative values
        self._limits = np.maximum(bounds[:, 0], least), bounds[:, 1]

    def draw(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Draw n rows (n, d), columns mapped; cells that are missing are NaN.

        The weights of the public rows are drawn first (Rubin 1981): how well these stand for the private ones is not
        known.
        """
        weights = generator.dirichlet(np.ones(len(self._rows)))
        bases = generator.choice(len(self._rows), size=n, p=weights)
        partners = self._neighbours[bases, generator.integers(self._neighbours.shape[1], size=n)]
        rows = self._rows[bases] + generator.random((n, 1)) * (self._rows[partners] - self._rows[bases])
        within = 1.0 - generator.random(n)
        for j, tails in enumerate(self._tails):
            for tail in tails:
                tail.move(rows[:, j], bases, within)
        rows = np.where(self._shared[bases], self._rows[bases], rounded(rows, self._rows[0], self._steps))
        rows = np.clip(rows, *self._limits)
        self._vary_constants(rows, generator)
        self._leave_out(rows, generator)
        return rows

    def _vary_constants(self, rows: np.ndarray, generator: np.random.Generator) -> None:
        """Give another value to as many cells of constant columns as m public rows without one do not contradict."""
        for j in np.flatnonzero(np.ptp(self._rows, axis=0) == 0):
            share = generator.beta(1, len(self._rows))
            rows[generator.random(len(rows)) < share, j] += max(abs(float(self._rows[0, j])), 1.0)

    def _leave_out(self, rows: np.ndarray, generator: np.random.Generator) -> None:
        """Give some rows the codes, and others the missing cells, of the public rows that were left out."""
        public = self._public
        of = len(public.rows) + sum(each.rows for each in public.left_out) + public.dropped
        for each in public.left_out:
            rows[generator.random(len(rows)) < each.rows / of, public.columns.index(each.column)] = each.value
        rows[generator.random(len(rows)) < public.dropped / of] = np.nan


@dataclass(frozen=True)
class _Tail:
    """One end of a column, where cells are drawn from a generalised Pareto law.

    Attributes:
        sign: 1 for the upper end, -1 for the lower one.
        start: value where it begins.
        ranks: (m,) place of each base from the outside, from 0; -1: it is not in the tail.
        count: number of bases in it.
        scale, shape: of the law.
    """

    sign: float
    start: float
    ranks: np.ndarray
    count: int
    scale: float
    shape: float

    def move(self, cells: np.ndarray, bases: np.ndarray, within: np.ndarray) -> None:
        """Draw the cells (n,) whose base is in the tail anew, in place.

        Args:
            cells: of the column.
            bases: (n,) indices of bases.
            within: (n,) places within the share of a base, from 0 to 1, the same for all columns: the furthest rows of
                columns that go together are the same.
        """
        ranks = self.ranks[bases]
        inside = ranks >= 0
        beyond = np.log((ranks[inside] + within[inside]) / self.count)
        excess = -beyond if self.shape == 0 else np.expm1(-self.shape * beyond) / self.shape
        cells[inside] = self.start + self.sign * self.scale * excess


def _tails_of(cells: np.ndarray, bounds: np.ndarray) -> Iterator[_Tail]:
    """Yield the tails of a column (m,) at the ends that have no bound; shapes are from moments."""
    count = max(_FEWEST_IN_TAIL, math.ceil(_TAIL * len(cells)))
    for sign in (-1.0, 1.0):
        order = np.argsort(-sign * cells, kind="stable")
        excess = sign * (cells[order[:count]] - cells[order[count]])
        mean, spread = float(excess.mean()), float(excess.var(ddof=1))
        if spread == 0 or np.isfinite(bounds[int(sign > 0)]):
            continue
        seen = 0.5 * (1 - mean**2 / spread)
        mixed = (seen * count + _PRIOR * _PRIOR_ROWS) / (count + _PRIOR_ROWS)
        shape = float(np.clip(mixed, *_SHAPES))
        ranks = np.full(len(cells), -1)
        ranks[order[:count]] = np.arange(count)
        yield _Tail(sign, float(cells[order[count]]), ranks, count, mean * (1 - shape), shape)


def _nearest(rows: np.ndarray) -> np.ndarray:
    """Find the nearest neighbours (m, k) of rows (m, d), by the ranks of their cells; each row is one of its own."""
    ranks = np.argsort(np.argsort(rows, axis=0, kind="stable"), axis=0).astype(float)
    squares = (ranks**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * ranks @ ranks.T
    return np.argpartition(distances, _NEIGHBOURS, axis=1)[:, : _NEIGHBOURS + 1]


def _shared(cells: np.ndarray) -> np.ndarray:
    """Tell for each cell (m,) whether many rows have its value."""
    _, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    return np.asarray(counts[places] >= _SHARED * len(cells))
