"""Regions of rows that a column takes far out of their component; public.

Regions are those nearest to points on the axes of columns through the middles of components, one a little beyond
`FAR_OUT` for each column and side; the nearest is that of the column in which a row is furthest out. One on the other
side of `FAR_OUT` has the usual rows, and one far behind those that belong to no component. Points that other
components' rows are near to are left out.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.regions import NearestPoint
from pubpriv.estimators._far_out import FAR_OUT, furthest
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

_APART = 2.5
"""Sds of another component, along the line to a point, that must lie between its middle and the region of the point."""

_ABOUT = 1.0
_BEYOND = FAR_OUT + _ABOUT
"""Points lie so many sds before and beyond `FAR_OUT`; components must end further out than the latter."""


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
        if outer > _BEYOND:
            points, others = _along(middles, sds, _BEYOND), ~np.eye(k, dtype=bool)
            free = np.array([_free(points[j], middles[others[j]], spreads[others[j]]) for j in range(k)])
        frame = scaling.frame(np.zeros(d), np.diag(1 / units))
        used = free | ~np.asarray(free.any(axis=(0, 2)))[:, None]  # the question is the same whatever is free
        return cls(_partition(frame, middles, sds, outer, used), np.einsum("k,kcs->c", weights, free) / 2)


def _along(middles: np.ndarray, sds: np.ndarray, at: float) -> np.ndarray:
    """Give the points (k, d, 2, d) so many sds to either side of the middles (k, d), along each column."""
    steps = at * sds[:, :, None] * np.eye(middles.shape[1])
    return np.asarray(middles[:, None, None] + np.stack([steps, -steps], axis=2))


def _free(points: np.ndarray, others: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Tell of points (d, 2, d) whether hardly a row of other components, of these middles and covariances, is nearest.

    Args:
        points: along the columns of a component.
        others: (components, d).
        spreads: (components, d, d).
    """
    lines = points[:, :, None] - others
    squares = (lines**2).sum(axis=3)
    along = np.einsum("cski,kij,cskj->csk", lines, spreads, lines) / np.maximum(squares, 1e-300)
    return np.asarray((squares / 4 >= _APART**2 * along).all(axis=2))


def _partition(frame: Frame, middles: np.ndarray, sds: np.ndarray, outer: float, used: np.ndarray) -> NearestPoint:
    """Make the regions of columns, with all other rows in region 0.

    Args:
        frame: to the coordinates of the middles.
        middles: (k, d).
        sds: (k, d).
        outer: rows further out, in sds, are among the others.
        used: (k, d, 2) on which side of which component there is a region.
    """
    behind = (2 * outer - _BEYOND,) if outer > _BEYOND else ()
    places = (FAR_OUT - _ABOUT, _BEYOND, *behind)
    points = np.stack([_along(middles, sds, at) for at in places], axis=3)[used]
    groups = np.zeros(points.shape[:2], dtype=int)
    groups[:, 1] = np.nonzero(used)[1] + 1
    rows = np.vstack([middles, points.reshape(-1, middles.shape[1])])
    return NearestPoint(frame, row_tuples(rows), (*(0,) * len(middles), *groups.ravel().tolist()))


def blank_regions(frame: Frame, k: int) -> NearestPoint:
    """Make a placeholder for the regions about k components."""
    shape = k, frame.dimension
    return _partition(frame, np.zeros(shape), np.ones(shape), 2 * FAR_OUT, np.ones((*shape, 2), dtype=bool))
