"""Targets `moments` and `auto`: rounds that whiten, a histogram that says how far the rows reach, one last release.

Real tables are not Gaussian, and debiasing for one leaves a floor that no budget removes. So the rounds serve as a
whitening; one private histogram of |w| says where to cut the last release into shells, and as many of these count as
hold rows. What is estimated are always the table's own moments. Under `auto`, where the histogram is a Gaussian's, the
Gaussian supplies the shape that the core lost to clipping. All prices are fixed before the run.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.estimators.gaussian.degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian.learner import (
    LEAST_VARIANCE,
    ClippedMoments,
    Fitted,
    Measured,
    Position,
    debias,
    floored,
    pool,
    walk,
    wide_radius,
)
from pubpriv.estimators.gaussian.plan import (
    LearnerPlan,
    check_feasible,
    feasible,
    shells_question,
    table_plan,
)
from pubpriv.estimators.gaussian.preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian.results import GaussianResult, debiased_facts, shortage, standard_errors
from pubpriv.estimators.gaussian.shells import (
    Cut,
    Fourths,
    Histogram,
    count_lengths,
    cut,
    fourth_moments,
)
from pubpriv.estimators.gaussian.table_moments import ShellMoments, error_parts, fourth_of_columns, read_outside
from pubpriv.estimators.gaussian.tail_unseen import unseen_tail
from pubpriv.estimators.gaussian.whole import Whole, count_rows
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_LOUD = 0.45
"""The noise is of the size of the estimate if its largest eigenvalue is this part of the average variance of w."""

_MATTERS, _VAGUE = 0.08, 0.5
"""A run is flagged if the error of clipping is more than all others of a variance and more than MATTERS of it, or if
all its errors together are more than VAGUE of it: its intervals hold, but they say little."""

_AGREED = 0.3
"""Where the histogram is a Gaussian's, a core that deviates from it by less than this root mean square eigenvalue needs
no warning: the inverse of the clipping takes care of it."""

_FAINT, _STANDING_OUT = 1e-6, 4.0
"""A column of which no spread was found keeps the center, with this standard deviation in whitened units, unless its
variance is so many times the noise."""

_SMALL = 1e-3
"""A scale below this part of a spread that the public rows show is noise's doing."""

_Matrix = tuple[tuple[float, ...], ...]


@public_value
@dataclass(frozen=True)
class _Table:
    """What the last release says of the table.

    Attributes:
        fitted: mean and covariance in the table's units.
        mean_errors, covariance_errors: (sampling, privacy, clipping), each (d,) or (d, d).
        core: the core as a Gaussian's, debiased; None where it is reported as it is.
        shells: how many shells beyond the core count.
        beyond: expected share, of the trace of the second moment, of what lies beyond the last of them.
        endless: whether the tail hardly falls there.
        reach: outer edge of the last shell that counts.
        hidden: how many rows beyond it would not be seen.
        edge: largest eigenvalue of the noise alone, in w.
        weakest: smallest eigenvalue of the covariance of w before it was floored.
        quiet: whether the noise is clearly smaller than the estimate.
    """

    fitted: Fitted
    mean_errors: _Matrix
    covariance_errors: tuple[_Matrix, ...]
    core: Measured | None
    shells: int
    beyond: float
    endless: bool
    reach: float
    hidden: float
    edge: float
    weakest: float
    quiet: bool

    @property
    def clipped(self) -> bool:
        """Whether what may lie beyond the last shell is more than all other errors of a variance, and matters."""
        if self.core is not None and not self.shells:  # what the histogram's noise hides widens intervals: no warning
            return False
        sampling, privacy, clipping = (np.diag(np.array(part)) for part in self.covariance_errors)
        variances = np.diag(np.array(self.fitted.covariance))
        return self.endless or bool(
            ((clipping > np.hypot(sampling, privacy)) & (clipping > _MATTERS * variances)).any()
        )

    @property
    def vague(self) -> bool:
        """Whether a variance is not known to within a factor of two."""
        squares = sum(np.diag(np.array(part)) ** 2 for part in self.covariance_errors)
        return bool((np.sqrt(squares) > _VAGUE * np.diag(np.array(self.fitted.covariance))).any())


@public_value
@dataclass(frozen=True)
class _Scale:
    """What is known of the size of a degenerate column.

    Attributes:
        value: what z is divided by, in the table's units.
        seen: False if hardly any private row differs from the public rows' value or combination.
    """

    value: float
    seen: bool


def estimate_table(
    run: Execution, rows: PublicTable, layout: Layout, purse: Purse, target: str, force: bool
) -> GaussianResult:
    """Estimate by `moments` or `auto`."""
    curator = run.curator
    n, d = curator.n_rows, layout.dimension
    if not force:
        check_feasible(n, d, purse, curator.budget)
    plan = table_plan(purse, n, layout, target)
    curator.rehearse(plan.questions)
    preconditioner, position = _whitened(run, rows, layout, plan)
    whole = run(count_rows, plan.count)
    scales = tuple(
        _Scale(float(column.scale or 0.0), True)
        if ask is None
        else run.at(f"({layout.columns[column.index]})")(_learn_scale, layout, place, whole, ask)
        for place, (column, ask) in enumerate(zip(layout.degenerate, plan.scales, strict=True))
    )
    frame = run(_assemble, layout, None if position is None else position.frame, scales)
    histogram = run(count_lengths, frame, whole.records, plan.histogram)
    where = run(cut, histogram, d, whole.records, wide_radius(n, d, plan.final.rho), plan.may_be_gaussian)
    fourths = run(fourth_moments, frame, where, whole.records, plan.fourth)
    guessed = tuple(len(layout.regular) + at for at, scale in enumerate(scales) if not scale.seen)
    accuracy = 0.0 if position is None else position.accuracy
    table = run(
        measure_shells, preconditioner, frame, accuracy, where, histogram, fourths, guessed, whole.records, plan.final
    )
    return _outcome(curator, preconditioner, layout, table, where, histogram, scales, whole.records, plan, purse)


def _whitened(
    run: Execution, rows: PublicTable, layout: Layout, plan: LearnerPlan
) -> tuple[Preconditioner | None, Position | None]:
    """The public whitening of the regular columns, and where the rounds lead from it; nothing if there are none."""
    if not layout.regular:
        return None, None
    preconditioner = run(precondition, layout.whitened(rows))
    start = Position(layout.frame(preconditioner), run.curator.n_rows)
    return preconditioner, walk(run, start, preconditioner.typical_radius, plan)


def _outcome(
    curator: Curator,
    preconditioner: Preconditioner | None,
    layout: Layout,
    table: _Table,
    where: Cut,
    histogram: Histogram,
    scales: tuple[_Scale, ...],
    records: float,
    plan: Plan,
    purse: Purse,
) -> GaussianResult:
    """The outcome of a release in shells."""
    enough = feasible(records, layout.dimension, purse)
    sizes = {layout.columns[column.index]: scale for column, scale in zip(layout.degenerate, scales, strict=True)}
    unseen = [name for name, scale in sizes.items() if not scale.seen]
    warnings = [*(() if preconditioner is None else preconditioner.notes), *layout.notes()]
    warnings += shortage(records, curator.n_rows, enough)
    if unseen:
        warnings.append(f"too few private rows tell the spread of {', '.join(unseen)}: only a guess is given")
    loud = not table.quiet or table.vague
    if loud:
        warnings.append(
            "rows reach too far for this budget: they are clipped, so that wide columns come out too narrow, and the "
            "noise is of the size of the estimate; a logarithm of such a column, or its scale, helps"
        )
    elif table.clipped:
        warnings.append(
            "rows reach further than this budget can see: what may lie beyond the last shell matters more than all "
            "else; a logarithm of a column with a long tail helps"
        )
    core, close = table.core, _AGREED * math.sqrt(layout.dimension)
    converged = core is None or core.converged or core.deviation <= close
    if not converged:
        warnings.append("the rounds did not converge: do not use this estimate")
    facts: dict[str, Any] = {
        "whole_rows": records,
        "shape": "as released" if table.core is None else "gaussian",
        "clip_radius": where.radii[0] if not table.shells else table.reach,
        "noise_edge": table.edge,
        "smallest_eigenvalue": table.weakest,
        "feasible": enough,
        "scales": {name: scale.value for name, scale in sizes.items()},
        "radial": {"edges": list(histogram.edges), "counts": list(histogram.counts), "sd": histogram.sd},
        "shells": table.shells,
        "beyond_clip": _beyond(histogram, table.reach, records),
        "could_hide": {"rows": math.ceil(table.hidden), "beyond": table.reach},
        "rounds": [ask.label for ask in plan.asks],
    }
    if table.core is not None:
        facts |= debiased_facts(table.core, table.fitted)
    errors = {
        part: dict(zip(("sampling", "privacy", "clipping"), map(np.array, values), strict=True))
        for part, values in (("mean", table.mean_errors), ("covariance", table.covariance_errors))
    }
    good = enough and not loud and converged and not table.clipped
    return GaussianResult(table.fitted, good, errors, facts, warnings)


def _beyond(histogram: Histogram, reach: float, records: float) -> dict[str, float]:
    """Share of rows beyond the last shell that counts, as counted, and the noise of that."""
    outside = histogram.counts[1 + int(np.searchsorted(histogram.edges, reach * (1 - 1e-9))) :]
    sd = histogram.sd * math.sqrt(max(len(outside), 1))
    return {"share": max(sum(outside), 0.0) / records, "sd": sd / records}


@step(title="final release in shells", private=True)
def measure_shells(
    curator: Curator,
    preconditioner: Preconditioner | None,
    frame: Frame,
    accuracy: float,
    where: Cut,
    histogram: Histogram,
    fourths: Fourths,
    guessed: tuple[int, ...],
    records: float,
    ask: Ask,
) -> _Table:
    """Release count, sum and second moment of each shell, and make mean and covariance of them.

    Args:
        curator: the run.
        preconditioner: of the regular columns, or None if there are none.
        frame: the map to w, (d, d).
        accuracy: how far the rounds are expected to have left w from standard; see `Position`.
        where: the cut.
        histogram: of |w|.
        fourths: fourth moments of the columns.
        guessed: coordinates of w whose scale is a guess, because hardly a record differs from the center there.
        records: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    answer = curator.release(shells_question(frame, where, ask), ask.label)
    frame = answer.question.frames[0]
    noise = {name: np.broadcast_to(sd.ravel(), len(where.radii)) for name, sd in answer.question.noise().items()}
    moments = ShellMoments(
        records,
        answer.values["count"],
        answer.values["sum"] / records,
        answer.values["moment"] / records,
        float(noise["count"][0]),
        noise["sum"] / records,
        noise["moment"] / records,
    )
    return _read(preconditioner, frame, accuracy, where, histogram, fourths, guessed, moments)


def _read(
    preconditioner: Preconditioner | None,
    frame: Frame,
    accuracy: float,
    where: Cut,
    histogram: Histogram,
    fourths: Fourths,
    guessed: tuple[int, ...],
    moments: ShellMoments,
) -> _Table:
    """Mean and covariance from a release in shells."""
    center, matrix = frame.dense()
    colour, d, n = np.linalg.inv(matrix), frame.dimension, moments.records
    core_sds = float(moments.mean_sds[0]), float(moments.second_sds[0])
    core: Measured | None = None
    pooled: Fitted | None = None
    mean, second = moments.means[0], moments.seconds[0]
    if where.gaussian and preconditioner is not None:
        clipped = ClippedMoments(frame, n, where.radii[0], mean, second, *core_sds)
        core = debias(clipped.at_scale(where.scale), accuracy)
        pooled = pool(preconditioner, core)
        middle = mean = matrix @ (np.array(pooled.mean) - center)
        around = matrix @ np.array(pooled.covariance) @ matrix.T
        second = around + np.outer(mean, mean)
    else:
        share = min(max(float(moments.rows[0]) / n, 0.5), 1.0)
        middle = mean / share
        around = second - share * np.outer(middle, middle)
    outside = read_outside(moments, histogram, where, around, middle, matrix)
    whole_mean = mean + outside.mean
    spread = around + outside.second - np.outer(whole_mean - middle, whole_mean - middle)
    edge = math.sqrt((core_sds[1] ** 2 + outside.shape_variance) * 2 * d)
    last = outside.tail.last
    if core is not None and pooled is not None and not last:
        fitted = pooled
        errors = standard_errors(core, pooled, preconditioner.m if preconditioner is not None else 0)
        unseen_mean, unseen = unseen_tail(histogram, where, d, n)
        spreads = np.sqrt(np.diag(np.array(pooled.covariance)))
        errors["mean"]["clipping"] = unseen_mean * spreads
        errors["covariance"]["clipping"] = unseen * np.outer(spreads, spreads)
    else:
        covariance = floored(spread, min(LEAST_VARIANCE, edge))
        seen = moments.seconds[: last + 1].sum(axis=0)
        noise = math.sqrt(float((moments.second_sds[: last + 1] ** 2).sum()))
        for index in guessed:
            if seen[index, index] < _STANDING_OUT * noise:
                covariance[index], covariance[:, index], whole_mean[index] = 0.0, 0.0, 0.0
                covariance[index, index] = _FAINT**2
        fitted = Fitted.of(center + colour @ whole_mean, colour @ covariance @ colour.T)
        fourth = fourth_of_columns(outside, second, fourths, where, matrix)
        errors = error_parts(np.array(fitted.covariance), fourth, outside, core_sds, n, matrix)
    ends = (*where.edges, where.radii[-1])
    beyond = outside.tail.beyond
    return _Table(
        fitted=fitted,
        mean_errors=tuple(tuple(part.tolist()) for part in errors["mean"].values()),
        covariance_errors=tuple(tuple(map(tuple, part.tolist())) for part in errors["covariance"].values()),
        core=core,
        shells=last,
        beyond=beyond / max(float(np.trace(spread)), 1e-300),
        endless=outside.tail.endless,
        reach=float(ends[last]),
        hidden=3 * float(outside.rows_sd[min(last, len(outside.rows_sd) - 1)]),
        edge=edge,
        weakest=float(np.linalg.eigvalsh((spread + spread.T) / 2)[0]),
        quiet=edge <= _LOUD * max(1.0, float(np.trace(spread)) / d),
    )


@step(title="scale of a degenerate column", private=True)
def _learn_scale(curator: Curator, layout: Layout, place: int, whole: Whole, ask: Ask) -> _Scale:
    """Learn a size for a degenerate column.

    The quantile is brought to where the longest of the whitened records are, sqrt(d) + 3, so that neither they nor
    the column set the noise of the last release alone.

    Args:
        curator: the run.
        layout: of all columns.
        place: of the column among the degenerate ones.
        whole: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `Bisection`, mu^2 at most ask.price.
    """
    column = layout.degenerate[place]
    answer = curator.release(scale_question(layout, column, whole, ask), ask.label)
    asked = answer.question  # on a resumed run, as it was stored
    quantile = float(answer.values["quantile"][0])
    least = column.unit * _SMALL if column.spread else 2 * asked.lower
    seen = least < quantile < asked.upper / 2
    size = quantile if seen else column.unit
    return _Scale(size / (3 + math.sqrt(layout.dimension)) if seen or not column.spread else size, seen)


@step(title="_assemble coordinates")
def _assemble(layout: Layout, regular: Frame | None, scales: tuple[_Scale, ...]) -> Frame:
    """Make the map of the last release: whitened regular columns first, then each degenerate column over its scale.

    Args:
        layout: of the columns.
        regular: where the rounds have led, or None if every column is degenerate.
        scales: of the degenerate columns, in order.
    """
    if regular is not None and not layout.degenerate:
        return regular
    center, rows = (np.array(layout.center), np.zeros((0, layout.dimension))) if regular is None else regular.dense()
    own = [np.array(column.weights) / scale.value for column, scale in zip(layout.degenerate, scales, strict=True)]
    return Frame.of(center, np.vstack([rows, *own]))
