"""The targets `moments` and `auto`: rounds that whiten, a histogram of lengths, and one last release in shells.

Real tables are not Gaussian, and debiasing for a Gaussian leaves an error that no budget removes. So the rounds only
whiten. One private histogram of |w| decides where the last release is cut into shells, and the shells that contain rows
count. The estimates are always the table's own moments. Under `auto`, if the histogram fits a Gaussian, a Gaussian's
shape restores what the core lost to clipping. All prices are fixed before the run, up to where the rounds end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._whole_rows import count_rows, count_whole_rows, left_out
from pubpriv.estimators.gaussian._column_scales import Scale, assemble, learn_scale
from pubpriv.estimators.gaussian._cutting import cut
from pubpriv.estimators.gaussian._degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian._far_columns import count_far
from pubpriv.estimators.gaussian._incomplete_table import (
    IncompleteTablePlan,
    incomplete_table_plan,
    measure_incomplete,
)
from pubpriv.estimators.gaussian._judgement import judge_table
from pubpriv.estimators.gaussian._learner import final_rho, first_question, walk
from pubpriv.estimators.gaussian._missing_cells import of_columns, sentence, unclipped, unseen_pair
from pubpriv.estimators.gaussian._plan import (
    TablePlan,
    check_run,
    early_sample,
    enough_for,
    feasible,
    shells_question,
    table_plan,
)
from pubpriv.estimators.gaussian._preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian._public_far import feared_by_public, feared_codes
from pubpriv.estimators.gaussian._public_shape import public_shape
from pubpriv.estimators.gaussian._results import GaussianResult, debiased_facts, of_run
from pubpriv.estimators.gaussian._shells import Histogram, count_lengths, far_question, fourth_moments
from pubpriv.estimators.gaussian._table_release import Known, Table, measure_shells
from pubpriv.estimators.gaussian._unseen_spread import with_unseen_spreads
from pubpriv.estimators.gaussian.settings import DROP, ESTIMATE
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import NOTE, Finding

_PUBLIC_FAR = Finding(
    "public-rows-beyond",
    (),
    NOTE,
    "some public rows lie beyond all that was measured, where noise may hide private ones: the errors include what "
    "these would add",
    remedy="look for values that stand for missing ones, or for mistakes among the public rows",
)


def estimate_table(
    run: Execution,
    rows: PublicTable,
    layout: Layout,
    purse: Purse,
    target: str,
    force: bool,
    of_mean: bool = False,
    missing: str = DROP,
) -> GaussianResult:
    """Estimate by the target `moments` or `auto`; `of_mean`: only the mean is reported, and judged.

    If missing cells are estimated, the count of whole rows decides which of two plans follows, with one sum of prices:
    without clearly fewer whole rows than rows, the same as ever.
    """
    curator = run.curator
    d = layout.dimension
    check_run(curator, d, purse, force)
    plan = table_plan(purse, curator.n_rows, layout, target, of_mean)
    curator.rehearse(*(path.questions for path in plan.paths))
    preconditioner = run(precondition, layout.whitened(rows)) if layout.regular else None
    begin = None if preconditioner is None else (layout.frame(preconditioner), preconditioner.typical_radius)
    early = early_sample(curator, rows, len(layout.regular), purse)
    of_sizes = [
        scale_question(layout, column, ask)
        for column, ask in zip(layout.degenerate, plan.scales, strict=True)
        if ask is not None
    ]
    curator.foresee(*([] if begin is None else [first_question(run, *begin, plan, early)]), *of_sizes)
    enough = enough_for(curator, d, purse, force)
    if missing == ESTIMATE and preconditioner is not None and d > 1:
        incomplete = incomplete_table_plan(purse, curator.n_rows, layout, of_mean)
        curator.rehearse(*(path.questions for path in incomplete.paths))
        whole = run(count_rows, incomplete.count)
        if whole.fewer:
            return _of_incomplete(run, rows, layout, preconditioner, incomplete, purse, of_mean, enough)
    else:
        whole = count_whole_rows(run, plan.count, enough)
    records = whole.rows
    position = None
    if begin is not None:
        position, plan = walk(run, *begin, plan, whole, early)
    scales = tuple(
        Scale(float(column.scale or 0.0), True)
        if ask is None
        else run.at(f"({layout.columns[column.index]})")(learn_scale, layout, place, ask)
        for place, (column, ask) in enumerate(zip(layout.degenerate, plan.scales, strict=True))
    )
    frame = run(assemble, layout, None if position is None else position.frame, scales)
    inner = None if position is None else position.inner
    curator.foresee(*([] if plan.far is None else [far_question(inner or frame, plan.far)]))
    histogram = run(count_lengths, frame, records, plan.histogram)
    far = None if plan.far is None else run(count_far, inner or frame, plan.far)
    accuracy = 0.0 if position is None else position.accuracy
    shape = run(public_shape, rows, plan.may_be_gaussian)
    rho = final_rho(plan.theta(d), plan.final.rho)
    may_be_gaussian = plan.may_be_gaussian and inner is None  # rows that were stretched to be white are no Gaussian's
    where = run(cut, histogram, frame, records, rho, may_be_gaussian, shape, far, accuracy)
    curator.foresee(shells_question(frame, where, plan.final, TablePlan.counted, of_mean))
    fourths = run(fourth_moments, frame, where, records, plan.fourth)
    guessed = tuple(len(layout.regular) + at for at, scale in enumerate(scales) if not scale.seen)
    known = Known(preconditioner, frame, accuracy, where, histogram, fourths, guessed, shape, records)
    table = run(measure_shells, known, plan.final, of_mean)
    notes = (*left_out(curator.size, records, whole.sd), *([] if preconditioner is None else preconditioner.notes))
    judged = _judged(table, known, rows, layout, scales, of_mean)
    return _outcome(curator, layout, known, judged, scales, plan, purse, notes)


def _of_incomplete(
    run: Execution,
    rows: PublicTable,
    layout: Layout,
    preconditioner: Preconditioner,
    plan: IncompleteTablePlan,
    purse: Purse,
    of_mean: bool,
    enough: Callable[[int], None] | None,
) -> GaussianResult:
    """Estimate from all rows, by the cells that they have."""
    made = measure_incomplete(run, rows, preconditioner, plan, of_mean, enough)
    known, law = made.known, made.law
    colour = np.linalg.inv(known.frame.dense()[1])
    information = unclipped(law, colour)
    least = information.least()
    judged = _judged(made.table, known, rows, layout, (), of_mean)
    judged = replace(judged, findings=(*judged.findings, *unseen_pair(least, law, layout.columns)))
    notes = sentence(law), *preconditioner.notes
    outcome = _outcome(run.curator, layout, known, judged, (), made.plan, purse, notes, least)
    columns = of_columns(law, information, colour, layout.columns, law.rows)
    facts = outcome.facts | {"whole_rows": law.rows * law.cells()[-1], "missing": columns | {"information": least}}
    return replace(outcome, facts=facts)


@dataclass(frozen=True)
class _Judged:
    """A release with what is feared for its numbers, and what was found."""

    table: Table
    findings: tuple[Finding, ...]


def _judged(
    table: Table, known: Known, rows: PublicTable, layout: Layout, scales: tuple[Scale, ...], of_mean: bool
) -> _Judged:
    """Judge a release in shells, by the public rows too."""
    frame, records = known.frame, known.records
    feared = feared_by_public(table, frame, rows.rows, records, by_law=not layout.degenerate)
    hiding, codes = feared_codes(feared, frame, rows, records)
    hiding, unseen = with_unseen_spreads(hiding, layout, scales, rows, records)
    beyond = () if feared is table else (_PUBLIC_FAR,)
    return _Judged(hiding, (*judge_table(hiding, known, rows, of_mean), *unseen, *beyond, *codes))


def _outcome(
    curator: Curator,
    layout: Layout,
    known: Known,
    judged: _Judged,
    scales: tuple[Scale, ...],
    plan: TablePlan,
    purse: Purse,
    notes: tuple[str, ...],
    worth: float = 1.0,
) -> GaussianResult:
    """Make the result from a release in shells, whose rows are worth so much of complete ones."""
    table, histogram, records = judged.table, known.histogram, known.records
    enough = feasible(records * worth, layout.dimension, purse)
    sizes = {layout.columns[column.index]: scale for column, scale in zip(layout.degenerate, scales, strict=True)}
    settled = table.core is None or not table.core.astray
    findings = *of_run(enough, settled, curator.size), *judged.findings
    facts: dict[str, Any] = {
        "whole_rows": records,
        "shape": "as released" if table.core is None else "gaussian",
        "clip_radius": known.where.radii[0] if not table.shells else table.reach,
        "noise_edge": table.edge,
        "smallest_eigenvalue": table.weakest,
        "feasible": enough,
        "scales": {name: scale.value for name, scale in sizes.items()},
        "radial": {"edges": list(histogram.edges), "counts": list(histogram.counts), "sd": histogram.sd},
        "shells": table.shells,
        "could_hide": {"rows": math.ceil(table.hidden), "beyond": table.reach},
        "rounds": [ask.label for ask in plan.asks],
    }
    if table.core is not None:
        facts |= debiased_facts(table.core, table.fitted)
    beyond = _beyond(histogram, table.reach, records)
    return GaussianResult(
        table.fitted, findings, _errors_of(table), facts, (*notes, *layout.notes()), beyond, table.noise
    )


def _errors_of(table: Table) -> dict[str, Any]:
    """Give the errors of a release in shells, by number and source."""
    return {
        part: dict(zip(("sampling", "privacy", "clipping"), map(np.array, values), strict=True))
        for part, values in (("mean", table.mean_errors), ("covariance", table.covariance_errors))
    }


def _beyond(histogram: Histogram, reach: float, records: float) -> tuple[float, float]:
    """Compute the share of rows beyond the last shell that counts, and its noise sd."""
    outside = histogram.counts[1 + int(np.searchsorted(histogram.edges, reach * (1 - 1e-9))) :]
    sd = histogram.sd * math.sqrt(max(len(outside), 1))
    return max(sum(outside), 0.0) / records, sd / records
