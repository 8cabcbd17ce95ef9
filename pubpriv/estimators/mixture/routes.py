"""The ways through a run: measuring components that lie apart, and components that overlap."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.choice import prefer
from pubpriv.estimators.mixture.components import (
    Floors,
    Round,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture.partition import locate, seed
from pubpriv.estimators.mixture.pca import find_subspaces
from pubpriv.estimators.mixture.plan import MixturePlan
from pubpriv.estimators.mixture.public_model import public_starts
from pubpriv.estimators.mixture.regimes import Regime
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.mixture.settings import MixtureSettings
from pubpriv.estimators.mixture.shapes import Shape, choose_shape, shaped
from pubpriv.estimators.mixture.unknown import Placement
from pubpriv.estimators.steps import Execution
from pubpriv.released.law import Mixture


@dataclass(frozen=True)
class Scene:
    """What most steps of one run need, and the run itself."""

    run: Execution
    rows: PublicTable
    scaling: Scaling
    settings: MixtureSettings

    @property
    def covariance_type(self) -> str:
        """As it was asked for."""
        return self.settings.covariance_type

    def start(self, mixture: Mixture) -> Mixture:
        """A start with covariances of the wanted type."""
        return shaped(mixture, self.covariance_type, self.scaling)


def measured(scene: Scene, layout: Placement, plan: MixturePlan) -> tuple[Round, Shape]:
    """The last round of the plan's regime, with covariances of the type that is released, and why that one."""
    last = _overlapping(scene, plan) if plan.regime == Regime.OVERLAPPING else _separated(scene, layout, plan)
    if scene.covariance_type != "auto":
        return last, Shape(scene.covariance_type, "as asked for")
    shape = scene.run(choose_shape, last, scene.scaling)
    return _narrowed(last, shape.kind, scene.scaling), shape


def _separated(scene: Scene, layout: Placement, plan: MixturePlan) -> Round:
    """Components stand apart: find them, in private subspaces where public rows are few, then measure."""
    groups, k = layout.located or layout.groups, plan.n_components
    subspaces = layout.subspaces or find_subspaces(scene.run, scene.scaling, groups, plan.dimension, plan.pca)
    seeds = layout.seeds or scene.run(seed, groups, subspaces, k)
    assert plan.space is not None
    located = scene.run(locate, scene.scaling, groups, subspaces, seeds, (plan.subspace, plan.space))
    floors = layout.groups.floors(seeds.groups)
    return _refine(scene, scene.start(located), floors, plan.rounds, "", located)


def _overlapping(scene: Scene, plan: MixturePlan) -> Round:
    """Components overlap: refine several public starts in R^d, let the private rows choose, refine the best."""
    run, scaling = scene.run, scene.scaling
    floors = ((FLOOR,) * len(scene.rows.columns),) * plan.n_components
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
    scene: Scene, start: Mixture, floors: Floors, asks: tuple[Ask, ...], whose: str = "", *sources: Any
) -> Round:
    """One round per ask, each from the estimate before it; for `whose` and `sources` see `Place`."""
    mixture = start
    for number, ask in enumerate(asks, start=1):
        name = f"{number} of {len(asks)} {whose}" if len(asks) > 1 else whose
        last = _round(scene, scene.run.at(name.strip(), *sources), mixture, floors, ask)
        mixture, sources = last.mixture, (last,)
    return last


def _round(scene: Scene, run: Execution, start: Mixture, floors: Floors, ask: Ask) -> Round:
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
