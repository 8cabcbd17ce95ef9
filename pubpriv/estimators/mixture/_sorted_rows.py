"""Sort rows that stand for laws of one column, as the last round sorted private ones: into components, clipped, or out.

So one knows what each law would have made of means and variances, and of the counts to either side of each component.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.data.regions import divided
from pubpriv.estimators._lattice import lattices, rounded
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._fit_regions import side_edges
from pubpriv.estimators.mixture._lattice import LEFT
from pubpriv.estimators.mixture.scaling import Scaling

_NOTHING = 1e-9
"""Least share of all rows that a component holds, to divide by."""


@dataclass(frozen=True)
class SortedRows:
    """Where rows of laws go that belong to components (from), and which components count them (to).

    Attributes:
        regions: (laws, from, to, regions) shares of the rows in shells to either side.
        sums: (laws, from, to, 3) numbers, sums and squares of those that are not outside, clipped, in the frame of the
            component that counts them.
        outside: (laws, from) shares that are further out than rows of components.
    """

    regions: np.ndarray
    sums: np.ndarray
    outside: np.ndarray


@dataclass(frozen=True)
class ColumnSorting:
    """How a round sorted rows of one column.

    Attributes:
        scaling: of the standard coordinates.
        public: rows (m, 1), on whose lattice rows are put.
        last: the round.
    """

    scaling: Scaling
    public: np.ndarray
    last: Round

    @cached_property
    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and sds (k,) of the components in standard coordinates."""
        _, means, covariances = self.last.mixture.arrays
        return means[:, 0], np.sqrt(covariances[:, 0, 0])

    @cached_property
    def placed(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and sds (k,) of the components in their frames."""
        centers, factors, _ = self._frames
        mean, sd = self.measured
        return (mean - centers) * factors, sd * factors

    def of_rows(self, values: np.ndarray, chances: np.ndarray, means: np.ndarray, sds: np.ndarray) -> SortedRows:
        """Sort rows about components, on the lattice of the public ones.

        Args:
            values: (laws, nodes) of rows, in sds from the mean.
            chances: (nodes,) of these.
            means: of components in standard coordinates, (k,) or (laws, k).
            sds: of the same.
        """
        means, sds = (np.broadcast_to(each, (len(values), len(self.last.counts))) for each in (means, sds))
        # rounding adds a twelfth of a squared step (Sheppard), which what was measured has already
        added = (self._step[0] / self.scaling.scale[0]) ** 2 / 12
        sds = np.sqrt(np.maximum(sds**2 - added, LEFT * sds**2))
        found = [
            self._sorted(self._on_lattice(about[:, None] + wide[:, None] * law), chances)
            for law, about, wide in zip(values, means, sds, strict=True)
        ]
        return SortedRows(*(np.stack(part) for part in zip(*found, strict=True)))

    def moves(self, values: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """Give by how much rows of each law move means (sds) and variances (parts) from what the round made of them.

        It took them for rows of the first law, a Gaussian's, that are on no lattice.

        Args:
            values: (laws, nodes), see `of_rows`.
            chances: (nodes,).

        Returns:
            (laws, from, to, 2), which add up over the components that rows are from.
        """
        weights, (mean, sd) = self.last.mixture.arrays[0], self.measured
        _, taken_for, _ = self._sorted(mean[:, None] + sd[:, None] * values[0], chances)
        count, total, square = (taken_for * weights[:, None, None]).sum(axis=0).T
        count = np.maximum(count, _NOTHING)  # of a component that is narrow and inside another, none may be left
        added = (self.of_rows(values, chances, mean, sd).sums - taken_for) * weights[:, None, None]
        numbers, totals, squares = np.moveaxis(added, -1, 0)
        off = (totals - total / count * numbers) / count
        bent = (squares - square / count * numbers) / count - 2 * total / count * off
        sds = self.placed[1]
        return np.stack([off / sds, bent / sds**2], axis=-1)

    def _on_lattice(self, rows: np.ndarray) -> np.ndarray:
        """Round rows (k, nodes) to the lattice of the public ones, if there is one."""
        if not self._step.any():
            return rows
        table = rounded(self.scaling.restore(rows.reshape(-1, 1)), self.public[0], self._step)
        return np.asarray(self.scaling.apply(table).reshape(rows.shape))

    def _sorted(self, rows: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sort rows (k, nodes) of components, which have these chances (nodes,)."""
        k, edges = len(rows), side_edges()
        centers, factors, offsets = self._frames
        away = (rows[..., None] - centers) * factors
        owner = np.argmax(offsets - away**2 / 2, axis=-1)
        own = np.take_along_axis(away, owner[..., None], axis=-1)[..., 0]
        end = math.inf if self.last.outside is None else self.last.outside.end
        inside, weights = np.abs(own) <= end, np.broadcast_to(chances, own.shape)
        pair, shells = np.arange(k)[:, None] * k + owner, len(edges) + 1
        if self.last.grain:
            scores = (offsets - away**2 / 2).reshape(-1, k).T
            shares = divided(scores, self.last.grain).T.reshape(k, -1, k) / self.last.grain
        else:
            shares = np.eye(k)[owner]
        taken = (weights * inside)[..., None] * shares
        clipped = np.clip(away, -self.last.radius, self.last.radius)
        sums = np.stack([(taken * clipped**power).sum(axis=1) for power in range(3)], axis=-1)
        shell = pair * shells + np.searchsorted(edges, own)
        regions = np.bincount(shell.ravel(), weights.ravel(), k * k * shells)
        return regions.reshape(k, k, shells), sums, (weights * ~inside).sum(axis=1)

    @cached_property
    def _step(self) -> np.ndarray:
        """Step (1,) of the lattice; 0: none."""
        return lattices(self.public)

    @cached_property
    def _frames(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centers, factors and offsets (k,) of the components: a row counts for the one with the least length."""
        cells = self.scaling.cells(self.last.start)
        frames = [self.scaling.standard(frame) for frame in cells.frames]
        centers, factors = (np.array([frame[part].flat[0] for frame in frames]) for part in (0, 1))
        return centers, factors, np.array(cells.offsets)
