"""Does the noise have the declared scale and shape, and do no two coordinates share it?

Every kind of question is asked of an empty table, so that its answer is its noise. The requested noise is
checked exactly, and the answer by chi-square on the second moment (scale), Kolmogorov-Smirnov (shape)
and correlations (between neighbouring coordinates, the same coordinate of two answers, two parts of an answer,
and the two halves that threads draw). All tests of an audit together raise a false alarm once in a million audits.

A test that accepts everything proves nothing, so each scale is also tried against 2% more and 2% less than was
declared, on the same draws, and both must be rejected. (A fast audit does so at one scale of the source itself; where
it has fewer draws it tries larger factors, and says which.)
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from pubpriv.audit._catalogue import questions
from pubpriv.audit.finding import Finding, judged
from pubpriv.data.frames import Frame
from pubpriv.data.questions import (
    Bisection,
    BoundedScore,
    ClippedSums,
    Counts,
    FourthMoments,
    InPeriod,
    InShares,
    JointCounts,
    LiftedGram,
    Moments,
    OfSample,
    PerPerson,
    PersonSizes,
    Question,
    Radial,
    Selection,
    StableCells,
)
from pubpriv.data.questions.base import Totals
from pubpriv.data.regions import Cells, NearestPoint
from pubpriv.privacy.ahead import DrawnAhead
from pubpriv.privacy.noise import NoiseSource, OperatingSystemNoise, Scale, SimulatedNoise

_FALSE_ALARM, _TESTS = 1e-6, 160
"""Probability that a whole audit rejects correct noise, and the largest number of tests that share it."""

_LEVEL = _FALSE_ALARM / _TESTS

_DRAWS, _OFF = 180_000, 1.02
"""This many draws detect a scale that is off by this factor, up or down, except once in ten million times."""

_ANSWER_DRAWS = {True: _DRAWS // 3, False: 2 * _DRAWS}
"""Draws for each part of an answer, in a fast audit and in a full one."""

_SCALES = {
    True: {20: 10_000, 30: _DRAWS, 40: 10_000, 50: 10_000},
    False: dict.fromkeys((20, 26, 32, 38, 44, 50, 53), 2 * _DRAWS),
}
"""Exponents of the sds at which the sources themselves are tried, and with how many draws."""

# sds of counts and scores, of sums, and of second moments: all different, so that parts cannot be swapped unseen
_COUNT, _SUM, _SECOND = 1_000_000_007, 600_000_001, 2_200_000_011
_REGIONS = 300
_MANY = 1_000_000
"""Records in a cell that always leaves."""


@dataclass
class _Batches:
    """Noise of a source by sd, drawn in one piece when it is first asked for and handed out in slices.

    Whoever asks for more than `size` gets the first ones again; only the first `size` values of a part are tested.
    """

    source: NoiseSource
    size: int
    drawn: dict[Scale, np.ndarray] = field(default_factory=dict)

    def take(self, sd: Scale, start: int, size: int) -> np.ndarray:
        """Hand out int64 (size,), from position `start` on."""
        if sd not in self.drawn:
            self.drawn[sd] = self.source.draw("audit", "law", sd, self.size)
        return np.take(self.drawn[sd], range(start, start + size), mode="wrap")


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Measure every kind of question, which share draws where they have the same sd, then the sources themselves."""
    batches = _Batches(OperatingSystemNoise(), _ANSWER_DRAWS[fast])
    for name, question in _questions().items():
        yield _answered(name, question, batches)
    yield _at_scales("the system's noise", OperatingSystemNoise(), _SCALES[fast])
    yield _at_scales("simulated noise (not private)", SimulatedNoise(seed), _SCALES[fast])
    yield _drawn_ahead()


def _questions() -> dict[str, Question]:
    """Make every kind of question, most with many regions and with sds that share draws between kinds."""
    points = tuple((float(i), 0.0) for i in range(_REGIONS))
    partition = NearestPoint(Frame((0.0, 0.0)), points, tuple(range(_REGIONS)))
    flat, line = Frame((0.0, 0.0)), Frame((0.0, 0.0), ((1.0, 0.0),))
    radii = (1.0,) * _REGIONS
    cells = Cells((flat,), (0.0,))
    made: dict[str, Question] = {
        "Counts": Counts(partition, _COUNT),
        "ClippedSums": ClippedSums(partition, (flat,) * _REGIONS, radii, _SUM),
        "FourthMoments": FourthMoments(partition, (flat,) * _REGIONS, radii, _SUM),
        "Moments": Moments(partition, (line,) * _REGIONS, radii, (_COUNT, _SUM, _SECOND)),
        "JointCounts": JointCounts((partition, partition), _COUNT),
        "LiftedGram": LiftedGram(partition, (flat,) * _REGIONS, radii, (_COUNT, _SUM, _SECOND)),
        "Bisection": Bisection(line, 1.0, 2.0, 10, 1.0, _COUNT),
        "BoundedScore": BoundedScore(cells, cells, 1.0, _COUNT),
        "StableCells": StableCells(Frame((0.0,) * _REGIONS), 1, 0, _COUNT, 1),
        "PerPerson": PerPerson(ClippedSums(partition, (flat,) * _REGIONS, radii, _SUM), 1, 64),
        "PersonSizes": PersonSizes(_COUNT),
        "InPeriod": InPeriod(Counts(partition, _COUNT), "2026-11"),
        "InShares": InShares(
            LiftedGram(Cells((flat,) * 8, (0.0,) * 8), (flat,) * 8, (1.0,) * 8, (_COUNT, _SUM, _SECOND)), 16
        ),
        "OfSample": OfSample(Counts(partition, _COUNT), 1),
    }
    # any other as the catalogue has it; radial noise is measured in `radial`, and a choice adds none to what leaves
    apart = {*map(type, made.values()), Radial, Selection}
    return made | {
        type(question).__name__: question for question in questions().values() if type(question) not in apart
    }


def _answered(name: str, question: Question, batches: _Batches) -> Finding:
    """Measure what a question adds to nothing, by its own `answer`."""
    empty, declared = _nobody(question), [(part, p.noise_scale, p.draws) for part, p in question.parts.items()]
    shown = {part: p.size if p.drawn is None else p.size // 2 for part, p in question.parts.items()}
    asked: list[tuple[str, Scale, int]] = []
    place = dict.fromkeys(question.parts, 0)

    def draw(part: str, sd: Scale, size: int) -> np.ndarray:
        asked.append((part, sd, size))
        start = place.get(part, 0)
        place[part] = start + shown[part]
        return batches.take(sd, start, size)

    answers: list[Totals] = []
    runs = -(-batches.size // min(shown.values()))
    for _ in range(runs):
        answers.append(question.answer(empty, draw))
        if asked != declared:
            return Finding("noise_law", name, None, None, False, f"asks for noise {asked}, declares {declared}")
        asked.clear()
    streams = {
        part: np.concatenate([_noise_in(question, answer[part]) for answer in answers])[: batches.size] / p.noise_scale
        for part, p in question.parts.items()
    }
    lags = {part: (1, size) for part, size in shown.items()}
    faults = [f"{part}: {fault}" for part, z in streams.items() for fault in _faults_of(z, lags[part])]
    pairs = ((one, two, streams[one], streams[two]) for one, two in combinations(streams, 2))
    faults += [f"{one} and {two} are correlated" for one, two, z, y in pairs if _correlated(z, y)]
    return _finding(f"{name}: {', '.join(streams)}", streams.values(), faults)


def _nobody(question: Question) -> Totals:
    """Totals of a table of which nobody counts."""
    if isinstance(question, Bisection):
        return {"histogram": np.zeros((1 << question.steps) + 1, dtype=np.int64)}
    if isinstance(question, StableCells):  # of nobody nothing would leave: many records in one cell of each direction
        directions = np.arange(question.alone)
        return {"direction": directions, "cell": directions, "count": np.full_like(directions, _MANY)}
    return {name: np.zeros(part.size, dtype=np.int64) for name, part in question.parts.items()}


def _noise_in(question: Question, answer: np.ndarray) -> np.ndarray:
    """What an answer adds to what is asked by `_nobody`."""
    if isinstance(question, StableCells):
        return answer[question.alone :] - _MANY * question.parts["fullest"].factor
    return answer


def _at_scales(name: str, source: NoiseSource, scales: Mapping[int, int]) -> Finding:
    """Measure one source at several sds; the first of them drawn in small pieces, as small questions do.

    Args:
        name: of the source.
        source: the source.
        scales: draws by the exponent of two of their sd; `_DRAWS` of them show a law that is off by 2%.
    """
    draws: dict[int, np.ndarray] = {}
    for exponent, size in scales.items():
        pieces = 50 if not draws else 1
        drawn = [source.draw(f"audit/{exponent}/{i}", "law", 1 << exponent, size // pieces) for i in range(pieces)]
        draws[exponent] = np.concatenate(drawn) / (1 << exponent)
    faults = [f"sd 2^{e}: {fault}" for e, z in draws.items() for fault in _faults_of(z, (1, len(z) // 2))]
    return _finding(f"{name}, sd 2^{min(scales)} to 2^{max(scales)}", draws.values(), faults)


def _drawn_ahead() -> Finding:
    """Measure noise as new runs take it: more draws than were expected, some of these expected again meanwhile."""
    scale, size, expected = 1 << 30, 200, 20
    source = DrawnAhead(OperatingSystemNoise())
    draws: list[np.ndarray] = []
    for _ in range(2):
        source.expect([("law", scale, size)] * expected)
        draws += [source.draw("audit", "law", scale, size) for _ in range(expected // 2)]
    draws += [source.draw("audit", "law", scale, size) for _ in range(expected)]
    source.stop()
    z = np.concatenate(draws) / scale
    faults = ["a draw was handed out twice"] if len({draw.tobytes() for draw in draws}) < len(draws) else []
    return _finding("noise that is drawn ahead of its question, sd 2^30", [z], faults + _faults_of(z, (1, size)))


def _finding(mechanism: str, streams: Collection[np.ndarray], faults: list[str]) -> Finding:
    """Judge by the worst of all streams, as a factor of mu: declared sd over the largest sd that the draws allow."""
    sizes = sorted({len(z) for z in streams})
    sampled = " and ".join(f"{n:,}" for n in sizes)
    off = f"{_off_for(sizes[-1]) - 1:.1%}"
    how = f"declared sd over measured; {sampled} draws a part: rejects a scale {off} off, up or down"
    return judged("noise_law", mechanism, faults, how, 1.0, max(map(_least_factor, streams)))


def _faults_of(z: np.ndarray, lags: Iterable[int]) -> list[str]:
    """Say what is wrong with standardised noise, if anything.

    Args:
        z: (n,) draws over their declared sd.
        lags: distances at which it must not correlate with itself.
    """
    from scipy import stats

    off = _off_for(len(z))
    tests = {
        f"its sd is {np.sqrt(np.mean(z * z)):.4f} of the declared one": _scale_p(z) < _LEVEL,
        "its shape is not Gaussian": stats.kstest(z, "norm").pvalue < _LEVEL,
        f"no power: {off:.3g} times too much would pass": _scale_p(z * off) >= _LEVEL,
        f"no power: {off:.3g} times too little would pass": _scale_p(z / off) >= _LEVEL,
    }
    tests |= {f"correlated with itself at distance {lag}": _correlated(z[lag:], z[:-lag]) for lag in lags}
    return [text for text, found in tests.items() if found]


def _off_for(draws: int) -> float:
    """The factor that so many draws tell from 1: 1.02 at `_DRAWS`, and more for fewer."""
    return 1 + (_OFF - 1) * float(np.sqrt(_DRAWS / draws))


def _scale_p(z: np.ndarray) -> float:
    """Two-sided chi-square p-value of the second moment of standardised draws."""
    from scipy import stats

    total = float(np.sum(z * z))
    return 2 * float(min(stats.chi2.cdf(total, len(z)), stats.chi2.sf(total, len(z))))


def _correlated(z: np.ndarray, y: np.ndarray) -> bool:
    """Independent standardised streams have sum z y of mean 0 and variance n, by the central limit theorem."""
    from scipy import stats

    size = min(len(z), len(y))
    return bool(2 * stats.norm.sf(abs(float(z[:size] @ y[:size])) / np.sqrt(size)) < _LEVEL)


def _least_factor(z: np.ndarray) -> float:
    """Lower confidence bound of declared sd over true sd; above 1 there is less noise than declared."""
    from scipy import stats

    return float(np.sqrt(stats.chi2.ppf(_LEVEL / 2, len(z)) / np.sum(z * z)))
