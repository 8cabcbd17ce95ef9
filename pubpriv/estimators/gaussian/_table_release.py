"""The last release of `moments` and `auto`: count, sum and second moment of each shell, and the estimate from them.

If the histogram fits a Gaussian, the core is debiased for one, corrected for the tails that it may have, and pooled
with public rows; otherwise it is used as released. What lies beyond it was measured in shells; see `_table_moments`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators._far_out import furthest
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._learner import LEAST_VARIANCE, ClippedMoments, Fitted, Measured, debias, pool
from pubpriv.estimators.gaussian._long_columns import in_view_of, shares_beyond, squares_beyond
from pubpriv.estimators.gaussian._plan import TablePlan, shells_question
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._results import check_held, core_noise, standard_errors
from pubpriv.estimators.gaussian._shell_reading import CoreRead, ShellMoments
from pubpriv.estimators.gaussian._shells import Cut, Fourths, Histogram
from pubpriv.estimators.gaussian._table_moments import (
    Outside,
    error_parts,
    fourth_of_columns,
    lost_entries,
    read_outside,
)
from pubpriv.estimators.gaussian.tail_belief import Correction, correction
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.steps import step
from pubpriv.released.noise import NoiseLaw, ShellNoise

_LOUD = 0.45
"""The noise is as large as the estimate if its largest eigenvalue is this share of the average variance of w."""

_FAINT, _STANDING_OUT = 1e-6, 4.0
"""A column whose spread was not found keeps the center, with this standard deviation in whitened units, unless its
variance is this many times the noise."""


@public_value
@dataclass(frozen=True)
class Table:
    """The estimate from the last release, and what is known about its errors.

    The last three are missing where a run of an older version is replayed: ledgers keep what steps found.

    Attributes:
        fitted: mean and covariance in the table's units.
        mean_errors, covariance_errors: (sampling, privacy, clipping), each (d,) or (d, d).
        core: the core as that of a Gaussian, debiased; None if it is reported as released.
        shells: number of shells beyond the core that count.
        beyond: share of the trace of the second moment that is expected beyond the last of them.
        endless: whether the tail hardly falls there.
        reach: outer edge of the last step of a shell that counts.
        hidden: number of rows beyond it that could remain hidden.
        edge: largest eigenvalue of the noise by itself, in w.
        weakest: smallest eigenvalue of the covariance of w before it was floored.
        quiet: whether the noise is clearly smaller than the estimate.
        boundless: whether rows seem to lie beyond the last edge of all shells.
        seldom: empty; ledgers of older versions have a part of the errors of clipping here.
        faint: coordinates of w whose variance noise drowns and whose scale is a guess: they keep the center.
        noise: law of the noise.
        further: (d,) what is expected beyond the last shell that counts, with its sd, as a part of each variance, where
            columns have as uneven shares of it as they may.
    """

    fitted: Fitted
    mean_errors: Matrix
    covariance_errors: tuple[Matrix, ...]
    core: Measured | None
    shells: int
    beyond: float
    endless: bool
    reach: float
    hidden: float
    edge: float
    weakest: float
    quiet: bool
    boundless: bool
    seldom: tuple[float, ...] = ()
    further: tuple[float, ...] = ()
    faint: tuple[int, ...] = ()
    noise: NoiseLaw | None = None

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        errors: dict[str, dict[str, np.ndarray]],
        outside: Outside,
        colour: np.ndarray,
        *,
        edge: float,
        weakest: float,
        trace: float,
        average: float,
    ) -> "Table":
        """Make the estimate as released, without a core as that of a Gaussian.

        Args:
            fitted: mean and covariance in the table's units.
            errors: standard errors, by number and source.
            outside: what lies beyond the core.
            colour: inverse of the map to w, (d, d).
            edge: largest eigenvalue of the noise by itself, in w.
            weakest: smallest eigenvalue of the covariance of w before it was floored.
            trace: trace of the covariance of w as shells have it, of which `beyond` is a share.
            average: average variance of w, beside which noise is quiet or not.

        Raises:
            NoAnswer: a number that cannot be held; see `check_held`.
        """
        check_held(fitted, *errors["mean"].values(), *errors["covariance"].values())
        tail = outside.tail
        further = outside.most_of(colour) * (tail.beyond + tail.beyond_sd) / np.diag(np.array(fitted.covariance))
        return cls(
            fitted=fitted,
            mean_errors=tuple(tuple(part.tolist()) for part in errors["mean"].values()),
            covariance_errors=tuple(map(row_tuples, errors["covariance"].values())),
            core=None,
            shells=tail.last,
            beyond=tail.beyond / max(trace, 1e-300),
            endless=tail.endless,
            reach=outside.reach,
            hidden=tail.hidden,
            edge=edge,
            weakest=weakest,
            quiet=edge <= _LOUD * max(1.0, average),
            boundless=tail.boundless,
            further=tuple(further.tolist()),
        )


@public_value
@dataclass(frozen=True)
class Known:
    """What is known of a table before its last release.

    Attributes:
        preconditioner: preconditioner of the regular columns, or None if there are none.
        frame: the map to w, (d, d).
        accuracy: how far the rounds are expected to have left w from standard; see `Position`.
        where: the cut.
        histogram: of |w|.
        fourths: fourth moments of the columns.
        guessed: coordinates of w whose scale is a guess, because almost no record differs from the center there.
        shape: shape of the public rows.
        records: number of rows without missing or infinite values.
    """

    preconditioner: Preconditioner | None
    frame: Frame
    accuracy: float
    where: Cut
    histogram: Histogram
    fourths: Fourths
    guessed: tuple[int, ...]
    shape: PublicShape
    records: float


@step(title="final release in shells", private=True)
def measure_shells(curator: Curator, known: Known, ask: Ask, of_mean: bool = False) -> Table:
    """Release count, sum and second moment of each shell, and compute mean and covariance from them.

    Args:
        curator: the run.
        known: what is known before the release.
        ask: label and price.
        of_mean: whether only the mean is reported.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    answer = curator.release(shells_question(known.frame, known.where, ask, TablePlan.counted, of_mean), ask.label)
    return _read(replace(known, frame=answer.question.frames[0]), shell_moments(answer, known.records))


def shell_moments(answer: Answer, records: float) -> ShellMoments:
    """Read a release in shells, of `records` rows."""
    counts = answer.values["count"]
    noise = {name: np.broadcast_to(sd.ravel(), len(counts)) for name, sd in answer.question.noise().items()}
    return ShellMoments(
        records,
        counts,
        answer.values["sum"] / records,
        answer.values["moment"] / records,
        float(noise["count"][0]),
        noise["sum"] / records,
        noise["moment"] / records,
    )


@dataclass(frozen=True)
class _Core:
    """The core of a release, in w, per whole row.

    Attributes:
        mean, second: (d,) and (d, d), moments of w.
        middle, around: mean of its own rows, and their second moment about that.
        measured, pooled: as that of a Gaussian, debiased, and pooled with public rows; None if the core is used as
            released.
        tail: correction for what clipping may have cut off a Gaussian core.
    """

    mean: np.ndarray
    second: np.ndarray
    middle: np.ndarray
    around: np.ndarray
    measured: Measured | None = None
    pooled: Fitted | None = None
    tail: Correction | None = None

    @classmethod
    def of(cls, known: Known, moments: ShellMoments) -> "_Core":
        """Read the core of a release in shells."""
        frame, where, n = known.frame, known.where, moments.records
        mean, second = moments.means[0], moments.seconds[0]
        if not where.gaussian or known.preconditioner is None:
            share = min(max(float(moments.rows[0]) / n, 0.5), 1.0)
            middle = mean / share
            return cls(mean, second, middle, second - share * np.outer(middle, middle))
        center, matrix = frame.dense()
        clipped = ClippedMoments(
            frame, n, where.radii[0], mean, second, float(moments.mean_sds[0]), float(moments.second_sds[0])
        )
        measured = debias(clipped.at_scale(where.scale), known.accuracy)
        pooled = pool(known.preconditioner, measured)
        tail = correction(where, frame.dimension, all_rows=False)
        mean = matrix @ (np.array(pooled.mean) - center)
        around = matrix @ tail.stretched(np.array(pooled.covariance)) @ matrix.T
        return cls(mean, around + np.outer(mean, mean), mean, around, measured, pooled, tail)


@np.errstate(over="ignore", invalid="ignore")  # refused by check_held
def _read(known: Known, moments: ShellMoments) -> Table:
    """Compute mean and covariance from a release in shells."""
    frame, where = known.frame, known.where
    center, matrix = frame.dense()
    colour, d, n = np.linalg.inv(matrix), frame.dimension, moments.records
    core_sds = float(moments.mean_sds[0]), float(moments.second_sds[0])
    core = _Core.of(known, moments)
    outside = read_outside(CoreRead(moments, known.histogram, where, core.around, core.middle, frame, known.shape))
    whole_mean = core.mean + outside.mean
    spread = core.around + outside.second - np.outer(whole_mean - core.middle, whole_mean - core.middle)
    edge = math.sqrt((core_sds[1] ** 2 + outside.left) * 2 * d)  # what shrinking may have removed wrongly is no noise
    last = outside.tail.last
    faint: tuple[int, ...] = ()
    if core.measured is not None and core.pooled is not None and not last:
        tail = correction(where, d, all_rows=True)
        fitted = tail.applied(core.pooled)
        noise = replace(core_noise(core.measured, core.pooled), stretch=tuple(np.sqrt(tail.factor).tolist()))
        public = known.preconditioner.m if known.preconditioner is not None else 0
        errors = tail.widened(standard_errors(core.measured, core.pooled, public), fitted)
        errors["covariance"]["clipping"] = np.hypot(
            errors["covariance"]["clipping"], lost_entries(colour @ outside.lost @ colour.T)
        )
    else:
        covariance = floored(spread, min(LEAST_VARIANCE, edge))
        seen = moments.seconds[: last + 1].sum(axis=0)
        loudness = math.sqrt(float((moments.second_sds[: last + 1] ** 2).sum()))
        faint = tuple(index for index in known.guessed if seen[index, index] < _STANDING_OUT * loudness)
        for index in faint:
            covariance[index], covariance[:, index], whole_mean[index] = 0.0, 0.0, 0.0
            covariance[index, index] = _FAINT**2
        fitted = Fitted.of(center + colour @ whole_mean, colour @ covariance @ colour.T)
        fourth = fourth_of_columns(outside, core.second, known.fourths, where, matrix)
        errors = error_parts(np.array(fitted.covariance), fourth, outside, core_sds, n, matrix)
        long = np.diag(_of_long_columns(where, outside, n) * np.diag(np.array(fitted.covariance)))
        errors["covariance"]["clipping"] = np.hypot(errors["covariance"]["clipping"], long)
        if core.tail is not None:
            errors = core.tail.added(errors, colour @ core.around @ colour.T)
        noise = _noise_of_shells(frame, core_sds, outside)
    trace, weakest = float(np.trace(spread)), float(np.linalg.eigvalsh((spread + spread.T) / 2)[0])
    table = Table.of(fitted, errors, outside, colour, edge=edge, weakest=weakest, trace=trace, average=trace / d)
    noise = replace(noise, lost=row_tuples(colour @ outside.lost @ colour.T))
    return replace(table, core=core.measured, faint=faint, noise=noise)


def _noise_of_shells(frame: Frame, core_sds: tuple[float, float], outside: Outside) -> NoiseLaw:
    """Give the law of the noise in an estimate that is a sum over shells, as `error_parts` has it by number.

    Args:
        frame: the map to w.
        core_sds: noise sds of a coordinate of the core's mean and of a diagonal entry of its second moment.
        outside: what lies beyond the core.
    """
    center, matrix = frame.dense()
    colour, d = np.linalg.inv(matrix), frame.dimension
    along, across = outside.shape_variance
    axes, mean = row_tuples(outside.axes), row_tuples(outside.mean_variance)
    return NoiseLaw(
        frame=row_tuples(matrix),
        center=tuple(center.tolist()),
        sd_mean=core_sds[0],
        sd_moment=core_sds[1],
        shape=1.0,
        trace=1.0,
        pooled=(0.0, 0.0),
        stretch=(1.0,) * d,
        lost=row_tuples(np.zeros((d, d))),
        patterns=tuple(row_tuples(colour @ part @ colour.T) for part in outside.noise),
        shells=ShellNoise(axes, tuple(np.asarray(along).tolist()), float(across), mean),
    )


def _of_long_columns(where: Cut, outside: Outside, n: float) -> np.ndarray:
    """Bound what columns that may be long have beyond the last shell that counts, (d,), as a part of their variances.

    It is the root of the mean square over their laws, an error and no part of the estimate: nothing was measured there,
    and each law is as likely as it makes the rows that were counted in the shells beyond.
    """
    if where.gaussian or not where.long:
        return np.zeros(len(outside.axes))
    last, d = outside.tail.last, len(where.long)
    ends = [furthest(d, edge) for edge in (*where.edges, where.radii[-1])[last:]]
    expected = n * shares_beyond(np.array(ends[:-1]))
    rows, variances = outside.rows[last:], outside.rows_sd[last:] ** 2
    none = log_likelihood(rows, np.zeros(len(rows)), variances)
    chances = in_view_of(np.array(where.long), log_likelihood(rows, expected, variances + expected) - none)
    return np.asarray(np.sqrt(chances @ squares_beyond(furthest(d, outside.reach)) ** 2))
