"""Estimate all components and their weights by rounds, each with one joint private answer.

Each record is given to its likeliest component under the last estimate and whitened by that component; count, sum and
second moment of all components are one release (Bie, Kamath and Singhal 2022, algorithm 7, with the errata that make it
private: no |C_i| as a public n, and a replaced record may change two components).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Question
from pubpriv.data.questions.radial import without_law
from pubpriv.data.regions import Cells, Partition
from pubpriv.estimators._whole_rows import whole_rows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.estimators.mixture._linear import floored, one_thread
from pubpriv.estimators.mixture._outside import Outside, Tails, as_planned, outside
from pubpriv.estimators.mixture._overlap import Information, Overlap
from pubpriv.estimators.mixture._shrinking import LOUDEST, at_most, believed, shrunk, unclipped
from pubpriv.estimators.mixture._strays import Mixing, SortedDraw, Sorting, Strays, overlapping
from pubpriv.estimators.mixture.rounds import grain_of, round_question, spectral_factor
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_SMALLEST = 5.0
"""A component's released count is raised to at least this many noise standard deviations."""

_SPREAD = 0.02, 4.0
"""A spherical variance changes by a factor between these in one round."""

_PASSES = 30
"""Most passes in which strays are taken out in a round, ..."""

_SETTLED, _UNSETTLED = 0.03, 1.0
"""... which end when the next would change nothing by more than the first number of standard errors. A round has not
settled if the best of them would still change something by more than the second."""

_NEVER = 1e300
"""What the next pass would change where no pass settles: ledgers keep no infinity."""

Floors = Matrix
"""Least variance of each column in each component, (k, d), in standard coordinates."""


@public_value
@dataclass(frozen=True)
class Round:
    """The estimate of a round, with what its errors are computed from.

    Attributes:
        mixture: the estimate, in standard coordinates.
        counts: released counts, raised to at least `_SMALLEST` noise sds.
        count_sd: noise sd of a count.
        sum_sd: noise sd of a coordinate of a whitened sum.
        moment_sd: noise sd of a diagonal entry of a whitened second moment.
        start: the estimate before the round, whose covariances whitened the records.
        rows: private rows that the round counted, in components or outside: n, if no row lacks a value.
        change: by how many standard errors one more pass over strays would change a mean or covariance.
        moved: how far the round moved each component: the larger of its mean's shift in sds and of a log variance's
            change.
        grown: the same, but of the variances that became larger.
        outside: rows that belong to no component; None: the round did not count them separately.
        tails: what was found about the tails of components; None: nothing.
        radius: clip radius of whitened records.
        grain: into how many shares rows were divided among components; 0: each had one component.
        overlap: how much larger errors are because components share rows; None: they share next to none, or there are
            too many numbers to tell.
        hidden: (k, d) what a third value may add to variances of two-valued columns, in the table's own units; (): no
            such columns.
    """

    mixture: Mixture
    counts: tuple[float, ...]
    count_sd: float
    sum_sd: float
    moment_sd: float
    start: Mixture
    rows: float
    change: float = 0.0
    moved: tuple[float, ...] = ()
    grown: tuple[float, ...] = ()
    outside: Outside | None = None
    tails: Tails | None = None
    radius: float = math.inf
    hidden: tuple[tuple[float, ...], ...] = ()
    grain: int = 0  # for stored rounds that are older than this field and the next
    overlap: Overlap | None = None

    @property
    def frames(self) -> tuple[tuple[tuple[float, ...], ...], ...]:
        """Covariances (k, d, d) by which records were whitened."""
        return self.start.covariances

    @property
    def settled(self) -> bool:
        """Whether the components do not depend on rows that they share; see `_UNSETTLED`."""
        return self.change <= _UNSETTLED

    @property
    def held(self) -> bool:
        """Whether every component has a count well above the noise."""
        return all(self.hold)

    @property
    def hold(self) -> tuple[bool, ...]:
        """Whether each component has a count well above the noise."""
        return tuple(count > _SMALLEST * self.count_sd + 1 for count in self.counts)

    def noise(self, kind: str) -> tuple[float, ...]:
        """Give the spectral noise of each component's whitened covariance, for covariances of type `kind`."""
        factor = spectral_factor(kind, len(self.mixture.means[0]))
        return tuple(factor * self.moment_sd / count for count in self.counts)

    def off(self, other: "Round") -> float:
        """Give the largest distance of a component to another estimate from the same answer, in standard errors."""
        d = len(self.mixture.means[0])
        (_, means, covariances), (_, others, spreads) = self.mixture.arrays, other.mixture.arrays
        most = 0.0
        for j, count in enumerate(self.counts):
            whiten = np.linalg.inv(np.linalg.cholesky(np.array(self.frames[j])))
            shift = np.linalg.norm(whiten @ (others[j] - means[j]))
            bend = np.linalg.norm(whiten @ (spreads[j] - covariances[j]) @ whiten.T)
            shift_error = np.sqrt(d * (1 / count + (self.sum_sd / count) ** 2))
            bend_error = np.sqrt(d * (d + 1) * (1 / count + (self.moment_sd / count) ** 2 / 2))
            most = max(most, float(shift / shift_error), float(bend / bend_error))
        return most


@dataclass(frozen=True)
class _RoundAnswer:
    """What all covariance types share of a round: one joint release about each record's likeliest component.

    Attributes:
        partition: regions of the records, as the question was stored.
        values: released statistics of whitened records, by part of the question.
        beyond: released counts of regions outside all components.
        noise: sd of each part.
        counts: released counts (k,), raised to at least `_SMALLEST` noise sds.
        frames, radius: whitening maps and clip radius, as the question was stored.
        start: the estimate that was asked about.
        rows: private rows that were counted.
        grain: into how many shares records were divided; 0: each had one component.
    """

    partition: Partition
    values: Mapping[str, np.ndarray]
    beyond: np.ndarray
    noise: dict[str, float]
    counts: np.ndarray
    frames: tuple[Frame, ...]
    radius: float
    start: Mixture
    rows: float
    grain: int

    @classmethod
    def by(
        cls,
        curator: Curator,
        scaling: Scaling,
        mixture: Mixture,
        covariance_type: str,
        ask: Ask,
        laws: CountLaws | None = None,
        regions: Partition | None = None,
    ) -> "_RoundAnswer":
        """Ask about the components of `mixture`: one `round_question`, mu^2 <= ask.price for all of them together."""
        question = components_question(covariance_type, scaling, mixture, ask, laws, regions)
        answer = curator.release(question, ask.label)
        noise = {name: float(np.max(sd)) for name, sd in answer.question.noise().items()}
        asked, k = answer.question, len(mixture.weights)
        own, beyond = np.split(answer.values["count"], [k])
        values = {**answer.values, "count": own}
        counts = np.maximum(values["count"], _SMALLEST * noise["count"] + 1)
        rows = whole_rows(curator.size, answer.values["count"], noise["count"])
        where, grain = (asked.partition, values, beyond, noise, counts), getattr(without_law(asked), "grain", 0)
        return cls(*where, asked.frames[:k], asked.radii[0], mixture, rows, grain)

    def sorting(self, scaling: Scaling) -> Sorting | None:
        """How rows were sorted, if they were sorted by their likeliest component; else None."""
        if not isinstance(self.partition, Cells | ComponentShells):
            return None
        return Sorting(self.partition, [scaling.standard(frame) for frame in self.frames], self.radius, self.grain)

    def less(self, strays: Strays) -> "_RoundAnswer":
        """Take out the totals that strays brought, and add those that they took away."""
        n, values = float(self.values["count"].sum()), dict(self.values)
        values["count"] = values["count"] - n * strays.counts
        values["sum"] = values["sum"] - n * strays.sums.reshape(values["sum"].shape)
        for name, parts in (("moment", strays.moments), ("square", np.einsum("kii->k", strays.moments))):
            if name in values:
                values[name] = values[name] - n * parts
        return replace(self, values=values, counts=np.maximum(values["count"], _SMALLEST * self.noise["count"] + 1))

    def overlap(self, information: Information, frames: list[tuple[np.ndarray, np.ndarray]], found: Round) -> Overlap:
        """Compare errors with those of known components; `frames` are (center, matrix) in standard coordinates."""
        places = []
        for (center, whiten), mean, covariance in zip(frames, *found.mixture.arrays[1:], strict=True):
            places.append((whiten @ (mean - center), whiten @ covariance @ whiten.T, np.linalg.inv(whiten)))
        noise = self.noise["count"], self.noise["sum"], self.noise.get("moment") or self.noise["square"]
        return Overlap.of(information, self.counts, places, noise)

    def diagonal(self, scaling: Scaling) -> tuple[np.ndarray, np.ndarray]:
        """Give the centres (k, d) and column sds (k, d) by which records were whitened, in standard coordinates."""
        centers, matrices = zip(*(scaling.standard(frame) for frame in self.frames), strict=True)
        return np.array(centers), 1 / np.array([np.diag(matrix) for matrix in matrices])

    def round(self, means: np.ndarray | list[np.ndarray], covariances: list[np.ndarray], moment_sd: float) -> Round:
        """Make the round that ends with these means and covariances, in standard coordinates."""
        estimate = Mixture.of(self.counts / self.counts.sum(), means, covariances)
        noise = self.noise["count"], self.noise["sum"], moment_sd
        found = Round(estimate, tuple(self.counts.tolist()), *noise, self.start, self.rows)
        return replace(found, radius=self.radius, grain=self.grain)


def components_question(
    covariance_type: str,
    scaling: Scaling,
    mixture: Mixture,
    ask: Ask,
    laws: CountLaws | None = None,
    regions: Partition | None = None,
) -> Question:
    """Make the question of a round about the components of `mixture`; see `estimate_components`."""
    cells = scaling.cells(mixture)
    grain = grain_of(ask) if regions is None and laws is None else 0
    regions = regions or (as_planned(cells, ask) if laws is None else laws.cells(scaling, mixture))
    return round_question(covariance_type, regions, cells.frames, ask, grain=grain)


@step(title="per-component estimation", private=True)
@one_thread
def estimate_components(
    curator: Curator,
    scaling: Scaling,
    mixture: Mixture,
    floors: Floors,
    ask: Ask,
    counts: CountLaws | None = None,
    regions: Partition | None = None,
) -> Round:
    """Estimate weights, means and covariances of all components by one round of hard assignment.

    Args:
        curator: the run.
        scaling: the standard coordinates.
        mixture: the last estimate; records are whitened by its covariances.
        floors: least variances.
        ask: label and price.
        counts: laws of the components if their columns are counts; None: Gaussians.
        regions: assignment of records, a region for each component; None: a record belongs to its likeliest component,
            or to none beyond the distance in the ask.

    Privacy: one `LiftedGram` over the partition, mu^2 <= ask.price for all components together.
    """
    seen = _RoundAnswer.by(curator, scaling, mixture, "full", ask, counts, regions)
    return _settled(partial(_full, scaling, mixture, floors), seen, scaling, "full", counts)


def _full(scaling: Scaling, mixture: Mixture, floors: Floors, seen: _RoundAnswer, laws: CountLaws | None) -> Round:
    """Make a round with full covariances from an answer."""
    d, counts, noise = len(scaling.location), seen.counts, seen.noise
    # records that were added to reach the least count are given the covariance of the last estimate
    added = counts - np.clip(seen.values["count"], 0, counts)
    spreads_before = mixture.arrays[2]
    means, covariances = [], []
    for j, frame in enumerate(seen.frames):
        center, whiten = scaling.standard(frame)
        colour = np.linalg.inv(whiten)
        shift = seen.values["sum"][j] / counts[j]
        shift *= believed(float(np.linalg.norm(shift)), seen.radius, noise["sum"] / counts[j], d)
        before = whiten @ spreads_before[j] @ whiten.T
        clipped = (seen.values["moment"][j] + added[j] * before) / counts[j] - np.outer(shift, shift)
        if laws is None:
            values, axes = np.linalg.eigh(clipped)
            spread = (axes * unclipped(values, seen.radius)) @ axes.T
        else:
            shift, spread = laws.unclipped(j, frame, seen.radius, shift, clipped, noise["moment"] / counts[j])
        spread = shrunk(spread, before, colour, noise["moment"] / counts[j])
        means.append(center + colour @ shift)
        covariances.append(floored(colour @ spread @ colour.T, np.array(floors[j])))
    return seen.round(means, covariances, noise["moment"])


_Reader = Callable[[_RoundAnswer, CountLaws | None], Round]
"""Makes a round from an answer, for laws of counts or for Gaussian rows."""


def _tied(read: _Reader, scaling: Scaling, laws: CountLaws | None, seen: _RoundAnswer) -> Round:
    """Make a round in which means of two-valued columns determine their variances, unless the answer contradicts it."""
    found = read(seen, laws)
    if laws is None or not laws.two_valued or "moment" not in seen.values:
        return found
    roots, per = seen.diagonal(scaling)[1], seen.counts[:, None]
    sds = roots * seen.noise["sum"] / per, roots**2 * seen.noise["moment"] / per
    upheld = laws.upheld(scaling, found.mixture, *sds)
    found = found if upheld == laws else read(seen, upheld)
    hidden = laws.hidden(scaling, found.mixture, *sds, seen.radius)
    return replace(found, mixture=upheld.tied(scaling, found.mixture), hidden=row_tuples(hidden))


def _settled(reader: _Reader, seen: _RoundAnswer, scaling: Scaling, kind: str, laws: CountLaws | None = None) -> Round:
    """Make a round from an answer, after removing the strays and the outliers among components that it shows.

    Args:
        reader: makes a round from an answer.
        seen: the answer.
        scaling: the standard coordinates.
        kind: covariance type that is read.
        laws: of the components if their columns are counts.
    """
    frames, sorting = [scaling.standard(frame) for frame in seen.frames], seen.sorting(scaling)
    read = partial(_tied, reader, scaling, laws)
    found, odd = read(seen), None
    if sorting is not None and len(seen.beyond):
        odd, among = outside(sorting, seen.values["count"], seen.beyond, seen.noise["count"], found.mixture)
        if among is not None:
            seen = seen.less(among)
            found = read(seen)
    # counts have longer tails than Gaussian rows, so they need passes even without overlap
    if sorting is not None and (laws or overlapping(found.mixture)):
        found = _unstrayed(read, seen, scaling, sorting, found, laws)
        known = Information.of(SortedDraw.of(sorting, found.mixture), kind) if laws is None else None
        if known is not None:
            found = replace(found, overlap=seen.overlap(known, frames, found))
    moved, grown = _moved(frames, found.mixture)
    return replace(found, moved=moved, grown=grown, outside=odd)


def _unstrayed(
    read: Callable[[_RoundAnswer], Round],
    seen: _RoundAnswer,
    scaling: Scaling,
    sorting: Sorting,
    found: Round,
    laws: CountLaws | None,
) -> Round:
    """Find the model whose own rows, sorted like the private ones, would give the released totals."""
    best, left, towards = found, _NEVER, Mixing()
    for _ in range(_PASSES):
        if not _has_numbers(found.mixture):  # strays took all rows of a component
            break
        strays = _drawn(scaling, sorting, found.mixture, laws).strays
        off = found.off(read(seen.less(strays)))
        if off < left:
            best, left = found, off
        if off < _SETTLED:
            break
        found = read(seen.less(towards.step(strays)))
    return replace(best, change=left)


def _has_numbers(model: Mixture) -> bool:
    """Decide whether a model can be drawn from: its numbers are finite, and no weight is negative."""
    return all(np.isfinite(part).all() for part in model.arrays) and bool((model.arrays[0] >= 0).all())


def _drawn(scaling: Scaling, sorting: Sorting, model: Mixture, laws: CountLaws | None) -> SortedDraw:
    """Draw rows of a model, by their laws if columns are counts, and sort them as the round sorted private ones."""
    if laws is None or not isinstance(sorting.partition, Cells):
        return SortedDraw.of(sorting, model)
    return SortedDraw.of_known(sorting, model.arrays[0], *laws.given(scaling, model, sorting.partition))


def _moved(frames: list[tuple[np.ndarray, np.ndarray]], found: Mixture) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Compute how far components moved from the frames in which they were measured, and how far they grew."""
    moved, grown = [], []
    for (center, whiten), mean, covariance in zip(frames, *found.arrays[1:], strict=True):
        spread = np.log(np.linalg.eigvalsh(whiten @ covariance @ whiten.T))
        grown.append(max(float(np.linalg.norm(whiten @ (mean - center))), float(spread[-1])))
        moved.append(max(grown[-1], float(-spread[0])))
    return tuple(moved), tuple(grown)


@step(title="per-component estimation", private=True)
@one_thread
def estimate_diagonal(
    curator: Curator, scaling: Scaling, mixture: Mixture, floors: Floors, ask: Ask, counts: CountLaws | None = None
) -> Round:
    """Estimate weights, means and column variances of all components by one round of hard assignment.

    `mixture` has diagonal covariances. Variances are shrunk towards those of the last estimate, which are all equal
    after whitening, by the share of their scatter that noise explains.

    Privacy: one `LiftedGram` over the partition, mu^2 <= ask.price for all components together.
    """
    seen = _RoundAnswer.by(curator, scaling, mixture, "diag", ask, counts)
    return _settled(partial(_diagonal, scaling, floors), seen, scaling, "diag", counts)


def _diagonal(scaling: Scaling, floors: Floors, seen: _RoundAnswer, laws: CountLaws | None) -> Round:
    """Make a round with diagonal covariances from an answer."""
    d, counts, noise = len(scaling.location), seen.counts, seen.noise
    centers, roots = seen.diagonal(scaling)
    shifts = at_most(seen.values["sum"] / counts[:, None], seen.radius)
    clipped = np.einsum("kii->ki", seen.values["moment"]) / counts[:, None] - shifts**2
    if laws is None:
        variances = np.stack([unclipped(own, seen.radius) for own in clipped])
    else:
        shifts, variances = laws.unclipped_columns(seen.frames, seen.radius, shifts, clipped, noise["moment"] / counts)
    sd = noise["moment"] / counts
    target = np.maximum(variances.mean(axis=1), 0.02)[:, None]
    distance = ((variances - target) ** 2).sum(axis=1)
    towards = np.minimum(1.0, sd**2 * d / np.maximum(distance, 1e-12))[:, None]
    variances = np.maximum((1 - towards) * variances + towards * target, np.minimum(sd, LOUDEST)[:, None])
    released = np.maximum(roots**2 * variances, np.array(floors))
    covariances = [np.diag(own) for own in released]
    return seen.round(centers + roots * shifts, covariances, noise["moment"])


@step(title="per-component estimation", private=True)
@one_thread
def estimate_spherical(
    curator: Curator, scaling: Scaling, mixture: Mixture, floors: Floors, ask: Ask, counts: CountLaws | None = None
) -> Round:
    """Estimate weights, means and one variance per component by one round of hard assignment.

    `mixture` has spherical covariances. The round's `moment_sd` is the noise of the one variance, whitened.

    Privacy: one `Moments` over the partition, mu^2 <= ask.price for all components together.
    """
    seen = _RoundAnswer.by(curator, scaling, mixture, "spherical", ask, counts)
    return _settled(partial(_spherical, scaling, floors), seen, scaling, "spherical", counts)


def _spherical(scaling: Scaling, floors: Floors, seen: _RoundAnswer, laws: CountLaws | None) -> Round:
    """Make a round with spherical covariances from an answer."""
    d, counts, noise = len(scaling.location), seen.counts, seen.noise
    moment_sd = noise["square"] / d
    centers, roots = seen.diagonal(scaling)
    noisy = seen.values["sum"].reshape(-1, d) / counts[:, None]
    # the squared norm of the noisy shift contains that of the noise, which is subtracted
    moved = np.maximum((noisy**2).sum(axis=1) - d * (noise["sum"] / counts) ** 2, 0.0)
    clipped = (seen.values["square"] / counts - moved) / d
    shifts = at_most(noisy, seen.radius)
    factors = np.array([unclipped(np.full(d, own), seen.radius).mean() for own in clipped])
    if laws is not None:
        alike = np.repeat(clipped[:, None], d, axis=1)
        shifts, variances = laws.unclipped_columns(seen.frames, seen.radius, shifts, alike, moment_sd / counts)
        factors = variances.mean(axis=1)
    factors = np.clip(factors, *_SPREAD)
    own = roots**2 * factors[:, None]
    own *= np.maximum(np.array(floors) / own, 1.0).max(axis=1)[:, None]
    means = centers + roots * shifts
    return seen.round(means, [np.diag(variances) for variances in own], moment_sd)
