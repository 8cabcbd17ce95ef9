"""Targets `moments` and `auto`: rounds that whiten, quantiles that say how far the records reach, one last release.

All prices are fixed before the run, so under `auto` both branches ask the same questions but for the radius of the
last one: the best for a Gaussian, debiased afterwards, or a high quantile, reported as it is. The rounds are those of
the learner at its prices: whitening better than rows of another law allow would buy nothing, see `benchmarks.tables`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask, Plan, split_purse
from pubpriv.estimators.gaussian.degenerate_columns import (
    Layout,
    Scale,
    assemble,
    learn_scale,
    scale_question,
)
from pubpriv.estimators.gaussian.learner import Position, measure, pool
from pubpriv.estimators.gaussian.moments import Table, clip_radius, loud_radius, measure_table
from pubpriv.estimators.gaussian.plan import (
    LearnerPlan,
    blank_joint,
    check_feasible,
    feasible,
    final_theta,
    learner_shares,
    round_blanks,
    rounds_of,
)
from pubpriv.estimators.gaussian.preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian.quantiles import (
    Quantile,
    Whole,
    count_question,
    count_rows,
    decide,
    high_rank,
    quantile_question,
    spread_quantile,
)
from pubpriv.estimators.gaussian.results import GaussianResult, debiased, plain_errors, shortage, walk
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Purse

_QUANTILES = {"median": 0.5, "upper": 0.9, "reach": None}
"""Shares of the records that the quantiles of |w| are asked for; None: as many as noise allows."""

_PRICES = {"median": Fraction(1, 100), "upper": Fraction(1, 100), "reach": Fraction(4, 100)}
"""What each quantile takes of the budget."""

_COUNT_SHARE = Fraction(1, 100)
"""What the count of whole rows takes of the budget."""

_SCALE_SHARE, _SCALES_SHARE = Fraction(2, 100), Fraction(10, 100)
"""What the scale of a degenerate column takes of the budget; all of them together at most."""


def _table_shares(n: int, layout: Layout, rho: float, target: str) -> dict[str, Fraction]:
    """Shares of the questions of `moments` or `auto`, in order, summing to one.

    Args:
        n: private rows.
        layout: of the columns.
        rho: of the run, mu^2 / 2.
        target: `moments` asks for two quantiles, and so does `auto` where degenerate columns decide for it.
    """
    shares: dict[str, Fraction] = {}
    if layout.regular:
        shares = learner_shares(n, len(layout.regular), rho)
        shares.pop("final")
    learnt = layout.learnt
    shares["count"] = _COUNT_SHARE
    for column in learnt:
        shares[f"scale-{column.index + 1}"] = min(_SCALE_SHARE, _SCALES_SHARE / len(learnt))
    names = list(_PRICES) if compares(layout, target) else ["upper", "reach"]
    shares |= {f"quantile-{name}": _PRICES[name] for name in names}
    return shares | {"final": 1 - sum(shares.values(), Fraction(0))}


def compares(layout: Layout, target: str) -> bool:
    """Whether quantiles decide; degenerate columns are no Gaussian's."""
    return target == "auto" and not layout.degenerate


@public_value
@dataclass(frozen=True)
class TablePlan(LearnerPlan):
    """Questions of `moments` or `auto`.

    Attributes:
        count: of whole rows.
        scales: of the degenerate columns, in their order; None where the user gave it.
        quantiles: by name, see `_QUANTILES`.
    """

    count: Ask
    scales: tuple[Ask | None, ...]
    quantiles: tuple[tuple[str, Ask], ...]

    @property
    def reach(self) -> Ask:
        """The quantile of which as many records as noise allows are asked for."""
        return next(ask for name, ask in self.quantiles if _QUANTILES[name] is None)


def table_plan(purse: Purse, n: int, layout: Layout, target: str) -> TablePlan:
    """The plan of `moments` or `auto`."""
    d, names = layout.dimension, {name: f"quantile-{name}" for name in _QUANTILES}
    last, rounds = Frame((0.0,) * d), Frame((0.0,) * d, ((0.0,) * d,) * max(1, len(layout.regular)))
    scales = [None if column.scale is not None else f"scale-{column.index + 1}" for column in layout.degenerate]
    blanks = round_blanks(rounds) | {"count": count_question, "final": blank_joint(last, final_theta(d))}
    for name, column in zip(scales, layout.degenerate, strict=True):
        if name is not None:
            blanks[name] = partial(scale_question, layout, column, Whole(1.0, 0.0))
    for name in names.values():
        blanks[name] = partial(quantile_question, last, 0.5, Whole(1.0, 0.0), 1.0)
    shares = _table_shares(n, layout, purse.rho, target)
    asks = split_purse(purse, "gaussian", {name: (share, blanks[name]) for name, share in shares.items()})
    return TablePlan(
        asks=tuple(asks.values()),
        rounds=rounds_of(asks) if layout.regular else (),
        final=asks["final"],
        count=asks["count"],
        scales=tuple(None if name is None else asks[name] for name in scales),
        quantiles=tuple((short, asks[name]) for short, name in names.items() if name in asks),
    )


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
    for name, ask in plan.quantiles:
        share = _QUANTILES[name] or _reach_share(plan, whole)
        found[name] = run.at(f"({name})")(spread_quantile, frame, share, whole, most, ask)
    facts: dict[str, Any] = {"quantiles": {name: [each.share, each.value] for name, each in found.items()}}
    if compares(layout, target) and preconditioner is not None:
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
