"""Mean and covariance of a private table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.gaussian.settings import GaussianSettings
from pubpriv.estimators.settings import chosen

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.kinds import GaussianEstimate


def _driver(settings: GaussianSettings, public: PublicTable, curator: Curator, runner: Runner) -> GaussianEstimate:
    from pubpriv.estimators.gaussian.driver import estimate_gaussian

    return estimate_gaussian(public, curator, **chosen(settings), runner=runner)


def _case(settings: GaussianSettings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.gaussian.forecast import GaussianCase
    from pubpriv.estimators.gaussian.settings import chosen_target
    from pubpriv.estimators.planning import Size

    target = chosen_target(settings.target, "learner", settings.scale)  # planned is the default method
    if isinstance(public, Size):
        return GaussianCase.sized(public.d, public.m, target)
    return GaussianCase.of(public, target, dict(settings.scale))


def _checked(settings: GaussianSettings, public: PublicTable) -> PublicTable:
    """Public rows, target, method and scales that fit each other."""
    from pubpriv.estimators.gaussian.degenerate_columns import examine
    from pubpriv.estimators.gaussian.preconditioner import precondition
    from pubpriv.estimators.gaussian.settings import chosen_target

    if chosen_target(settings.target, settings.method, settings.scale) == "gaussian":
        precondition(public)
    else:
        examine(public, settings.scale)
    return public


def _check_size(settings: GaussianSettings, public: PublicTable, n_private: int, budget: Budget) -> None:
    """Refuse a run below the line of feasibility, unless it is forced."""
    from pubpriv.estimators.asks import gaussian_only
    from pubpriv.estimators.gaussian.plan import check_feasible
    from pubpriv.privacy.budgets import Purse

    if settings.method != "learner":
        gaussian_only(settings.method, budget.kind)
    elif not settings.force:
        check_feasible(n_private, len(public.columns), Purse.of(budget), budget)


GAUSSIAN = Estimator(
    name="gaussian",
    title="Mean and covariance of a private table",
    help="Mean and covariance, under differential privacy; d columns need d + 1 public rows.",
    walk="Estimate mean and covariance of a private table with the help of a public one.\n\n"
    "Ingest and validate both tables, precondition by the public rows, approach standard coordinates in a few private "
    "rounds, measure there, and pool with the public rows. Each look at private rows charges the ledger first.",
    plan_help="Of `fit gaussian`; the error is that of the covariance, relative, in Frobenius norm.",
    settings=GaussianSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size),
    makes="gaussian",
    trials=(
        Trial("auto", GaussianSettings(target="auto")),
        Trial("gaussian", GaussianSettings(target="gaussian")),
        Trial("auto, pure", GaussianSettings(target="auto"), budget="pure:4"),
        Trial("moments", GaussianSettings(target="moments")),
        Trial("algorithm-2", GaussianSettings(target="gaussian", method="algorithm-2")),
    ),
)
