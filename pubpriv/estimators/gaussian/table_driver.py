"""Targets `moments` and `auto`: rounds that whiten, quantiles that say how far the records reach, one last release.

All prices are fixed before the run, so under `auto` both branches ask the same questions but for the radius of the
last one: the best for a Gaussian, debiased afterwards, or a high quantile, reported as it is. The rounds are those of
the learner at its prices: whitening better than rows of another law allow would buy nothing, see `benchmarks.tables`.
"""

from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.questions import Bisection
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Plan
from pubpriv.estimators.gaussian.degenerate_columns import (
    Layout,
    Scale,
    assemble,
    learn_scale,
)
from pubpriv.estimators.gaussian.learner import Position, measure, pool, walk
from pubpriv.estimators.gaussian.moments import Table, clip_radius, loud_radius, measure_table
from pubpriv.estimators.gaussian.plan import (
    LearnerPlan,
    check_feasible,
    feasible,
)
from pubpriv.estimators.gaussian.preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian.quantiles import (
    Quantile,
    Whole,
    count_rows,
    decide,
    high_rank,
    spread_quantile,
)
from pubpriv.estimators.gaussian.results import GaussianResult, debiased, plain_errors, shortage
from pubpriv.estimators.gaussian.table_plan import TablePlan, table_plan
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Purse


def estimate_table(
    run: Execution, rows: PublicTable, layout: Layout, purse: Purse, target: str, force: bool
) -> tuple[str, GaussianResult]:
    """(target that was chosen, outcome) of `moments` or `auto`."""
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
        Scale(float(column.scale or 0.0), True)
        if ask is None
        else run.at(f"({layout.columns[column.index]})")(learn_scale, layout, column, whole, ask)
        for column, ask in zip(layout.degenerate, plan.scales, strict=True)
    )
    frame = run(assemble, layout, None if position is None else position.frame, scales)
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
    radius = clip_radius(frame, records, found["upper"], found["reach"], final)
    guessed = tuple(len(layout.regular) + at for at, scale in enumerate(scales) if not scale.seen)
    table = run.at("", *found.values())(measure_table, frame, radius, guessed, whole, final)
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
    return min(high_rank(noise, whole) for noise in noises) / whole.records


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
    curator: Curator, layout: Layout, table: Table, scales: tuple[Scale, ...], plan: Plan, purse: Purse
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
