"""The default mixture driver: which step follows which, and what becomes of the answers.

Source: Bie, Kamath and Singhal 2022, section C, rebuilt: their ideas (superclusters and private PCA separate,
public points seed, private answers measure) with joint releases that make them private, see `docs/errata.md`.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.questions import Question
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.arguments import check_arguments
from pubpriv.estimators.asks import Ask, gaussian_only
from pubpriv.estimators.groups.driver import estimate_group_weights
from pubpriv.estimators.mixture.by_name import estimate_by_name
from pubpriv.estimators.mixture.choice import Preference, head_start, prefer
from pubpriv.estimators.mixture.components import (
    Floors,
    Round,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture.coverage import Coverage, cover
from pubpriv.estimators.mixture.explained import explained
from pubpriv.estimators.mixture.facts import diagnostics, verdict_of
from pubpriv.estimators.mixture.ladder import Climbed, climb
from pubpriv.estimators.mixture.ladder_plan import Ladder
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.misfit import Fit, check_fit
from pubpriv.estimators.mixture.nested import FlooredStart, nested_start
from pubpriv.estimators.mixture.outline import outline
from pubpriv.estimators.mixture.partition import locate, seed
from pubpriv.estimators.mixture.pca import find_subspaces
from pubpriv.estimators.mixture.plan import MixturePlan
from pubpriv.estimators.mixture.public_model import pooled_start, public_model, public_starts
from pubpriv.estimators.mixture.results import released
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.mixture.scene import Scene
from pubpriv.estimators.mixture.settings import KSSU, MixtureSettings
from pubpriv.estimators.mixture.shapes import Shape, choose_shape, narrowed, shaped
from pubpriv.estimators.mixture.supercluster import Groups, Regime, supercluster
from pubpriv.estimators.mixture.unknown import Placement, search, tighten
from pubpriv.estimators.mixture.verdict import on_its_way
from pubpriv.estimators.mixture.ways import Ways
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.privacy.budgets import BudgetLike, Purse, budget_of
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
    """A Gaussian mixture of the private rows.

    Args:
        public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`; None, or no rows, with the
            method `kssu`.
        curator: the run; see `Curator`.
        n_components: k, at most the number of public rows; `auto`, or None: the number that predicts best, but all
            that lie apart; `apart`: as many as lie apart.
        max_components: most components that a run may find by itself.
        method: `auto`; `kssu`, which takes k, a bound and no public rows; or one of the paper's: `bks-scarce`,
            `bks-ample`.
        constants: of the paper's methods: `practical` or `paper`.
        covariance_type: `full`, `diag`, `spherical` or `auto`.
        min_weight: smallest weight of a component that has to be found; None: 1 / k.
        bound: of `kssu`: every row lies within this of zero in every column. One that lies further out is in no
            component.
        budget: what this estimate may spend, in the run's kind, or its text (`zcdp:0.1`); None: all that is left.
        runner: who runs the steps.

    Returns:
        Components by falling weight, in the data's own units, with statement, errors and diagnostics. `converged` is
        False where the model does not fit the private rows (`diagnostics["misfit"]`), where it is the public one, where
        components share too many rows to be separated or one holds hardly any, and where noise is larger than the
        covariances.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        NoAnswer: by `kssu`, where no rows were found within the bound.
        PrivateStepFailed: after a charge; run the same release id again.

    Where the table tells groups apart (`PrivateTable.by`), each has weights of its own: six tenths of the budget are
    for them.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.

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
    """A mixture of all rows together; see `estimate_mixture`."""
    method = settings.method
    configuration = settings.configuration() | {"columns": list(curator.columns)}
    if method != "auto":
        gaussian_only(method, curator.budget.kind)
    purse = curator.begin("mixture", configuration, rows, budget)
    run = Execution(curator, "mixture", runner)
    if method != "auto":
        return estimate_by_name(rows, run, settings, purse, budget_of(budget or curator.budget))
    scene, ways, covered = _surveyed(run, rows, settings, purse)
    course = _course(scene, ways, covered.asked)
    curator.expect(course.surely)
    # while noise is drawn; a ladder may end with another number of components
    public = None if course.ladder else run(public_model, scene.rows, scene.scaling, course.plan.n_components)
    last, shape, climbed, plan = _measured(scene, course)
    course = replace(course, plan=plan)
    verdict = verdict_of(last, shape.kind, plan, climbed)
    model = _judged(scene, course, last, shape, verdict.noise, public)
    known = course.layout, plan, course.regime, last, shape
    facts = diagnostics(scene, *known, model.guard, model.fit, climbed, verdict)
    # the rounds may have walked to rows that no public row is near: then counts agree with the model
    mended = (_EXPLAINED,) if model.fit.explains and not covered.complete else ()
    facts |= {"coverage": covered.diagnostics, "warnings": [*covered.warnings, *mended, *facts["warnings"]]}
    if model.guard.clear:
        facts |= departure(model.chosen, model.fallback, len(rows.rows))
    fits = model.fit.fits and (covered.complete or model.fit.explains)
    few = last.outside is None or last.outside.few(curator.n_rows)
    sound = model.guard.clear and fits and few and verdict.sound
    measured = last if model.guard.clear else None
    return released(model.chosen, measured, curator, rows, scene.scaling, method, facts, sound, model.fit.blunt)


@dataclass(frozen=True)
class _Course:
    """What a run does, once it is known how many components are looked for, and where."""

    regime: Regime
    layout: Placement
    plan: MixturePlan
    ladder: Ladder | None

    @property
    def surely(self) -> list[Question]:
        """What is asked whatever the answers say, in order, of that whose noise takes long to draw."""
        return _surely(self.plan, self.ladder)


@dataclass(frozen=True)
class _Judged:
    """The model that is released, that of the public rows, and what was released of both."""

    chosen: Mixture
    fallback: Mixture
    guard: Preference
    fit: Fit


def _surveyed(
    run: Execution, rows: PublicTable, settings: MixtureSettings, purse: Purse
) -> tuple[Scene, Ways, Coverage]:
    """Look at the public rows, check every plan that they leave open, and ask what they lack."""
    most, clusters = min(settings.most, len(rows.rows)), settings.clusters(len(rows.rows))
    scaling = run(precondition, rows, clusters)
    groups, seen = run(supercluster, rows, scaling, most), run(outline, rows, scaling, most)
    ways = Ways(settings, purse, run.curator.n_rows, len(rows.rows), groups, seen.crowd)
    if not ways.looked_for:
        # noise takes longer than anything else: it is begun on, as if the public rows lacked nothing
        run.curator.expect(_surely(*ways.plan(most, _regime(rows, ways).name, ways.likely_coverage)))
    run.curator.rehearse(*ways.questions())
    covered = cover(run, rows, scaling, seen, most, clusters, ways.coverage)
    if covered.starts is not rows:
        ways = replace(ways, groups=run(supercluster, covered.starts, covered.scaling, most))
    return Scene(run, covered.rows, covered.scaling, settings, covered.starts), ways, covered


def _course(scene: Scene, ways: Ways, asked: tuple[str, ...]) -> _Course:
    """Find out how many components there are, if that is not known; `asked` is what was asked before clustering."""
    settings, groups, most = scene.settings, ways.groups, ways.most
    regime = _regime(scene.rows, ways)
    if not ways.looked_for:
        # in units that the distance of components stretches, a group that holds two of them looks like one
        located = None if regime.name == Regime.OVERLAPPING else scene.run(tighten, groups, most)
        return _Course(regime, Placement(most, groups, located), *ways.plan(most, regime.name, asked))
    plan, _ = ways.plan(most, regime.name, asked)
    layout = search(scene.run, scene.scaling, groups, plan, ways.n * settings.smallest_weight / 4)
    return _Course(regime, layout, *ways.plan(layout.n_components, regime.name, asked))


def _regime(rows: PublicTable, ways: Ways) -> Regime:
    """Tell the way of a run with these public rows, which coverage may have changed."""
    if ways.looked_for:
        return Regime.searching(ways.most)
    m, d = rows.rows.shape
    weight, groups = ways.settings.smallest_weight, ways.groups
    return Regime.of(m, d, ways.most, weight, groups.separation, groups.overlapping, bool(groups.counted))


def _surely(plan: MixturePlan, ladder: Ladder | None) -> list[Question]:
    """See `_Course.surely`."""
    # while k is looked for, subspaces are found on the way
    first = (plan.pca,) if plan.pca is not None and not plan.most else ()
    rounds = plan.rounds if ladder is None else plan.rounds[:-1]
    return [ask.question for ask in (*first, *chain(*plan.starts), *rounds) if ask.question is not None]


def _judged(
    scene: Scene, course: _Course, last: Round, shape: Shape, noise: tuple[float, ...], public: Mixture | None
) -> _Judged:
    """Let the private rows choose between what was measured and the public model, and see whether that fits them."""
    run, scaling, plan = scene.run, scene.scaling, course.plan
    public = public or run(public_model, scene.rows, scaling, len(last.counts))
    fallback = shaped(public, scene.covariance_type, scaling)
    ahead = head_start(last, shape.kind, len(scene.rows.rows))
    guard = run.at("", shape)(prefer, scaling, scene.held(last.mixture), scene.held(fallback), plan.guard, ahead)
    weights = run(_count_weights, last)
    chosen = replace(last.mixture, weights=weights) if guard.clear else fallback
    loud = noise if guard.clear else (0.0,) * len(noise)
    fit = run(check_fit, scaling, scene.rows, last, chosen, loud, plan.fit)
    return _Judged(chosen, fallback, guard, fit)


def checked_public(public: Any, columns: tuple[str, ...], settings: MixtureSettings) -> PublicTable:
    """Public rows fit to be used with `columns` and `settings`, or a clear error before anything is opened."""
    table = public_rows(public, columns, settings.method, (KSSU,))
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
    """Mixing weights from the released counts of a round, summing to one; post-processing, free."""
    counts = np.array(last.counts)
    return tuple((counts / counts.sum()).tolist())


def _measured(scene: Scene, course: _Course) -> tuple[Round, Shape, Climbed | None, MixturePlan]:
    """Give the last round, of the type that is released, why that one, the ladder it came by, and what was asked."""
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
    """Give a last round covariances of the type that is released, and say why that one."""
    if scene.covariance_type != "auto":
        return last, Shape(scene.covariance_type, "as asked for")
    shape = scene.run(choose_shape, last, scene.scaling)
    return narrowed(last, shape.kind, scene.scaling), shape


def _separated(scene: Scene, layout: Placement, plan: MixturePlan) -> tuple[Round, MixturePlan]:
    """Components stand apart: find them, then measure."""
    located, floors = _located(scene, layout, plan)
    return _finish(scene, scene.start(located), floors, plan, None, "", located)


def _climbed(scene: Scene, layout: Placement, plan: MixturePlan, ladder: Ladder) -> tuple[Round, Shape, Climbed | None]:
    """Measure the components that stand apart; if they do not explain the rows, look for more that do."""
    run, scaling, rows = scene.run, scene.scaling, scene.rows
    located, apart = _located(scene, layout, plan)
    first = _refine(scene, scene.start(located), apart, plan.rounds[:-1], "(that lie apart)", located)
    several = run(pooled_start, rows, scaling, plan.several)
    assert plan.explained is not None
    found = run.at("", first, several)(explained, scaling, rows, first.mixture, several, plan.explained)

    def refine(start: Mixture, asks: tuple[Ask, ...], whose: str, *sources: Any) -> Round:
        k = len(start.weights)
        floors = apart if k == plan.n_components else layout.groups.flat_floors(k)
        return _refine(scene, scene.start(start), floors, asks, whose, *sources)

    if found.complete:
        return *_of_type(scene, refine(first.mixture, plan.rounds[-1:], "(last)", found)), None
    climbed = climb(run, scene.starts, scaling, layout.groups, found, ladder, refine)
    return *_of_type(scene, climbed.last), climbed


def _located(scene: Scene, layout: Placement, plan: MixturePlan) -> tuple[Mixture, Floors]:
    """Find components that stand apart, in private subspaces where public rows are few; with their floors."""
    groups, k = layout.located or layout.groups, plan.n_components
    subspaces = layout.subspaces or find_subspaces(scene.run, scene.scaling, groups, plan.dimension, plan.pca)
    seeds = layout.seeds or scene.run(seed, groups, subspaces, k)
    assert plan.space is not None
    located = scene.run(locate, scene.scaling, groups, subspaces, seeds, (plan.subspace, plan.space))
    return located, layout.groups.floors(seeds.groups)


def _overlapping(scene: Scene, groups: Groups, plan: MixturePlan) -> tuple[Round, MixturePlan]:
    """Components overlap: refine several public starts in R^d, let the private rows choose, refine the best."""
    run, scaling = scene.run, scene.scaling
    flat = groups.flat_floors(plan.n_components)
    starts = [FlooredStart(start, flat) for start in run(public_starts, scene.starts, scaling, plan.n_components)]
    nested = run(nested_start, groups, plan.n_components)
    if nested is not None:
        starts[0] = nested
    refined = []
    for number, (start, asks) in enumerate(zip(starts, plan.starts, strict=True), start=1):
        mixture = start.mixture
        refined.append(_refine(scene, scene.start(mixture), start.floors, asks, f"(start {number})", mixture))
    best, floors, picks = refined[0], starts[0].floors, []
    for number, (other, ask) in enumerate(zip(refined[1:], plan.picks, strict=True), start=2):
        # against the best so far: beside a start that failed, scores of the others are all clipped
        two = scene.held(other.mixture), scene.held(best.mixture)
        picks.append(run.at(f"(start {number} or one before)")(prefer, scaling, *two, ask))
        if picks[-1].advantage > 0:
            best, floors = other, starts[number - 1].floors
    return _finish(scene, best.mixture, floors, plan, best, "(best start)", *picks)


def _finish(
    scene: Scene, start: Mixture, floors: Floors, plan: MixturePlan, before: Round | None, whose: str, *sources: Any
) -> tuple[Round, MixturePlan]:
    """Measure to the end of a plan; of the longer one, where the round before the last still moved a component far.

    `before` is the round that `start` comes from, if it is one's; for `whose` and `sources` see `Place`.
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
    """Tell which of several rounds one is."""
    return f"{number} of {len(asks)} {whose}".strip() if len(asks) > 1 else whose


def _refine(
    scene: Scene, start: Mixture, floors: Floors, asks: tuple[Ask, ...], whose: str = "", *sources: Any
) -> Round:
    """One round per ask, each from the estimate before it; for `whose` and `sources` see `Place`."""
    mixture = start
    for number, ask in enumerate(asks, start=1):
        place = scene.run.at(_numbered(number, asks, whose), *sources)
        last = _round(scene, place, mixture, floors, ask)
        mixture, sources = last.mixture, (last,)
    return last


def _round(scene: Scene, run: Execution, start: Mixture, floors: Floors, ask: Ask) -> Round:
    special = {"diag": estimate_diagonal, "spherical": estimate_spherical}
    measure = special.get(scene.covariance_type, estimate_components)
    return run(measure, scene.scaling, scene.held(start), floors, ask, scene.counts(start))
