"""The number of components that predicts best: a ladder of models, each scored by the private rows.

How many components lie apart is one question (`unknown`); how many Gaussians describe rows that overlap is another:
that of people who compare BIC. For some numbers of components a model is measured by cheap rounds from a public start,
and a `BoundedScore` tells how much better it predicts than the components that lie apart. A number is believed if its
score, less half of BIC's penalty for its parameters, is above zero by two standard deviations of the noise. The best
one, or the least that is as good but for noise, is measured again, from the best of several starts, on what is left of
the budget.

Two things look like components and are none, so the score is against what explains them without any:

- tails: the components that lie apart are mixtures of scales here, as counts in shells about them have it;
- steps: where columns take few values, a narrow Gaussian on one of them wins without end. Whether there is more than
  lies apart is asked with variances of at least `_STEP` squared steps on both sides. How much more is then asked of the
  models as they are, as it is density that is wanted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.choice import compare, score_bound
from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.explained import Explained, with_tails
from pubpriv.estimators.mixture.ladder_plan import Ladder, LadderPlan
from pubpriv.estimators.mixture.linear import floored, one_thread
from pubpriv.estimators.mixture.nested import nested_start
from pubpriv.estimators.mixture.public_model import public_starts, rung_start
from pubpriv.estimators.mixture.scaling import FLOOR, Scaling
from pubpriv.estimators.mixture.supercluster import Groups
from pubpriv.estimators.steps import Execution, step
from pubpriv.released.law import Mixture

_SURE = 2.0
"""A score is believed beyond so many standard deviations of its noise."""

_STEP = 0.36
"""Least variance, in squared steps, where it is asked whether there is more than lies apart."""


@public_value
@dataclass(frozen=True)
class Score:
    """How much better one model predicts than another, in nats per row, and the sd of the noise in it."""

    advantage: float
    noise: float


@public_value
@dataclass(frozen=True)
class Scored:
    """What private rows said of a number of components, against those that lie apart.

    Attributes:
        components: k.
        coarse: at the resolution of the columns' steps.
        fine: of the models as they are; the same where no column has steps.
        penalty: half of BIC's for the further parameters, in nats per row.
    """

    components: int
    coarse: Score
    fine: Score
    penalty: float

    @property
    def believed(self) -> bool:
        """There is more than lies apart."""
        return self.coarse.advantage - self.penalty > _SURE * self.coarse.noise

    @property
    def worth(self) -> float:
        """Nats per row, the penalty taken off."""
        return self.fine.advantage - self.penalty

    def told(self) -> dict[str, Any]:
        """Make of it what diagnostics tell."""
        facts = {"nats_per_row": self.fine.advantage, "noise": self.fine.noise, "penalty": self.penalty}
        return {"components": self.components, **facts, "believed": self.believed, "asked": True}


@dataclass(frozen=True)
class Climbed:
    """How a ladder ended: the round that is released, what was scored, and the plan that was followed."""

    last: Round
    scored: tuple[Scored, ...]
    plan: LadderPlan

    def told(self) -> list[dict[str, Any]]:
        """Make of it what diagnostics tell."""
        return [each.told() for each in self.scored]


class Refine(Protocol):
    """Rounds one after the other, one for each ask, from a start whose floors are those of so many components."""

    def __call__(self, start: Mixture, asks: tuple[Ask, ...], whose: str, *sources: Any) -> Round:
        """The last of them."""


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
        rows: public ones.
        scaling: of the standard coordinates.
        groups: of public rows.
        found: the components that lie apart, and counts about them.
        ladder: what may be asked.
        refine: makes rounds.
    """
    apart, k_apart = run(with_tails, found), len(found.mixture.weights)
    models, scored = {}, []
    for rung in ladder.plan(k_apart).rungs:
        k = rung.components
        here = run.at(f"({k} components)")
        nested = here(nested_start, groups, k) if groups.inside else None
        start = here(rung_start, rows, scaling, k) if nested is None else nested.mixture
        models[k] = refine(start, rung.rounds, f"(ladder, {k} components)", start).mixture
        coarse = _compare(run, scaling, models[k], apart, groups.steps, rung.score, f"({k} components)")
        fine = coarse
        if rung.density is not None:
            fine = _compare(run, scaling, models[k], apart, (), rung.density, f"({k} components, as they are)")
        scored.append(Scored(k, coarse, fine, penalty(k - k_apart, *_sizes(run))))
    chosen = choose(k_apart, scored)
    plan = ladder.plan(chosen)
    if chosen == k_apart:
        return Climbed(refine(found.mixture, plan.rounds, "(components that lie apart)", found), tuple(scored), plan)
    starts, others = [models[chosen]], run(public_starts, rows, scaling, chosen)
    for number, (start, asks) in enumerate(zip(others, plan.starts, strict=True), start=1):
        starts.append(refine(start, asks, f"(start {number})", start).mixture)
    picks = [
        _compare(run, scaling, other, starts[0], (), ask, f"(start {number} or that of the ladder)")
        for number, (other, ask) in enumerate(zip(starts[1:], plan.picks, strict=True), start=1)
    ]
    best = starts[int(np.argmax([0.0, *(pick.advantage for pick in picks)]))]
    return Climbed(refine(best, plan.rounds, "(best start)", *picks), tuple(scored), plan)


def choose(apart: int, scored: Sequence[Scored]) -> int:
    """Tell the number of components that predicts best, the penalty taken off; `apart` if no more is believed.

    It is the least of those that predict as well as the best but for one sd of noise (the one-standard-error rule of
    Breiman et al. 1984): where one component more is worth nothing, the noise would add it in every third run.
    """
    if not any(each.believed for each in scored):
        return apart
    worth = [each for each in scored if each.fine.advantage > each.penalty] or [e for e in scored if e.believed]
    best = max(worth, key=lambda each: each.worth)
    return min(e.components for e in worth if e.worth >= best.worth - math.hypot(e.fine.noise, best.fine.noise))


def penalty(more: int, n: int, d: int) -> float:
    """Half of BIC's penalty for so many more components of d columns, in nats per row."""
    return more * (d + 1) * (d + 2) / 2 * math.log(n) / (4 * n)


def _sizes(run: Execution) -> tuple[int, int]:
    return run.curator.n_rows, len(run.curator.columns)


def _compare(
    run: Execution,
    scaling: Scaling,
    first: Mixture,
    second: Mixture,
    steps: tuple[float, ...],
    ask: Ask,
    place: str,
) -> Score:
    """Score two models, with variances of at least `_STEP` squared steps if there are steps."""
    sides = (first, second) if not any(steps) else (broadened(first, steps), broadened(second, steps))
    return run.at(place, first, second)(score, scaling, *sides, ask)


def broadened(mixture: Mixture, steps: tuple[float, ...]) -> Mixture:
    """Hold variances to at least `_STEP` squared steps of a column, as everywhere to the covariance floor."""
    weights, means, covariances = mixture.arrays
    floor = np.maximum(FLOOR, _STEP * np.array(steps) ** 2) * np.ones(means.shape[1])
    return Mixture.of(weights, means, [floored(covariance, floor) for covariance in covariances])


@step(title="score", private=True)
@one_thread
def score(curator: Curator, scaling: Scaling, first: Mixture, second: Mixture, ask: Ask) -> Score:
    """How much better `first` predicts the private rows than `second`.

    Privacy: one `BoundedScore`, mu^2 <= ask.price.
    """
    return Score(*compare(curator, scaling, first, second, ask, score_bound(len(scaling.location))))
