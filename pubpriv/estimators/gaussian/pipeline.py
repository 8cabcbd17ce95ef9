"""The Gaussian driver: which step follows which, and what becomes of the answers.

Source: Bie, Kamath and Singhal 2022, section B: d + 1 public rows take the place of bounds on the unknown mean and
covariance. The default learner is ours; their own Algorithm 2 is `method="algorithm-2"`.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian.auto import estimate_table
from pubpriv.estimators.gaussian.degenerate_columns import checked_scale, examine
from pubpriv.estimators.gaussian.drivers import GaussianResult, Told, debiased, walk
from pubpriv.estimators.gaussian.errors import plain_errors
from pubpriv.estimators.gaussian.learner import (
    LEAST_VARIANCE,
    Fitted,
    Measured,
    floored,
    measure,
    pool,
    start,
    typical_radius,
)
from pubpriv.estimators.gaussian.plan import LearnerPlan, check_feasible, learner_plan
from pubpriv.estimators.gaussian.preconditioner import Preconditioner, precondition
from pubpriv.estimators.gaussian.reference import (
    COVARIANCE_ROUNDS,
    MEAN_ROUNDS,
    Ball,
    Bounds,
    bound,
    covariance_round,
    mean_round,
    reference_plan,
)
from pubpriv.estimators.gaussian.settings import METHODS, TARGETS
from pubpriv.estimators.steps import Execution, Runner, plain
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.estimate import provenance_of, told_method
from pubpriv.released.kinds import GaussianEstimate
from pubpriv.released.law import Mixture

_STANDING_OUT = 4.0
"""Algorithm 2 converged if the smallest direction of its last round is so many times the noise there."""


def estimate_gaussian(
    public: Any,
    curator: Curator,
    *,
    target: str = "auto",
    budget: Budget | None = None,
    method: str = "learner",
    scale: Mapping[str, float] | None = None,
    force: bool = False,
    beta: float = 0.1,
    gamma: float = 0.0,
    runner: Runner = plain,
) -> GaussianEstimate:
    """Mean and covariance of the private rows.

    Args:
        public: at least d + 1 public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        target: `gaussian`, the mean and covariance of the Gaussian that the rows are drawn from; `moments`, those of
            the table itself, whatever its law; `auto`, the one that a private look at the rows speaks for, and
            `moments` where the public rows cannot tell the scale of a column.
        budget: what this estimate may spend, in the run's kind; None: all that is left.
        method: `learner`, or `algorithm-2` for the paper's own algorithm with CoinPress inside.
        scale: of columns whose spread the public rows do not show, or show wrongly: about one standard deviation, by
            column. Others that look so get theirs from a private quantile. Not with `gaussian`.
        force: run below the line of feasibility as well, where the result is likely to be noise.
        beta: of `algorithm-2`: how likely its bounds from public rows may fail.
        gamma: of `algorithm-2`: total variation distance of the public law from the private one.
        runner: who runs the steps.

    Returns:
        Mean and covariance in the data's own units, with statement, errors and diagnostics.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    A record with a missing or infinite value contributes nothing. The learner sees how many there are, if they are
    clearly more than noise, and leaves them out (`whole_rows` in the diagnostics); fewer shrink the covariance by
    their share, as all do under `algorithm-2`.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.
    """
    target = chosen_target(target, method, scale)
    curator.check_public(public)
    rows = PublicTable.open(public, list(curator.columns))
    configuration: dict[str, Any] = {"target": target, "method": method, "columns": list(curator.columns)}
    if target != "gaussian":
        examine(rows, scale)  # refuses what cannot be, before the run begins
        given = checked_scale(rows.columns, scale)
        purse = curator.begin("gaussian", configuration | {"scale": given}, rows, budget)
        run = Execution(curator, "gaussian", runner)
        layout = run(examine, rows, tuple(given.items()))
        chosen, outcome = estimate_table(run, rows, layout, purse, target, force)
        return _estimate(outcome, curator, rows, method, chosen)
    precondition(rows)  # refuses what cannot be, before the run begins
    if method == "algorithm-2":
        bound(rows, beta, gamma)
        configuration |= {"beta": beta, "gamma": gamma}
    purse = curator.begin("gaussian", configuration, rows, budget)
    run = Execution(curator, "gaussian", runner)
    preconditioner = run(precondition, rows)
    if method == "algorithm-2":
        outcome = _algorithm_2(run, run(bound, rows, beta, gamma), purse)
    else:
        outcome = _learner(run, preconditioner, purse, force)
    outcome.warnings[:0] = preconditioner.notes
    return _estimate(outcome, curator, rows, method, target)


def _check_choice(name: str, given: object, accepted: tuple[str, ...]) -> None:
    """Refuse what is not on the list, with the list."""
    if given not in accepted:
        raise InvalidInput(f"{name} must be one of {', '.join(accepted)}, not {given!r}")


def chosen_target(target: str, method: str, scale: Mapping[str, float] | None) -> str:
    """The target that a method works for; `algorithm-2` knows Gaussians only.

    Raises:
        InvalidInput: unknown names, or a combination that does not exist.
    """
    _check_choice("target", target, TARGETS)
    _check_choice("method", method, METHODS)
    if method == "algorithm-2" and target == "moments":
        raise InvalidInput("algorithm-2 estimates a Gaussian: use the target gaussian, or the method learner")
    if method == "algorithm-2" or target == "gaussian":
        if scale:
            raise InvalidInput("a scale is for columns that are no Gaussian's: use the target moments or auto")
        return "gaussian"
    return target


def _learner(run: Execution, preconditioner: Preconditioner, purse: Purse, force: bool) -> GaussianResult:
    """Eight rounds; see `learner`."""
    curator = run.curator
    n, d = curator.n_rows, preconditioner.dimension
    if not force:
        check_feasible(n, d, purse, curator.budget)
    plan = learner_plan(purse, n, d)
    curator.rehearse(plan.questions)
    measured = _learn(run, preconditioner, plan)
    fitted = run(pool, preconditioner, measured)
    return debiased(curator, preconditioner, measured, plan, purse, fitted)


def _learn(run: Execution, preconditioner: Preconditioner, plan: LearnerPlan) -> Measured:
    """All rounds of `plan` and the final release."""
    begun = start(preconditioner, run.curator.n_rows)
    position = walk(run, begun, typical_radius(preconditioner), plan)
    return run(measure, position, plan.final)


def _algorithm_2(run: Execution, bounds: Bounds, purse: Purse) -> GaussianResult:
    """Bounds from Algorithm 1, then CoinPress for the second moment and for the mean."""
    n, d = run.curator.n_rows, bounds.frame.dimension
    plan = reference_plan(purse, d)
    run.curator.rehearse(plan.questions)
    frame = bounds.shrunk()
    for number, ask in enumerate(plan.covariance, start=1):
        last = run.at(f"{number} of {COVARIANCE_ROUNDS}", bounds)(covariance_round, frame, ask)
        frame = last.next
    ball = Ball(frame, bounds.distance, 0.0)
    for number, ask in enumerate(plan.mean, start=1):
        ball = run.at(f"{number} of {MEAN_ROUNDS}")(mean_round, ball, ask)
    center, matrix = last.frame.dense()
    mean, colour = np.array(ball.frame.center), np.linalg.inv(matrix)
    shift = matrix @ (mean - center)
    # the floor is relative to what the last round made of the whole second moment
    whiten = last.next.dense()[1] @ colour
    inner = floored(whiten @ (np.array(last.moment) - np.outer(shift, shift)) @ whiten.T, LEAST_VARIANCE)
    spread = np.linalg.inv(last.next.dense()[1])
    covariance = spread @ inner @ spread.T
    fitted = Fitted.of(mean, covariance)
    edge = last.sd * math.sqrt(2 * d)
    converged = last.least > _STANDING_OUT * edge
    facts = {
        "K": bounds.spread,
        "R": bounds.distance,
        "smallest_eigenvalue": last.least,
        "noise_edge": edge,
        "rounds": [ask.label for ask in plan.asks],
    }
    warnings = [] if converged else ["noise drowns the smallest direction of the last round: do not use this estimate"]
    errors = plain_errors(fitted, n, (spread, ball.sd), (colour, last.sd))
    return GaussianResult(fitted, converged, errors, facts, warnings)


def _estimate(
    outcome: GaussianResult, curator: Curator, rows: PublicTable, method: str, target: str
) -> GaussianEstimate:
    told: Told = curator.settled("gaussian/told", partial(Told.of, outcome))
    statement = curator.statement()
    return GaussianEstimate(
        gaussian=Mixture.of([1.0], [told.fitted.mean], [told.fitted.covariance]),
        columns=curator.columns,
        method=told_method(method, statement),
        converged=outcome.converged,
        standard_errors=told.errors(),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.n_rows, rows),
        diagnostics={"target": target, **outcome.facts, "warnings": outcome.warnings},
    )
