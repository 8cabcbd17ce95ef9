"""Choose what a run of the default method does, from its public rows, and check and price it beforehand."""

from dataclasses import dataclass, replace
from itertools import chain

from pubpriv.data.questions import Question
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._whole_rows import WholeRows, count_whole_rows
from pubpriv.estimators.mixture._coverage import Coverage, cover, coverage_questions
from pubpriv.estimators.mixture._ladder_plan import Ladder
from pubpriv.estimators.mixture._opening import opening_questions
from pubpriv.estimators.mixture._outline import outline
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._scene import Scene
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Regime, supercluster
from pubpriv.estimators.mixture._unknown import Placement, search, tighten
from pubpriv.estimators.mixture._ways import Ways
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Purse


@dataclass(frozen=True)
class Course:
    """What a run does, once number and place of the components are known."""

    regime: Regime
    layout: Placement
    plan: MixturePlan
    ladder: Ladder | None

    @property
    def surely(self) -> list[Question]:
        """Questions that are asked whatever the answers are, in order, of those whose noise takes long to draw."""
        return _surely(self.plan, self.ladder)


def survey(run: Execution, rows: PublicTable, settings: MixtureSettings, purse: Purse) -> tuple[Scene, Ways, Coverage]:
    """Look at the public rows, check every plan that remains possible, and ask what the public rows lack."""
    most, clusters = min(settings.most, len(rows.rows)), settings.clusters(len(rows.rows))
    scaling = run(precondition, rows, clusters)
    groups = run(supercluster, rows, scaling, most)
    ways = Ways(settings, purse, run.curator.n_rows, len(rows.rows), groups, crowd=0.0)
    _expect(run, rows, ways)
    seen = run(outline, rows, scaling, most)
    if seen.crowd:
        ways = replace(ways, crowd=seen.crowd)
        _expect(run, rows, ways)
    run.curator.rehearse(*ways.questions())
    scene = Scene(run, rows, scaling, settings, rows, WholeRows(run.curator.n_rows, 0.0, fewer=False))
    run.curator.foresee(*coverage_questions(scaling, seen, ways.coverage), *opening_questions(scene, ways))
    whole = count_whole_rows(run, ways.count)
    covered = cover(run, rows, scaling, seen, most, clusters, ways.coverage, whole)
    if covered.starts is not rows:
        ways = replace(ways, groups=run(supercluster, covered.starts, covered.scaling, most))
    found = replace(scene, rows=covered.rows, scaling=covered.scaling, starts=covered.starts, whole=whole)
    return found, ways, covered


def _expect(run: Execution, rows: PublicTable, ways: Ways) -> None:
    """Begin to draw noise, which takes longest, for the case that the public rows lack nothing."""
    if not ways.looked_for:
        run.curator.expect(_surely(*ways.plan(ways.most, ways.regime(rows).name, ways.likely_coverage)))


def choose_course(scene: Scene, ways: Ways, asked: tuple[str, ...]) -> Course:
    """Find the number of components, if it is not given; `asked` names the questions asked before clustering."""
    settings, groups, most = scene.settings, ways.groups, ways.most
    regime = ways.regime(scene.rows)
    if not ways.looked_for:
        # in units that the distance between components inflates, a group of two components looks like one
        located = None if regime.name == Regime.OVERLAPPING else scene.run(tighten, groups, most)
        return Course(regime, Placement(most, groups, located), *ways.plan(most, regime.name, asked))
    plan, _ = ways.plan(most, regime.name, asked)
    layout = search(scene.run, scene.scaling, groups, plan, ways.n * settings.smallest_weight / 4)
    return Course(regime, layout, *ways.plan(layout.n_components, regime.name, asked))


def _surely(plan: MixturePlan, ladder: Ladder | None) -> list[Question]:
    """List the questions that a run asks whatever the answers are; see `Course.surely`."""
    # while k is looked for, subspaces are found on the way
    first = (plan.pca,) if plan.pca is not None and not plan.most else ()
    rounds = plan.rounds if ladder is None else plan.rounds[:-1]
    return [ask.question for ask in (*first, *chain(*plan.starts), *rounds) if ask.question is not None]
