"""How many components there are: public seeds propose, counts of private rows between seeds decide.

Source: Bie, Kamath and Singhal 2022, algorithm 5 (a split is believed where many rows lie on either side and few
between), as a joint release. The paper's one-bit test, the least of differences of counts, is no sum over records
and so no question of the closed list; all counts of a proposal are, at squared sensitivity 2, and tell more.

Seeds for every number of components are made of public rows in the released subspaces. For each number one `Counts`
release over `PairBins` shows, for every pair of seeds, how the rows that lie nearest to these two are spread along the
line between them. A Gaussian cut by two seeds shows no dip there, whatever its covariance and however it was cut (see
`PairBins`); two components do. The largest number all of whose pairs are apart is taken.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._partition import seed
from pubpriv.estimators.mixture._pca import Subspaces, find_subspaces
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._seeding import Seeds, k_means
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import Execution, step

_SURE = 3.0
"""What is concluded from counts has to hold beyond this many standard deviations of noise and sampling."""

_DIP = 0.5
"""Two seeds are apart if fewer rows than this share of the lower peak lie somewhere between the peaks ..."""

_CONTACT = 0.06
"""... or if the middle quarter of the way holds less than this share of the smaller seed's rows, ..."""

_BEYOND = 0.6
"""... provided that no more than this share of either seed's rows lies beyond the seeds: two seeds close together in a
wide crowd have few rows between them, too."""

_WIDTHS = 1, 2
"""Bins that are taken together: one, where a dip is narrow, and two, where counts are small against the noise."""

_STEPS = 2
"""Where columns take few values, bins are believed that are this many steps wide: one step can fall between them."""

_MIDDLE = 2
"""A dip is looked for within so many bins of the middle: in the middle half of the way between two seeds."""

_LOOKS = 2
"""How often clusters and the column scales inside them are found in turn."""

_LEAST_FREE = 8
"""Column scales inside clusters are estimated from at least this many degrees of freedom."""

_POINTLIKE = 1e-9
"""A spread below this many public standard deviations is none: the rows are repeated."""


@public_value
@dataclass(frozen=True)
class _Evidence:
    """Released counts of one proposal.

    Attributes:
        counts: (pairs, bins), pairs in the order of `PairBins`.
        noise: sd of each count.
        components: how many were proposed.
        apart: whether every pair of them is apart, and each holds enough rows.
    """

    counts: tuple[tuple[float, ...], ...]
    noise: float
    components: int
    apart: bool


@dataclass(frozen=True)
class Placement:
    """Where components are looked for.

    Attributes:
        n_components: k.
        groups: of the scale tree, whose units covariance floors follow.
        located: the same groups in the units in which components are located; None: in their own.
        subspaces: released directions, or all of R^d; None: not asked yet.
        seeds: one for each component; None: not made yet.
        tried: released counts of the numbers of components that were tried.
    """

    n_components: int
    groups: Groups
    located: Groups | None = None
    subspaces: Subspaces | None = None
    seeds: Seeds | None = None
    tried: tuple[_Evidence, ...] = ()


def search(run: Execution, scaling: Scaling, groups: Groups, plan: MixturePlan, least: float) -> Placement:
    """Find the largest number of components that are all apart, from `plan.most` downwards.

    Larger numbers first: seeds for fewer components than there are may cut one of them, and then say nothing.
    Numbers below the one that is found are not tried, and their share of the budget is not spent.

    Args:
        run: begun.
        scaling: of the standard coordinates.
        groups: of public rows.
        plan: of the run.
        least: private rows of a component, at least.
    """
    tight = run.at("(by group)")(tighten, groups, plan.most)
    joined = tight if groups.count == 1 else run.at("(all groups as one)")(tighten, groups.joined(), plan.most)
    subspaces = find_subspaces(run, scaling, tight, plan.dimension, plan.pca)
    tried: list[_Evidence] = []
    for k, ask in zip(range(plan.most, 1, -1), plan.search, strict=True):
        where = _proposal(tight, joined, subspaces, k)
        here = run.at(f"({k} components)", subspaces)
        seeds = here(seed, *where, k)
        tried.append(here(_probe, scaling, *where, seeds, least, ask))
        if tried[-1].apart:
            return Placement(k, _as_grouped(groups, k), *where, seeds, tuple(tried))
    return Placement(1, _as_grouped(groups, 1), *_proposal(tight, joined, subspaces, 1), None, tuple(tried))


def _as_grouped(groups: Groups, k: int) -> Groups:
    """Give the groups that k components lie in; see `_proposal`."""
    return groups if k >= groups.count else groups.joined()


def _proposal(groups: Groups, joined: Groups, subspaces: Subspaces, k: int) -> tuple[Groups, Subspaces]:
    """Say where to look for k seeds: in k directions of each group of the scale tree; in R^d if these are more than k.

    `joined` has the same points as one group.
    """
    return (groups, subspaces.leading(k)) if k >= groups.count else (joined, Subspaces.whole(joined))


@step(title="number of components", private=True)
def _probe(
    curator: Curator,
    scaling: Scaling,
    groups: Groups,
    subspaces: Subspaces,
    seeds: Seeds,
    least: float,
    ask: Ask,
) -> _Evidence:
    """Tell whether seeds stand for as many components, each of at least `least` rows.

    Privacy: one `Counts` over a partition, mu^2 <= ask.price.
    """
    partition = _pairs(scaling, groups, subspaces, seeds)
    question = Counts.priced(partition, ask.price)
    answer = curator.release(question, ask.label)
    counts = answer.values["count"].reshape(-1, PairBins.bins)
    noise, k = bounding_sd(answer.question, "count"), len(seeds.groups)
    grain = _grains(partition, scaling, groups.steps)
    return _Evidence(row_tuples(counts), noise, k, _apart(counts, noise, k, least, grain))


def _grains(partition: PairBins, scaling: Scaling, steps: tuple[float, ...]) -> np.ndarray:
    """How far a record moves between each pair of centers, in bins, if every column moves by one step: (pairs,).

    Rows of whole numbers leave bins empty between one step and the next, and that is no gap between components.
    """
    centers, (_, matrix) = np.array(partition.centers), scaling.standard(partition.frame)
    first, second = np.triu_indices(len(centers), 1)
    ways = centers[second] - centers[first]
    slopes = 2 * ways @ matrix / np.maximum((ways**2).sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.sqrt(((slopes * np.array(steps)) ** 2).sum(axis=1)) / PairBins.width)


def _apart(counts: np.ndarray, noise: float, k: int, least: float, grain: np.ndarray | float = 0.0) -> bool:
    """Tell whether k seeds stand for k components, by counts (pairs, bins) with noise of sd `noise`.

    `grain` (pairs,) is that of `_grains`; 0: columns take any value.
    """
    pairs = list(zip(*np.triu_indices(k, 1), strict=True))
    rows, beyond = np.zeros(k), np.zeros(k)
    for (i, j), row in zip(pairs, counts, strict=True):
        rows[i] += row[: PairBins.bins // 2].sum()
        rows[j] += row[PairBins.bins // 2 :].sum()
        beyond[i] += row[0]
        beyond[j] += row[-1]
    if (rows - _SURE * noise * math.sqrt((k - 1) * PairBins.bins / 2) < least).any():
        return False
    wide = beyond > _BEYOND * rows
    return all(
        _dips(row, noise, step) or not (wide[i] or wide[j] or _touch(row, noise, step, min(rows[i], rows[j])))
        for (i, j), row, step in zip(pairs, counts, np.broadcast_to(grain, len(pairs)), strict=True)
    )


def _touch(row: np.ndarray, noise: float, step: float, smaller: float) -> bool:
    """Tell whether the middle between two seeds, the smaller of which has `smaller` rows, may be more than empty."""
    if step > 2:  # its two bins may lie between one step and the next
        return True
    middle = float(row[PairBins.bins // 2 - 1 : PairBins.bins // 2 + 1].sum())
    return middle + _SURE * math.sqrt(2 * noise**2 + max(middle, 0.0)) >= _CONTACT * smaller


def _dips(row: np.ndarray, noise: float, step: float) -> bool:
    """Tell whether some bins near the middle hold fewer rows than `_DIP` of as many bins on either side of them."""
    return any(_dips_by(row, noise, width) for width in _WIDTHS if width >= _STEPS * step)


def _dips_by(row: np.ndarray, noise: float, width: int) -> bool:
    inner = row[1 : PairBins.inner + 1]
    sums = np.convolve(inner, np.ones(width), "valid")
    slack = _SURE * np.sqrt(width * noise**2 + np.maximum(sums, 0.0))
    high, low = sums + slack, sums - slack
    center = PairBins.inner // 2
    for first in range(center - _MIDDLE, center + _MIDDLE - width + 1):
        peak = min(low[: first - width + 1].max(), low[first + width :].max())
        if high[first] < _DIP * peak:
            return True
    return False


def _pairs(scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds) -> PairBins:
    """The partition of a proposal: distances are those along the span of the seeds, in pooled units of the groups."""
    sizes = np.bincount(groups.labels, minlength=groups.count)
    unit = np.sqrt(sizes @ np.array(groups.units) ** 2 / sizes.sum())
    centers = np.array(
        [
            groups.of(group).mean(axis=0)
            + np.array(groups.units[group]) * (np.array(subspaces.bases[group]).T @ np.array(center))
            for group, center in zip(seeds.groups, seeds.centers, strict=True)
        ]
    )
    origin = centers.mean(axis=0)
    spread = (centers - origin) / unit
    basis = np.linalg.svd(spread, full_matrices=False)[2][: len(centers) - 1]
    frame: Frame = scaling.frame(origin, basis / unit)
    return PairBins(frame, row_tuples(spread @ basis.T))


@step(title="scales inside clusters")
@one_thread
def tighten(groups: Groups, most: int) -> Groups:
    """Bring the groups to units of the column spreads inside clusters, of which there are at most `most` in all.

    The standard deviation of a column in which components lie apart is that of their distance; in such units the other
    columns are noise that hides it. Clusters need not be the components, only keep to them: a component that is cut
    is cut along its own long axis, and rounder in the new units. Public points only.
    """
    if groups.counted:
        return groups.in_units_of(np.array(groups.counted))
    units = np.array(groups.units)
    for group in range(groups.count):
        for _ in range(_LOOKS):
            inside = _inside(groups.of(group) / units[group], max(most - groups.count + 1, 1))
            units[group] *= inside
    return replace(groups, units=row_tuples(units))


def _inside(points: np.ndarray, most: int) -> np.ndarray:
    """Pool the standard deviation (d,) of columns inside k-means clusters of at least three points on average."""
    count = min(most, len(points) // 3)
    if count < 2 or len(points) - count < _LEAST_FREE:
        return np.ones(points.shape[1])
    labels = k_means(points, count)
    centers = np.array([points[labels == j].mean(axis=0) if (labels == j).any() else points[0] for j in range(count)])
    spread = np.sqrt(((points - centers[labels]) ** 2).sum(axis=0) / (len(points) - count))
    return np.where(spread > _POINTLIKE, spread, 1.0)
