"""Start of component estimation: an estimate of each component from its own public points.

The paper runs a learner on each group as if the group's size were public. It is not: here one joint release per round
measures counts, sums and second moments of all groups (`_components.estimate_components`). This is algorithm 2 for
groups of private size: precondition by public points, clip, release, precondition again.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.balls import Balls
from pubpriv.data.codec import public_value
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._components import Floors
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_COLUMNS_FROM = 10
"""With at least this many degrees of freedom, columns have scales of their own inside groups."""

_POINTLIKE = 1e-9
"""A spread below this many public standard deviations is rounding error."""


@public_value
@dataclass(frozen=True)
class _Start:
    """A first mixture with diagonal covariances, and the floors of all later ones."""

    mixture: Mixture
    floors: Floors


@step(title="start from public rows")
def start_clusters(rows: PublicTable, scaling: Scaling, regions: Balls) -> _Start:
    """Compute the mean of each group's public points, and their spread including the error of that mean.

    Relative scales of columns are pooled over all groups, because few points determine each group's badly; each group
    has its own overall scale.

    Args:
        rows: all m public rows.
        scaling: standard coordinates.
        regions: the groups; each contains a public point.
    """
    points = scaling.apply(rows.rows)
    groups = [points[own] for own in regions.members(rows.rows)]
    sizes = np.array([len(group) for group in groups])
    means = np.array([group.mean(axis=0) for group in groups])
    squares = np.array([((group - mean) ** 2).sum(axis=0) for group, mean in zip(groups, means, strict=True)])
    freedom = max(int(sizes.sum()) - len(groups), 1)
    pooled = squares.sum(axis=0) / freedom
    pooled = np.where(pooled > _POINTLIKE**2, pooled, 1.0 if not (pooled > _POINTLIKE**2).any() else pooled.mean())
    columns = pooled if freedom >= _COLUMNS_FROM else np.full(len(pooled), pooled.mean())
    own = (squares / columns).mean(axis=1) / np.maximum(sizes - 1, 1)  # each group's variance, in pooled units
    own = np.where((sizes > 1) & (own > _POINTLIKE**2), own, 1.0)
    covariances = [np.diag(columns * size * (1 + 1 / count)) for size, count in zip(own, sizes, strict=True)]
    floors = tuple(tuple((FLOOR * columns * size).tolist()) for size in own)
    return _Start(Mixture.of(sizes / sizes.sum(), means, covariances), floors)
