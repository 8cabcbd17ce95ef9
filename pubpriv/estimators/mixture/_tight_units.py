"""Units of columns inside clusters of public points, in which the distance between clusters hides no column. Free."""

import numpy as np

from pubpriv.estimators.mixture._seeding import k_means

_LOOKS = 2
"""Number of passes that alternate between finding clusters and finding the column scales inside them."""

_LEAST_FREE = 8
"""Column scales inside clusters are estimated from at least this many degrees of freedom."""

_POINTLIKE = 1e-9
"""A spread below this many public standard deviations counts as none: the rows are repeated."""


def tight_units(points: np.ndarray, labels: np.ndarray, units: np.ndarray, most: int) -> np.ndarray:
    """Give the column spreads (groups, d) inside clusters of each group, at most `most` clusters in all.

    If components lie apart in a column, its standard deviation is that of their distance; in such units the other
    columns are noise that hides the distance. Clusters need not be the components, but must not join them: a component
    that is cut is cut along its own long axis, and is rounder in the new units.

    Args:
        points: (m, d).
        labels: group of each point, (m,).
        units: (groups, d), the units to begin with.
        most: number of clusters in all groups together.
    """
    tight = units.copy()
    for group in range(len(tight)):
        for _ in range(_LOOKS):
            tight[group] *= _inside(points[labels == group] / tight[group], max(most - len(tight) + 1, 1))
    return tight


def _inside(points: np.ndarray, most: int) -> np.ndarray:
    """Pool the standard deviation (d,) of columns inside k-means clusters of at least three points on average."""
    count = min(most, len(points) // 3)
    if count < 2 or len(points) - count < _LEAST_FREE:
        return np.ones(points.shape[1])
    labels = k_means(points, count)
    centers = np.array([points[labels == j].mean(axis=0) if (labels == j).any() else points[0] for j in range(count)])
    spread = np.sqrt(((points - centers[labels]) ** 2).sum(axis=0) / (len(points) - count))
    return np.where(spread > _POINTLIKE, spread, 1.0)
