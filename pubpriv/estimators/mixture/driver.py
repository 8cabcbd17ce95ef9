"""The default mixture driver: which step follows which, and what becomes of the answers.

Source: Bie, Kamath and Singhal 2022, section C, rebuilt: their ideas (superclusters and private PCA separate,
public points seed, private answers measure) with joint releases that make them private, see `docs/errata.md`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.bks.driver import estimate_bks
from pubpriv.estimators.mixture.choice import Preference, prefer
from pubpriv.estimators.mixture.components import (
    Floors,
    Round,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture.explained import explained
from pubpriv.estimators.mixture.ladder import Climbed, climb
from pubpriv.estimators.mixture.ladder_plan import Ladder, plan_with_ladder
from pubpriv.estimators.mixture.linear import clip_radius
from pubpriv.estimators.mixture.misfit import Fit, check_fit
from pubpriv.estimators.mixture.partition import locate, seed
from pubpriv.estimators.mixture.pca import find_subspaces
from pubpriv.estimators.mixture.plan import UNTRUSTED, MixturePlan, spectral_factor
from pubpriv.estimators.mixture.public_model import public_model, public_starts, rung_start
from pubpriv.estimators.mixture.results import released
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling, precondition
from pubpriv.estimators.mixture.settings import MixtureSettings
from pubpriv.estimators.mixture.shapes import Shape, choose_shape, shaped
from pubpriv.estimators.mixture.supercluster import Groups, Regime, advice, supercluster
from pubpriv.estimators.mixture.unknown import Placement, search
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.law import Mixture


@dataclass(frozen=True)
class _Scene:
    """What most steps of one run need, and the run itself."""

    run: Execution
    rows: PublicTable
    scaling: Scaling
    settings: MixtureSettings

    @property
    def covariance_type(self) -> str:
        """Give the type that was asked for."""
        return self.settings.covariance_type

    def start(self, mixture: Mixture) -> Mixture:
        """Give a start covariances of the wanted type."""
        return shaped(mixture, self.covariance_type, self.scaling)


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
    budget: Budget | None = None,
    runner: Runner = plain,
) -> MixtureEstimate:
    """A Gaussian mixture of the private rows.

    Args:
        public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        n_components: k, at most the number of public rows; `auto`, or None: the number that predicts best, but all
            that lie apart; `apart`: as many as lie apart.
        max_components: most components that a run may find by itself.
        method: `auto`, or one of the paper's: `bks-scarce`, `bks-ample`.
        constants: of the paper's methods: `practical` or `paper`.
        covariance_type: `full`, `diag`, `spherical` or `auto`.
        min_weight: smallest weight of a component that has to be found; None: 1 / k.
        budget: what this estimate may spend, in the run's kind; None: all that is left.
        runner: who runs the steps.

    Returns:
        Components by falling weight, in the data's own units, with statement, errors and diagnostics.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.
    """
    settings = MixtureSettings(
        n_components=n_components,
        max_components=max_components,
        method=method,
        constants=constants,
        covariance_type=covariance_type,
        min_weight=min_weight,
    )
    curator.check_public(public)
    rows = checked_public(public, curator.columns, settings)
    configuration = settings.configuration() | {"columns": list(curator.columns)}
    purse = curator.begin("mixture", configuration, rows, budget)
    run = Execution(curator, "mixture", runner)
    if method != "auto":
        return _by_the_paper(rows, run, settings, purse, budget or curator.budget)
    scene = _Scene(run, rows, run(precondition, rows), settings)
    most = min(settings.most, len(rows.rows))
    groups = run(supercluster, rows, scene.scaling, most)
    looked_for = most if settings.known is None and most > 1 else 0
    regime = Regime.searching(most) if looked_for else _regime(scene, groups, most)

    def planned(k: int) -> tuple[MixturePlan, Ladder | None]:
        sizes = purse, curator.n_rows, len(rows.columns), k, regime.name, covariance_type, looked_for, groups.count
        return plan_with_ladder(*sizes, len(rows.rows), any(groups.steps), settings.climbs)

    plan, ladder = planned(most)
    for other, above in [(plan, ladder)] if not looked_for else [(plan, ladder), planned(1)]:
        curator.rehearse(other.questions)
        if above is not None:
            curator.rehearse((*other.questions[:-1], *above.plan(above.rungs[-1]).questions))
    layout = Placement(most, groups)
    if looked_for:
        layout = search(run, scene.scaling, groups, plan, curator.n_rows * settings.smallest_weight / 4)
        plan, ladder = planned(layout.n_components)
    if ladder is None:
        (last, shape), climbed = _measured(scene, layout, plan), None
    else:
        last, shape, climbed = _climbed(scene, layout, plan, ladder)
    fallback = shaped(run(public_model, rows, scene.scaling, len(last.counts)), covariance_type, scene.scaling)
    guard = run.at("", shape)(prefer, scene.scaling, last.mixture, fallback, plan.guard)
    weights = run(_count_weights, last)
    chosen = replace(last.mixture, weights=weights) if guard.clear else fallback
    loud = _loudness(last, shape) if guard.clear else (0.0,) * len(last.counts)
    fit = run(check_fit, scene.scaling, rows, last, chosen, loud, plan.fit)
    facts = _diagnostics(scene, layout, plan, regime, last, shape, guard, fit, climbed)
    sound = guard.clear and fit.fits
    return released(chosen, last if guard.clear else None, curator, rows, scene.scaling, method, facts, sound)


def _regime(scene: _Scene, groups: Groups, k: int) -> Regime:
    """The regime that public facts suggest; that of a run which was begun before there was any, if there is one."""
    m, d = len(scene.rows.rows), len(scene.rows.columns)
    regime = Regime.of(m, d, k, scene.settings.smallest_weight, groups.separation, groups.overlapping)
    asked = {line.label for line in scene.run.curator.statement().charges}
    if regime.name == Regime.AMPLE and asked & {"mixture/pca", "mixture/coarse/subspace"}:
        return Regime(Regime.SCARCE, "as this run was begun by an earlier version")
    return regime


def checked_public(public: Any, columns: tuple[str, ...], settings: MixtureSettings) -> PublicTable:
    """Public rows fit to be used with `columns` and `settings`, or a clear error before anything is opened."""
    table = PublicTable.open(public, list(columns))
    if len(table.rows) < 2:
        raise InvalidInput("one public row has no spread to scale columns by: give at least two")
    if settings.known is not None and len(table.rows) < settings.known:
        raise InvalidInput(
            f"{len(table.rows)} public rows cannot seed {settings.known} components: "
            "give more public rows, or ask for fewer components"
        )
    return table


def _by_the_paper(
    rows: PublicTable, run: Execution, settings: MixtureSettings, purse: Purse, budget: Budget
) -> MixtureEstimate:
    """Algorithms 3 to 10 of the paper, instead of the default pipeline."""
    found = estimate_bks(rows, run, settings, purse, budget)
    return released(
        found.mixture, found.last, run.curator, rows, found.scaling, settings.method, found.diagnostics, found.complete
    )


@step(title="weight counting")
def _count_weights(last: Round) -> tuple[float, ...]:
    """Mixing weights from the released counts of a round, summing to one; post-processing, free."""
    counts = np.array(last.counts)
    return tuple((counts / counts.sum()).tolist())


def _measured(scene: _Scene, layout: Placement, plan: MixturePlan) -> tuple[Round, Shape]:
    """Give the last round of the plan's regime, with covariances of the type that is released, and why that one."""
    last = _overlapping(scene, plan) if plan.regime == Regime.OVERLAPPING else _separated(scene, layout, plan)
    return _of_type(scene, last)


def _of_type(scene: _Scene, last: Round) -> tuple[Round, Shape]:
    """Give a last round covariances of the type that is released, and say why that one."""
    if scene.covariance_type != "auto":
        return last, Shape(scene.covariance_type, "as asked for")
    shape = scene.run(choose_shape, last, scene.scaling)
    return _narrowed(last, shape.kind, scene.scaling), shape


def _separated(scene: _Scene, layout: Placement, plan: MixturePlan) -> Round:
    """Components stand apart: find them, then measure."""
    located, floors = _located(scene, layout, plan)
    return _refine(scene, scene.start(located), floors, plan.rounds, "", located)


def _climbed(
    scene: _Scene, layout: Placement, plan: MixturePlan, ladder: Ladder
) -> tuple[Round, Shape, Climbed | None]:
    """Measure the components that stand apart once; if they do not explain the rows, look for more that do."""
    run, scaling, rows = scene.run, scene.scaling, scene.rows
    located, apart = _located(scene, layout, plan)
    first = _refine(scene, scene.start(located), apart, plan.rounds[:1], "1 of 2", located)
    several = run(rung_start, rows, scaling, plan.several)
    assert plan.explained is not None
    found = run.at("", first, several)(explained, scaling, rows, first.mixture, several, plan.explained)

    def refine(start: Mixture, asks: tuple[Ask, ...], whose: str, *sources: Any) -> Round:
        k = len(start.weights)
        floors = apart if k == plan.n_components else _flat_floors(scene, k)
        return _refine(scene, scene.start(start), floors, asks, whose, *sources)

    if found.complete:
        return *_of_type(scene, refine(first.mixture, plan.rounds[1:], "2 of 2", found)), None
    climbed = climb(run, rows, scaling, layout.groups.steps, found, ladder, refine)
    return *_of_type(scene, climbed.last), climbed


def _flat_floors(scene: _Scene, k: int) -> Floors:
    """Give the floors of k components in one group of public rows."""
    return ((FLOOR,) * len(scene.rows.columns),) * k


def _located(scene: _Scene, layout: Placement, plan: MixturePlan) -> tuple[Mixture, Floors]:
    """Find components that stand apart, in private subspaces where public rows are few; with their floors."""
    groups, k = layout.located or layout.groups, plan.n_components
    subspaces = layout.subspaces or find_subspaces(scene.run, scene.scaling, groups, plan.dimension, plan.pca)
    seeds = layout.seeds or scene.run(seed, groups, subspaces, k)
    assert plan.space is not None
    located = scene.run(locate, scene.scaling, groups, subspaces, seeds, (plan.subspace, plan.space))
    return located, layout.groups.floors(seeds.groups)


def _overlapping(scene: _Scene, plan: MixturePlan) -> Round:
    """Components overlap: refine several public starts in R^d, let the private rows choose, refine the best."""
    run, scaling = scene.run, scene.scaling
    floors = _flat_floors(scene, plan.n_components)
    starts = run(public_starts, scene.rows, scaling, plan.n_components)
    refined = []
    for number, (start, asks) in enumerate(zip(starts, plan.starts, strict=True), start=1):
        refined.append(_refine(scene, scene.start(start), floors, asks, f"(start {number})", start).mixture)
    picks = [
        run.at(f"(start {number} or 1)")(prefer, scaling, other, refined[0], ask)
        for number, (other, ask) in enumerate(zip(refined[1:], plan.picks, strict=True), start=2)
    ]
    best = refined[int(np.argmax([0.0, *(pick.advantage for pick in picks)]))]
    return _refine(scene, best, floors, plan.rounds, "(best start)", *picks)


def _refine(
    scene: _Scene, start: Mixture, floors: Floors, asks: tuple[Ask, ...], whose: str = "", *sources: Any
) -> Round:
    """One round per ask, each from the estimate before it; for `whose` and `sources` see `Place`."""
    mixture = start
    for number, ask in enumerate(asks, start=1):
        name = f"{number} of {len(asks)} {whose}" if len(asks) > 1 else whose
        last = _round(scene, scene.run.at(name.strip(), *sources), mixture, floors, ask)
        mixture, sources = last.mixture, (last,)
    return last


def _round(scene: _Scene, run: Execution, start: Mixture, floors: Floors, ask: Ask) -> Round:
    if scene.covariance_type == "diag":
        return run(estimate_diagonal, scene.scaling, start, floors, ask)
    if scene.covariance_type == "spherical":
        return run(estimate_spherical, scene.scaling, start, floors, ask)
    return run(estimate_components, scene.scaling, start, floors, ask)


def _narrowed(last: Round, kind: str, scaling: Scaling) -> Round:
    """A round of full covariances with those of that type; the mean of d noisy variances is less noisy than one."""
    d = len(scaling.location)
    quieter = last.moment_sd / d**0.5 if kind == "spherical" else last.moment_sd
    return replace(last, mixture=shaped(last.mixture, kind, scaling), moment_sd=quieter)


def _loudness(last: Round, shape: Shape) -> tuple[float, ...]:
    """Spectral noise in the whitened covariance of each component."""
    loud = last.moment_sd * spectral_factor(shape.kind, len(last.mixture.means[0])) / np.array(last.counts)
    return tuple(loud.tolist())


def _diagnostics(
    scene: _Scene,
    layout: Placement,
    plan: MixturePlan,
    regime: Regime,
    last: Round,
    shape: Shape,
    guard: Preference,
    fit: Fit,
    climbed: Climbed | None,
) -> dict[str, Any]:
    """Collect public facts and released answers of a run by the default method."""
    d, m, k = len(scene.rows.columns), len(scene.rows.rows), len(last.counts)
    loud = _loudness(last, shape)
    smallest = scene.settings.min_weight or min(last.counts) / sum(last.counts)
    warnings = [*scene.scaling.notes, *advice(m, k, smallest)]
    if plan.loud:
        warnings.append(
            "noise is larger than the covariances of a component, as rows, columns and budget said beforehand "
            f"({plan.noise:.2g} times): they were measured in one round; trust weights, means and scale only"
        )
    elif max(loud) > UNTRUSTED:
        warnings.append("noise is larger than the covariances of a component: trust weights, means and scale only")
    if not guard.clear:
        warnings.append("the private rows do not support a better model than the public one, which is returned")
        shape = Shape("full" if scene.covariance_type == "auto" else scene.covariance_type, "that of the public model")
    warnings += fit.warnings
    unasked = plan.search[len(layout.tried) :]
    asks, noise = [ask for ask in plan.asks if ask not in unasked], plan.noise
    if climbed is not None:
        asks, noise = [*asks[:-1], *climbed.plan.asks], climbed.plan.noise
    more = climbed is not None and k > plan.n_components
    if more:
        told = f"{k} components predict better than the {plan.n_components} that lie apart"
        regime = Regime(Regime.OVERLAPPING, told)
    return {
        "regime": regime.name,
        "regime_reason": regime.reason,
        "separation": layout.groups.separation if plan.most == 0 else None,
        "groups": layout.groups.count,
        "n_components": k,
        "components_tried": [
            {"components": tried.components, "apart": tried.apart, "noise": tried.noise} for tried in layout.tried
        ],
        "k_apart": plan.n_components if plan.most else None,
        "k_fit": k,
        "ladder": [] if climbed is None else climbed.told(),
        "rounds": [ask.label for ask in asks],
        "covariance_type": shape.kind,
        "covariance_reason": shape.reason,
        "covariance_noise": list(loud),
        "covariance_noise_predicted": noise,
        "advantage_over_public": {"nats_per_row": guard.advantage, "noise": guard.noise},
        "private_model_chosen": guard.clear,
        "misfit": fit.told_as(),
        "clip_radius": clip_radius(d),
        "covariance_floor": _floor(
            layout if guard.clear and regime.name != Regime.OVERLAPPING else None, scene.scaling
        ),
        "warnings": warnings,
    }


def _floor(layout: Placement | None, scaling: Scaling) -> list[float]:
    """Give the least variance of each column, in the data's own units.

    Components of a far group of public rows are held to that group's units, which may be smaller than the whole
    table's; then it is the least of all groups.
    """
    units = np.array(layout.groups.units).min(axis=0) if layout else 1.0
    return list((FLOOR * (units * np.array(scaling.scale)) ** 2).tolist())
