"""The regression driver: a covariance to start from, and two Newton steps from clipped scores.

The start's noise is even in white coordinates, so its coefficients are unbiased at any condition number; but errors of
least squares need the scatter about the line, which no covariance has. So the run asks for scores, x times the
residual, at the line that it has: their sum is Newton's step, and their second moment, which is free beside it, the
meat of a sandwich. Source: Huber 1967 and White 1980 for the sandwich; the questions and the plan are ours.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.codec import row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators._whole_rows import WholeRows, whole_rows_of
from pubpriv.estimators.gaussian.driver import whole_gaussian
from pubpriv.estimators.groups.plan import parts_of
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.regression._findings import FreeLine, findings_on
from pubpriv.estimators.regression._line import RegressionLine, start_line
from pubpriv.estimators.regression._newton import FittedLine, choose_radius, conclude, newton
from pubpriv.estimators.regression._scores import ScoreSums, ask_scores, ask_slope, count_lengths
from pubpriv.estimators.regression.plan import (
    METHOD,
    START,
    RegressionPlan,
    check_worth,
    law_kept,
    law_radius,
    slope_question,
)
from pubpriv.estimators.steps import Execution, Runner, plain
from pubpriv.privacy.budgets import BudgetLike, Purse, budget_of
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import doubts
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.histograms import public_part
from pubpriv.released.kinds import GaussianEstimate
from pubpriv.released.regression.figures import Figure
from pubpriv.released.regression.model import Regression
from pubpriv.released.regression.regression import regress

_COLLINEAR = 1e-9
"""Share of a column's public variance that others must leave unexplained."""


def estimate_regression(
    public: Any,
    curator: Curator,
    *,
    outcome: str,
    on: Sequence[str] | None = None,
    budget: BudgetLike | None = None,
    force: bool = False,
    runner: Runner = plain,
) -> RegressionEstimate:
    """Estimate a linear regression of one column on all others.

    Args:
        public: public rows of the same kind, at least one more than columns: path, DataFrame, (m, d) array or
            `PublicTable`.
        curator: the run; see `Curator`. Its columns are the outcome and the regressors.
        outcome: name of a column.
        on: names of all other columns, in the order in which coefficients are wanted; None: as the table has them.
        budget: what this estimate may spend, in the run's kind, or as text (`zcdp:0.1`); None: all that is left.
        force: run even if little would come of it (such a run is flagged).
        runner: runs the steps.

    Returns:
        Coefficients in the units of the outcome per unit of each column, with errors from sampling that hold where
        scatter is uneven (a sandwich), from privacy noise and from clipping; R^2 and the standard deviation about the
        line. `converged` is False if a coefficient is doubtful; findings say which and why.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read; the first also if public columns are
            collinear, or the rows too few.
        NoAnswer: the number of rows was private, and is too small.
        PrivateStepFailed: after a charge; run the same release id again.

    If the unit is a person, the regression is that in which all rows of a person share one weight, and errors of
    sampling are an upper bound whatever the rows of a person have in common: for weights a_r that sum to at most one,
    u u' <= sum a_r s_r s_r' with u = sum a_r s_r, by convexity, and the right side is what is released.

    Privacy: the sum of the prices of two plans, that of `estimate_gaussian` with the target `moments` and three tenths
    of the budget, and five questions about scores (`RegressionPlan`).

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> x = np.random.default_rng(1).standard_normal((5000, 2))
        >>> rows = np.column_stack([x, x @ [1.0, -2.0] + np.random.default_rng(2).standard_normal(5000)])
        >>> curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=3, columns=("a", "b", "y"))
        >>> found = pp.estimate_regression(rows[:60], curator, outcome="y")
        >>> found.on, bool(abs(found.coefficients[1] + 2) < 0.1)
        (('a', 'b'), True)
    """
    check_arguments(public, curator)
    table = public_rows(public, curator.columns, METHOD)
    names = regressors(table.columns, outcome, on)
    check_public(table, outcome)
    if curator.groups is not None:
        raise InvalidInput("a regression is not estimated by group: leave out --by, or fit each group's own table")
    d, place = len(table.columns), table.columns.index(outcome)
    start_budget, own_budget = parts_of(curator.budget if budget is None else budget_of(budget), 1 - START)
    configuration = {"outcome": outcome, "columns": list(curator.columns)}
    purse = curator.begin(METHOD, configuration, table, own_budget)
    plan = RegressionPlan.of(purse, d)
    curator.rehearse(plan.questions)
    if not force:
        with refusing_by(curator.size):
            check_worth(curator.n_rows, d, _whole_purse(purse))
    start = whole_gaussian(
        table, curator, None if budget is None else start_budget, "moments", force=True, runner=runner
    )
    free = _free(start, outcome, [name for name in table.columns if name != outcome])
    run = Execution(curator, METHOD, runner)
    edge = 99.0 if free is None else min(free.edge, 99.0)
    seen = row_tuples(np.cov(table.rows.T))
    line = run(start_line, tuple(start.mean.tolist()), row_tuples(start.covariance), seen, place, edge)
    radius = law_radius(d, plan.scores[0].rho, float(start.diagnostics["whole_rows"]))
    curator.foresee(slope_question(line.frame, radius, plan.slopes[0]))
    first = run.at("1 of 2")(ask_scores, line, radius, plan.scores[0])
    slope = run.at("1 of 2")(ask_slope, line, first.radius, plan.slopes[0])
    whole = _whole_rows(curator, first)
    line = run.at("1 of 2")(newton, line, first, slope, whole.rows)
    lengths = run(count_lengths, line, plan.lengths)
    noise = first.sd / first.radius * math.sqrt(plan.scores[0].price / plan.scores[1].price)
    clip = run(choose_radius, lengths, d, whole.rows, noise)
    curator.foresee(slope_question(line.frame, clip.radius, plan.slopes[1]))
    second = run.at("2 of 2")(ask_scores, line, clip.radius, plan.scores[1])
    slope = run.at("2 of 2")(ask_slope, line, clip.radius, plan.slopes[1])
    fitted = run(conclude, line, second, slope, clip, whole.rows, float(curator.size.most or 1))
    measures = _measures(free, start, line, fitted, clip.radius)
    return _released(table, curator, outcome, names, fitted, free, whole, measures)


def regressors(columns: Sequence[str], outcome: str, on: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the regressors.

    Raises:
        InvalidInput: no such outcome, no regressor, or other columns than those of the table.
    """
    if outcome not in columns:
        raise InvalidInput(f"the outcome {outcome!r} is none of the columns: {', '.join(columns)}")
    others = tuple(name for name in columns if name != outcome)
    names = others if on is None else tuple(on)
    if outcome in names:
        raise InvalidInput(f"{outcome} is the outcome: it cannot be among the columns that it is regressed on")
    if not names or set(names) != set(others) or len(names) != len(others):
        raise InvalidInput(
            f"a regression of {outcome} on {', '.join(names) or 'nothing'} needs a table opened with these columns and "
            f"the outcome alone; it has {', '.join(columns)}"
        )
    return names


def check_public(public: PublicTable, outcome: str) -> PublicTable:
    """Return public rows from which regressors can be told apart.

    Raises:
        InvalidInput: fewer rows than columns and one, or a column that is a sum of others in them.
    """
    m, d = public.rows.shape
    if m < d + 1:
        raise InvalidInput(f"a regression on {d - 1} columns needs {d + 1} public rows, not {m}")
    place = public.columns.index(outcome)
    rows = np.delete(public.rows, place, axis=1)
    names = [name for name in public.columns if name != outcome]
    spread = rows.std(axis=0)
    if (constant := [name for name, sd in zip(names, spread, strict=True) if not sd > 0]) != []:
        raise InvalidInput(
            f"{', '.join(constant)} has one value in all public rows, so nothing tells it from the intercept: leave it "
            "out, or take public rows in which it varies"
        )
    scaled = (rows - rows.mean(axis=0)) / spread
    for i, name in enumerate(names):
        rest = np.delete(scaled, i, axis=1)
        left = scaled[:, i] - (rest @ np.linalg.lstsq(rest, scaled[:, i], rcond=None)[0] if rest.size else 0.0)
        if float((left**2).mean()) < _COLLINEAR:
            raise InvalidInput(
                f"{name} is a sum of the other columns in the public rows, so its coefficient means nothing: leave one "
                "of them out; of the levels of a category, one"
            )
    return public


def _whole_purse(own: Purse) -> Purse:
    """Return the purse of the whole run, from that of the Newton steps."""
    return Purse(round(own.units / float(1 - START)), own.kind, own.tails)


def _free(start: GaussianEstimate, outcome: str, on: Sequence[str]) -> Regression | None:
    """Return the regression that follows from the start; None if its noise is too large for one."""
    try:
        return regress(start, outcome, on)
    except InvalidInput:
        return None


def _whole_rows(curator: Curator, scores: ScoreSums) -> WholeRows:
    """Read the number of whole rows off the count that comes with the scores."""
    return whole_rows_of(curator.size, scores.count, scores.count_sd)


def _released(
    table: PublicTable,
    curator: Curator,
    outcome: str,
    names: tuple[str, ...],
    fitted: FittedLine,
    free: Regression | None,
    whole: WholeRows,
    measures: Mapping[str, Figure],
) -> RegressionEstimate:
    """Make the estimate that a run releases, with regressors in the order in which they were asked."""
    others = [name for name in table.columns if name != outcome]
    order = [0, *(1 + others.index(name) for name in names)]
    beside = FreeLine() if free is None else _errors_apart(free)
    statement, size = curator.statement(), curator.size
    missing = 0.0 if size.sd else size.rows - whole.rows
    findings = findings_on(others, fitted, beside, missing, SURELY * whole.sd)
    sources = {"sampling": fitted.sampling, "privacy": fitted.privacy, "clipping": fitted.clipping}
    covariances = {name: row_tuples(np.array(part)[np.ix_(order, order)]) for name, part in sources.items()}
    errors = {name: np.sqrt(np.maximum(np.diag(np.array(part)), 0.0)) for name, part in covariances.items()}
    standard_errors = {
        "intercept": {name: float(own[0]) for name, own in errors.items()},
        "coefficients": {name: own[1:].tolist() for name, own in errors.items()},
        **{
            part: {source: getattr(figure, source) for source in ("sampling", "privacy", "clipping")}
            for part, figure in measures.items()
        },
    }
    return RegressionEstimate(
        columns=curator.columns,
        method=method_name("newton", statement),
        converged=not doubts(findings),
        standard_errors=standard_errors,
        privacy=statement.to_json(),
        provenance=provenance_of(statement, size, table),
        public=public_part(table),
        diagnostics={
            "whole_rows": whole.rows,
            "meat_noise": fitted.noise,
            "start": dict(zip(("values", "errors"), (beside.values, beside.errors), strict=True)),
            "warnings": [*(finding.sentence() for finding in findings), *table.notes],
        },
        findings=findings,
        outcome=outcome,
        on=names,
        values=tuple(np.array(fitted.coefficients)[order].tolist()),
        covariances=covariances,
        freedom=fitted.freedom,
        rows=whole.rows,
        measures={part: figure.value for part, figure in measures.items()},
    )


def _errors_apart(free: Regression) -> FreeLine:
    """Return coefficients of the start with their errors but those of sampling, which both estimates share."""
    apart = free.cov("privacy") + free.cov("clipping")
    values = tuple(figure.value for figure in free.coefficients)
    return FreeLine(values, tuple(np.sqrt(np.maximum(np.diag(apart), 0.0)).tolist()))


def _measures(
    free: Regression | None, start: GaussianEstimate, line: RegressionLine, fitted: FittedLine, radius: float
) -> dict[str, Figure]:
    """Return R^2 and the standard deviation about the line: from the start's covariance, or else from clipped scores.

    These lack what clipping takes of the squares, which is restored as of Gaussian rows, and counted as an error.
    """
    if free is not None:
        return {"r2": free.r2, "residual_sd": free.residual_sd}
    y = line.outcome
    spread = float(start.covariance[y, y])
    own = {source: float(part[y, y]) / spread for source, part in start.errors_of("covariance").items()}
    kept, (scatter, noise) = law_kept(len(fitted.coefficients), radius), fitted.scatter
    square = max(scatter / kept, 1e-6)
    share = min(line.sigma**2 * square / spread, 1.0)
    sampling, off = math.sqrt(2 / fitted.rows), 1 - kept
    noise = noise / kept / square
    errors = math.hypot(sampling, own["sampling"]), math.hypot(noise, own["privacy"])
    lost = math.hypot(off, own.get("clipping", 0.0))
    r2 = Figure("R2", 1 - share, share * errors[0], share * errors[1], share * lost)
    sd = line.sigma * math.sqrt(square)
    return {"r2": r2, "residual_sd": Figure("residual_sd", sd, sd * sampling / 2, sd * noise / 2, sd * off / 2)}
