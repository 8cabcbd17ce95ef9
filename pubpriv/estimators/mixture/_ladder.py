"""Find the number of components that predicts best: a ladder of models, each scored by the private rows.

How many components lie apart is one question (`_unknown`); how many Gaussians describe overlapping rows is another, the
one that BIC answers. For some numbers of components, a model is measured by cheap rounds from each of two public
starts; the private rows choose one, and a `BoundedScore` shows how much better it predicts than the components that lie
apart. A number is believed if its score, minus half of BIC's penalty for its parameters, exceeds zero by two noise sds.
A second score compares each model with the best one before it: models of the same rows are so similar that a narrower
bound with a fraction of the noise suffices. The best model is measured again with the rest of the budget.

Two things look like components but are not, so the first score compares with a model that explains them:
- tails: the components that lie apart become mixtures of scales, fitted to counts in shells around them;
- steps: in columns with few values, a narrow Gaussian on one value gains without limit. The first score therefore uses
  variances of at least `_STEP` squared steps in both models. The second score uses the models as they are, because the
  density is what is wanted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import BoundedScore
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._choice import (
    choice_bound,
    compare,
    prefer,
    preference_question,
    score_bound,
)
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._explained import Explained, with_tails
from pubpriv.estimators.mixture._ladder_plan import Ladder, LadderPlan, Rung
from pubpriv.estimators.mixture._linear import floored, one_thread
from pubpriv.estimators.mixture._nested import nested_start
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture.public_model import rung_starts
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.steps import Execution, step
from pubpriv.released.law import Mixture

_SURE = 2.0
"""A score is believed if it exceeds this many standard deviations of its noise."""

_QUIET = 0.01
"""Noise in nats per row down to which the bound of the second score is narrowed."""

_LOST = 0.02
"""A model that was chosen because it predicts all rows must not leave out more than this share of them: so many are no
odd rows but a group, and where components are narrow each of its rows may lie a thousand sds from all of them."""

_STEP = 0.36
"""Least variance in squared steps when asking whether there is more than the components that lie apart."""


@public_value
@dataclass(frozen=True)
class Score:
    """How much better one model predicts than another, in nats per row, and the sd of the noise in it."""

    advantage: float
    noise: float


@public_value
@dataclass(frozen=True)
class Scored:
    """Scores of one number of components, against the components that lie apart.

    Attributes:
        components: k.
        apart: score of its model against those components, with variances of at least `_STEP` squared steps.
        penalty: half of BIC's penalty for the additional parameters, in nats per row.
        best: score of its model against the best one of fewer components, both as they are; None: it is the first.
    """

    components: int
    apart: Score
    penalty: float
    best: Score | None = None

    @property
    def believed(self) -> bool:
        """Whether the score shows more components than lie apart."""
        return self.worth > _SURE * self.apart.noise

    @property
    def worth(self) -> float:
        """Nats per row gained over the components that lie apart, after the penalty."""
        return self.apart.advantage - self.penalty

    def better(self, before: "Scored") -> bool:
        """Decide whether it beats the best one before it by more than the additional penalty and one sd of noise.

        This is the one-standard-error rule of Breiman et al. (1984): if one more component is worth nothing, noise
        alone would otherwise add it in every third run.
        """
        return self.best is not None and self.best.advantage - (self.penalty - before.penalty) > self.best.noise

    def to_json(self) -> dict[str, Any]:
        """Give the facts that diagnostics show."""
        facts = {"nats_per_row": self.apart.advantage, "noise": self.apart.noise, "penalty": self.penalty}
        over = None if self.best is None else self.best.advantage
        return {"components": self.components, **facts, "over_best": over, "believed": self.believed, "asked": True}


@dataclass(frozen=True)
class Climbed:
    """The end of a ladder.

    Attributes:
        last: the round whose estimate is released.
        scored: scores of the numbers of components that were tried.
        plan: the plan that was followed.
        chosen: number of components that were measured; almost empty ones are not released.
        lost: share of the rows that the last round of the plan left out, if that is more than `_LOST` and `last` is
            therefore the round before, which left out none; else 0.
    """

    last: Round
    scored: tuple[Scored, ...]
    plan: LadderPlan
    chosen: int
    lost: float = 0.0

    @property
    def rounds(self) -> tuple[Ask, ...]:
        """Measuring rounds up to the last one."""
        return self.plan.rounds[:-1] if self.lost else self.plan.rounds

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say in words what became of rows that were lost."""
        if not self.lost:
            return ()
        text = f"the last round left {self.lost:.1%} of the private rows to no component, too many to be odd rows"
        return (f"{text}: the numbers are those of the round before, which left out none, with more noise",)

    def to_json(self) -> list[dict[str, Any]]:
        """Give the facts that diagnostics show."""
        return [each.to_json() for each in self.scored]


Stage = tuple[Mixture, tuple[Ask, ...], str, Any]
"""A start, the asks of the rounds from it, whose rounds these are, and the result that the start was made from."""


class Refine(Protocol):
    """Runs rounds of one or several starts, side by side, with the floors for their numbers of components."""

    def __call__(self, *stages: Stage) -> list[Round]:
        """Return the last round of each."""


def climb(
    run: Execution,
    rows: PublicTable,
    scaling: Scaling,
    groups: Groups,
    found: Explained,
    ladder: Ladder,
    refine: Refine,
) -> Climbed:
    """Choose the number of components that predicts best, and measure it.

    Args:
        run: begun.
        rows: public rows.
        scaling: the standard coordinates.
        groups: groups of public rows.
        found: the components that lie apart, and counts about them.
        ladder: what may be asked.
        refine: runs rounds.
    """
    apart, k_apart = run(with_tails, found), len(found.mixture.weights)
    n, d = found.rows, len(scaling.location)
    rungs = ladder.plan(k_apart).rungs
    models = _models(run, rows, scaling, groups, rungs, n, refine)
    scored: list[Scored] = []
    scores = [_score_question(scaling, (models[rung.components], apart), n, groups.steps, rung.score) for rung in rungs]
    # a model is ranked against the best of fewer components: the second one against the first, others not surely so
    ranks = [
        _rank_question(scaling, (models[rung.components], models[before.components]), n, rung.rank)
        for number, rung in enumerate(rungs)
        for before in rungs[:number]
        if rung.rank is not None
    ]
    run.curator.foresee(*scores, *ranks)
    for rung in rungs:
        k, best = rung.components, best_of(scored)
        own = _score(run, scaling, (models[k], apart), n, groups.steps, rung.score, f"({k} components)")
        over = None
        if rung.rank is not None and best is not None:
            both = models[k], models[best.components]
            over = _rank(run, scaling, both, n, rung.rank, f"({k} components or {best.components})")
        scored.append(Scored(k, own, penalty(k - k_apart, n, d), over))
    chosen = choose(k_apart, scored)
    plan = ladder.plan(chosen)
    if chosen == k_apart:
        (last,) = refine((found.mixture, plan.rounds, "(components that lie apart)", found))
        return Climbed(last, tuple(scored), plan, chosen)
    (before,) = refine((models[chosen], plan.rounds[:-1], "(best number, before the last)", models[chosen]))
    (last,) = refine((before.mixture, plan.rounds[-1:], "(best number)", before))
    lost = lost_by(last)
    return Climbed(inhabited(before if lost else last, k_apart), tuple(scored), plan, chosen, lost)


def _models(
    run: Execution,
    rows: PublicTable,
    scaling: Scaling,
    groups: Groups,
    rungs: Sequence[Rung],
    n: float,
    refine: Refine,
) -> dict[int, Mixture]:
    """Measure a model for each number of components, the better one of two starts."""
    stages = list[Stage]()
    for rung in rungs:
        k = rung.components
        here = run.at(f"({k} components)")
        starts = here(rung_starts, rows, scaling, k)
        nested = here(nested_start, groups, k) if groups.inside else None
        if nested is not None:
            starts = nested.mixture, *starts[1:]
        stages += [
            (start, asks, f"(ladder, {k} components, start {number})", start)
            for number, (start, asks) in enumerate(zip(starts, rung.starts, strict=True), start=1)
        ]
    refined = [last.mixture for last in refine(*stages)]
    two = [*zip(rungs, refined[::2], refined[1::2], strict=True)]
    run.curator.foresee(*(preference_question(scaling, second, first, n, rung.pick) for rung, first, second in two))
    models = {}
    for rung, first, second in two:
        k = rung.components
        # the bound is wide: one start of a real table was 35 nats worse than the other at one row in a hundred
        pick = run.at(f"({k} components, start 2 or 1)", second, first)(prefer, scaling, second, first, n, rung.pick)
        models[k] = second if pick.advantage > 0 else first
    return models


def lost_by(last: Round) -> float:
    """Give the share of the rows that a round left out, if they are too many; else 0."""
    outside = last.outside
    return 0.0 if outside is None or outside.few(last.rows, _LOST) else outside.count / last.rows


def inhabited(last: Round, apart: int) -> Round:
    """Leave out almost empty components, but keep at least as many as lie apart.

    The user did not ask for that number of components; where the user did, the run is flagged instead.
    """
    by_count = np.argsort(-np.array(last.counts), kind="stable")
    kept = sorted(int(j) for rank, j in enumerate(by_count) if rank < apart or last.hold[j])
    return replace(
        last,
        mixture=_only(last.mixture, kept),
        counts=tuple(last.counts[j] for j in kept),
        start=_only(last.start, kept),
        moved=tuple(last.moved[j] for j in kept),
        grown=tuple(last.grown[j] for j in kept),
        outside=None if last.outside is None else last.outside.of_components(kept),
        hidden=tuple(own for j, own in enumerate(last.hidden) if j in kept),
    )


def _only(mixture: Mixture, kept: list[int]) -> Mixture:
    """Make the mixture of some of the components."""
    weights, means, covariances = (part[kept] for part in mixture.arrays)
    return Mixture.of(weights / weights.sum(), means, covariances)


def choose(apart: int, scored: Sequence[Scored]) -> int:
    """Choose the number of components that predicts best after the penalty; `apart` if no larger one is believed."""
    best, believed = best_of(scored), [each for each in scored if each.believed]
    if best is None or not believed:
        return apart
    # by the first score, it may be worse than the components that lie apart
    return best.components if best.worth > 0 else max(believed, key=lambda each: each.worth).components


def best_of(scored: Sequence[Scored]) -> Scored | None:
    """Find the last one that was better than the best before it; None: the list is empty."""
    best: Scored | None = None
    for each in scored:
        if best is None or each.better(best):
            best = each
    return best


def penalty(more: int, n: float, d: int) -> float:
    """Compute half of BIC's penalty for `more` additional components of d columns, in nats per row."""
    return more * (d + 1) * (d + 2) / 2 * math.log(n) / (4 * n)


_Two = tuple[Mixture, Mixture]


def _score(
    run: Execution, scaling: Scaling, two: _Two, n: float, steps: tuple[float, ...], ask: Ask, place: str
) -> Score:
    """Score the first model against the second, with variances of at least `_STEP` squared steps if there are steps."""
    return run.at(place, *two)(score, scaling, *_as_scored(two, steps), n, ask, score_bound(len(scaling.location)))


def _score_question(scaling: Scaling, two: _Two, n: float, steps: tuple[float, ...], ask: Ask) -> BoundedScore:
    """Make the question of `_score`."""
    return preference_question(scaling, *_as_scored(two, steps), n, ask, score_bound(len(scaling.location)))


def _as_scored(two: _Two, steps: tuple[float, ...]) -> _Two:
    first, second = two
    return (broadened(first, steps), broadened(second, steps)) if any(steps) else two


def _rank(run: Execution, scaling: Scaling, two: _Two, n: float, ask: Ask, place: str) -> Score:
    """Score the first model against the second, as they are, with a narrow bound that leaves little noise."""
    return run.at(place, *two)(score, scaling, *two, n, ask, choice_bound(n, len(scaling.location), ask, _QUIET))


def _rank_question(scaling: Scaling, two: _Two, n: float, ask: Ask) -> BoundedScore:
    """Make the question of `_rank`."""
    return preference_question(scaling, *two, n, ask, choice_bound(n, len(scaling.location), ask, _QUIET))


def broadened(mixture: Mixture, steps: tuple[float, ...]) -> Mixture:
    """Raise variances to at least `_STEP` squared steps of a column, and to the covariance floor."""
    weights, means, covariances = mixture.arrays
    floor = np.maximum(FLOOR, _STEP * np.array(steps) ** 2) * np.ones(means.shape[1])
    return Mixture.of(weights, means, [floored(covariance, floor) for covariance in covariances])


@step(title="score", private=True)
@one_thread
def score(
    curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, n: float, ask: Ask, bound: float
) -> Score:
    """Score how much better `first` predicts n private rows than `second`, clipping differences at `bound` nats.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    return Score(*compare(curator, scaling, first, second, n, ask, bound))
