"""Targets `moments` and `auto`: rounds that whiten, quantiles that say how far the records reach, one last release.

All prices are fixed before the run, so under `auto` both branches ask the same questions but for the radius of the
last one: the best for a Gaussian, debiased afterwards, or a high quantile, reported as it is. The rounds are those of
the learner at its prices: whitening better than rows of another law allow would buy nothing, see `benchmarks.tables`.

Real tables are not Gaussian, and debiasing for one leaves a floor that no budget removes. So for the table's own
moments the rounds serve as a whitening alone; a private high quantile of |w| says where to clip, where almost no record
is, and what the last release says is what is reported. Source: our study, section E (`docs/gaussian.md`).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.estimators.gaussian.degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian.learner import (
    LEAST_VARIANCE,
    Fitted,
    Position,
    floored,
    measure,
    pool,
    released_moments,
    walk,
)
from pubpriv.estimators.gaussian.plan import (
    LearnerPlan,
    TablePlan,
    check_feasible,
    feasible,
    final_theta,
    joint_question,
    table_plan,
)
from pubpriv.estimators.gaussian.preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian.quantiles import (
    Quantile,
    Whole,
    count_rows,
    decide,
    spread_quantile,
)
from pubpriv.estimators.gaussian.results import GaussianResult, debiased, plain_errors, shortage
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_LOUD = 0.5
"""The clip radius is at most where the noise's largest eigenvalue is this, in whitened units."""

_ROOM = 1.4
"""The clip radius is at most this many times the reach."""

_FAINT, _STANDING_OUT = 1e-6, 4.0
"""A column of which no spread was found keeps the center, with this standard deviation in whitened units, unless its
variance is so many times the noise."""

_SMALL = 1e-3
"""A scale below this part of a spread that the public rows show is noise's doing."""


@public_value
@dataclass(frozen=True)
class _Table:
    """What the last release says of the table, without debiasing.

    Attributes:
        frame: the map to w.
        fitted: mean and covariance in the table's units.
        records: rows without missing or infinite values.
        radius: clip radius.
        mean_sd: noise sd of a coordinate of the mean of w.
        moment_sd: noise sd of a diagonal entry of the second moment of w.
        edge: largest eigenvalue of the noise alone.
        weakest: smallest eigenvalue of the covariance of w as it was released.
    """

    frame: Frame
    fitted: Fitted
    records: float
    radius: float
    mean_sd: float
    moment_sd: float
    edge: float
    weakest: float

    @property
    def quiet(self) -> bool:
        """The noise is not of the size of the estimate: its largest eigenvalue is clearly below the loudest."""
        return self.edge <= 0.9 * _LOUD


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
) -> tuple[str, GaussianResult]:
    """Estimate by `moments` or `auto`: (target that was chosen, outcome)."""
    curator = run.curator
    n, d = curator.n_rows, layout.dimension
    if not force:
        check_feasible(n, d, purse, curator.budget)
    plan = table_plan(purse, n, layout, target)
    curator.rehearse(plan.questions)
    preconditioner, position = _whitened(run, rows, layout, plan)
    whole, final = run(count_rows, plan.count), plan.final
    records = whole.records
    scales = tuple(
        _Scale(float(column.scale or 0.0), True)
        if ask is None
        else run.at(f"({layout.columns[column.index]})")(_learn_scale, layout, place, whole, ask)
        for place, (column, ask) in enumerate(zip(layout.degenerate, plan.scales, strict=True))
    )
    frame = run(_assemble, layout, None if position is None else position.frame, scales)
    most, found = loud_radius(frame, records, final), dict[str, Quantile]()
    for name, wanted, ask in plan.quantiles:
        share = wanted or _reach_share(plan, whole)
        found[name] = run.at(f"({name})")(spread_quantile, frame, share, whole, most, ask)
    facts: dict[str, Any] = {"quantiles": {name: [each.share, each.value] for name, each in found.items()}}
    if plan.decides and preconditioner is not None:
        verdict = run(decide, tuple(found.values()), frame, records)
        facts |= {"quantile_gap": verdict.gap}
        if verdict.target == "gaussian":
            accuracy = 0.0 if position is None else position.accuracy
            measured = run(measure, Position(frame, records, accuracy), final)
            fitted = run(pool, preconditioner, measured)
            outcome = debiased(curator, preconditioner, measured, plan, purse, fitted)
            outcome.facts.update(facts)
            outcome.warnings[:0] = preconditioner.notes
            if not measured.converged:
                outcome.warnings.append("the rows may be no Gaussian's: the target moments does not need them to be")
            return "gaussian", outcome
    radius = _clip_radius(frame, records, found["upper"], found["reach"], final)
    guessed = tuple(len(layout.regular) + at for at, scale in enumerate(scales) if not scale.seen)
    table = run.at("", *found.values())(_measure_table, frame, radius, guessed, whole, final)
    outcome = _undebiased(curator, layout, table, scales, plan, purse)
    outcome.facts.update(facts)
    outcome.warnings[:0] = () if preconditioner is None else preconditioner.notes
    return "moments", outcome


def _reach_share(plan: TablePlan, whole: Whole) -> float:
    """The share of the records within the reach: so many that noise does not carry it beyond them.

    As many rows as the search of a scale leaves above it may be any distance away, so the reach leaves them out too.
    """
    searches = [ask.question for ask in (plan.reach, *plan.scales) if ask is not None]
    noises = [search.noise_scale for search in searches if isinstance(search, Bisection)]
    return min(whole.high_rank(noise) for noise in noises) / whole.records


def _whitened(
    run: Execution, rows: PublicTable, layout: Layout, plan: LearnerPlan
) -> tuple[Preconditioner | None, Position | None]:
    """The public whitening of the regular columns, and where the rounds lead from it; nothing if there are none."""
    if not layout.regular:
        return None, None
    preconditioner = run(precondition, layout.whitened(rows))
    start = Position(layout.frame(preconditioner), run.curator.n_rows)
    return preconditioner, walk(run, start, preconditioner.typical_radius, plan)


def _undebiased(
    curator: Curator, layout: Layout, table: _Table, scales: tuple[_Scale, ...], plan: Plan, purse: Purse
) -> GaussianResult:
    """The outcome of a release that is reported as it is."""
    enough = feasible(table.records, layout.dimension, purse.rho)
    sizes = {layout.columns[column.index]: scale for column, scale in zip(layout.degenerate, scales, strict=True)}
    unseen = [name for name, scale in sizes.items() if not scale.seen]
    warnings = layout.notes() + shortage(table.records, curator.n_rows, enough)
    if unseen:
        warnings.append(f"too few private rows tell the spread of {', '.join(unseen)}: only a guess is given")
    if not table.quiet:
        warnings.append(
            "rows reach too far for this budget: they are clipped, so that wide columns come out too narrow, and the "
            "noise is of the size of the estimate; a logarithm of such a column, or its scale, helps"
        )
    facts = {
        "whole_rows": table.records,
        "clip_radius": table.radius,
        "noise_edge": table.edge,
        "smallest_eigenvalue": table.weakest,
        "feasible": enough,
        "scales": {name: scale.value for name, scale in sizes.items()},
        "rounds": [ask.label for ask in plan.asks],
    }
    colour = np.linalg.inv(table.frame.dense()[1])
    noise = (colour, table.mean_sd), (colour, table.moment_sd)
    errors = plain_errors(table.fitted, round(table.records), *noise)
    return GaussianResult(table.fitted, enough and table.quiet, errors, facts, warnings)


def _moment_noise(frame: Frame, n: float, ask: Ask) -> float:
    """Give the noise sd of a diagonal second moment of records clipped to 1; it grows with the radius squared."""
    return float(joint_question(frame, 1.0, final_theta(frame.dimension), ask).noise()["moment"].max()) / n


def loud_radius(frame: Frame, n: float, ask: Ask) -> float:
    """Give the radius at which noise alone has an eigenvalue of `_LOUD`: public."""
    return math.sqrt(_LOUD / (_moment_noise(frame, n, ask) * math.sqrt(2 * frame.dimension)))


def _clip_radius(frame: Frame, n: float, upper: Quantile, reach: Quantile, ask: Ask) -> float:
    """Clip where clipping and noise together are least, if the tail goes on beyond `reach` as it came from `upper`.

    With P(|w| > r + t) = f exp(-t / h) beyond the reach r, the fit of the two quantiles, clipping at c takes
    2 f h (c + h) exp((r - c) / h) from the trace of the second moment, all of it from one direction at worst, and the
    noise has a Frobenius norm in proportion to c^2. A Gaussian's h is small, and c = r; long tails are given more room.
    """
    d, r, beyond = frame.dimension, reach.value, max(1 - reach.share, 1 / n)
    h = max(r - upper.value, 0.01 * r) / max(math.log((1 - upper.share) / beyond), 0.1)
    c = r * np.linspace(1, _ROOM, 201)
    noise = _moment_noise(frame, n, ask) * math.sqrt(d * (d + 1) / 2) * c**2
    lost = 2 * beyond * h * (c + h) * np.exp((r - c) / h)
    return min(float(c[np.argmin(noise**2 + lost**2)]), max(r, loud_radius(frame, n, ask)))


@step(title="final release as it is", private=True)
def _measure_table(
    curator: Curator, frame: Frame, radius: float, guessed: tuple[int, ...], whole: Whole, ask: Ask
) -> _Table:
    """Release mean and covariance of the records clipped to `radius`, in the table's units.

    Args:
        curator: the run.
        frame: the map to w, (d, d).
        radius: beyond which almost no record is.
        guessed: coordinates of w whose scale is a guess, because hardly a record differs from the center there.
        whole: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    d = frame.dimension
    answer = released_moments(curator, frame, radius, final_theta(d), ask)
    per = answer.records / whole.records  # the rows were counted better than beside the moments
    center, matrix = answer.frame.dense()
    colour = np.linalg.inv(matrix)
    mean, sd = answer.mean * per, answer.moment_sd * per
    spread, edge = answer.second * per - np.outer(mean, mean), sd * math.sqrt(2 * d)
    covariance = floored(spread, min(LEAST_VARIANCE, edge))
    for index in guessed:
        if spread[index, index] < _STANDING_OUT * sd:
            covariance[index], covariance[:, index], mean[index] = 0.0, 0.0, 0.0
            covariance[index, index] = _FAINT**2
    return _Table(
        frame=answer.frame,
        fitted=Fitted.of(center + colour @ mean, colour @ covariance @ colour.T),
        records=whole.records,
        radius=answer.radius,
        mean_sd=answer.mean_sd * per,
        moment_sd=sd,
        edge=edge,
        weakest=float(np.linalg.eigvalsh((spread + spread.T) / 2)[0]),
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
