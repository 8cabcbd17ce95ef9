"""Superclusters and regime: the layout of the components as the public rows show it.

Source: in the spirit of Bie, Kamath and Singhal 2022, algorithm 3 (superclustering): groups of components that are
further apart than anything inside them are separated by single linkage of public rows, at no cost. The regime is the
method variant of a run, chosen from public facts, with a reason in words.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.regions import Everything, NearestPoint
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import typical_step
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._scale_tree import nested_groups, scale_groups
from pubpriv.estimators.mixture._seeding import allocate
from pubpriv.estimators.mixture._tight_units import tight_units
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import step

_POINTLIKE = 1e-12
"""A spread below this many public standard deviations counts as none: the rows are repeated."""

_MOST_POINTS = 2000
"""Most public rows in the tree; single linkage needs all pairs."""

_WIDEST_STEP = 2.0
"""Repeated values are spread over at most this many public standard deviations: in a nearly constant column a step is
many, and would hide the columns that distinguish clusters."""

_SEPARATED = 4.0
"""Components at least this many standard deviations apart can be separated by distance."""

_FEW = 5.0
"""With fewer public rows than this many times log(k) / w_min, a component may be missed."""

_PLENTY = 2.0
"""With at least this many public rows per column in a component of the smallest weight, public rows distinguish
clusters in all of R^d, and a private subspace is worth nothing."""


@public_value
@dataclass(frozen=True)
class Groups:
    """Public points in standard coordinates, and their groups.

    Attributes:
        points: (m', d), the points.
        labels: group of each point, 0 to the number of groups - 1.
        units: (groups, d), scale of each column inside each group.
        separation: smallest distance of public cluster means, in standard deviations; None: too few points to judge.
        overlapping: whether components overlap too much to be located in subspaces.
        steps: (d,), typical distance of neighbouring values in columns that take few values, 0 in others. Points are
            spread over a step in such columns, so that a value that many rows share does not look like a cluster.
        inside: group of each point if some group lies inside another; (): none does.
        counted: component of each point if all columns are counts and identify it; (): they do not.
        inside_units: as `units`, of the groups in `inside`; (): none lies inside another.
    """

    points: tuple[tuple[float, ...], ...]
    labels: tuple[int, ...]
    units: tuple[tuple[float, ...], ...]
    separation: float | None
    overlapping: bool
    steps: tuple[float, ...] = (0.0,)  # for stored groups of runs that are older than this field
    inside: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()
    inside_units: tuple[tuple[float, ...], ...] = ()

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.units)

    def of(self, group: int) -> np.ndarray:
        """The points of one group."""
        return np.asarray(np.array(self.points)[np.array(self.labels) == group])

    def joined(self) -> "Groups":
        """All points as one group."""
        if self.count == 1:
            return self
        units = row_tuples(np.ones((1, len(self.points[0]))))
        return replace(self, labels=(0,) * len(self.points), units=units)

    def in_units_of(self, labels: np.ndarray) -> "Groups":
        """All points as one group, in pooled sds of columns inside the clusters with labels (m',)."""
        points, share = np.array(self.points), np.eye(labels.max() + 1)[labels]
        off = points - (share.T @ points / share.sum(axis=0)[:, None])[labels]
        spread = np.sqrt((off**2).mean(axis=0))
        return replace(self.joined(), units=(tuple(np.where(spread > _POINTLIKE, spread, 1.0).tolist()),))

    def floors(self, owners: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
        """Give covariance floors (k, d) of components that belong to the groups `owners`."""
        if self.inside:
            return self.flat_floors(len(owners))
        return tuple(tuple(FLOOR * unit**2 for unit in self.units[group]) for group in owners)

    def flat_floors(self, k: int) -> tuple[tuple[float, ...], ...]:
        """Give covariance floors (k, d) of k components that may belong to any group, or lie inside another."""
        least = np.array(self.inside_units).min(axis=0) if self.inside else np.ones(len(self.points[0]))
        return (tuple((FLOOR * least**2).tolist()),) * k

    def partition(self, scaling: Scaling) -> NearestPoint | Everything:
        """Make the partition by the group of the nearest public point."""
        if self.count == 1:
            return Everything()
        d = len(self.points[0])
        return NearestPoint(scaling.frame(np.zeros(d), np.eye(d)), self.points, self.labels)


@step(title="superclustering")
@one_thread
def supercluster(public: PublicTable, scaling: Scaling, n_components: int) -> Groups:
    """Find groups of public rows, and whether components overlap; one group if the tree finds more than k."""
    rows, steps = spread_out(public, scaling, _MOST_POINTS)
    values = _thinned(public.rows, _MOST_POINTS)
    labels, inside = scale_groups(rows, n_components), nested_groups(rows, n_components)
    units = _units(rows, values, labels)
    # in units that the distance between components inflates, components that lie apart in one column look close; but
    # from a cluster on one value of a column with few values, everything looks far
    tight = units if steps.any() else tight_units(rows, labels, units, n_components)
    separation = _separation(rows, labels, tight, n_components)
    counted = count_clusters(values, n_components)
    return Groups(
        row_tuples(rows),
        tuple(labels.tolist()),
        row_tuples(units),
        separation,
        n_components == 1 or inside is not None or (separation is not None and separation < _SEPARATED),
        tuple(steps.tolist()),
        () if inside is None else tuple(inside.tolist()),
        () if counted is None else tuple(counted.tolist()),
        () if inside is None else row_tuples(_units(rows, values, inside)),
    )


def spread_out(public: PublicTable, scaling: Scaling, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose public rows in standard coordinates, spread over the steps of their columns; return the steps, too."""
    rows = scaling.apply(_thinned(public.rows, most))
    # duplicate rows are no sign of steps; with one column the two cannot be distinguished
    distinct = rows if rows.shape[1] == 1 else np.unique(rows, axis=0)
    steps = np.array([typical_step(column) for column in distinct.T])
    spread = np.minimum(steps, _WIDEST_STEP)
    return rows + spread * np.random.default_rng(0).uniform(-0.5, 0.5, rows.shape), steps


def _thinned(rows: np.ndarray, most: int) -> np.ndarray:
    return rows[:: -(-len(rows) // most)]


def _units(rows: np.ndarray, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute column standard deviations inside each group; groups of under five points use the pooled ones.

    So do columns in which all rows of a group share one value: they were spread over a typical step of the column,
    which for a value that is far from all others says nothing.

    Args:
        rows: (m, d), spread over steps.
        values: (m, d), the rows as they are.
        labels: (m,), groups.
    """
    count = labels.max() + 1
    if count == 1:
        return np.ones((1, rows.shape[1]))
    own = np.array([rows[labels == group].std(axis=0) for group in range(count)])
    varying = np.array([np.ptp(values[labels == group], axis=0) > 0 for group in range(count)])
    sizes = np.bincount(labels, minlength=count)[:, None]
    pooled = np.sqrt((sizes * own**2).sum(axis=0) / len(rows))
    # the spread of equal rows is rounding error; in standard coordinates no real spread is that small
    pooled = np.where(pooled > _POINTLIKE, pooled, 1.0)
    return np.where((own > _POINTLIKE) & (sizes >= 5) & varying, own, pooled)


def _separation(rows: np.ndarray, labels: np.ndarray, units: np.ndarray, k: int) -> float | None:
    """Find the smallest distance of spherical public clusters over the larger sd, without the scatter of their means.

    Clusters are found in the units (groups, d) of each group, and distances are measured in them; between clusters of
    two groups, in the wider unit of each column.
    """
    m, d = rows.shape
    if k == 1 or m < k * d / 2:
        return None
    found = allocate([rows[labels == group] / unit for group, unit in enumerate(units)], k)
    if found is None:
        return None
    owners = [group for group, own in enumerate(found) for _ in own.weights]
    centers = np.concatenate([own.centers for own in found])
    variances = np.concatenate([own.variances for own in found])
    counts = np.concatenate([own.weights * (labels == group).sum() for group, own in enumerate(found)])
    gaps = []
    for i in range(k):
        for j in range(i):
            here, there = units[owners[i]], units[owners[j]]
            wide = np.maximum(here, there)
            first, second = variances[i] * ((here / wide) ** 2).mean(), variances[j] * ((there / wide) ** 2).mean()
            gap = (((centers[i] * here - centers[j] * there) / wide) ** 2).sum()
            gap -= d * (first / counts[i] + second / counts[j])
            gaps.append(np.sqrt(max(gap, 0.0) / max(first, second)))
    return float(min(gaps))


@public_value
@dataclass(frozen=True)
class Regime:
    """The method variant that a run follows.

    Attributes:
        name: `overlapping`: several public starts in R^d, among which the private rows choose. `separated-scarce`:
            private subspaces with public seeds in them. `separated-ample`: public seeds in R^d, no private subspace.
        reason: the reason, for a reader.
    """

    OVERLAPPING: ClassVar[str] = "overlapping"
    SCARCE: ClassVar[str] = "separated-scarce"
    AMPLE: ClassVar[str] = "separated-ample"

    name: str
    reason: str

    @classmethod
    def of(
        cls,
        m: int,
        d: int,
        k: int,
        smallest_weight: float,
        separation: float | None,
        overlapping: bool,
        counted: bool = False,
    ) -> "Regime":
        """Choose the regime of a run whose number of components k is given.

        Args:
            m: number of public rows.
            d: number of columns.
            k: number of components.
            smallest_weight: w_min.
            separation: distance of public clusters, in standard deviations; None: too few public rows to judge.
            overlapping: as `supercluster` found.
            counted: whether all columns are counts and identify the components.
        """
        if k == 1:
            return cls(cls.OVERLAPPING, "one component: there is nothing to separate")
        if counted:
            return cls(
                cls.AMPLE, "all columns are counts, whose commonest values in the public rows identify components"
            )
        if overlapping:
            near = separation is not None and separation < _SEPARATED
            text = f" ({separation:.1f} standard deviations, below {_SEPARATED:g})" if near else ""
            return cls(cls.OVERLAPPING, f"public clusters are too close to be separated by distance{text}")
        if separation is None:
            text = f"{m} public rows are too few to measure how far components lie apart in {d} columns"
            return cls(cls.SCARCE, f"{text}: they are taken to be separated")
        apart = f"public clusters are {separation:.1f} standard deviations apart"
        wanted = math.ceil(_PLENTY * d / smallest_weight)
        if m >= wanted:
            return cls(cls.AMPLE, f"{apart}, and {m} public rows ({wanted} would do) separate them in all {d} columns")
        return cls(
            cls.SCARCE, f"{apart}, and {m} public rows are fewer than the {wanted} that need no private subspace"
        )

    @classmethod
    def searching(cls, most: int) -> "Regime":
        """Give the regime of a run that finds k: private rows decide what is separated."""
        return cls(cls.SCARCE, f"the number of components is looked for, up to {most}, among those that lie apart")


def _needed(k: int, smallest_weight: float) -> int:
    """Compute the number of public rows below which a component may be missed: 5 log(k) / w_min."""
    return math.ceil(_FEW * math.log(max(k, 2)) / smallest_weight) if k > 1 else 2


def advice(m: int, k: int, smallest_weight: float) -> tuple[str, ...]:
    """Warn if public rows are few, before anything is spent."""
    wanted = _needed(k, smallest_weight)
    if m >= wanted:
        return ()
    text = f"{m} public rows are few for {k} components with weights from {smallest_weight:.2g}"
    return (f"{text}: one of them may have been missed; about {wanted} would do",)
