"""Where public rows are, as they show themselves: units of distance, a reach about each row, rows that stand alone.

Everything here is free. What private rows have to say of it is asked in `coverage`.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._seeding import nearest_others
from pubpriv.estimators.mixture._supercluster import Groups, spread_out
from pubpriv.estimators.mixture._unknown import tighten
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_MOST_POINTS = 500
"""Public rows that distances are measured to; more make the scan slower and the picture no sharper."""

_WIDER = 1.15
"""A record is near a public point within this many times the largest distance of public points to their nearest other
one, ..."""

_TYPICAL = 0.8, 2.5
"""... or, where some of these stand alone, within so many times this quantile of these distances."""

_ALONE = 3.0, 0.1
"""Public points stand alone where single linkage takes them in only beyond so many times the upper quartile of these
distances, and they are no more than this share of all."""

_MOST_ALONE = 0.25
"""If more points than this share would stand alone, none does: there is no crowd that they are far from."""

_SURE = 0.005
"""Chance that public rows which are a sample leave more than `Outline.by_chance` of the private ones uncovered."""


@public_value
@dataclass(frozen=True)
class Outline:
    """Public points in units of the column spreads inside clusters.

    Attributes:
        units: (d,), in standard coordinates.
        points: (m', d), in these units.
        distance: within which of a point a record is covered; 0: the points do not tell.
        alone: group of each point: 0, or 1, 2, ... for points that stand alone, together or singly.
        by_chance: largest share of private rows that should lie beyond `distance` if public rows are a sample of them.
        steps: (d,), as in `Groups`.
    """

    units: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    distance: float
    alone: tuple[int, ...]
    by_chance: float
    steps: tuple[float, ...]

    @property
    def crowd(self) -> float:
        """Share of the points in the largest group of those that stand alone; 0: none stands alone."""
        return float(np.bincount(self.alone)[1:].max(initial=0)) / len(self.alone)


@step(title="outline of public rows")
@one_thread
def outline(public: PublicTable, scaling: Scaling, most: int) -> Outline:
    """Measure public rows; `most` is the number of components, or the most that there may be."""
    rows, steps = spread_out(public, scaling, _MOST_POINTS)
    one = (0,) * len(rows)
    groups = Groups(row_tuples(rows), one, ((1.0,) * rows.shape[1],), None, False, tuple(steps.tolist()))
    units = np.array(tighten(groups, most).units[0])
    points = rows / units
    nearest = nearest_others(points)
    quantile, times = _TYPICAL
    distance = _WIDER * float(min(nearest.max(), times * np.quantile(nearest, quantile)))
    return Outline(
        tuple(units.tolist()),
        row_tuples(points),
        distance,
        _standing_alone(points, nearest),
        _by_chance(len(np.unique(points, axis=0)), int((nearest > distance).sum())),
        groups.steps,
    )


def _by_chance(points: int, beyond: int) -> float:
    """Upper quantile of the share of records whose nearest point is further than that of all but `beyond` points.

    Among m + 1 exchangeable rows each is as likely as any other to be the r-th furthest from its nearest other one, so
    the share is that beyond an order statistic: Beta(r + 1, m - r).
    """
    from scipy.special import betaincinv

    return float(betaincinv(beyond + 1, max(points - beyond, 1), 1 - _SURE))


def _standing_alone(points: np.ndarray, nearest: np.ndarray) -> tuple[int, ...]:
    """Number the small groups of points far from all others; 0 for the rest."""
    from scipy.cluster.hierarchy import fcluster, linkage

    times, share = _ALONE
    reach = times * float(np.quantile(nearest, 0.75))
    if len(points) < 4 or reach <= 0:
        return (0,) * len(points)
    labels = fcluster(linkage(points, "single"), reach, "distance")
    numbers, sizes = np.unique(labels, return_counts=True)
    small = numbers[sizes <= max(1, math.floor(share * len(points)))]
    apart = np.isin(labels, small)
    if apart.mean() > _MOST_ALONE:
        return (0,) * len(points)
    return tuple(np.where(apart, np.searchsorted(small, labels) + 1, 0).tolist())
