"""Regions of rows that a column takes far out of their component; public.

Regions are those nearest to points on the axes of columns through the middles of components, one a little beyond
`FAR_OUT` for each column and side; the nearest is that of the column in which a row is furthest out. One on the other
side of `FAR_OUT` has the usual rows, and one far behind those that belong to no component. Points that other
components' rows are near to are left out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.regions import NearestPoint
from pubpriv.estimators._far_out import FAR_OUT
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

_APART = 2.5
"""Sds of another component, along the line to a point, that must lie between its middle and the region of the point."""

_ABOUT = 1.0
"""Points lie so many sds before and beyond `FAR_OUT`; components must end further out than these."""


def furthest(d: int, end: float) -> float:
    """Tell how far out one of d columns takes rows of this length, if the others are as usual."""
    return math.sqrt(max(end**2 - (d - 1), 0.0))


@dataclass(frozen=True)
class FarRegions:
    """The regions of columns.

    Attributes:
        partition: region 0 for rows that no column takes far out, then one for each column.
        sides: (d,) share of the components, on either side, that a region tells of; 0: no point of this column is free
            of other components, and all are there.
    """

    partition: NearestPoint
    sides: np.ndarray

    @classmethod
    def of(cls, scaling: Scaling, mixture: Mixture, end: float) -> "FarRegions":
        """Make them about the components of a mixture in standard coordinates, which end so far out."""
        weights, means, covariances = mixture.arrays
        k, d = means.shape
        units = np.sqrt(np.einsum("k,kii->i", weights, covariances))
        middles, spreads = means / units, covariances / np.outer(units, units)
        sds, outer = np.sqrt(np.einsum("kii->ki", spreads)), furthest(d, end)
        free = np.zeros((k, d, 2), dtype=bool)
        if outer > FAR_OUT + _ABOUT:
            for j, column, side in np.ndindex(k, d, 2):
                point = middles[j].copy()
                point[column] += (1 - 2 * side) * (FAR_OUT + _ABOUT) * sds[j, column]
                free[j, column, side] = _free(point, np.delete(middles, j, axis=0), np.delete(spreads, j, axis=0))
        frame = scaling.frame(np.zeros(d), np.diag(1 / units))
        used = free | ~np.asarray(free.any(axis=(0, 2)))[:, None]  # the question is the same whatever is free
        return cls(_partition(frame, middles, sds, outer, used), np.einsum("k,kcs->c", weights, free) / 2)


def _free(point: np.ndarray, others: np.ndarray, spreads: np.ndarray) -> bool:
    """Tell whether hardly a row of other components, of these middles and covariances, is nearest to a point."""
    lines = point - others
    squares = (lines**2).sum(axis=1)
    along = np.einsum("ki,kij,kj->k", lines, spreads, lines) / np.maximum(squares, 1e-300)
    return bool((squares / 4 >= _APART**2 * along).all())


def _partition(frame: Frame, middles: np.ndarray, sds: np.ndarray, outer: float, used: np.ndarray) -> NearestPoint:
    """Make the regions of columns, with all other rows in region 0.

    Args:
        frame: to the coordinates of the middles.
        middles: (k, d).
        sds: (k, d).
        outer: rows further out, in sds, are among the others.
        used: (k, d, 2) on which side of which component there is a region.
    """
    points, owners = [tuple(middle) for middle in middles.tolist()], [-1] * len(middles)
    for j, column, side in zip(*np.nonzero(used), strict=True):
        beyond = FAR_OUT + _ABOUT
        behind = ((2 * outer - beyond, -1),) if beyond < outer else ()
        for at, owner in ((FAR_OUT - _ABOUT, -1), (beyond, int(column)), *behind):
            point = middles[j].copy()
            point[column] += (1 - 2 * side) * at * sds[j, column]
            points.append(tuple(point.tolist()))
            owners.append(owner)
    return NearestPoint(frame, tuple(points), tuple(owner + 1 for owner in owners))


def far_blank(frame: Frame, k: int) -> Callable[[Ask], Counts]:
    """Make the placeholder of the question about k components."""
    d = frame.dimension
    middles, sds = np.zeros((k, d)), np.ones((k, d))
    partition = _partition(frame, middles, sds, 2 * FAR_OUT, np.ones((k, d, 2), dtype=bool))
    return lambda ask: Counts.priced(partition, ask.price)
