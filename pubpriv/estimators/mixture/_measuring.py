"""Measure components: locate them, run rounds, and give the last round the covariance type that is released."""

from dataclasses import dataclass
from typing import Any

from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._choice import prefer, preference_question
from pubpriv.estimators.mixture._components import (
    Floors,
    Round,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture._course import Course
from pubpriv.estimators.mixture._explained import explained
from pubpriv.estimators.mixture._ladder import Climbed, Stage, climb
from pubpriv.estimators.mixture._ladder_plan import Ladder
from pubpriv.estimators.mixture._opening import SPECIAL, floored_starts, round_question
from pubpriv.estimators.mixture._partition import locate, seed
from pubpriv.estimators.mixture._pca import find_subspaces
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._shapes import Shape, choose_shape, narrowed
from pubpriv.estimators.mixture._supercluster import Groups, Regime
from pubpriv.estimators.mixture._unknown import Placement
from pubpriv.estimators.mixture._verdict import on_its_way
from pubpriv.estimators.mixture.public_model import pooled_start
from pubpriv.released.law import Mixture

_MEASURES = dict(zip(SPECIAL, (estimate_diagonal, estimate_spherical), strict=True))
"""Steps of a round by covariance type; full covariances for all others."""


@dataclass(frozen=True)
class _Chain:
    """Rounds that follow one another, one per ask, each from the estimate before it; see `Place` for the last two."""

    start: Mixture
    floors: Floors
    asks: tuple[Ask, ...]
    whose: str = ""
    sources: tuple[Any, ...] = ()


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
    run.curator.foresee(round_question(scene, scene.start(first.mixture), plan.rounds[-1]))
    found = run.at("", first, several)(explained, scaling, rows, first, several, plan.explained)

    def refine(*stages: Stage) -> list[Round]:
        chains = []
        for start, asks, whose, source in stages:
            k = len(start.weights)
            floors = apart if k == plan.n_components else layout.groups.flat_floors(k)
            chains.append(_Chain(scene.start(start), floors, asks, whose, (source,)))
        return _refine_all(scene, chains)

    if found.complete:
        return *_of_type(scene, *refine((first.mixture, plan.rounds[-1:], "(last)", found))), None
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
    starts = floored_starts(run, scene, groups, plan.n_components)
    refined = _refine_all(
        scene,
        [
            _Chain(scene.start(start.mixture), start.floors, asks, f"(start {number})", (start.mixture,))
            for number, (start, asks) in enumerate(zip(starts, plan.starts, strict=True), start=1)
        ],
    )

    def two(other: Round, best: Round) -> tuple[Mixture, Mixture, float]:
        return scene.held(other.mixture), scene.held(best.mixture), best.rows

    # each start against every one that may be the best before it, and the first round of every one that may be after
    scores = [
        preference_question(scaling, *two(other, before), ask)
        for number, (other, ask) in enumerate(zip(refined[1:], plan.picks, strict=True), start=1)
        for before in refined[:number]
    ]
    follows = [round_question(scene, each.mixture, plan.rounds[0]) for each in refined]
    run.curator.foresee(*scores, *follows)
    best, floors, picks = refined[0], starts[0].floors, []
    for number, (other, ask) in enumerate(zip(refined[1:], plan.picks, strict=True), start=2):
        # compare with the best so far: against a failed start, all scores of the others are clipped
        picks.append(run.at(f"(start {number} or one before)")(prefer, scaling, *two(other, best), ask))
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
    return _refine_all(scene, [_Chain(start, floors, asks, whose, sources)])[0]


def _refine_all(scene: Scene, chains: list[_Chain]) -> list[Round]:
    """Run chains side by side, whose next rounds one pass over the rows answers; return the last round of each."""
    measure = _MEASURES.get(scene.covariance_type, estimate_components)
    lanes = scene.run.lanes(measure, [len(chain.asks) for chain in chains])
    lasts: list[Round | None] = [None] * len(chains)
    for turn in range(max(len(chain.asks) for chain in chains)):
        turns = [place for place, chain in enumerate(chains) if turn < len(chain.asks)]
        starts = {place: chains[place].start if (last := lasts[place]) is None else last.mixture for place in turns}
        if len(turns) > 1:
            scene.run.curator.foresee(*(round_question(scene, starts[p], chains[p].asks[turn]) for p in turns))
        for place in turns:
            chain, last, start = chains[place], lasts[place], starts[place]
            here = lanes[place].at(
                _numbered(turn + 1, chain.asks, chain.whose), *(chain.sources if last is None else (last,))
            )
            held = scene.held(start), chain.floors, chain.asks[turn], scene.counts(start)
            lasts[place] = here(measure, scene.scaling, *held)
    return [last for last in lasts if last is not None]
