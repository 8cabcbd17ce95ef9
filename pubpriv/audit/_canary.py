"""The best attack on a mechanism, end to end: does it distinguish neighbours better than the price allows?

For neighbours D and D' the likelihood ratio of Gaussian answers is a line: the score sum_k Delta_k answer_k / sd_k^2.
Its true positives against its false positives give mu >= Phi^-1(TPR) - Phi^-1(FPR) for every threshold, if the
mechanism is mu-GDP. The threshold is chosen on one half of the runs; Clopper-Pearson bounds of both rates on the
other half give a lower bound of mu that is too high once in a million audits, for all attacks together.

The audit bounds mu, not epsilon: at delta = 1e-5 a lower bound of epsilon would not reveal a lost factor of sqrt(2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.audit._attacks import CLAIM, Attack, attacks
from pubpriv.audit._rates import bound_from_below
from pubpriv.audit._worlds import DATASET, world
from pubpriv.audit.finding import Finding, bounded
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, Counts, Question
from pubpriv.data.questions.base import Totals, Values
from pubpriv.data.regions import NearestPoint
from pubpriv.ledger import event_of
from pubpriv.privacy.budgets import ApproximateDP, ZeroConcentratedDP
from pubpriv.privacy.noise import NoiseSource, OperatingSystemNoise, Scale
from pubpriv.privacy.units import UNIT

_FALSE_ALARM = 1e-6
"""Probability that a whole audit reports a violation of a correct product."""

_BOUNDS = 2 * 20
"""Most rates that one audit bounds: two for each attack."""

_POWER = 0.7
"""An attack that finds less than this part of the claim is called weak."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Attack every kind of question, then the whole curator with its ledger."""
    for attack in attacks():
        yield _attacked(attack, 5_000 if fast else 20_000, seed)
    yield _through_the_door(5, 1_000, seed) if fast else _through_the_door(20, 1_500, seed)


def _attacked(attack: Attack, runs: int, seed: int) -> Finding:
    """Attack answers of the product itself, over exact totals of the real scan, with real noise.

    Args:
        attack: the question and its neighbours.
        runs: number of answers on each side.
        seed: seed of the other records; the noise is the system's, without a seed.
    """
    question = attack.question
    sides = attack.sides(seed)
    score = _likelihood_ratio(question, *sides)
    source = OperatingSystemNoise()
    scores = [_scores(question, totals, score, _Stock(source, runs), runs) for totals in sides]
    return _judged(attack.name, _charged_mu(question), scores, f"{runs:,} answers on each of two neighbours")


def _through_the_door(releases: int, pairs: int, seed: int) -> Finding:
    """Attack counts through `Curator.release` with a ledger on disk, against the price in the ledger per answer.

    A release costs some milliseconds and counts many regions, so it is attacked in many places at once. In D a record
    lies in the first region of each pair; moving one of them to the second makes a neighbour, which only the pair's two
    counts distinguish from D. In the other table all records are moved: the counts of a pair have the same law as in
    the pair's own neighbour of D, and since noise is independent, each pair counts as an answer of its own.

    Args:
        releases: number of releases on each side.
        pairs: number of pairs of regions.
        seed: seed of the other records, which lie in any region.
    """
    centers = np.arange(2.0 * pairs)
    points = tuple((float(center), 0.0) for center in centers)
    question = Counts.priced(NearestPoint(Frame((0.0, 0.0)), points, tuple(range(2 * pairs))), CLAIM)
    bystanders = np.random.default_rng(seed).integers(2 * pairs, size=pairs)
    scores, claimed, noise = [], np.inf, set[bytes]()
    for moved in (0, 1):
        cells = np.r_[centers[moved::2], bystanders]
        counts = np.bincount(cells.astype(np.int64), minlength=2 * pairs)
        with world(np.column_stack([cells, np.zeros_like(cells)])) as place:
            curator = place.enter("canary", ZeroConcentratedDP(10**5))
            answers = [curator.release(question, f"canary-{number}").values["count"] for number in range(releases)]
            charged = place.ledger.run(DATASET, "canary").bill().state.spent.main
        # the other records add the same on both sides
        around = counts - (np.arange(2 * pairs) % 2 == moved)
        scores.append(np.concatenate([np.diff((answer - around).reshape(-1, 2), axis=1)[:, 0] for answer in answers]))
        noise.update((answer - counts).tobytes() for answer in answers)
        claimed = min(claimed, float(np.sqrt(2 * charged / UNIT / releases)))
    how = f"{releases} releases of each of two tables, {pairs:,} pairs of neighbours in each"
    found = _judged("Counts through the curator and its ledger", claimed, scores, how)
    if len(noise) < 2 * releases:
        return replace(found, holds=False, weak=False, detail=f"{how}; two releases have the same noise")
    return found


def _charged_mu(question: Question) -> float:
    """Price of one answer in an (epsilon, delta) ledger, as mu."""
    paid = ApproximateDP(1, Fraction(1, 10**6)).price(event_of(question))
    return float(np.sqrt(paid.main / UNIT))


# -- scores ---------------------------------------------------------------------------------------------------


def _likelihood_ratio(question: Question, first: Totals, second: Totals) -> Any:
    """Make the likelihood ratio of two neighbours' totals, a function of released values."""
    if isinstance(question, Bisection):
        return _PathScore(question, np.cumsum(first["histogram"]), np.cumsum(second["histogram"]))
    exact = [
        question.values({name: totals[name] * part.factor for name, part in question.parts.items()})
        for totals in (first, second)
    ]
    noise = question.noise()
    # a moment's mirrored entries count twice, at the diagonal's sd: each pair once, at half that variance
    weights = {name: (exact[1][name] - exact[0][name]) / noise[name] ** 2 for name in noise}
    return _LinearScore({name: weight.ravel() for name, weight in weights.items() if weight.any()})


@dataclass(frozen=True)
class _LinearScore:
    weights: Values

    def __call__(self, values: Values) -> float:
        return float(sum(weight @ values[name].ravel() for name, weight in self.weights.items()))


@dataclass(frozen=True)
class _PathScore:
    """Score of a bisection: sum over its steps, whose thresholds follow from earlier answers."""

    question: Bisection
    first: np.ndarray
    second: np.ndarray

    def __call__(self, values: Values) -> float:
        low, high, total = 0, 1 << self.question.steps, 0.0
        for count in values["count"]:
            middle = (low + high) // 2
            before, after = self.first[middle], self.second[middle]
            total += (after - before) * (count - (before + after) / 2)
            low, high = (low, middle) if count >= self.question.rank else (middle, high)
        return float(total)


@dataclass
class _Stock:
    """Slices of large draws of the product's own source, which are cheaper per number."""

    source: NoiseSource
    runs: int
    _left: dict[tuple[str, Scale, int], Iterator[np.ndarray]] = field(default_factory=dict)

    def draw(self, part: str, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,), each slice once."""
        found = next(self._left.get((part, sd, size), iter(())), None)
        if found is None:
            rows = iter(self.source.draw("canary", part, sd, size * self.runs).reshape(self.runs, size))
            self._left[part, sd, size] = rows
            found = next(rows)
        return found


def _scores(question: Question, totals: Totals, score: Any, stock: _Stock, runs: int) -> np.ndarray:
    """Scores of `runs` answers, (runs,)."""
    return np.array([score(question.values(question.answer(totals, stock.draw))) for _ in range(runs)])


# -- judgement ------------------------------------------------------------------------------------------------


def _judged(name: str, claimed: float, scores: Sequence[np.ndarray], how: str) -> Finding:
    return bounded("canary", name, claimed, _mu_bound(scores[0], scores[1]), _POWER * claimed, how)


def _mu_bound(under: np.ndarray, over: np.ndarray, error: float = _FALSE_ALARM / _BOUNDS) -> float:
    """Bound mu from below by independent scores on D (`under`) and on D' (`over`), (runs,) each.

    Args:
        under: scores on D, which tend to be lower.
        over: scores on D'.
        error: probability that the bound of each of the two rates is wrong.
    """
    return bound_from_below(_mu, under, over, error)


def _mu(lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """Phi^-1(TPR) - Phi^-1(FPR)."""
    from scipy import stats

    return np.asarray(stats.norm.ppf(lowest) - stats.norm.ppf(highest))
