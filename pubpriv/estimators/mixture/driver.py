"""The default mixture driver: the order of the steps, and how their answers make the estimate.

Source: Bie, Kamath and Singhal 2022, section C, rebuilt: their ideas (superclusters and private PCA separate, public
points seed, private answers measure) with joint releases that make them private; see `docs/errata.md`.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators.asks import gaussian_only
from pubpriv.estimators.groups.driver import estimate_group_weights
from pubpriv.estimators.mixture._by_name import estimate_by_name
from pubpriv.estimators.mixture._choice import Preference, head_start, prefer
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._course import Course, choose_course, survey
from pubpriv.estimators.mixture._facts import diagnostics, verdict_of
from pubpriv.estimators.mixture._far_rows import count_far, far_question
from pubpriv.estimators.mixture._findings import findings_of
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._measuring import measure_components
from pubpriv.estimators.mixture._misfit import Fit, check_fit, fit_question
from pubpriv.estimators.mixture._results import released
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._settings import KSSU, MixtureSettings
from pubpriv.estimators.mixture._shapes import Shape, shaped
from pubpriv.estimators.mixture._tails import read_tails, with_tails
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.privacy.budgets import BudgetLike, budget_of
from pubpriv.released.departure import departure
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.law import Mixture

_EXPLAINED = "the released model explains these rows all the same: counts of private rows are those that it predicts"


def estimate_mixture(
    public: Any,
    curator: Curator,
    *,
    n_components: int | str | None = None,
    max_components: int = MixtureSettings.max_components,
    method: str = "auto",
    constants: str = "practical",
    covariance_type: str = "full",
    min_weight: float | None = None,
    bound: float | None = None,
    budget: BudgetLike | None = None,
    runner: Runner = plain,
) -> MixtureEstimate:
    """Estimate a Gaussian mixture of the private rows.

    Args:
        public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`; None, or no rows, with the
            method `kssu`.
        curator: the run; see `Curator`.
        n_components: k, at most the number of public rows; `auto`, or None: the number that predicts best, at least as
            many as lie apart; `apart`: as many as lie apart.
        max_components: most components that a run may find by itself.
        method: `auto`; `kssu`, which needs k and a bound and takes no public rows; or one of the paper's: `bks-scarce`,
            `bks-ample`.
        constants: for the paper's methods: `practical` or `paper`.
        covariance_type: `full`, `diag`, `spherical` or `auto`.
        min_weight: smallest weight of a component that must be found; None: 1 / k.
        bound: for `kssu`: every row lies within this of zero in every column. A row further out is in no component.
        budget: what this estimate may spend, in the run's kind, or as text (`zcdp:0.1`); None: all that is left.
        runner: runs the steps.

    Returns:
        Components by decreasing weight, in the data's own units, with privacy statement, errors and diagnostics.
        `converged` is False if a component stands for several or lies where none is, if many rows belong to none
        (`diagnostics["misfit"]`), if the model is the public one, if components share too many rows to be separated or
        one has almost no rows, or if the noise is larger than the covariances.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        NoAnswer: `kssu` found no rows within the bound.
        PrivateStepFailed: after a charge; run the same release id again.

    If the table has groups (`PrivateTable.by`), each group gets its own weights, from six tenths of the budget.

    Privacy: the sum of the prices in the plan, which is at most the method's share of the run.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2)) + 9 * (np.arange(4000) % 2)[:, None]
        >>> trial = pp.Curator.simulation(rows, "zcdp:0.5", seed=2)
        >>> found = pp.estimate_mixture(rows[:20], trial, n_components=2)
        >>> found.weights.round(1).tolist()
        [0.5, 0.5]
    """
    settings = MixtureSettings(
        n_components=n_components,
        max_components=max_components,
        method=method,
        constants=constants,
        covariance_type=covariance_type,
        min_weight=min_weight,
        bound=bound,
    )
    check_arguments(public, curator)
    rows = checked_public(public, curator.columns, settings)
    if curator.groups is None:
        return _whole(rows, curator, settings, budget, runner)
    whole = partial(_whole, rows, curator, settings, runner=runner)
    return estimate_group_weights(whole, rows, curator, budget, runner)


@one_thread
def _whole(
    rows: PublicTable, curator: Curator, settings: MixtureSettings, budget: BudgetLike | None, runner: Runner
) -> MixtureEstimate:
    """Estimate a mixture of all rows together; see `estimate_mixture`."""
    method = settings.method
    configuration = settings.configuration() | {"columns": list(curator.columns)}
    if method != "auto":
        gaussian_only(method, curator.budget.kind)
    purse = curator.begin("mixture", configuration, rows, budget)
    run = Execution(curator, "mixture", runner)
    if method != "auto":
        return estimate_by_name(rows, run, settings, purse, budget_of(budget or curator.budget))
    scene, ways, covered = survey(run, rows, settings, purse)
    course = choose_course(scene, ways, covered.asked)
    curator.expect(course.surely)
    # runs while noise is drawn; with a ladder, the number of components is not known yet
    public = None if course.ladder else run(public_model, scene.rows, scene.scaling, course.plan.n_components)
    last, shape, climbed, plan = measure_components(scene, course)
    course = replace(course, plan=plan)
    verdict = verdict_of(last, shape.kind, plan, climbed)
    model = _judged(scene, course, last, shape, verdict.noise, public)
    background = last.outside.share(last.rows) if model.guard.clear and last.outside is not None else 0.0
    last = model.last  # with tails, of which rows outside may be a part
    known = course.layout, plan, course.regime, last, shape
    facts = diagnostics(scene, *known, model.guard, model.fit, climbed, verdict)
    # the rounds may have moved components to rows without public rows near: then the counts agree with the model
    mended = (_EXPLAINED,) if model.fit.explains and not covered.complete else ()
    warnings = [*covered.warnings, *mended, *facts["warnings"], *rows.notes]
    facts |= {"coverage": covered.diagnostics, "warnings": warnings}
    if model.guard.clear:
        facts |= departure(model.chosen, model.fallback, len(rows.rows))
    findings = findings_of(last, model.guard.clear, model.fit, covered, verdict, curator.size)
    measured = last if model.guard.clear else None
    estimate = released(model.chosen, measured, curator, rows, scene.scaling, method, facts, findings, model.fit)
    return replace(estimate, background=background)


@dataclass(frozen=True)
class _Judged:
    """The released model, the model of the public rows, and the answers about both."""

    chosen: Mixture
    fallback: Mixture
    guard: Preference
    fit: Fit
    last: Round


def _judged(
    scene: Scene, course: Course, last: Round, shape: Shape, noise: tuple[float, ...], public: Mixture | None
) -> _Judged:
    """Let the private rows choose between the measured and the public model, and test whether the choice fits."""
    run, scaling, plan = scene.run, scene.scaling, course.plan
    public = public or run(public_model, scene.rows, scaling, len(last.counts))
    fallback = shaped(public, scene.covariance_type, scaling)
    ahead = head_start(last, shape.kind, len(scene.rows.rows))
    rugged = scene.rugged(last.mixture)
    two = (last.mixture, fallback) if rugged else (scene.held(last.mixture), scene.held(fallback))
    two = two if last.outside is None else last.outside.beside(two, last.rows)
    # about the last round alone; where the public model wins after all, other axes are counted, in another pass
    of_far = [] if plan.far is None else [far_question(scaling, last, plan.far)]
    run.curator.foresee(fit_question(scaling, last, noise, plan.fit), *of_far)
    guard = run.at("", shape)(prefer, scaling, *two, last.rows, plan.guard, ahead, rugged)
    weights = run(_count_weights, last)
    chosen = replace(last.mixture, weights=weights) if guard.clear else fallback
    loud = noise if guard.clear else (0.0,) * len(noise)
    fit = run(check_fit, scaling, scene.rows, last, chosen, loud, plan.fit)
    far = None if plan.far is None else run(count_far, scaling, scene.rows, last, plan.far)
    if guard.clear and scene.counts(chosen) is None:
        clumped = run.curator.size.widening**2
        tails = run(read_tails, scaling, scene.rows, last, fit, shape.kind, round(fit.rows), clumped, far)
        last = with_tails(last, tails)
        chosen = replace(chosen, means=last.mixture.means, covariances=last.mixture.covariances)
    return _Judged(chosen, fallback, guard, fit, last)


def checked_public(public: Any, columns: tuple[str, ...], settings: MixtureSettings) -> PublicTable:
    """Return public rows fit to be used with `columns` and `settings`, or a clear error before anything is opened."""
    table = public_rows(public, columns, settings.method, (KSSU,), one_law=False)
    if settings.method == KSSU:
        return table
    if len(table.rows) < 2:
        raise InvalidInput("one public row has no spread to scale columns by: give at least two")
    if settings.known is not None and len(table.rows) < settings.known:
        raise InvalidInput(
            f"{len(table.rows)} public rows cannot seed {settings.known} components: "
            "give more public rows, or ask for fewer components"
        )
    return table


@step(title="weight counting")
def _count_weights(last: Round) -> tuple[float, ...]:
    """Compute mixing weights from the released counts of a round, summing to one; post-processing, free."""
    counts = np.array(last.counts)
    return tuple((counts / counts.sum()).tolist())
