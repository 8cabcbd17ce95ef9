"""Measure components: locate them, run rounds, and give the last round the covariance type that is released."""

from typing import Any

from pubpriv.data.questions import Question
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._choice import prefer
from pubpriv.estimators.mixture._components import (
    Floors,
    Round,
    components_question,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture._course import Course
from pubpriv.estimators.mixture._explained import explained
from pubpriv.estimators.mixture._ladder import Climbed, climb
from pubpriv.estimators.mixture._ladder_plan import Ladder
from pubpriv.estimators.mixture._nested import FlooredStart, nested_start
from pubpriv.estimators.mixture._partition import locate, seed
from pubpriv.estimators.mixture._pca import find_subspaces
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._shapes import Shape, choose_shape, narrowed
from pubpriv.estimators.mixture._supercluster import Groups, Regime
from pubpriv.estimators.mixture._unknown import Placement
from pubpriv.estimators.mixture._verdict import on_its_way
from pubpriv.estimators.mixture.public_model import pooled_start, public_starts
from pubpriv.estimators.steps import Execution
from pubpriv.released.law import Mixture

_SPECIAL = {"diag": estimate_diagonal, "spherical": estimate_spherical}
"""Steps of a round by covariance type; full covariances for all others."""


def measure_components(scene: Scene, course: Course) -> tuple[Round, Shape, Climbed | None, MixturePlan]:
    """Return the last round, the reason for its covariance type, the ladder, and the plan that was followed."""
    layout, plan = course.layout, course.plan
    if course.ladder is not None:
        return *_climbed(scene, layout, plan, course.ladder), plan
    last, plan = (
        _overlapping(scene, layout.groups, plan)
        if plan.regime == Regime.OVERLAPPING
        else _separated(scene, layout, plan)
    )
    return *_of_type(scene, last), None, plan


def _of_type(scene: Scene, last: Round) -> tuple[Round, Shape]:
    """Give the covariances of the last round the type that is released, and say why that one."""
    if scene.covariance_type != "auto":
        return last, Shape(scene.covariance_type, "as asked for")
    shape = scene.run(choose_shape, last, scene.scaling)
    return narrowed(last, shape.kind, scene.scaling), shape


def _separated(scene: Scene, layout: Placement, plan: MixturePlan) -> tuple[Round, MixturePlan]:
    """Locate components that lie apart, then measure them."""
    located, floors = _located(scene, layout, plan)
    return _finish(scene, scene.start(located), floors, plan, None, "", located)


def _climbed(scene: Scene, layout: Placement, plan: MixturePlan, ladder: Ladder) -> tuple[Round, Shape, Climbed | None]:
    """Measure the components that lie apart; if they do not explain the rows, look for more."""
    run, scaling, rows = scene.run, scene.scaling, scene.rows
    located, apart = _located(scene, layout, plan)
    first = _refine(scene, scene.start(located), apart, plan.rounds[:-1], "(that lie apart)", located)
    several = run(pooled_start, rows, scaling, plan.several)
    assert plan.explained is not None
    found = run.at("", first, several)(explained, scaling, rows, first, several, plan.explained)

    def refine(start: Mixture, asks: tuple[Ask, ...], whose: str, *sources: Any) -> Round:
        k = len(start.weights)
        floors = apart if k == plan.n_components else layout.groups.flat_floors(k)
        return _refine(scene, scene.start(start), floors, asks, whose, *sources)

    if found.complete:
        return *_of_type(scene, refine(first.mixture, plan.rounds[-1:], "(last)", found)), None
    climbed = climb(run, scene.starts, scaling, layout.groups, found, ladder, refine)
    return *_of_type(scene, climbed.last), climbed


def _located(scene: Scene, layout: Placement, plan: MixturePlan) -> tuple[Mixture, Floors]:
    """Locate components that lie apart, in private subspaces if public rows are few, and give their floors."""
    groups, k = layout.located or layout.groups, plan.n_components
    subspaces = layout.subspaces or find_subspaces(scene.run, scene.scaling, groups, plan.dimension, plan.pca)
    seeds = layout.seeds or scene.run(seed, groups, subspaces, k)
    assert plan.space is not None
    located = scene.run(locate, scene.scaling, groups, subspaces, seeds, (plan.subspace, plan.space))
    return located, layout.groups.floors(seeds.groups)


def _overlapping(scene: Scene, groups: Groups, plan: MixturePlan) -> tuple[Round, MixturePlan]:
    """Measure overlapping components: refine several public starts in R^d, let private rows choose, refine the best."""
    run, scaling = scene.run, scene.scaling
    flat = groups.flat_floors(plan.n_components)
    starts = [FlooredStart(start, flat) for start in run(public_starts, scene.starts, scaling, plan.n_components)]
    nested = run(nested_start, groups, plan.n_components)
    if nested is not None:
        starts[0] = nested
    refined = []
    first_rounds = [(start.mixture, asks[0]) for start, asks in zip(starts, plan.starts, strict=True)]
    run.curator.foresee(*(_round_question(scene, scene.start(start), ask) for start, ask in first_rounds[1:]))
    for number, (start, asks) in enumerate(zip(starts, plan.starts, strict=True), start=1):
        mixture = start.mixture
        refined.append(_refine(scene, scene.start(mixture), start.floors, asks, f"(start {number})", mixture))
    best, floors, picks = refined[0], starts[0].floors, []
    for number, (other, ask) in enumerate(zip(refined[1:], plan.picks, strict=True), start=2):
        # compare with the best so far: against a failed start, all scores of the others are clipped
        two = scene.held(other.mixture), scene.held(best.mixture)
        picks.append(run.at(f"(start {number} or one before)")(prefer, scaling, *two, best.rows, ask))
        if picks[-1].advantage > 0:
            best, floors = other, starts[number - 1].floors
    return _finish(scene, best.mixture, floors, plan, best, "(best start)", *picks)


def _finish(
    scene: Scene, start: Mixture, floors: Floors, plan: MixturePlan, before: Round | None, whose: str, *sources: Any
) -> tuple[Round, MixturePlan]:
    """Run the rounds of a plan, or of the longer plan if the round before the last still moved a component far.

    `before` is the round that `start` comes from, if any; for `whose` and `sources` see `Place`.
    """
    done, last = 0, before
    while done < len(plan.rounds):
        if done == len(plan.rounds) - 1 and plan.divided and last and on_its_way(last, scene.covariance_type):
            plan = plan.longer
        name = _numbered(done + 1, plan.rounds, whose)
        last = _refine(scene, start, floors, plan.rounds[done : done + 1], name, *sources)
        start, sources, done = last.mixture, (last,), done + 1
    assert last is not None
    return last, plan


def _numbered(number: int, asks: tuple[Ask, ...], whose: str) -> str:
    """Name one of several rounds by its number."""
    return f"{number} of {len(asks)} {whose}".strip() if len(asks) > 1 else whose


def _refine(
    scene: Scene, start: Mixture, floors: Floors, asks: tuple[Ask, ...], whose: str = "", *sources: Any
) -> Round:
    """Run one round per ask, each from the estimate before it; for `whose` and `sources` see `Place`."""
    mixture = start
    for number, ask in enumerate(asks, start=1):
        place = scene.run.at(_numbered(number, asks, whose), *sources)
        last = _round(scene, place, mixture, floors, ask)
        mixture, sources = last.mixture, (last,)
    return last


def _round_question(scene: Scene, start: Mixture, ask: Ask) -> Question:
    """Make the question of `_round`."""
    kind = scene.covariance_type if scene.covariance_type in _SPECIAL else "full"
    return components_question(kind, scene.scaling, scene.held(start), ask, scene.counts(start))


def _round(scene: Scene, run: Execution, start: Mixture, floors: Floors, ask: Ask) -> Round:
    measure = _SPECIAL.get(scene.covariance_type, estimate_components)
    return run(measure, scene.scaling, scene.held(start), floors, ask, scene.counts(start))
