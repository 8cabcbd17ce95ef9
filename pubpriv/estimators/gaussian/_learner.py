"""The robust learner: rounds that bring the records to standard coordinates, then one exact joint release.

Each round looks at the records through the current map, w = F (x - c): a private median of |w| measures how far out
they are, and sum and second moment of the records clipped near there measure place and shape. Noise is in proportion to
the radius, so a round can shrink what is too large only by a constant factor; eight rounds correct public rows that are
wrong by many orders of magnitude. The last release is debiased exactly for a Gaussian. Everything but `Curator.release`
is post-processing.

Source: ours; figures in `benchmarks.learner`. The structure is that of CoinPress (Biswas, Dong, Kamath and Ullman
2020), with a private radius, joint releases, noise like an orthogonal ensemble, and an inverse of the clipping.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, LiftedGram, OfSample, Question
from pubpriv.data.questions.of_sample import sample_of
from pubpriv.data.questions.radial import GAUSSIAN
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattice
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators._whole_rows import WholeRows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian import _pure
from pubpriv.estimators.gaussian._all_rows import shells_of_round, whitened_by_all
from pubpriv.estimators.gaussian._plan import (
    AnyPlan,
    LearnerPlan,
    all_rows_question,
    final_question,
    final_theta,
    joint_question,
    radius_question,
)
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._shells import gaussian_end
from pubpriv.estimators.gaussian.clipping import (
    best_moment_radius,
    mean_constants,
    median_norm_squared,
    moment_constants,
    unclip_variances,
)
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.steps import Execution, step
from pubpriv.ledger.unit import Size

WIDENING = (1.3,) * 3 + (0.8,) * 4
"""Clip radius of each round over the private median of |w|: early rounds see more, late ones have less noise."""

_OFF = 0.125
"""A guess of where a search ends may be off by this part of a cell: then the other cell is summed for, too."""

LEAST_VARIANCE = 0.02
"""Least eigenvalue of the final covariance in standard coordinates, where it should be I."""

_STILL, _NEAR, _ACCURATE = 2.0, 0.15, 0.8
"""Rounds have settled if the last one moved the map by at most this many times what sampling and noise of two rounds
explain, or by the second number times sqrt(d), which costs no accuracy, and left it nearer to standard than the third
one times sqrt(d)."""

_FAR = 0.5
"""The run did not converge if the final release deviates from I by this root mean square eigenvalue ..."""

_UNEXPECTED, _HARMLESS = 4.0, 0.3
"""... or by this many times what sampling and noise explain, in the last round and in the release, unless it is below
the second number, which the inverse of the clipping can handle."""

_ASTRAY = 1.5
"""A core that is only a part of a table's moments is astray if it deviates by so many times what sampling, noise and
the rounds' accuracy explain. Of 24 such cores of few rows that the limits above refuse, none deviated by more than 1.3
times that, and 2% of their numbers were outside their intervals."""

_MOST_BLUR = 1.5
"""Upper limit of the allowance for gaps of a lattice in a variance of w."""

MISSED, LEFT_OUT = 4.0, 2.0
"""Rows count as incomplete (first number), or as too far out in the last release (second), if the released count is
below n by this many of its noise sds."""


@public_value
@dataclass(frozen=True)
class Position:
    """What the rounds have learnt so far.

    Attributes:
        frame: the map to w, where the records should be standard.
        records: estimated number of rows without missing or infinite values.
        accuracy: expected Frobenius distance of the covariance of w from I, from sampling and noise in the last round.
        inner: the map in which inner rows should be standard, if that is another one; see `_all_rows`.
        settled: whether another round like the last one would move the map by its noise only.
        median: guess of the median of |w|, over that of standard rows.
    """

    frame: Frame
    records: float
    accuracy: float = 0.0
    inner: Frame | None = None
    settled: bool = False
    median: float = 1.0


@public_value
@dataclass(frozen=True)
class Measured:
    """The final release in its coordinates w = F (x - c), debiased, before it is pooled with public rows.

    Attributes:
        frame: the map to w.
        mean: mean of w, (d,).
        covariance: covariance of w, (d, d), with eigenvalues of at least `LEAST_VARIANCE`.
        records: number of measured rows: without missing or infinite values, and no further out than Gaussian rows.
        radius: clip radius.
        mean_sd: noise sd of a coordinate of the clipped mean, before debiasing.
        moment_sd: noise sd of a diagonal entry of the clipped second moment, before debiasing.
        deviation: Frobenius distance of the linearly debiased second moment from I.
        expected: what sampling and noise of this release contribute to that distance if w is standard.
        accuracy: how far from standard the rounds are expected to have left w; see `Position`.
        expected_mean: what sampling and noise contribute to the length of `mean`.
        counted: released number of rows that are no further out than Gaussian ones, and the sd of its noise; 0, 0:
            these are all.
        beyond: the same of rows that are further out.
        blur: how far the variance of w may be off because its scale comes from a coarse median, see `median_blur`.
    """

    frame: Frame
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    records: float
    radius: float
    mean_sd: float
    moment_sd: float
    deviation: float
    expected: float
    accuracy: float
    expected_mean: float
    counted: tuple[float, float] = (0.0, 0.0)
    beyond: tuple[float, float] = (0.0, 0.0)
    blur: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the records were in standard coordinates when they were measured, as far as the release shows."""
        root = math.sqrt(len(self.mean))
        expected = math.hypot(self.expected, self.accuracy)
        return self.deviation <= min(_FAR * root, max(_UNEXPECTED * expected, _HARMLESS * root)) + self.blur * root

    @property
    def astray(self) -> bool:
        """Whether the records were clearly not in standard coordinates, and not because there are few of them."""
        return not self.converged and self.deviation > _ASTRAY * math.hypot(self.expected, self.accuracy)


@public_value
@dataclass(frozen=True)
class Fitted:
    """The estimate in the table's units, and the weights of the public rows in its mean and covariance."""

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    mean_weight: float = 0.0
    covariance_weight: float = 0.0

    @classmethod
    def of(
        cls, mean: np.ndarray, covariance: np.ndarray, mean_weight: float = 0.0, covariance_weight: float = 0.0
    ) -> "Fitted":
        """Make it from arrays (d,) and (d, d); the covariance is made exactly symmetric."""
        even = (covariance + covariance.T) / 2
        return cls(tuple(mean.tolist()), row_tuples(even), mean_weight, covariance_weight)


@dataclass(frozen=True)
class ClippedMoments:
    """Mean and second moment of clipped w, per record that counts, with noise sds, from a joint release."""

    frame: Frame
    records: float
    radius: float
    mean: np.ndarray
    second: np.ndarray
    mean_sd: float
    moment_sd: float

    def at_scale(self, scale: float) -> "ClippedMoments":
        """Give the moments of w / scale."""
        center, matrix = self.frame.dense()
        return ClippedMoments(
            Frame.of(center, matrix / scale),
            self.records,
            self.radius / scale,
            self.mean / scale,
            self.second / scale**2,
            self.mean_sd / scale,
            self.moment_sd / scale**2,
        )


@step(title="approach", private=True)
def _approach(
    curator: Curator,
    position: Position,
    typical: float,
    widening: float,
    asks: tuple[Ask, Ask],
    whole: WholeRows,
    of_all: bool = False,
    every: int | None = None,
) -> Position:
    """Run one round: find a map under which the records are closer to standard.

    Args:
        curator: the run.
        position: result of the rounds before.
        typical: expected median of |w|.
        widening: clip radius divided by the private median of |w|.
        asks: for the radius and for the moments.
        whole: number of whole rows.
        of_all: whether to whiten all rows, and not only the inner ones; see `_all_rows`.
        every: one row in so many is read, those of a sample; None: all are.

    Privacy: a `Bisection` and a `LiftedGram`, mu^2 at most the two prices.
    """

    def part(question: Bisection | LiftedGram) -> Question:
        return question if every is None else OfSample(question, every)

    def within(frame: Frame, median: float) -> Question:
        radius = widening * median
        if of_all:
            return all_rows_question(frame, shells_of_round(position.records, frame.dimension, radius, median), asks[1])
        return part(joint_question(frame, radius, LearnerPlan.round_mean, asks[1]))

    search = radius_question(position.frame, typical, position.records / (every or 1) / 2, asks[0])
    if position.accuracy:  # after a round; otherwise the radius is anybody's guess
        curator.foresee(*(within(position.frame, each) for each in _likely_medians(search, position.median)))
    found = curator.release(part(search), asks[0].label)
    median = float(found.values["quantile"][0])
    answer = curator.release(within(found.question.frame, median), asks[1].label)
    read = sample_of(answer.question) or 1  # of a resumed run, as it was asked
    moments = moments_of(answer, _of_one_in(read, whole.of(curator.size)), MISSED)
    # units in which the records' median norm equals a standard Gaussian's
    unit = median / math.sqrt(median_norm_squared(np.ones(position.frame.dimension)))
    accuracy = _expected_covariance_error(
        moments.records, position.frame.dimension, moments.radius / unit, moments.moment_sd / unit**2
    )
    inner, records = _moved(moments, median), read * moments.records
    if not of_all:
        settled = has_settled(position.frame, inner, position.accuracy, accuracy)
        likely = search.interpolated(found.values["count"]) / median
        return Position(inner, records, accuracy, settled=settled, median=likely)
    seconds, sds = (part["moment"][1:] / position.records for part in (answer.values, answer.question.noise()))
    frame = whitened_by_all(moments.frame, inner, seconds, sds.ravel())
    return Position(frame, records, accuracy, None if frame == inner else inner)


def has_settled(before: Frame, after: Frame, accuracy: float, own: float) -> bool:
    """Decide whether a round from one map to another, with this accuracy before and its own, was the last needed."""
    (start, first), (end, second) = before.dense(), after.dense()
    used = first.any(axis=0)  # columns that the map does not use stay where they are
    step = np.linalg.solve(first[:, used].T, second[:, used].T)
    sizes = np.maximum(np.linalg.svd(step, compute_uv=False), 1e-300)
    spread = 2 * float(np.linalg.norm(np.log(sizes)))
    moved = spread + float(np.linalg.norm(second @ (end - start)))
    root = math.sqrt(len(step))
    return moved <= max(_STILL * math.hypot(accuracy, own), _NEAR * root) and own <= _ACCURATE * root


def _of_one_in(every: int, size: Size) -> Size:
    """Give the size of a sample of one row in `every`, which is known but for chance."""
    if every == 1:
        return size
    rows = max(2, round(size.rows / every))
    return replace(size, rows=rows, sd=math.hypot(size.sd / every, math.sqrt(rows)))


def _likely_medians(search: Bisection, median: float) -> list[float]:
    """Guess the radius that a search will find if a round came before, or two if the guess is close to either.

    The round made the upper end of a cell that of standard Gaussian rows, and its counts show where in the cell the
    median was (`Position.median`). A wrong guess costs a pass, as none does, and the time to sum the moments.
    """
    thresholds = search.thresholds
    guess = median * math.sqrt(median_norm_squared(np.ones(search.frame.dimension)))
    off = float(thresholds[1] / thresholds[0]) ** _OFF
    places = {min(int(np.searchsorted(thresholds, each)), len(thresholds) - 1) for each in (guess / off, guess * off)}
    return [float(thresholds[place]) for place in sorted(places)]


@step(title="final release", private=True)
def measure(curator: Curator, position: Position, ask: Ask, whole: WholeRows) -> Measured:
    """Make the final release with the map of the rounds, debiased for clipping as if w were nearly standard Gaussian.

    Rows further out than Gaussian ones fall into a region of their own, which costs nothing: they are counted, and move
    neither mean nor covariance. A pure run has no such region.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    size, d = whole.of(curator.size), position.frame.dimension
    n = size.rows
    radius, end = final_radius(n, d, ask.rho), gaussian_end(n, d)
    answer = curator.release(final_question(position.frame, radius, end, ask), ask.label)
    found = debias(moments_of(answer, size, LEFT_OUT), position.accuracy)
    if len(answer.values["count"]) == 1:
        return found
    inside, odd = answer.values["count"].tolist()
    noise = float(answer.question.noise()["count"].max())
    return replace(found, counted=(inside, noise), beyond=(max(odd, 0.0), noise))


def debias(moments: ClippedMoments, accuracy: float) -> Measured:
    """Undo what clipping did to the moments of records that are close to standard Gaussian.

    Args:
        moments: clipped moments, per whole record.
        accuracy: how far from standard the rounds are expected to have left w; see `Position`.
    """
    d = moments.frame.dimension
    n = moments.records
    slope, law = mean_constants(d, moments.radius).slope, moment_constants(d, moments.radius)
    level = float(np.trace(moments.second)) / d
    scale_off, shape_off = (level - law.level) / law.trace, (moments.second - level * np.eye(d)) / law.shape
    mean = moments.mean / slope
    values, vectors = np.linalg.eigh(moments.second)
    unclipped = unclip_variances(values, moments.radius, LEAST_VARIANCE / 2)
    # rows on a lattice may be twice as large as their median says
    unclipped = unclip_variances(values, moments.radius, LEAST_VARIANCE / 2, scale=float(unclipped.mean()))
    spread = (vectors * unclipped) @ vectors.T - np.outer(mean, mean)
    return Measured(
        frame=moments.frame,
        mean=tuple(mean.tolist()),
        covariance=row_tuples(floored(spread, LEAST_VARIANCE)),
        records=moments.records,
        radius=moments.radius,
        mean_sd=moments.mean_sd,
        moment_sd=moments.moment_sd,
        deviation=math.sqrt(float((shape_off**2).sum()) + d * scale_off**2),
        expected=_expected_covariance_error(n, d, moments.radius, moments.moment_sd),
        accuracy=accuracy,
        expected_mean=_expected_mean_error(n, d, moments.radius, moments.mean_sd),
    )


def _expected_covariance_error(n: float, d: int, radius: float, moment_sd: float) -> float:
    """Compute the root mean square Frobenius error of the debiased second moment of n standard records.

    `moment_sd` is the noise sd of a diagonal entry.
    """
    law = moment_constants(d, radius)
    shape = (law.shape_variance / n + moment_sd**2) / law.shape**2
    return math.sqrt((d * (d + 1) / 2 - 1) * shape + (law.trace_variance / n + moment_sd**2) / law.trace**2)


def _expected_mean_error(n: float, d: int, radius: float, mean_sd: float) -> float:
    """Compute the root mean square length of the error of the debiased mean of n records; noise sd `mean_sd`."""
    law = mean_constants(d, radius)
    return math.sqrt(d * (law.variance / n + mean_sd**2)) / law.slope


def median_blur(public: PublicTable, law: str) -> float:
    """Bound how far the rounds may leave the variance of w from 1, beyond what is harmless.

    Under radial noise, the search for a radius has wide cells. For a single column on a lattice, the scale comes from
    the median of |w|, which may then lie anywhere in a gap between two values. The last release corrects both. With
    more columns, lengths of rows fill the gaps.
    """
    cell = 0.0 if law == GAUSSIAN else _pure.BLUR
    if public.rows.shape[1] > 1:
        return cell
    column = public.rows[:, 0]
    gap = lattice(column) / max(float(column.std()), 1e-300)
    return cell + min(2 * gap / length_quantile(1, 0.5), _MOST_BLUR)


@step(title="pool with public rows")
def pool(preconditioner: Preconditioner, measured: Measured) -> Fitted:
    """Pool the final release with public rows, in the table's units; post-processing, free.

    Positive-part James-Stein: public rows have the weight of their own variance, or less if they are further from the
    release than sampling explains, down to nothing for public rows of another law.
    """
    d, m = preconditioner.dimension, preconditioner.m
    center, matrix = measured.frame.dense()
    colour = np.linalg.inv(matrix)
    public_center, _, public_colour = preconditioner.arrays
    mean, spread = np.array(measured.mean), np.array(measured.covariance)
    values, vectors = np.linalg.eigh(spread)
    root = (vectors * np.sqrt(np.maximum(values, LEAST_VARIANCE))) @ vectors.T
    whitening = (vectors / np.sqrt(np.maximum(values, LEAST_VARIANCE))) @ vectors.T
    # covariance of the public rows and shift of their mean, in coordinates where private rows are standard
    shape = whitening @ matrix @ public_colour
    shape = shape @ shape.T
    weight = _weight(measured.expected**2, d * (d + 1) / (m - 1), float(((shape - np.eye(d)) ** 2).sum()))
    pooled = root @ ((1 - weight) * np.eye(d) + weight * shape) @ root.T
    shift = matrix @ (public_center - center) - mean
    mean_weight = _weight(measured.expected_mean**2, d / m, float(((whitening @ shift) ** 2).sum()))
    moved = center + colour @ (mean + mean_weight * shift)
    return Fitted.of(moved, colour @ pooled @ colour.T, mean_weight, weight)


def moments_of(answer: Answer, size: Size, missed: float) -> ClippedMoments:
    """Read mean and second moment from the first region of a joint release of n rows, with the question as stored.

    All rows are in that region unless its count is lower than n by more than `missed` sds.
    """
    noise = {name: float(sd.flat[0]) for name, sd in answer.question.noise().items()}
    count, sd = float(answer.values["count"][0]), noise["count"]
    inside = size.counted(count, sd, missed, least=missed * sd)
    return ClippedMoments(
        answer.question.frames[0],
        inside,
        answer.question.radii[0],
        answer.values["sum"][0] / inside,
        answer.values["moment"][0] / inside,
        noise["sum"] / inside,
        noise["moment"] / inside,
    )


def _moved(moments: ClippedMoments, median: float) -> Frame:
    """Make the map that undoes what a round has seen; noise is never taken for shape."""
    d = len(moments.mean)
    # the mean moves by the part that exceeds its noise (James-Stein)
    length = float(moments.mean @ moments.mean)
    mean = moments.mean * max(0.0, 1 - d * moments.mean_sd**2 / length)
    values, vectors = np.linalg.eigh(moments.second - np.outer(mean, mean))
    edge = moments.moment_sd * math.sqrt(2 * d)  # the largest eigenvalue of the noise alone
    if edge > median**2:
        variances = np.full(d, median**2 / d)  # only the scale was learnt
    else:
        unclipped = unclip_variances(values, moments.radius, edge / 1000)
        unclipped *= median**2 / median_norm_squared(unclipped)  # the median has less noise than the trace
        variances = np.maximum(np.where(values > 0, unclipped, values), edge)
        variances = np.minimum(variances, 4 * max(median, moments.radius) ** 2)
    center, matrix = moments.frame.dense()
    seen = matrix.any(axis=0)  # columns that the map does not use stay where they are
    step = np.zeros(len(center))
    step[seen] = np.linalg.solve(matrix[:, seen], mean)
    return Frame.of(center + step, (vectors / np.sqrt(variances)) @ vectors.T @ matrix)


def _weight(own: float, other: float, distance: float) -> float:
    """Compute the other estimate's weight from expected squared errors `own` and `other`, and squared `distance`."""
    return own / (own + max(other, distance - own))


def first_question(run: Execution, start: Frame, typical: float, plan: LearnerPlan, early: int | None) -> Question:
    """Make the question with which `walk` begins, as far as it is known before the whole rows are counted."""
    search = radius_question(start, typical, run.curator.n_rows / (early or 1) / 2, plan.rounds[0][0])
    return search if early is None else OfSample(search, early)


def walk(
    run: Execution, start: Frame, typical: float, plan: AnyPlan, whole: WholeRows, early: int | None = None
) -> tuple[Position, AnyPlan]:
    """Run the rounds of `plan`, beginning with the map `start`, under which the median of |w| is about `typical`.

    Once a round has settled, the last one follows. It corrects what a part of the rows may not show; all others read
    one row in `early`, if that is given.

    Returns:
        Where the rounds ended, and the plan that was followed: what was not asked is left to the final release.
    """
    position = Position(start, whole.rows)
    count, asked = len(plan.rounds), list[tuple[Ask, Ask]]()
    widening = WIDENING if plan.final.law == GAUSSIAN else _pure.WIDENING.get(count, ())
    for number, asks in enumerate(plan.rounds):
        last = number == count - 1
        if position.settled and not last and plan.may_end:
            continue
        of_all = last and plan.whitens_all and plan.final.law == GAUSSIAN  # radial noise: one region
        here, every = run.at(f"{number + 1} of {count}"), None if last else early
        position = here(_approach, position, typical, widening[number], asks, whole, of_all, every)
        asked.append(asks)
        typical = math.sqrt(position.frame.dimension)
    return position, plan.with_rounds(len(asked) - 1)


def predicted_errors(plan: LearnerPlan, n: int, d: int) -> dict[str, float]:
    """Predict root mean square errors of the learner, if it converges and the rows are Gaussian; no row is read.

    Returns:
        `covariance`: relative Frobenius error; `mean`: Mahalanobis error; `covariance_noise` and `mean_noise`: the
        parts from noise only; `covariance_best` and `mean_best`: errors of the non-private estimates.
    """
    ask = plan.final
    theta = plan.theta(d)
    radius = best_moment_radius(n, d, final_rho(theta, ask.rho))
    noise = ask.as_asked(joint_question(Frame((0.0,) * d), radius, theta, ask, plan.counted)).noise()
    moment, mean = (float(noise[part].max()) / n for part in ("moment", "sum"))
    errors = {
        "covariance": _expected_covariance_error(n, d, radius, moment),
        "mean": _expected_mean_error(n, d, radius, mean),
        "covariance_best": float(np.sqrt(d * (d + 1) / n)),
        "mean_best": float(np.sqrt(d / n)),
    }
    silent = _expected_covariance_error(n, d, radius, 0.0), _expected_mean_error(n, d, radius, 0.0)
    for part, without in zip(("covariance", "mean"), silent, strict=True):
        errors[f"{part}_noise"] = float(np.sqrt(errors[part] ** 2 - without**2))
    return errors


def final_radius(n: int, d: int, rho: float) -> float:
    """Give the clip radius of the final release at `rho`. See `best_moment_radius`."""
    return best_moment_radius(n, d, final_rho(final_theta(d), rho))


def final_rho(theta: Fraction, rho: float) -> float:
    """Give the part of a final release's `rho` for the second moment; the mean in the same release has the rest."""
    return rho / (1 + float(theta) / 2) ** 2
