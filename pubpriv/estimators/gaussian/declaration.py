"""Mean and covariance of a private table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pubpriv.errors import InvalidInput
from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.gaussian.settings import ESTIMATE, GaussianSettings
from pubpriv.estimators.public_rows import NO_PUBLIC, check_public
from pubpriv.estimators.settings import ungrouped

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.kinds import GaussianEstimate


def _driver(settings: GaussianSettings, public: PublicTable, curator: Curator, runner: Runner) -> GaussianEstimate:
    from pubpriv.estimators.gaussian.driver import estimate_gaussian

    return estimate_gaussian(public, curator, **ungrouped(settings), runner=runner)


def _case(settings: GaussianSettings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.groups.forecast import case_by_group

    return case_by_group(settings, public, _whole_case(settings, public), "gaussian")


def case_of_mean(settings: GaussianSettings, public: PublicTable | Size) -> Case:
    """Give the case of a run that reports the mean alone, of all rows together."""
    from pubpriv.estimators.gaussian._forecast import GaussianCase

    case = _whole_case(settings, public)
    return replace(case, of_mean=True) if isinstance(case, GaussianCase) else case


def _whole_case(settings: GaussianSettings, public: PublicTable | Size) -> Case:
    """The case of all rows together."""
    from pubpriv.estimators.gaussian._forecast import GaussianCase, NoPublicCase
    from pubpriv.estimators.gaussian._preconditioner import precondition
    from pubpriv.estimators.gaussian._reference_forecast import ReferenceGaussianCase
    from pubpriv.estimators.gaussian.settings import chosen_target
    from pubpriv.estimators.planning import Size

    target = chosen_target(settings.target, settings.method, settings.scale, settings.missing)
    if settings.method == NO_PUBLIC:
        check_public(not isinstance(public, Size), settings.method, (NO_PUBLIC,))
        return NoPublicCase(public.d if isinstance(public, Size) else len(public.columns))
    if settings.method == "algorithm-2":
        if isinstance(public, Size):
            return ReferenceGaussianCase(public.d, public.m)
        precondition(public)
        return ReferenceGaussianCase(len(public.columns), len(public.rows))
    if isinstance(public, Size):
        case = GaussianCase.sized(public.d, public.m, target)
    else:
        case = GaussianCase.of(public, target, dict(settings.scale))
    return replace(case, estimates_missing=settings.missing == ESTIMATE)


def _checked(settings: GaussianSettings, public: PublicTable) -> PublicTable:
    """Public rows, target, method and scales that fit each other."""
    from pubpriv.estimators.gaussian._degenerate_columns import examine
    from pubpriv.estimators.gaussian._heaps import check_heaps
    from pubpriv.estimators.gaussian._preconditioner import check_rows, precondition
    from pubpriv.estimators.gaussian.settings import chosen_target

    target = chosen_target(settings.target, settings.method, settings.scale, settings.missing)
    check_public(bool(len(public.rows)), settings.method, (NO_PUBLIC,))
    if settings.missing == ESTIMATE and settings.by is not None:
        raise InvalidInput("missing cells are estimated where there are no groups: leave out by, or missing=estimate")
    if settings.method == NO_PUBLIC:
        return public
    if target == "gaussian":
        check_rows(*public.rows.shape)
        precondition(public)
        if settings.method == "learner" and not settings.force:
            check_heaps(public)
    else:
        examine(public, settings.scale)
    return public


def _check_size(settings: GaussianSettings, public: PublicTable, n_private: int, budget: Budget) -> None:
    """Refuse a run below the line of feasibility, unless it is forced."""
    from pubpriv.estimators.asks import gaussian_only
    from pubpriv.estimators.gaussian._no_public import no_public_plan
    from pubpriv.estimators.gaussian._plan import check_feasible
    from pubpriv.privacy.budgets import Purse

    purse, d = Purse.of(budget), len(public.columns)
    if settings.method == NO_PUBLIC:
        purse = no_public_plan(purse, n_private, d).learner_purse(purse)
    if settings.method == "algorithm-2":
        gaussian_only(settings.method, budget.kind)
    elif not settings.force:
        check_feasible(n_private, d, purse, budget)


GAUSSIAN = Estimator(
    name="gaussian",
    title="Mean and covariance of a private table",
    help="Mean and covariance, under differential privacy.\n\n"
    "One public row is enough; the target gaussian needs one more than columns.",
    walk="Estimate mean and covariance of a private table with the help of a public one.\n\n"
    "Ingest and validate both tables, precondition by the public rows, approach standard coordinates in a few private "
    "rounds, measure there, and pool with the public rows. Each look at private rows charges the ledger first.",
    plan_help="Plan `fit gaussian`.\n\nThe error is that of the covariance, relative, in Frobenius norm.",
    settings=GaussianSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size),
    without_public=(NO_PUBLIC,),
    rehearsed=True,
    trials=(
        Trial("auto", GaussianSettings(target="auto")),
        Trial("gaussian", GaussianSettings(target="gaussian")),
        Trial("missing cells estimated", GaussianSettings(target="gaussian", missing="estimate"), missing=0.2),
        Trial("missing cells estimated, auto", GaussianSettings(), missing=0.2),
        Trial("auto, pure", GaussianSettings(target="auto"), budget="pure:4"),
        Trial("moments", GaussianSettings(target="moments")),
        Trial("by group", GaussianSettings(by="half")),
        Trial("by group, pure", GaussianSettings(by="half"), budget="pure:8"),
        Trial(NO_PUBLIC, GaussianSettings(method=NO_PUBLIC), "approx:4,1e-6", public_rows=0),
        Trial("algorithm-2", GaussianSettings(target="gaussian", method="algorithm-2")),
    ),
)
