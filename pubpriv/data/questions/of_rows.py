"""Questions of rows, and what else the proof of each holds for: the closed list that the others ask and extend."""

from typing import Any

from pubpriv.data.questions._bisection import Bisection
from pubpriv.data.questions._counts import ClippedSums, Counts, JointCounts
from pubpriv.data.questions._fourth import FourthMoments
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions._score import BoundedScore
from pubpriv.data.questions.selection import Selection
from pubpriv.data.questions.stable import StableCells

_PERSONS, _RADIAL, _REGIONS = "persons", "radial noise", "radial noise by region"
_ONE_ROW = "one row of each person"

OF_ROWS: dict[type[Any], tuple[str, ...]] = {
    Bisection: (_PERSONS, _RADIAL),
    BoundedScore: (_PERSONS, _RADIAL),
    ClippedSums: (_PERSONS, _RADIAL, _REGIONS),
    Counts: (_PERSONS, _RADIAL, _REGIONS),
    FourthMoments: (_PERSONS, _RADIAL, _REGIONS),
    JointCounts: (_PERSONS, _RADIAL, _REGIONS),
    LiftedGram: (_PERSONS, _RADIAL, _REGIONS),
    Moments: (_PERSONS, _RADIAL, _REGIONS),
    Selection: (_ONE_ROW,),
    StableCells: (_ONE_ROW,),
}
"""Each question of rows, and for what its proof holds as well; a run of that kind refuses any other."""


def _proven(case: str) -> tuple[type[Any], ...]:
    return tuple(question for question, cases in OF_ROWS.items() if case in cases)


WEIGHED = _proven(_PERSONS)
"""Questions whose totals are sums over records, as the theorem of `PerPerson` takes them."""

UNDER_RADIAL = _proven(_RADIAL)
"""Questions whose proof is of an l2 sensitivity, as the theorem of `Radial` takes it."""

BY_REGION = _proven(_REGIONS)
"""Those that add what a record adds to its region alone, and say how long that is at most."""

OF_ONE_ROW = _proven(_ONE_ROW)
"""Those that are no sums over records, and are asked of one row of each person."""
