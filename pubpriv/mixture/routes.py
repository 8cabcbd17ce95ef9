"""The ways through a run: looking for k, measuring components that lie apart, and components that overlap."""

from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.mixture.components import Floors, Round
from pubpriv.mixture.pca import Subspaces
from pubpriv.mixture.plan import MixturePlan, searched
from pubpriv.mixture.regimes import AMPLE, OVERLAPPING
from pubpriv.mixture.scaling import FLOOR, Scaling
from pubpriv.mixture.seeding import Seeds
from pubpriv.mixture.settings import MixtureSettings
from pubpriv.mixture.shapes import Shape, narrowed, shaped
from pubpriv.mixture.steps import MixtureSteps
from pubpriv.mixture.supercluster import Groups
from pubpriv.mixture.unknown import Evidence, proposal
from pubpriv.plans import Ask
from pubpriv.released.law import Mixture


@dataclass(frozen=True)
class Run:
    """What every step of one run needs."""

    curator: Curator
    rows: PublicTable
    scaling: Scaling
    settings: MixtureSettings
    steps: MixtureSteps

    @property
    def covariance_type(self) -> str:
        """As it was asked for."""
        return self.settings.covariance_type

    def start(self, mixture: Mixture) -> Mixture:
        """A start with covariances of the wanted type."""
        return shaped(mixture, self.covariance_type, self.scaling)


@dataclass(frozen=True)
class Layout:
    """Where components are looked for.

    Attributes:
        n_components: k.
        groups: of the scale tree, whose units covariance floors follow.
        located: the same groups in the units in which components are located; None: in their own.
        subspaces: released directions, or all of R^d; None: not asked yet.
        seeds: one for each component; None: not made yet.
        tried: released counts of the numbers of components that were tried.
    """

    n_components: int
    groups: Groups
    located: Groups | None = None
    subspaces: Subspaces | None = None
    seeds: Seeds | None = None
    tried: tuple[Evidence, ...] = ()


def search(run: Run, groups: Groups, plan: MixturePlan) -> Layout:
    """The largest number of components that are all apart, from `plan.most` downwards.

    Larger numbers first: seeds for fewer components than there are may cut one of them, and then say nothing.
    Numbers below the one that is found are not tried, and their share of the budget is not spent.
    """
    tight: Groups = run.steps.tighten(groups, plan.most)
    joined = tight if groups.count == 1 else run.steps.tighten(groups.joined(), plan.most)
    subspaces = _subspaces(run, tight, plan)
    least = run.curator.n_rows * run.settings.smallest_weight / 4
    tried: list[Evidence] = []
    for k in range(plan.most, 1, -1):
        where = proposal(tight, joined, subspaces, k)
        seeds = run.steps.seed(*where, k)
        tried.append(run.steps.probe(run.curator, run.scaling, *where, seeds, least, plan.ask(searched(k))))
        if tried[-1].apart:
            return Layout(k, _as_grouped(groups, k), *where, seeds, tuple(tried))
    return Layout(1, _as_grouped(groups, 1), *proposal(tight, joined, subspaces, 1), None, tuple(tried))


def _as_grouped(groups: Groups, k: int) -> Groups:
    """The groups that k components lie in; see `proposal`."""
    return groups if k >= groups.count else groups.joined()


def measured(run: Run, layout: Layout, plan: MixturePlan) -> Round:
    """The last round of the plan's regime."""
    return _overlapping(run, plan) if plan.regime == OVERLAPPING else _separated(run, layout, plan)


def _separated(run: Run, layout: Layout, plan: MixturePlan) -> Round:
    """Components stand apart: find them, in private subspaces where public rows are few, then measure."""
    groups, k = layout.located or layout.groups, plan.n_components
    subspaces = layout.subspaces or _subspaces(run, groups, plan)
    seeds = layout.seeds or run.steps.seed(groups, subspaces, k)
    first = None if plan.regime == AMPLE else plan.ask("mixture/coarse/subspace")
    asks = first, plan.ask("mixture/coarse/space")
    start = run.start(run.steps.locate(run.curator, run.scaling, groups, subspaces, seeds, asks))
    return _refine(run, start, layout.groups.floors(seeds.groups), plan.starting("mixture/round-"))


def _subspaces(run: Run, groups: Groups, plan: MixturePlan) -> Subspaces:
    """Private directions where the plan pays for them, else all of R^d."""
    paid = plan.starting("mixture/pca")
    if not paid:
        return Subspaces.whole(groups)
    found: Subspaces = run.steps.private_pca(run.curator, run.scaling, groups, plan.dimension, paid[0])
    return found


def _overlapping(run: Run, plan: MixturePlan) -> Round:
    """Components overlap: refine several public starts in R^d, let the private rows choose, refine the best."""
    curator, scaling, steps = run.curator, run.scaling, run.steps
    floors = ((FLOOR,) * len(run.rows.columns),) * plan.n_components
    starts = steps.public_starts(run.rows, scaling, plan.n_components)
    refined = [
        _refine(run, run.start(start), floors, plan.starting(f"mixture/start-{number}/")).mixture
        for number, start in enumerate(starts, start=1)
    ]
    scores = [0.0] + [
        steps.prefer(curator, scaling, other, refined[0], plan.ask(f"mixture/pick-{number}")).advantage
        for number, other in enumerate(refined[1:], start=2)
    ]
    best = refined[int(np.argmax(scores))]
    return _refine(run, best, floors, [plan.ask("mixture/round-3")])


def _refine(run: Run, start: Mixture, floors: Floors, asks: list[Ask]) -> Round:
    """One round per ask, each from the estimate before it."""
    steps = run.steps
    own = {"diag": steps.estimate_diagonal, "spherical": steps.estimate_spherical}
    estimate = own.get(run.covariance_type, steps.estimate_components)
    last: Round = estimate(run.curator, run.scaling, start, floors, asks[0])
    for ask in asks[1:]:
        last = estimate(run.curator, run.scaling, last.mixture, floors, ask)
    return last


def with_type(run: Run, last: Round) -> tuple[Round, Shape]:
    """The last round with covariances of the type that is released, and why that one."""
    if run.covariance_type != "auto":
        return last, Shape(run.covariance_type, "as asked for")
    shape: Shape = run.steps.choose_shape(last, run.scaling)
    return narrowed(last, shape.kind, run.scaling), shape
