"""Find the number of components: public seeds propose, counts of private rows between the seeds decide.

Source: Bie, Kamath and Singhal 2022, algorithm 5 (a split is believed if many rows lie on either side and few between),
as a joint release. The paper's one-bit test, a minimum of differences of counts, is not a sum over records, so no
question can ask it. All counts of a proposal can be asked, at squared sensitivity 2, and give more information.

Seeds for each number of components are made from public rows in the released subspaces. For each number, one `Counts`
release over `PairBins` shows, for every pair of seeds, how the rows nearest to these two are spread along the line
between them. A Gaussian cut by two seeds shows no dip there, whatever its covariance and however it was cut (see
`PairBins`); two components do. The largest number for which all pairs are apart is taken.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import Counts, Question
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._partition import seed
from pubpriv.estimators.mixture._pca import Subspaces, find_subspaces, pca_question
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._seeding import Seeds
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture._tight_units import tight_units
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import Execution, step

_SURE = 3.0
"""Conclusions from counts must hold with a margin of this many standard deviations of noise and sampling."""

_DIP = 0.5
"""Two seeds are apart if somewhere between the peaks there are fewer rows than this share of the lower peak ..."""

_CONTACT = 0.06
"""... or if the middle quarter of the line has less than this share of the smaller seed's rows, ..."""

_BEYOND = 0.6
"""... provided that at most this share of either seed's rows lies beyond the seeds: two seeds close together in a wide
crowd also have few rows between them."""

_WIDTHS = 1, 2
"""Number of adjacent bins that are added: one for narrow dips, two for counts that are small against the noise."""

_STEPS = 2
"""If columns take few values, dips must be at least this many steps wide: a single step can fall between values."""

_MIDDLE = 2
"""A dip must be within this many bins of the middle, that is, in the middle half of the line between two seeds."""


@public_value
@dataclass(frozen=True)
class _Evidence:
    """The released counts about one proposal.

    Attributes:
        counts: (pairs, bins), pairs in the order of `PairBins`.
        noise: noise sd of each count.
        components: number of components in the proposal.
        apart: whether every pair is apart, and each component has enough rows.
    """

    counts: tuple[tuple[float, ...], ...]
    noise: float
    components: int
    apart: bool


@dataclass(frozen=True)
class Placement:
    """Where components are looked for, and the counts that led there.

    Attributes:
        n_components: k.
        groups: groups of the scale tree, whose units covariance floors follow.
        located: the same groups in the units in which components are located; None: in their own units.
        subspaces: released directions, or all of R^d; None: not asked for yet.
        seeds: one seed for each component; None: not made yet.
        tried: counts for each number of components that was tried.
    """

    n_components: int
    groups: Groups
    located: Groups | None = None
    subspaces: Subspaces | None = None
    seeds: Seeds | None = None
    tried: tuple[_Evidence, ...] = ()


def search(run: Execution, scaling: Scaling, groups: Groups, plan: MixturePlan, least: float) -> Placement:
    """Find the largest number of components that are all apart, from `plan.most` downwards.

    Larger numbers come first: seeds for too few components may cut one of them, and then show nothing. Numbers below
    the one that is found are not tried, and their share of the budget is not spent.

    Args:
        run: begun.
        scaling: the standard coordinates.
        groups: groups of public rows.
        plan: plan of the run.
        least: least number of private rows in a component.
    """
    tight = run.at("(by group)")(tighten, groups, plan.most)
    joined = tight if groups.count == 1 else run.at("(all groups as one)")(tighten, groups.joined(), plan.most)
    subspaces = find_subspaces(run, scaling, tight, plan.dimension, plan.pca)
    tried: list[_Evidence] = []
    asks = [*zip(range(plan.most, 1, -1), plan.search, strict=True)]
    while asks:
        # one, then two, then four, ...: a pass for each of them would be read again and again, and few are for nothing
        together, asks = asks[: len(tried) + 1], asks[len(tried) + 1 :]
        proposals = []
        for k, ask in together:
            where = _proposal(tight, joined, subspaces, k)
            seeds = run.at(f"({k} components)", subspaces)(seed, *where, k)
            proposals.append((k, ask, where, seeds))
        run.curator.foresee(*(_question(scaling, *where, seeds, ask) for _, ask, where, seeds in proposals[1:]))
        for k, ask, where, seeds in proposals:
            tried.append(run.at(f"({k} components)", subspaces)(_probe, scaling, *where, seeds, least, ask))
            if tried[-1].apart:
                return Placement(k, _as_grouped(groups, k), *where, seeds, tuple(tried))
    return Placement(1, _as_grouped(groups, 1), *_proposal(tight, joined, subspaces, 1), None, tuple(tried))


def first_of_search(run: Execution, scaling: Scaling, groups: Groups, plan: MixturePlan) -> Question:
    """Make the first question of `search`, before it is known that it is asked."""
    tight = run.ahead(tighten, groups, plan.most)
    joined = tight if groups.count == 1 else run.ahead(tighten, groups.joined(), plan.most)
    if plan.pca is not None:
        return pca_question(scaling, tight, plan.pca)
    where = _proposal(tight, joined, Subspaces.whole(tight), plan.most)
    return _question(scaling, *where, run.ahead(seed, *where, plan.most), plan.search[0])


def _as_grouped(groups: Groups, k: int) -> Groups:
    """Give the groups in which k components are looked for; see `_proposal`."""
    return groups if k >= groups.count else groups.joined()


def _proposal(groups: Groups, joined: Groups, subspaces: Subspaces, k: int) -> tuple[Groups, Subspaces]:
    """Say where to seed k components: in k directions of each tree group, or in R^d if there are more groups than k.

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
    """Test whether each seed represents a component of its own, with at least `least` rows.

    Privacy: one `Counts` over a partition, mu^2 <= ask.price.
    """
    question = _question(scaling, groups, subspaces, seeds, ask)
    answer, partition = curator.release(question, ask.label), question.partition
    assert isinstance(partition, PairBins)
    counts = answer.values["count"].reshape(-1, PairBins.bins)
    noise, k = bounding_sd(answer.question, "count"), len(seeds.groups)
    grain = _grains(partition, scaling, groups.steps)
    return _Evidence(row_tuples(counts), noise, k, _apart(counts, noise, k, least, grain))


@one_thread
def _question(scaling: Scaling, groups: Groups, subspaces: Subspaces, seeds: Seeds, ask: Ask) -> Counts:
    """Make the question of `_probe`."""
    return Counts.priced(_pairs(scaling, groups, subspaces, seeds), ask.price)


def _grains(partition: PairBins, scaling: Scaling, steps: tuple[float, ...]) -> np.ndarray:
    """Compute how many bins a record moves between each pair of centres if every column moves by one step: (pairs,).

    Rows of whole numbers leave bins empty between one step and the next, which is no gap between components.
    """
    centers, (_, matrix) = np.array(partition.centers), scaling.standard(partition.frame)
    first, second = np.triu_indices(len(centers), 1)
    ways = centers[second] - centers[first]
    slopes = 2 * ways @ matrix / np.maximum((ways**2).sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.sqrt(((slopes * np.array(steps)) ** 2).sum(axis=1)) / PairBins.width)


def _apart(counts: np.ndarray, noise: float, k: int, least: float, grain: np.ndarray | float = 0.0) -> bool:
    """Decide whether k seeds represent k components, from counts (pairs, bins) with noise sd `noise`.

    `grain` (pairs,) comes from `_grains`; 0: columns take any value.
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
    """Decide whether the middle between two seeds may contain rows; the smaller seed has `smaller` rows."""
    if step > 2:  # both middle bins may lie between one step and the next
        return True
    middle = float(row[PairBins.bins // 2 - 1 : PairBins.bins // 2 + 1].sum())
    return middle + _SURE * math.sqrt(2 * noise**2 + max(middle, 0.0)) >= _CONTACT * smaller


def _dips(row: np.ndarray, noise: float, step: float) -> bool:
    """Decide whether bins near the middle have fewer rows than `_DIP` times as many bins on either side."""
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
    """Make the partition of a proposal: distances along the span of the seeds, in pooled units of the groups."""
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
    """Convert the groups to units of the column spreads inside clusters, at most `most` clusters in all.

    See `tight_units`; uses public points only.
    """
    if groups.counted:
        return groups.in_units_of(np.array(groups.counted))
    sizes = np.array(groups.points), np.array(groups.labels), np.array(groups.units)
    return replace(groups, units=row_tuples(tight_units(*sizes, most)))
