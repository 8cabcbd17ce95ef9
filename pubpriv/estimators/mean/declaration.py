"""Declaration of `estimate_mean` for commands, flows, plans and audits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.gaussian.settings import ESTIMATE, GaussianSettings
from pubpriv.estimators.mean.settings import MeanSettings
from pubpriv.estimators.public_rows import NO_PUBLIC
from pubpriv.estimators.settings import ungrouped

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.mean._declared_bounds import DeclaredBounds
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.kinds import MeanEstimate


def _driver(settings: MeanSettings, public: PublicTable, curator: Curator, runner: Runner) -> MeanEstimate:
    from pubpriv.estimators.mean.driver import estimate_mean

    given = ungrouped(settings)
    if settings.method != NO_PUBLIC:
        given |= {"covariance": _covariance(settings, public)}
    return estimate_mean(public, curator, **given, runner=runner)


def _case(settings: MeanSettings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.groups.forecast import case_by_group

    return case_by_group(settings, public, _whole_case(settings, public), "mean")


def _whole_case(settings: MeanSettings, public: PublicTable | Size) -> Case:
    """Plan the chosen method; if the public rows are there, for the covariance that a run would use."""
    from pubpriv.estimators.gaussian.declaration import case_of_mean
    from pubpriv.estimators.mean._declared_bounds import BoundedCase
    from pubpriv.estimators.mean._hypotheses import HypothesesCase, check_dimension
    from pubpriv.estimators.mean._plan import MeanCase
    from pubpriv.estimators.mean._reference_forecast import ReferenceMeanCase
    from pubpriv.estimators.mean.driver import check_rounds, check_two_step
    from pubpriv.estimators.planning import Size

    if not isinstance(public, Size) and (bounds := _bounds(settings, public)):
        return BoundedCase.of(bounds, public)
    if settings.method == NO_PUBLIC:
        return case_of_mean(_both(settings), public)
    if isinstance(public, Size):
        check_rounds(settings.method, settings.rounds)
        known = settings.missing != ESTIMATE or settings.covariance != "auto"
        learnt, d, m = not known or settings.covariance == "unknown", public.d, public.m
    else:
        _checked(settings, public)
        learnt, d, m = _learnt(_covariance(settings, public)), len(public.columns), len(public.rows)
    if learnt:
        check_two_step(settings.method)
        return case_of_mean(_both(settings), public)
    if settings.method == "hypotheses":
        check_dimension(settings.method, d)
        return HypothesesCase(d, m)
    if settings.method != "two-step":
        return ReferenceMeanCase(d, m, settings.method, settings.rounds)
    return MeanCase(d, m)


def _bounds(settings: MeanSettings, public: PublicTable) -> DeclaredBounds | None:
    from pubpriv.estimators.mean.driver import bounds_taken

    return bounds_taken(settings.covariance, settings.method, public, settings.missing)


def _checked(settings: MeanSettings, public: PublicTable) -> PublicTable:
    from pubpriv.estimators.gaussian.declaration import GAUSSIAN
    from pubpriv.estimators.mean.driver import (
        check_learnt,
        check_missing,
        check_rounds,
        check_two_step,
        checked_mean,
    )

    check_rounds(settings.method, settings.rounds)
    if _bounds(settings, public):
        return public
    if settings.method == NO_PUBLIC:
        check_learnt(settings.covariance)
        return GAUSSIAN.checks.public(_both(settings), public)
    covariance = _covariance(settings, public)
    if _learnt(covariance):
        check_two_step(settings.method)
        return GAUSSIAN.checks.public(_both(settings), public)
    check_missing(settings.missing, learnt=False)
    given = settings.method, settings.rounds, None, settings.force
    return checked_mean(public, public.columns, covariance, *given)[0]


def _check_size(settings: MeanSettings, public: PublicTable, n_private: int, budget: Budget) -> None:
    """Refuse a run that would improve little on the public rows, unless it is forced."""
    from pubpriv.estimators.gaussian.declaration import GAUSSIAN
    from pubpriv.estimators.mean._declared_bounds import check_noise
    from pubpriv.estimators.mean._hypotheses import check_cover
    from pubpriv.estimators.mean._plan import check_feasible
    from pubpriv.estimators.mean.driver import check_law
    from pubpriv.privacy.budgets import Purse

    if _bounds(settings, public):
        if not settings.force:
            check_noise(n_private, len(public.columns), Purse.of(budget))
    elif settings.method == NO_PUBLIC or _learnt(_covariance(settings, public)):
        GAUSSIAN.checks.size(_both(settings), public, n_private, budget)
    elif settings.method == "hypotheses":
        m, d = public.rows.shape
        check_cover(n_private, d, m, Purse.of(budget))
    elif settings.method != "two-step":
        check_law(settings.method, budget.kind)
    elif not settings.force:
        m, d = public.rows.shape
        check_feasible(n_private, d, m, Purse.of(budget))


def _covariance(settings: MeanSettings, public: PublicTable) -> Any:
    """The covariance that a run uses: a word other than `auto`, or the matrix in a file."""
    from pubpriv.estimators.mean._known_covariance import read_covariance
    from pubpriv.estimators.mean.driver import covariance_taken

    if settings.covariance in settings.words:
        return covariance_taken(settings.covariance, public, settings.missing)
    return read_covariance(settings.covariance, public.columns)


def _learnt(covariance: Any) -> bool:
    return isinstance(covariance, str) and covariance == "unknown"


def _both(settings: MeanSettings) -> GaussianSettings:
    """Settings of the run that learns mean and covariance together."""
    method = NO_PUBLIC if settings.method == NO_PUBLIC else "learner"
    return GaussianSettings(by=settings.by, method=method, missing=settings.missing, force=settings.force)


MEAN = Estimator(
    name="mean",
    title="The mean of a private table",
    help="The mean, under differential privacy.\n\nOne public row is enough where the covariance is known.",
    walk="Estimate the mean of a private table with the help of a public one.\n\n"
    "Ingest and validate both tables, ask for a clipped mean around the public one, ask again around the answer, undo "
    "the clipping, and weigh both answers with the public mean. Each look at private rows charges the ledger first. A "
    "covariance that is unknown is learnt as `estimate-gaussian` does.",
    plan_help="Plan `fit mean`.\n\nThe error is that of a column's mean, in its standard deviations. Where the "
    "covariance is unknown, the plan is that of `fit gaussian`, with more of the last question spent on the mean.",
    settings=MeanSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size),
    without_public=(NO_PUBLIC,),
    rehearsed=True,
    trials=(Trial(), Trial("pure", budget="pure:1"), Trial("by group", MeanSettings(by="half"))),
)
