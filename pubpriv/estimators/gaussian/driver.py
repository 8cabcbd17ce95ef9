"""The Gaussian driver: which step follows which, and what becomes of the answers.

Source: Bie, Kamath and Singhal 2022, section B: d + 1 public rows take the place of bounds on the unknown mean and
covariance. The default learner is ours; their own Algorithm 2 is `method="algorithm-2"`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._whole_rows import count_rows, count_whole_rows
from pubpriv.estimators.asks import gaussian_only
from pubpriv.estimators.gaussian._bulk import fit_to_gaussian
from pubpriv.estimators.gaussian._degenerate_columns import examine
from pubpriv.estimators.gaussian._heaps import check_heaps, heap
from pubpriv.estimators.gaussian._incomplete import estimate_incomplete
from pubpriv.estimators.gaussian._incomplete_rounds import incomplete_plan
from pubpriv.estimators.gaussian._learner import (
    Fitted,
    first_question,
    measure,
    median_blur,
    pool,
    walk,
)
from pubpriv.estimators.gaussian._missing_cells import settled_missing
from pubpriv.estimators.gaussian._no_public import no_public
from pubpriv.estimators.gaussian._plan import check_run, early_sample, enough_for, learner_plan
from pubpriv.estimators.gaussian._preconditioner import Preconditioner, check_rows, precondition
from pubpriv.estimators.gaussian._public_shape import public_lattices
from pubpriv.estimators.gaussian._reference import (
    algorithm_2,
    bound,
)
from pubpriv.estimators.gaussian._results import GaussianResult, check_held, debiased
from pubpriv.estimators.gaussian._table_driver import estimate_table
from pubpriv.estimators.gaussian.hints import log_hints
from pubpriv.estimators.gaussian.settings import DROP, ESTIMATE, chosen_target
from pubpriv.estimators.groups.driver import estimate_groups
from pubpriv.estimators.public_rows import NO_PUBLIC, public_rows
from pubpriv.estimators.steps import Execution, Runner, plain
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike, Purse
from pubpriv.released.departure import departure, of_rows
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import DOUBTFUL, Finding, doubts
from pubpriv.released.histograms import public_part
from pubpriv.released.kinds import GaussianEstimate
from pubpriv.released.law import Mixture


def estimate_gaussian(
    public: Any,
    curator: Curator,
    *,
    target: str = "auto",
    budget: BudgetLike | None = None,
    method: str = "learner",
    scale: Mapping[str, float] | None = None,
    missing: str = DROP,
    force: bool = False,
    beta: float = 0.1,
    gamma: float = 0.0,
    runner: Runner = plain,
) -> GaussianEstimate:
    """Estimate mean and covariance of the private rows.

    Args:
        public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`; None, or no rows, with the
            method `no-public`. One is enough, but the target `gaussian` needs d + 1; up to d show no correlations.
        curator: the run; see `Curator`.
        target: `gaussian`, the mean and covariance of the Gaussian that the rows are drawn from; `moments`, those of
            the table itself, whatever its law; `auto`, the same moments, but a Gaussian's shape replaces what
            clipping loses while a released histogram of lengths agrees with one.
        budget: what this estimate may spend, in the run's kind, or its text (`zcdp:0.1`); None: all that is left.
        method: `learner`; `no-public`, which takes a Gaussian, an approx budget and no public rows; or `algorithm-2`
            for the paper's own algorithm with CoinPress inside.
        scale: of columns whose spread the public rows do not show, or show wrongly: about one standard deviation, by
            column. Others that look so get theirs from a private quantile. Not with `gaussian`.
        missing: rows that lack cells: `estimate` uses the cells that they have; `drop` leaves them out; `auto`
            estimates for up to 20 columns without groups, where the unit is a row, the noise Gaussian, and the public
            rows show the spread of every column. Estimates are right if cells are missing at random, or depending on
            observed columns as far as columns depend on each other in straight lines.
        force: run below the line of feasibility as well, where the result is likely to be noise.
        beta: of `algorithm-2`: how likely its bounds from public rows may fail.
        gamma: of `algorithm-2`: total variation distance of the public law from the private one.
        runner: who runs the steps.

    Returns:
        Mean and covariance in the data's own units, with statement, errors and diagnostics.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        NoAnswer: without public rows, where the rows do not show where they lie; or their number was private, and what
            was released of it is too small.
        PrivateStepFailed: after a charge; run the same release id again.

    A record with a missing or infinite value contributes nothing. The learner sees how many there are, if they are
    clearly more than noise, and leaves them out (`whole_rows` in the diagnostics); fewer shrink the covariance by
    their share, as all do under `algorithm-2`.

    Where the table tells groups apart (`PrivateTable.by`), so does the estimate: six tenths of the budget are for them.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2)) * [1, 100]
        >>> trial = pp.Curator.simulation(rows, "zcdp:0.5", seed=2)
        >>> found = pp.estimate_gaussian(rows[:20], trial)
        >>> found.covariance.shape, found.converged
        ((2, 2), True)
    """
    target = chosen_target(target, method, scale, missing)
    check_arguments(public, curator)
    rows = public_rows(public, curator.columns, method)

    def whole(given: BudgetLike | None) -> tuple[GaussianEstimate, np.ndarray, Mapping[str, Any]]:
        made = whole_gaussian(
            rows, curator, given, target, method, scale, force, (beta, gamma), runner, missing=missing
        )
        return made, made.covariance, made.standard_errors["covariance"]

    if curator.groups is None:
        return whole(budget)[0]
    return estimate_groups("gaussian", whole, rows, curator, budget, runner, spreads=True)


def whole_gaussian(
    rows: PublicTable,
    curator: Curator,
    budget: BudgetLike | None = None,
    target: str = "auto",
    method: str = "learner",
    scale: Mapping[str, float] | None = None,
    force: bool = False,
    constants: tuple[float, float] = (0.1, 0.0),
    runner: Runner = plain,
    of_mean: bool = False,
    missing: str = DROP,
) -> GaussianEstimate:
    """Estimate mean and covariance of all rows together; see `estimate_gaussian`; the constants are its beta and gamma.

    Where only the mean is reported (`of_mean`), the last question tells more of that, and whether the run converged is
    said of it alone.
    """
    target = chosen_target(target, method, scale, missing)
    configuration: dict[str, Any] = {"target": target, "method": method, "columns": list(curator.columns)}
    if target != "gaussian":
        looked_at = examine(rows, scale)  # refuses what cannot be, before the run begins
        given = looked_at.given
        degenerate = tuple(looked_at.columns[column.index] for column in looked_at.degenerate)
        missing = settled_missing(missing, curator, looked_at.dimension, degenerate)
        configuration |= {"missing": missing} if missing == ESTIMATE else {}
        alone = {"of_mean": True} if of_mean else {}  # its last question tells more of the mean
        purse = curator.begin("gaussian", configuration | {"scale": given} | alone, rows, budget)
        run = Execution(curator, "gaussian", runner)
        layout = run(examine, rows, tuple(given.items()))
        outcome = estimate_table(run, rows, layout, purse, target, force, of_mean, missing)
        return _estimate(outcome, curator, rows, method, "moments")
    if method == NO_PUBLIC:
        if not curator.asks_of_one_row:
            raise InvalidInput(
                "rows of a period cannot be asked without public rows where the unit of the dataset is a row: what "
                "the search for columns shows of a row that moves to another period is not proven. Give public rows"
            )
        purse = curator.begin("gaussian", configuration, rows, budget)
        outcome = no_public(Execution(curator, "gaussian", runner), purse, force)
        return _estimate(outcome, curator, rows, method, target)
    check_rows(*rows.rows.shape)
    precondition(rows)  # refuses what cannot be, before the run begins
    if method == "learner" and not force:
        check_heaps(rows)
    if method == "learner":
        missing = settled_missing(missing, curator, rows.rows.shape[1])
        configuration |= {"missing": missing} if missing == ESTIMATE else {}
    if method == "algorithm-2":
        gaussian_only(method, curator.budget.kind)
        bound(rows, *constants)
        configuration |= dict(zip(("beta", "gamma"), constants, strict=True))
    purse = curator.begin("gaussian", configuration, rows, budget)
    run = Execution(curator, "gaussian", runner)
    preconditioner = run(precondition, rows)
    if method == "algorithm-2":
        outcome = algorithm_2(run, run(bound, rows, *constants), purse)
    else:
        outcome = _learner(run, rows, preconditioner, purse, force, missing)
    outcome = replace(outcome, notes=(*outcome.notes, *preconditioner.notes))
    return _estimate(outcome, curator, rows, method, target)


@np.errstate(over="ignore", invalid="ignore")  # refused by check_held
def _learner(
    run: Execution, rows: PublicTable, preconditioner: Preconditioner, purse: Purse, force: bool, missing: str
) -> GaussianResult:
    """Estimate by the learner: rounds, one last release, and a count of rows by length; see `_learner`.

    If missing cells are estimated, the count of whole rows decides which of two plans follows, with one sum of prices:
    without clearly fewer whole rows than rows, the same as ever.
    """
    curator = run.curator
    check_run(curator, preconditioner.dimension, purse, force)
    d = preconditioner.dimension
    plan = learner_plan(purse, curator.n_rows, d)
    curator.rehearse(*(path.questions for path in plan.paths))
    center, whitening, _ = preconditioner.arrays
    begin, early = (Frame.of(center, whitening), preconditioner.typical_radius), early_sample(curator, rows, d, purse)
    curator.foresee(first_question(run, *begin, plan, early))
    enough = enough_for(curator, d, purse, force)
    if missing == ESTIMATE and d > 1:
        incomplete = incomplete_plan(purse, curator.n_rows, d)
        curator.rehearse(*(path.questions for path in incomplete.paths))
        whole = run(count_rows, incomplete.count)
        if whole.fewer:
            return estimate_incomplete(run, preconditioner, incomplete, purse, curator.columns, enough)
    else:
        whole = count_whole_rows(run, plan.count, enough)
    position, plan = walk(run, *begin, plan, whole, early)
    measured = run(measure, position, plan.final, whole)
    measured = replace(measured, blur=median_blur(rows, plan.final.law))
    fitted = run(pool, preconditioner, measured)
    fit = fit_to_gaussian(run, fitted, measured, run(public_lattices, rows), plan.histogram)
    made = debiased(curator, preconditioner, measured, plan, purse, fitted, fit, whole)
    heaped = heap(rows)
    if heaped is None:
        return made
    text, remedy = f"{heaped}, and no Gaussian is behind such a column", "the target moments describes rows of any law"
    heaps = Finding("heap", (), DOUBTFUL, text, remedy=remedy)
    return replace(made, findings=(*made.findings, heaps))


def _estimate(
    outcome: GaussianResult, curator: Curator, rows: PublicTable, method: str, target: str
) -> GaussianEstimate:
    """Make the estimate that a run releases, with what was asked and what a reader should know."""
    settled: _SettledGaussian = curator.settled("gaussian/told", partial(_SettledGaussian.of, outcome, curator.size))
    statement = curator.statement()
    mean, covariance = np.array(settled.fitted.mean), np.array(settled.fitted.covariance)
    share, sd = outcome.beyond or (0.0, 0.0)
    law = Mixture.of([1.0], [settled.fitted.mean], [settled.fitted.covariance])
    return GaussianEstimate(
        gaussian=law,
        columns=curator.columns,
        method=method_name(method, statement),
        converged=not doubts(outcome.findings),
        standard_errors=settled.errors(),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.size, rows),
        public=public_part(rows),
        target=target,
        diagnostics={
            "target": target,
            **outcome.facts,
            **({"beyond_clip": {"share": share, "sd": sd}} if outcome.beyond else {}),
            **(departure(law, of_rows(rows.rows), len(rows.rows)) if len(rows.rows) else {}),
            "hints": list(log_hints(curator.columns, rows.rows, mean, covariance, share - 2 * sd)),
            "warnings": [*(finding.sentence() for finding in outcome.findings), *outcome.notes, *rows.notes],
        },
        findings=outcome.findings,
        noise=outcome.noise,
    )


@public_value
@dataclass(frozen=True)
class _SettledGaussian:
    """The numbers of an estimate as a run settles them, so that a replay on another machine has the same bits.

    Attributes:
        fitted: mean and covariance.
        mean_errors, covariance_errors: by source, as `sources` names them, each (d,) or (d, d).
        sources: of errors.
    """

    stored_as: ClassVar[str] = "Told"  # in ledgers

    fitted: Fitted
    mean_errors: Matrix
    covariance_errors: tuple[Matrix, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, outcome: GaussianResult, size: Size) -> "_SettledGaussian":
        """Settle the numbers of an outcome, with errors as wide as the unit of privacy makes them."""
        errors = size.widened(outcome.errors)
        mean, covariance = (errors[part] for part in ("mean", "covariance"))
        check_held(outcome.fitted, *mean.values(), *covariance.values())
        return cls(
            outcome.fitted,
            tuple(tuple(values.tolist()) for values in mean.values()),
            tuple(map(row_tuples, covariance.values())),
            tuple(mean),
        )

    def errors(self) -> dict[str, Any]:
        """Return the `_standard_errors` of the estimate."""
        parts = ("mean", self.mean_errors), ("covariance", self.covariance_errors)
        return {name: dict(zip(self.sources, map(np.array, values), strict=True)) for name, values in parts}
