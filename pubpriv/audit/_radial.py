"""Radial noise, end to end: its law, how a question uses it, and whether an attack beats the epsilon that was charged.

For neighbours D and D' the log likelihood ratio of an answer y is sum |(y - t) / s| - |(y - t') / s| over the vectors
of noise that were drawn apart. A test of rates TPR and FPR gives epsilon >= log(TPR / FPR) and
log((1 - FPR) / (1 - TPR)). The threshold is chosen on one half of the runs; Clopper-Pearson bounds of the rates on the
other half give a lower bound of epsilon. Answers of many coordinates hardly ever reach the epsilon that they cost, so
attacked questions have few; `sensitivity` computes the distance of neighbours exactly for all questions, and here the
law of the noise is measured for several numbers of coordinates.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from pubpriv.audit._attacks import CLAIM, Attack, attacks
from pubpriv.audit._catalogue import bare
from pubpriv.audit._rates import bound_from_below
from pubpriv.audit._worlds import DATASET, in_memory, world
from pubpriv.audit.finding import Finding, bounded, judged
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, Counts, Question, Radial, Selection
from pubpriv.data.questions.base import Totals
from pubpriv.data.questions.radial import RADIAL, under_law
from pubpriv.data.regions import NearestPoint
from pubpriv.data.scan import scan
from pubpriv.ledger import event_of
from pubpriv.privacy.budgets import PureDP
from pubpriv.privacy.noise import OperatingSystemNoise
from pubpriv.privacy.units import UNIT

_FALSE_ALARM = 1e-6
"""Probability that a whole audit reports a violation of a correct product ..."""

_TESTS = 80
"""... by at most this many tests."""

_POWER = 0.5
"""An attack that finds less than this part of what is claimed is called weak."""

_SIZES = (1, 2, 3, 8, 65)
"""Numbers of coordinates whose law is measured."""

_MOST_ATTACKED = 3
"""Coordinates of one vector of noise that an attack can make use of."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Measure the law alone and in answers, then attack questions of few coordinates, and the door."""
    draws, runs = (3_000, 6_000) if fast else (12_000, 24_000)
    for size in _SIZES:
        yield _law(size, draws * max(1, 7 // size))
    yield _rounding(draws * 5)
    for attack in (*attacks(), _short_bisection()):
        question = under_law(RADIAL, attack.question)
        yield _in_answers(attack, question, draws // 3, seed)
        if question.block_size <= _MOST_ATTACKED:
            yield _attacked(attack, question, runs, seed)
    yield _chosen(runs)
    yield _through_the_door(runs // 2, seed)


def _short_bisection() -> Attack:
    """Two steps, so that an attack can make use of them."""
    question = Bisection(Frame((0.0, 0.0)), -4.0, 4.0, 2, 20.0, Bisection.noise_for(2, CLAIM), signed=True)
    return Attack("Bisection of two steps", question, (-5.0, 0.0), (5.0, 0.0))


# -- the law --------------------------------------------------------------------------------------------------


def _law(size: int, draws: int) -> Finding:
    """Lengths are Gamma(N), directions uniform, coordinates coupled by nothing else; scales differ."""
    scales = tuple(1 << (24 + number % 3 * 8) for number in range(size))
    source = OperatingSystemNoise()
    drawn = np.array([source.draw("audit", "law", scales, size) for _ in range(draws)]) / np.array(scales)
    faults = _faults_of(drawn) + [f"no power: {off} times the scale would pass" for off in _off(drawn)]
    how = f"{draws:,} vectors: length against Gamma({size}), direction against a uniform one"
    return judged("radial", f"The system's radial noise, N = {size}", faults, how)


def _off(drawn: np.ndarray) -> list[float]:
    """Scales that are off by a tenth, up or down, and would pass."""
    return [off for off in (0.9, 1.1) if len(drawn) * drawn.shape[1] > 2_500 and not _faults_of(drawn * off)]


def _faults_of(drawn: np.ndarray) -> list[str]:
    """What is wrong with radial vectors over their scales (runs, N)."""
    from scipy import stats

    runs, size = drawn.shape
    lengths = np.linalg.norm(drawn, axis=1)
    tests = {"lengths are not Gamma": stats.kstest(lengths, stats.gamma(size).cdf).pvalue}
    tests["lengths follow one another"] = _p_of_correlation(lengths[1:] - size, lengths[:-1] - size)
    if size == 1:
        tests["signs are not even"] = stats.binomtest(int((drawn > 0).sum()), runs).pvalue
    for place in {0, size - 1} if size > 1 else ():
        along = (drawn[:, place] / lengths + 1) / 2
        law = stats.beta((size - 1) / 2, (size - 1) / 2)
        tests[f"directions are not uniform along {place}"] = stats.kstest(along, law.cdf).pvalue
    return [text for text, p in tests.items() if p < _FALSE_ALARM / _TESTS]


def _p_of_correlation(one: np.ndarray, two: np.ndarray) -> float:
    from scipy import stats

    return float(2 * stats.norm.sf(abs(float(one @ two)) / np.sqrt(float(one @ one) * float(two @ two) / len(one))))


def _rounding(draws: int) -> Finding:
    """Try whether, at a scale of two, integers have the masses of a rounded Laplace law."""
    from scipy import stats

    source = OperatingSystemNoise()
    drawn = np.array([source.draw("audit", "law", (2,), 1)[0] for _ in range(draws)])
    ends = np.arange(-6, 7) + 0.5
    masses = np.diff(stats.laplace(scale=2).cdf(np.r_[-np.inf, ends, np.inf]))
    cells = np.searchsorted(ends, drawn)
    p = stats.chisquare(np.bincount(cells, minlength=len(masses)), masses * draws).pvalue
    faults = [f"integers have other masses: p = {p:.2g}"] if p < _FALSE_ALARM / _TESTS else []
    return judged("radial", "Rounding at a small scale", faults, f"{draws:,} integers against a rounded Laplace law")


def _in_answers(attack: Attack, question: Radial, runs: int, seed: int) -> Finding:
    """What a question adds to its exact totals: vectors of the announced size, each region's its own where they are."""
    totals = attack.sides(seed, question)[0]
    answers = _answers(question, totals, runs)
    noise = _blocks(question, answers) - _blocks(question, _exact(question, totals, answers))  # (runs, blocks, N)
    faults = [f"vector {block}: {fault}" for block in range(noise.shape[1]) for fault in _faults_of(noise[:, block])]
    if noise.shape[1] > 1:
        lengths = np.linalg.norm(noise, axis=2) - noise.shape[2]
        if _p_of_correlation(lengths[:, 0], lengths[:, 1]) < _FALSE_ALARM / _TESTS:
            faults.append("regions share their noise")
    how = f"{runs:,} answers: {noise.shape[1]} vectors of {noise.shape[2]} coordinates"
    return judged("radial", f"{attack.name}: noise of its answers", faults, how)


# -- attacks --------------------------------------------------------------------------------------------------


def _attacked(attack: Attack, question: Radial, runs: int, seed: int) -> Finding:
    """Attack answers of the product itself, over exact totals of the real scan, with real noise."""
    first, second = attack.sides(seed, question)
    answers = (_answers(question, totals, runs) for totals in (first, second))
    scores = [_log_ratios(question, first, second, each) for each in answers]
    charged = PureDP(1).price(event_of(question)).main / UNIT
    return _judged(f"{attack.name}, radial", charged, scores, f"{runs:,} answers on each of two neighbours")


def _chosen(runs: int) -> Finding:
    """Attack a choice between two heaps of records, of which one record goes from the one to the other."""
    question = Selection.priced(Frame((0.0,)), 42, 4.0, 1, 0.05, CLAIM)
    scores = []
    for west in (22, 21):
        totals = scan(in_memory(np.repeat([[-4.0], [4.0]], (west, 42 - west), axis=0)), question)
        scores.append((_answers(question, totals, runs)["chosen"][:, 0] != 0).astype(float))
    charged = PureDP(1).price(event_of(question)).main / UNIT
    return _judged("Selection", charged, scores, f"{runs:,} choices on each of two neighbours")


def _through_the_door(pairs: int, seed: int) -> Finding:
    """Attack counts through `Curator.release` in a run with a pure allotment; claimed: what the ledger was charged.

    As in `canary`: a record lies in the first region of each pair or, in the other table, in the second, and each pair
    of neighbouring counts, whose noise is drawn apart, is an answer of its own.
    """
    centers = np.arange(2.0 * pairs)
    points = tuple((float(center), 0.0) for center in centers)
    question = Counts.priced(NearestPoint(Frame((0.0, 0.0)), points, tuple(range(2 * pairs))), CLAIM)
    bystanders = np.random.default_rng(seed).integers(2 * pairs, size=pairs)
    around = np.bincount(bystanders, minlength=2 * pairs).reshape(-1, 2)
    scores, claimed = [], np.inf
    for moved in (0, 1):
        cells = np.r_[centers[moved::2], bystanders]
        with world(np.column_stack([cells, np.zeros_like(cells)]), PureDP(100)) as place:
            curator = place.enter("canary", PureDP(100))
            answer = curator.release(question, "canary")
            claimed = min(claimed, place.ledger.run(DATASET, "canary").bill().state.spent.main / UNIT)
        found = answer.values["count"].reshape(-1, 2) - around
        scores.append(np.abs(found - (1, 0)).sum(axis=1) - np.abs(found - (0, 1)).sum(axis=1))
    how = f"a release of each of two tables, {pairs:,} pairs of neighbours in each"
    return _judged("Counts through the curator in a pure run", claimed, scores, how)


def _answers(question: Question, totals: Totals, runs: int) -> Totals:
    """So many answers of the question, with the system's noise: each part (runs, its size)."""
    source = OperatingSystemNoise()
    drawn = [
        question.answer(totals, lambda name, scale, size: source.draw("audit", name, scale, size)) for _ in range(runs)
    ]
    return {name: np.stack([answer[name] for answer in drawn]) for name in drawn[0]}


def _exact(question: Radial, totals: Totals, answers: Totals) -> Totals:
    """The multiplied totals that noise was added to, (runs or 1, size); of a bisection, where the answers led to."""
    inner, parts = bare(question), question.parts
    if not isinstance(inner, Bisection):
        return {name: totals[name][None] * part.factor for name, part in parts.items()}
    below, counts, factor = np.cumsum(totals["histogram"]), answers["count"], parts["count"].factor
    low, high = np.zeros(len(counts), dtype=int), np.full(len(counts), 1 << inner.steps)
    asked = np.empty_like(counts)
    for step in range(inner.steps):
        middle = (low + high) // 2
        asked[:, step] = below[middle] * factor
        enough = counts[:, step] >= inner.rank * factor
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return {"count": asked}


def _blocks(question: Radial, integers: Totals) -> np.ndarray:
    """Integers (runs, size) over their scales, by vector of noise: (runs, blocks, N)."""
    parts = question.parts.items()
    pieces = [
        integers[name].reshape(len(integers[name]), question.blocks, -1) / part.noise_scale for name, part in parts
    ]
    return np.concatenate(pieces, axis=2)


def _log_ratios(question: Radial, first: Totals, second: Totals, answers: Totals) -> np.ndarray:
    """log of the densities of answers under `second` and under `first`, (runs,)."""
    found = _blocks(question, answers)
    exact = (_blocks(question, _exact(question, totals, answers)) for totals in (first, second))
    away = [np.linalg.norm(found - each, axis=2).sum(axis=1) for each in exact]
    return np.asarray(away[0] - away[1])


def _judged(name: str, claimed: float, scores: Sequence[np.ndarray], how: str) -> Finding:
    return bounded("radial", name, claimed, _epsilon_bound(scores[0], scores[1]), _POWER * claimed, how)


def _epsilon_bound(under: np.ndarray, over: np.ndarray) -> float:
    """Bound epsilon from below by independent scores on D (`under`) and on D' (`over`), (runs,) each.

    By those that pass a threshold, or by those that do not, with D and D' exchanged: whichever proves more.
    """
    return max(bound_from_below(_epsilon, *pair, _FALSE_ALARM / _TESTS) for pair in ((under, over), (-over, -under)))


def _epsilon(lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """log(TPR / FPR)."""
    return np.asarray(np.log(np.maximum(lowest, 1e-300) / highest))
