"""Diagnostics of a run of the default method: public facts and released answers."""

from dataclasses import asdict, replace
from itertools import chain
from typing import Any

import numpy as np

from pubpriv.estimators._whole_rows import left_out
from pubpriv.estimators.mixture._choice import Preference
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._ladder import Climbed
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._outside import Outside
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._shapes import Shape
from pubpriv.estimators.mixture._supercluster import Groups, Regime, advice
from pubpriv.estimators.mixture._unknown import Placement
from pubpriv.estimators.mixture._verdict import LOUD, Doubt, Verdict
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling

_EXPECTED = (
    "noise is larger than the covariances of a component, as predicted from rows, columns and budget ({:.2g} times): "
    "they were measured in one round; trust weights, means and scale only"
)


def verdict_of(last: Round, kind: str, plan: MixturePlan, climbed: Climbed | None) -> Verdict:
    """Judge the last round of a run, with covariances of type `kind`."""
    # all starts of overlapping components have the same rounds, so the first one's are used
    asks = (*chain(*plan.starts[:1]), *plan.rounds)
    if climbed is not None:
        asks = (*plan.rounds[:-1], *climbed.rounds)
    found = Verdict.of(last, kind, asks, _EXPECTED.format(plan.noise) if plan.loud else LOUD)
    return found if climbed is None else replace(found, doubts=(*map(Doubt, climbed.warnings), *found.doubts))


def diagnostics(
    scene: Scene,
    layout: Placement,
    plan: MixturePlan,
    regime: Regime,
    last: Round,
    shape: Shape,
    guard: Preference,
    fit: Fit,
    climbed: Climbed | None,
    verdict: Verdict,
) -> dict[str, Any]:
    """Collect the diagnostics of a run: public facts and released answers."""
    k, outside = len(last.counts), last.outside if guard.clear else None
    if not guard.clear:
        shape = Shape("full" if scene.covariance_type == "auto" else scene.covariance_type, "that of the public model")
    unasked = plan.search[len(layout.tried) :]
    asks, noise = [ask for ask in plan.asks if ask not in unasked], plan.noise
    if climbed is not None:
        asks, noise = [*asks[:-1], *climbed.plan.asks], climbed.plan.noise
    more = climbed is not None and climbed.chosen > plan.n_components
    if k > plan.n_components:
        reason = f"{k} components predict better than the {plan.n_components} that lie apart"
        regime = Regime(Regime.OVERLAPPING, reason)
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
        "ladder": [] if climbed is None else climbed.to_json(),
        "rounds": [ask.label for ask in asks],
        "law": "counts" if scene.counts(last.mixture) else "gaussian",
        "narrow": bool(scene.scaling.shape),
        "covariance_type": shape.kind,
        "covariance_reason": shape.reason,
        "covariance_noise": list(verdict.noise),
        "covariance_noise_predicted": noise,
        "moved": max(last.moved),
        "advantage_over_public": {"nats_per_row": guard.advantage, "noise": guard.noise, "expected": guard.expected},
        "private_model_chosen": guard.clear,
        "misfit": fit.facts(),
        **({} if outside is None else outside.facts(last.rows)),
        **({} if last.tails is None else {"tails": asdict(last.tails)}),
        "clip_radius": last.radius,
        "covariance_floor": _floor(_units(layout.groups, plan.regime, more) if guard.clear else None, scene.scaling),
        "warnings": _warnings(scene, last, guard, outside, fit, verdict),
    }


def _warnings(
    scene: Scene, last: Round, guard: Preference, outside: Outside | None, fit: Fit, verdict: Verdict
) -> list[str]:
    """Collect the warnings of a run, whose model leaves out the rows that are `outside`."""
    # the weight of an almost empty component is no guide to the public rows that are needed
    k = len(last.counts)
    smallest = scene.settings.min_weight or (min(last.counts) / sum(last.counts) if last.held else 1 / k)
    replaced = "the private rows do not support a better model than the public one, which is returned"
    return [
        *verdict.warnings,
        *(() if guard.clear else (replaced,)),
        *(() if outside is None else outside.warnings(last.rows)),
        *(() if last.tails is None else last.tails.warnings(scene.rows.columns)),
        *fit.warnings(guard.clear),
        *left_out(scene.run.curator.size, scene.whole.rows, scene.whole.sd),
        *scene.scaling.notes,
        *advice(len(scene.rows.rows), k, smallest),
    ]


def _units(groups: Groups, regime: str, more: bool) -> np.ndarray | None:
    """Give the units (groups, d) from which floors of components are computed; None: those of the whole table."""
    if groups.inside:
        return np.array(groups.inside_units)
    return None if more or regime == Regime.OVERLAPPING else np.array(groups.units)


def _floor(units: np.ndarray | None, scaling: Scaling) -> list[float]:
    """Compute the least variance of each column, in the data's own units.

    Components of a separate group of public rows, or of a group inside another, have floors in that group's units,
    which may be smaller than the whole table's; this is the least over all groups.
    """
    least = np.ones(len(scaling.scale)) if units is None else units.min(axis=0)
    if scaling.shape:
        least = np.sqrt(np.array(scaling.shape) ** 2 @ least**2)
    return list((FLOOR * (least * np.array(scaling.scale)) ** 2).tolist())
