"""Outline of the public rows: units of distance, a reach around each row, rows that lie apart from all others.

Everything here is free. Questions to the private rows are in `_coverage`.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._seeding import nearest_others
from pubpriv.estimators.mixture._supercluster import spread_out
from pubpriv.estimators.mixture._tight_units import tight_units
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step

_MOST_POINTS = 500
"""Public rows that distances are measured to; more would make the scan slower without a better outline."""

_WIDER = 1.15
"""A record is near a public point within this many times the largest nearest-neighbour distance of public points,
..."""

_TYPICAL = 0.8, 2.5
"""... or within the second number of times this quantile of these distances, if that is less."""

_ALONE = 3.0, 0.1
"""Public points lie apart if single linkage joins them only beyond the first number of times the upper quartile of
nearest-neighbour distances, and their group has at most this share of all points."""

_MOST_ALONE = 0.25
"""If more points than this share would lie apart, none does: there is no main group that they are far from."""

_SURE = 0.005
"""Probability that public rows which are a sample leave more than `Outline.by_chance` of the private ones uncovered."""


@public_value
@dataclass(frozen=True)
class Outline:
    """Public points, in units of the column spreads inside clusters.

    Attributes:
        units: (d,), units in standard coordinates.
        points: (m', d), points in these units.
        distance: a record within this distance of a point is covered; 0: the points do not determine it.
        alone: group of each point: 0, or 1, 2, ... for groups that lie apart, each of one or more points.
        by_chance: largest share of private rows expected beyond `distance` if public rows are a sample of them.
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
        """Share of the points in the largest group that lies apart; 0: there is none."""
        return float(np.bincount(self.alone)[1:].max(initial=0)) / len(self.alone)


@step(title="outline of public rows")
@one_thread
def outline(public: PublicTable, scaling: Scaling, most: int) -> Outline:
    """Measure the outline of public rows; `most` is the number of components, or the most that there may be."""
    rows, steps = spread_out(public, scaling, _MOST_POINTS)
    units = tight_units(rows, np.zeros(len(rows), dtype=int), np.ones((1, rows.shape[1])), most)[0]
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
        tuple(steps.tolist()),
    )


def _by_chance(points: int, beyond: int) -> float:
    """Bound the share of records whose nearest point is further than that of all but `beyond` points (upper quantile).

    Among m + 1 exchangeable rows, each is equally likely to have the r-th largest nearest-neighbour distance, so the
    share is that beyond an order statistic: Beta(r + 1, m - r).
    """
    from scipy.special import betaincinv

    return float(betaincinv(beyond + 1, max(points - beyond, 1), 1 - _SURE))


def _standing_alone(points: np.ndarray, nearest: np.ndarray) -> tuple[int, ...]:
    """Number the small groups of points that are far from all others; 0 for the rest."""
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
