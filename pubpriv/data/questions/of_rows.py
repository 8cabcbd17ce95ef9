"""The closed list of questions about rows, with the kinds of runs that each proof also covers."""

from typing import Any, TypeAlias

from pubpriv.data.questions._bisection import Bisection
from pubpriv.data.questions._counts import ClippedSums, Counts, JointCounts
from pubpriv.data.questions._fourth import FourthMoments
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions._score import BoundedScore
from pubpriv.data.questions.completed import Completed, CompletedGram
from pubpriv.data.questions.in_shares import InShares
from pubpriv.data.questions.selection import Selection
from pubpriv.data.questions.stable import StableCells

_PERSONS, _RADIAL, _REGIONS = "persons", "radial noise", "radial noise by region"
_ONE_ROW = "one row of each person"

OF_ROWS: dict[type[Any], tuple[str, ...]] = {
    Bisection: (_PERSONS, _RADIAL),
    BoundedScore: (_PERSONS, _RADIAL),
    ClippedSums: (_PERSONS, _RADIAL, _REGIONS),
    Completed: (_PERSONS, _RADIAL),
    CompletedGram: (_PERSONS, _RADIAL, _REGIONS),
    Counts: (_PERSONS, _RADIAL, _REGIONS),
    FourthMoments: (_PERSONS, _RADIAL, _REGIONS),
    InShares: (_PERSONS, _RADIAL, _REGIONS),
    JointCounts: (_PERSONS, _RADIAL, _REGIONS),
    LiftedGram: (_PERSONS, _RADIAL, _REGIONS),
    Moments: (_PERSONS, _RADIAL, _REGIONS),
    Selection: (_ONE_ROW,),
    StableCells: (_ONE_ROW,),
}
"""Each question about rows, and the kinds of runs that its proof also covers; such a run refuses other questions."""


def _proven(case: str) -> tuple[type[Any], ...]:
    return tuple(question for question, cases in OF_ROWS.items() if case in cases)


WEIGHED = _proven(_PERSONS)
"""Questions whose totals are sums over records, as the theorem of `PerPerson` requires."""

Weighed: TypeAlias = (
    Bisection
    | BoundedScore
    | ClippedSums
    | Completed
    | CompletedGram
    | Counts
    | FourthMoments
    | InShares
    | JointCounts
    | LiftedGram
    | Moments
)
"""The type of a question of `WEIGHED`."""

UNDER_RADIAL = _proven(_RADIAL)
"""Questions with a proof of l2 sensitivity, as the theorem of `Radial` requires."""

BY_REGION = _proven(_REGIONS)
"""Questions that state the largest length of what a record adds: to its region alone, or to all of them together."""

OF_ONE_ROW = _proven(_ONE_ROW)
"""Questions that are not sums over records, and are asked of one row of each person."""
