"""Neighbouring tables whose totals differ as much as possible, for every kind of question.

Records have two columns; regions are cut at x0 = 0, about a western and an eastern point, with radius 1. A record
two radii from its region's point is clipped onto the ball's surface, where it adds the most.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.audit._catalogue import EAST, WEST
from pubpriv.audit._worlds import in_memory
from pubpriv.data.frames import Frame
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import (
    Bisection,
    BoundedScore,
    ClippedSums,
    Completed,
    CompletedGram,
    Counts,
    FourthMoments,
    InShares,
    JointCounts,
    LiftedGram,
    Moments,
    PerPerson,
    PersonSizes,
    Question,
)
from pubpriv.data.questions.base import Totals, squared_weight
from pubpriv.data.regions import Cells, Everything, NearestPoint
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable

CLAIM = Fraction(4)
"""mu^2 of every attacked question: at mu = 2 a given number of runs bounds mu with the smallest relative error."""

_GROUND = Frame((0.0, 0.0))
HALVES = NearestPoint(_GROUND, (WEST, EAST), (0, 1))
"""West and east of x0 = 0."""

_ONE = Everything(), (_GROUND,), (1.0,)
_BOTH = HALVES, (Frame(WEST), Frame(EAST)), (1.0, 1.0)
_SHARES = Fraction(20, 100), Fraction(45, 100), Fraction(35, 100)
_NOWHERE = (float("nan"), 0.0)


@dataclass(frozen=True)
class Attack:
    """A question and two neighbours: `old` in one table is replaced by `new` in the other.

    If the unit is a person, `visits` has the person's number of such rows in the one table and in the other.
    """

    name: str
    question: Question
    old: tuple[float, float]
    new: tuple[float, float]
    visits: tuple[int, int] | None = None

    def sides(self, seed: int, question: Question | None = None) -> list[Totals]:
        """Scan the neighbours: forty other records, and the one record or person in which they differ.

        Args:
            seed: seed of the other records.
            question: the attack's own question, or the same under another law of noise.
        """
        question = question or self.question
        bystanders = np.random.default_rng(seed).normal(0.0, 3.0, (40, 2))
        ends = zip((self.old, self.new), self.visits or (1, 1), strict=True)
        tables = [np.vstack([bystanders, *[record] * count]) for record, count in ends]
        return [scan(self._as_asked(rows, question), question, here=True) for rows in tables]

    def _as_asked(self, rows: np.ndarray, question: Question) -> Any:
        if self.visits is None:
            return in_memory(rows)
        persons = [*range(1, 41)] + [0] * (len(rows) - 40)
        return PersonTable(ArrayTable.of(rows, persons=persons)).asked(question)


def attacks() -> list[Attack]:
    """Build one or more attacks on every kind of question."""
    return [make() for make in _MAKERS]


def attacks_on_rows() -> list[Attack]:
    """Build the attacks on questions whose unit is a row."""
    return [attack for attack in attacks() if attack.visits is None]


def _counts_of_one() -> Attack:
    return Attack("Counts, one region", Counts.priced(Everything(), CLAIM), (0.0, 0.0), _NOWHERE)


def _counts() -> Attack:
    return Attack("Counts over a partition", Counts.priced(HALVES, CLAIM), WEST, EAST)


def _sums() -> Attack:
    return Attack("ClippedSums over a partition", ClippedSums.priced(*_BOTH, CLAIM), (-4.0, 2.0), (-4.0, -2.0))


def _fourth() -> Attack:
    question = FourthMoments.priced(*_BOTH, CLAIM)
    return Attack("FourthMoments over a partition", question, (-4.0, 2.0), (4.0, 2.0))


def _moments() -> Attack:
    return Attack("Moments over a partition", Moments.priced(*_BOTH, CLAIM, _SHARES), (-4.0, 2.0), (4.0, 2.0))


def _gram() -> Attack:
    question = LiftedGram.priced(*_BOTH, CLAIM, _SHARES)
    return Attack("LiftedGram over a partition", question, (-4.0, 2.0), (4.0, 2.0))


def _shares() -> Attack:
    cells = Cells((Frame(WEST), Frame(EAST)), (0.0, 0.0))
    question = InShares(LiftedGram.priced(cells, *_BOTH[1:], CLAIM, _SHARES), 16)
    return Attack("LiftedGram in shares of components", question, (-4.0, 2.0), (4.0, 2.0))


def _completed_sums() -> Attack:
    question = Completed(ClippedSums.priced(*_BOTH, CLAIM), Frame(WEST))
    return Attack("ClippedSums of completed records", question, (-4.0, 2.0), (float("nan"), -2.0))


def _completed_gram() -> Attack:
    """The record without its first cell is completed to one in the east, which leaves nothing uncertain."""
    question = CompletedGram.of(LiftedGram.priced(*_BOTH, CLAIM, _SHARES), Frame(EAST), 0.0, (1.0, 1.0))
    return Attack("LiftedGram of completed records", question, (-4.0, 2.0), (float("nan"), 2.0))


def _gram_of_one() -> Attack:
    question = LiftedGram.priced(*_ONE, CLAIM, _SHARES)
    return Attack("LiftedGram, one region", question, *_apart(question))


def _gram_without_count() -> Attack:
    _, total, moment = LiftedGram.priced(*_ONE, CLAIM, _SHARES).noise_scales
    question = LiftedGram(*_ONE, (0, total, moment))
    return Attack("LiftedGram without its count", question, *_apart(question))


def _second_moment() -> Attack:
    question = LiftedGram.second_moment(*_ONE, CLAIM)
    return Attack("LiftedGram, second moment alone", question, *_apart(question))


def _bisection() -> Attack:
    question = Bisection(_GROUND, -4.0, 4.0, 4, 20.0, Bisection.noise_for(4, CLAIM), signed=True)
    return Attack("Bisection, each step after the answers before it", question, (-5.0, 0.0), (5.0, 0.0))


def _bisection_of_norms() -> Attack:
    question = Bisection(_GROUND, 0.01, 10.0, 5, 30.0, Bisection.noise_for(5, CLAIM), logarithmic=True)
    return Attack("Bisection of norms", question, (0.0, 0.0), _NOWHERE)


def _score() -> Attack:
    first, second = Cells((Frame(WEST),), (0.0,)), Cells((Frame(EAST),), (0.0,))
    return Attack("BoundedScore", BoundedScore.priced(first, second, 3.0, CLAIM), WEST, EAST)


def _joint() -> Attack:
    return Attack("JointCounts", JointCounts.priced((HALVES, HALVES), CLAIM), WEST, EAST)


def _per_person() -> Attack:
    question = PerPerson(ClippedSums.priced(*_ONE, CLAIM / 9), 3, 64)
    return Attack("PerPerson, of a person with fifty rows", question, (-4.0, 2.0), (4.0, -2.0), (50, 50))


def _sizes() -> Attack:
    return Attack("PersonSizes, of a person with fifty rows", PersonSizes.priced(CLAIM), WEST, WEST, (50, 1))


_MAKERS: tuple[Callable[[], Attack], ...] = (
    _counts_of_one,
    _counts,
    _sums,
    _fourth,
    _moments,
    _gram,
    _completed_sums,
    _completed_gram,
    _shares,
    _gram_of_one,
    _gram_without_count,
    _second_moment,
    _bisection,
    _bisection_of_norms,
    _score,
    _joint,
    _per_person,
    _sizes,
)


def _apart(question: LiftedGram) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two records of one region whose images are furthest apart: at the cosine -wS^2 / (2 wM^2 R^2).

    They lie on both sides of the first axis, so that their second moments differ off the diagonal.
    """
    parts = question.parts
    moment, radius = squared_weight(parts["diagonal"]), parts["sum"].bound if "sum" in parts else 1
    total = squared_weight(parts["sum"]) if "sum" in parts else Fraction(0)
    cosine = max(-1.0, -float(total / (2 * moment * radius**2)))
    half = float(np.arccos(cosine)) / 2
    return (2 * np.cos(half), 2 * np.sin(half)), (2 * np.cos(half), -2 * np.sin(half))
