"""What a run asks first of its components: made before the rows are counted, and summed by the pass that counts them.

It is what the run asks if the public rows lack nothing. If they do, the guess costs that pass some time, and the run
makes the question again from the public rows that it goes on with.
"""

from collections.abc import Callable
from typing import Any

from pubpriv.data.questions import Question
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import components_question
from pubpriv.estimators.mixture._nested import FlooredStart, nested_start
from pubpriv.estimators.mixture._partition import first_to_locate, seed
from pubpriv.estimators.mixture._pca import Subspaces, pca_question
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._supercluster import Groups, Regime
from pubpriv.estimators.mixture._unknown import first_of_search, tighten
from pubpriv.estimators.mixture._ways import Ways
from pubpriv.estimators.mixture.public_model import public_starts
from pubpriv.released.law import Mixture

SPECIAL = "diag", "spherical"
"""Covariance types that rounds measure as such; all others are measured as full ones."""


def opening_questions(scene: Scene, ways: Ways) -> list[Question]:
    """Make the questions about components that need no answer before them.

    Args:
        scene: the run, as if its public rows lacked nothing.
        ways: facts about it.
    """
    run, scaling, groups, k = scene.run, scene.scaling, ways.groups, ways.most
    regime = ways.regime(scene.rows).name
    plan, _ = ways.plan(k, regime, ways.likely_coverage)
    if ways.looked_for:
        return [first_of_search(run, scaling, groups, plan)]
    if regime == Regime.OVERLAPPING:
        starts = floored_starts(run.ahead, scene, groups, k)
        return [round_question(scene, scene.start(s.mixture), a[0]) for s, a in zip(starts, plan.starts, strict=True)]
    tight = run.ahead(tighten, groups, k)
    if plan.pca is not None:
        return [pca_question(scaling, tight, plan.pca)]
    assert plan.space is not None
    whole = Subspaces.whole(tight)
    seeds = run.ahead(seed, tight, whole, k)
    return [first_to_locate(scaling, tight, whole, seeds, (plan.subspace, plan.space))]


def floored_starts(call: Callable[..., Any], scene: Scene, groups: Groups, k: int) -> list[FlooredStart]:
    """Make public starts of k overlapping components; `call` runs steps."""
    flat = groups.flat_floors(k)
    starts = [FlooredStart(start, flat) for start in call(public_starts, scene.starts, scene.scaling, k)]
    nested = call(nested_start, groups, k)
    return starts if nested is None else [nested, *starts[1:]]


def round_question(scene: Scene, start: Mixture, ask: Ask) -> Question:
    """Make the question of a round that begins with `start`."""
    kind = scene.covariance_type if scene.covariance_type in SPECIAL else "full"
    return components_question(kind, scene.scaling, scene.held(start), ask, scene.counts(start))
