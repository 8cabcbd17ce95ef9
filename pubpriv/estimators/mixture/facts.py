"""What a run of the default method tells beside its numbers: public facts and released answers."""

from typing import Any

import numpy as np

from pubpriv.estimators.mixture.choice import Preference
from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.ladder import Climbed
from pubpriv.estimators.mixture.linear import clip_radius
from pubpriv.estimators.mixture.misfit import Fit
from pubpriv.estimators.mixture.plan import MixturePlan
from pubpriv.estimators.mixture.rounds import UNTRUSTED, spectral_factor
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.mixture.scene import Scene
from pubpriv.estimators.mixture.shapes import Shape
from pubpriv.estimators.mixture.supercluster import Regime, advice
from pubpriv.estimators.mixture.unknown import Placement

_UNSETTLED = (
    "components share so many rows that these do not tell them apart: means, covariances and weights may be off by "
    "more than their intervals say. Give more public rows, or ask for fewer components"
)

_EMPTY = "a component holds so few private rows that the noise may hide them all: ask for fewer components"


def loudness(last: Round, shape: Shape) -> tuple[float, ...]:
    """Spectral noise in the whitened covariance of each component."""
    loud = last.moment_sd * spectral_factor(shape.kind, len(last.mixture.means[0])) / np.array(last.counts)
    return tuple(loud.tolist())


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
) -> dict[str, Any]:
    """Collect public facts and released answers of a run by the default method."""
    d, m, k = len(scene.rows.columns), len(scene.rows.rows), len(last.counts)
    loud = loudness(last, shape)
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
    else:
        warnings += [text for text, told in ((_UNSETTLED, not last.settled), (_EMPTY, not last.held)) if told]
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
        "moved": last.moved,
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
