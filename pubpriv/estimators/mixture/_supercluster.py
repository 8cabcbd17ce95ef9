"""Superclusters and regime: what the public rows alone say about the layout of the components.

Source: in the spirit of Bie, Kamath and Singhal 2022, algorithm 3 (superclustering): groups of components that
lie further apart than anything inside them are separated by public single linkage, at no cost. The regime is the way
that a run takes, from public facts alone, in words that a reader can check.
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
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import step

_POINTLIKE = 1e-12
"""A spread below this many public standard deviations is none: the rows are repeated."""

_MOST_POINTS = 2000
"""Public rows used for the tree; single linkage needs all pairs."""

_WIDEST_STEP = 2.0
"""Values are spread over so many public standard deviations at most: in a column that is nearly always the same, a step
is many, and would drown the columns that tell clusters apart."""

_SEPARATED = 4.0
"""Components at least this many standard deviations apart can be separated by their own geometry."""

_FEW = 5.0
"""Fewer than this many times log(k) / w_min public rows may miss a component."""

_PLENTY = 2.0
"""Public rows per column, in a component of the smallest weight, from which on public rows alone tell clusters apart
in all of R^d, and a private subspace is worth nothing."""


@public_value
@dataclass(frozen=True)
class Groups:
    """Public points in standard coordinates and the group of each.

    Attributes:
        points: (m', d).
        labels: group of each point, 0 to the number of groups - 1.
        units: (groups, d) scale of each column inside each group.
        separation: smallest distance of public cluster means, in standard deviations; None: too few to judge.
        overlapping: whether components overlap too much for the subspace route.
        steps: (d,) distance of neighbouring values of columns that take few of them, 0 of others; points of such
            columns are spread over a step, so that no value that many rows share looks like a cluster.
        inside: group of each point where some group lies inside another; (): none does.
        counted: component of each point, where all columns count and tell them; (): they do not.
    """

    points: tuple[tuple[float, ...], ...]
    labels: tuple[int, ...]
    units: tuple[tuple[float, ...], ...]
    separation: float | None
    overlapping: bool
    steps: tuple[float, ...] = (0.0,)  # of all columns, in runs that noted their groups before there were steps
    inside: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.units)

    def of(self, group: int) -> np.ndarray:
        """Points of one group."""
        return np.asarray(np.array(self.points)[np.array(self.labels) == group])

    def joined(self) -> "Groups":
        """The same points as one group."""
        if self.count == 1:
            return self
        units = row_tuples(np.ones((1, len(self.points[0]))))
        return replace(self, labels=(0,) * len(self.points), units=units)

    def in_units_of(self, labels: np.ndarray) -> "Groups":
        """The same points as one group, in the pooled spreads of columns inside clusters by labels (m',)."""
        points, share = np.array(self.points), np.eye(labels.max() + 1)[labels]
        off = points - (share.T @ points / share.sum(axis=0)[:, None])[labels]
        spread = np.sqrt((off**2).mean(axis=0))
        return replace(self.joined(), units=(tuple(np.where(spread > _POINTLIKE, spread, 1.0).tolist()),))

    def floors(self, owners: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
        """Covariance floors (k, d) of components that belong to the groups `owners`."""
        if self.inside:
            return self.flat_floors(len(owners))
        return tuple(tuple(FLOOR * unit**2 for unit in self.units[group]) for group in owners)

    def flat_floors(self, k: int) -> tuple[tuple[float, ...], ...]:
        """Covariance floors (k, d) of k components that may belong to any group, or lie inside another."""
        least = self.units_inside().min(axis=0) if self.inside else np.ones(len(self.points[0]))
        return (tuple((FLOOR * least**2).tolist()),) * k

    def units_inside(self) -> np.ndarray:
        """Scales (groups, d) of the groups that lie inside one another."""
        return _units(np.array(self.points), np.array(self.inside))

    def partition(self, scaling: Scaling) -> NearestPoint | Everything:
        """The group of the nearest public point."""
        if self.count == 1:
            return Everything()
        d = len(self.points[0])
        return NearestPoint(scaling.frame(np.zeros(d), np.eye(d)), self.points, self.labels)


@step(title="superclustering")
@one_thread
def supercluster(public: PublicTable, scaling: Scaling, n_components: int) -> Groups:
    """Groups of public rows, and the regime they suggest; one group if the tree finds more than k."""
    rows, steps = spread_out(public, scaling, _MOST_POINTS)
    labels = scale_groups(rows, n_components)
    units, inside = _units(rows, labels), nested_groups(rows, n_components)
    separation = _separation(rows, labels, units, n_components)
    counted = count_clusters(_thinned(public.rows, _MOST_POINTS), n_components)
    return Groups(
        row_tuples(rows),
        tuple(labels.tolist()),
        row_tuples(units),
        separation,
        n_components == 1 or inside is not None or (separation is not None and separation < _SEPARATED),
        tuple(steps.tolist()),
        () if inside is None else tuple(inside.tolist()),
        () if counted is None else tuple(counted.tolist()),
    )


def spread_out(public: PublicTable, scaling: Scaling, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose some public rows in standard coordinates, spread over the steps of their columns; and these steps."""
    rows = scaling.apply(_thinned(public.rows, most))
    # rows that are there twice are no sign of steps; in one column the two look alike
    distinct = rows if rows.shape[1] == 1 else np.unique(rows, axis=0)
    steps = np.array([typical_step(column) for column in distinct.T])
    spread = np.minimum(steps, _WIDEST_STEP)
    return rows + spread * np.random.default_rng(0).uniform(-0.5, 0.5, rows.shape), steps


def _thinned(rows: np.ndarray, most: int) -> np.ndarray:
    return rows[:: -(-len(rows) // most)]


def _units(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Column standard deviations inside each group; groups of under five points use the pooled ones."""
    count = labels.max() + 1
    if count == 1:
        return np.ones((1, rows.shape[1]))
    own = np.array([rows[labels == group].std(axis=0) for group in range(count)])
    sizes = np.bincount(labels, minlength=count)[:, None]
    pooled = np.sqrt((sizes * own**2).sum(axis=0) / len(rows))
    # equal rows have a spread of rounding errors; in standard coordinates nothing real is that small
    pooled = np.where(pooled > _POINTLIKE, pooled, 1.0)
    return np.where((own > _POINTLIKE) & (sizes >= 5), own, pooled)


def _separation(rows: np.ndarray, labels: np.ndarray, units: np.ndarray, k: int) -> float | None:
    """Smallest distance of spherical public clusters over the larger sd, the scatter of means taken out.

    Clusters are found in each group's own units (groups, d), and their distance is measured in them; that of clusters
    of two groups in the wider unit of each column.
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
    """The way a run takes.

    Attributes:
        name: `overlapping`: several public starts in R^d, the private rows choose. `separated-scarce`: private
            subspaces, public seeds in them. `separated-ample`: public seeds in R^d, no private subspace.
        reason: why, for a reader.
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
        """Tell the regime of a run with k components known beforehand.

        Args:
            m: public rows.
            d: columns.
            k: components.
            smallest_weight: w_min.
            separation: of public clusters, in standard deviations; None: too few public rows to judge.
            overlapping: what the superclustering made of it.
            counted: whether all columns count, and tell components apart.
        """
        if k == 1:
            return cls(cls.OVERLAPPING, "one component: there is nothing to separate")
        if counted:
            return cls(cls.AMPLE, "all columns count, and the values that public rows heap at tell components apart")
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
            return cls(
                cls.AMPLE, f"{apart}, and {m} public rows ({wanted} would do) tell them apart in all {d} columns"
            )
        return cls(
            cls.SCARCE, f"{apart}, and {m} public rows are fewer than the {wanted} that need no private subspace"
        )

    @classmethod
    def searching(cls, most: int) -> "Regime":
        """Tell the regime of a run that finds k: private rows decide what is separated."""
        return cls(cls.SCARCE, f"the number of components is looked for, up to {most}, among those that lie apart")


def _needed(k: int, smallest_weight: float) -> int:
    """Count the public rows below which a component may be missed: 5 log(k) / w_min."""
    return math.ceil(_FEW * math.log(max(k, 2)) / smallest_weight) if k > 1 else 2


def advice(m: int, k: int, smallest_weight: float) -> tuple[str, ...]:
    """Say before anything is spent where public rows are few."""
    wanted = _needed(k, smallest_weight)
    if m >= wanted:
        return ()
    text = f"{m} public rows are few for {k} components with weights from {smallest_weight:.2g}"
    return (f"{text}: one of them may have been missed; about {wanted} would do",)
