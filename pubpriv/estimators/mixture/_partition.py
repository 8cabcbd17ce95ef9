"""From seeds in subspaces to a start in R^d: seeding, a private partition, two coarse private answers."""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.codec import row_tuples
from pubpriv.data.questions import Moments, Question
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, View
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import clip_radius, floored, one_thread
from pubpriv.estimators.mixture._pca import Subspaces
from pubpriv.estimators.mixture._seeding import Seeds, allocate, spherical
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture.rounds import MOMENT_SHARES
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_ENOUGH = 8.0
"""An answer moves a cell only if the cell's noisy count exceeds this many noise standard deviations."""


@step(title="seeding")
@one_thread
def seed(groups: Groups, subspaces: Subspaces, n_components: int) -> Seeds:
    """Find spherical seeds of the public points in the released subspaces; post-processing, free.

    Raises:
        ValueError: the groups cannot contain k components.
    """
    points = [_project(groups, subspaces, group) for group in range(groups.count)]
    clustered = groups.count == 1 and len(set(groups.counted)) == n_components
    found = [spherical(points[0], np.array(groups.counted))] if clustered else allocate(points, n_components)
    if found is None:
        raise ValueError("the public points cannot hold that many components")
    weights = np.concatenate([f.weights * len(groups.of(g)) for g, f in enumerate(found)])
    return Seeds(
        tuple(g for g, f in enumerate(found) for _ in f.weights),
        tuple(tuple(row) for f in found for row in f.centers.tolist()),
        tuple(value for f in found for value in f.variances.tolist()),
        tuple((weights / weights.sum()).tolist()),
    )


@step(title="partition", private=True)
@one_thread
def locate(
    curator: Curator,
    scaling: Scaling,
    groups: Groups,
    subspaces: Subspaces,
    seeds: Seeds,
    asks: tuple[Ask | None, Ask],
) -> Mixture:
    """Move the seeds to the private rows, first in their subspaces, then in R^d; components are spherical.

    Two joint releases of count, sum and squared norm per cell. Without the first ask there is only the second release,
    about cells made from public rows. Components keep their group's units, so "spherical" means proportional to the
    group's public column variances.

    Privacy: two `Moments` questions over partitions, mu^2 <= the two asks' prices.
    """
    if asks[0] is not None:
        seeds = _move(curator, scaling, groups, subspaces, seeds, asks[0])
    units = np.array(groups.units)[list(seeds.groups)]
    centers, variances, reach, question = _in_space(scaling, groups, subspaces, seeds, asks[1])
    seen = _Cells.of(curator.release(question, asks[1].label), len(seeds.groups))
    centers = np.where(seen.enough[:, None], centers + reach[:, None] * units * seen.shift, centers)
    variances = np.where(seen.enough, reach**2 * seen.spread(0.1, 2.0), variances)
    covariances = [floored(np.diag(v * u**2), FLOOR * u**2) for v, u in zip(variances, units, strict=True)]
    return Mixture.of(seen.weights, centers, covariances)


@one_thread
def first_to_locate(
    scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, asks: tuple[Ask | None, Ask]
) -> Question:
    """Make the first question of `locate`."""
    if asks[0] is not None:
        return _in_subspaces(scaling, groups, subspaces, seeds, asks[0])
    return _in_space(scaling, groups, subspaces, seeds, asks[1])[-1]


def _in_space(
    scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, ask: Ask
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Moments]:
    """Compute public means (k, d) and variances (k,) of cells, the sds assumed in R^d (k,), and the question there."""
    partition = _partition(scaling, groups, subspaces, seeds)
    units = np.array(groups.units)[list(seeds.groups)]
    centers, variances, counts = _public_cells(scaling, groups, subspaces, seeds, partition)
    reach = np.sqrt(variances * (1 + 1 / np.maximum(counts, 1)))
    frames = tuple(scaling.frame(c, np.diag(1 / (s * u))) for c, s, u in zip(centers, reach, units, strict=True))
    radii = (clip_radius(len(groups.points[0]), 1.15),) * len(frames)
    return centers, variances, reach, Moments.priced(partition, frames, radii, ask.price, MOMENT_SHARES)


def _in_subspaces(scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, ask: Ask) -> Moments:
    """Make the question of `_move`."""
    partition = _partition(scaling, groups, subspaces, seeds)
    k, ell = len(seeds.groups), len(seeds.centers[0])
    radius = clip_radius(ell, 1.3) * (1 + k / len(groups.points)) ** 0.5
    frames = tuple(frame for cells in partition.inner if isinstance(cells, Cells) for frame in cells.frames)
    return Moments.priced(partition, frames, (radius,) * k, ask.price, MOMENT_SHARES)


def _move(curator: Curator, scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, ask: Ask) -> Seeds:
    """Measure centres, variances and weights of the cells in the subspaces, by one release."""
    answer = curator.release(_in_subspaces(scaling, groups, subspaces, seeds, ask), ask.label)
    seen = _Cells.of(answer, len(seeds.groups))
    centers, variances = np.array(seeds.centers), np.array(seeds.variances)
    centers = np.where(seen.enough[:, None], centers + np.sqrt(variances)[:, None] * seen.shift, centers)
    variances = np.where(seen.enough, variances * seen.spread(0.25, 4.0), variances)
    return Seeds(seeds.groups, row_tuples(centers), tuple(variances.tolist()), tuple(seen.weights.tolist()))


@dataclass(frozen=True)
class _Cells:
    """An answer about k cells: counts of at least 1, means and variances of z, their noise, and which stand out."""

    counts: np.ndarray
    shift: np.ndarray
    variances: np.ndarray
    blur: np.ndarray  # noise sd of a variance
    enough: np.ndarray

    @classmethod
    def of(cls, answer: Answer, k: int) -> "_Cells":
        counts, noise = np.maximum(answer.values["count"], 1.0), answer.question.noise()
        shift = answer.values["sum"].reshape(k, -1) / counts[:, None]
        d = shift.shape[1]
        # noise makes the mean's squared norm larger, so its part is subtracted
        square = (shift**2).sum(axis=1) - (noise["sum"].reshape(k, -1) ** 2).sum(axis=1) / counts**2
        variances = (answer.values["square"] / counts - square) / d
        enough = answer.values["count"] > _ENOUGH * noise["count"]
        return cls(counts, shift, variances, noise["square"] / counts / d, enough)

    def spread(self, low: float, high: float) -> np.ndarray:
        """Variance of z per coordinate, where 1 was assumed: shrunk towards 1 by the share that noise explains.

        It stays within a factor of the assumed one. A component that noise made ten times too narrow was clipped, and
        one round did not correct it.
        """
        far = self.variances - 1
        believed = np.maximum(0.0, 1 - self.blur**2 / np.maximum(far**2, 1e-12))
        return np.asarray(np.clip(1 + believed * far, low, high))

    @property
    def weights(self) -> np.ndarray:
        """Shares of the counts."""
        return np.asarray(self.counts / self.counts.sum())


def _project(groups: Groups, subspaces: Subspaces, group: int) -> np.ndarray:
    points, unit = groups.of(group), np.array(groups.units[group])
    return np.asarray((points - points.mean(axis=0)) / unit @ np.array(subspaces.bases[group]).T)


def _partition(scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds) -> Refined:
    """Assign a record to the group of the nearest public point, then to the likeliest spherical seed in its space."""
    inner = []
    for group in range(groups.count):
        unit, basis = np.array(groups.units[group]), np.array(subspaces.bases[group])
        mean = groups.of(group).mean(axis=0)
        frames, offsets = [], []
        for owner, center, variance, weight in zip(
            seeds.groups, seeds.centers, seeds.variances, seeds.weights, strict=True
        ):
            if owner == group:
                origin = mean + unit * (basis.T @ np.array(center))
                frames.append(scaling.frame(origin, basis / unit / np.sqrt(variance)))
                offsets.append(float(np.log(weight) - len(basis) / 2 * np.log(variance)))
        inner.append(Cells(tuple(frames), tuple(offsets)))
    return Refined(groups.partition(scaling), tuple(inner))


def _public_cells(
    scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, partition: Refined
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute public mean, spherical variance and number of public points of each cell, in standard coordinates."""
    points, units = np.array(groups.points), np.array(groups.units)
    labels = partition.assign(View(scaling.restore(points).T))
    k, d = len(seeds.groups), points.shape[1]
    centers, variances = np.empty((k, d)), np.full(k, np.nan)
    for j, group in enumerate(seeds.groups):
        own = points[labels == j]
        if len(own) >= 1:
            centers[j] = own.mean(axis=0)
        else:
            basis = np.array(subspaces.bases[group])
            centers[j] = groups.of(group).mean(axis=0) + units[group] * (basis.T @ np.array(seeds.centers[j]))
        if len(own) >= 2:
            variances[j] = (own.var(axis=0, ddof=1) / units[group] ** 2).mean()
    usable = np.isfinite(variances) & (variances > 0)
    typical = np.median(variances[usable]) if usable.any() else 1.0
    return centers, np.where(usable, variances, typical), np.bincount(labels[labels >= 0], minlength=k)
