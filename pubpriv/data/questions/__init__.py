"""The closed list of questions that may be asked of private rows.

| question | released per region | squared distance of neighbours, in noise units |
|---|---|---|
| `Counts` | count | 2 w^2; w^2 for one region |
| `JointCounts` | count, of several partitions | w^2 (sum over partitions of min(regions, 2)) |
| `ClippedSums` | sum of q | 4 R^2 w^2 |
| `FourthMoments` | sum of the fourth powers of z | 2 R^2 w^2 |
| `Moments` | count, sum of q, sum of q'q | 2 (wN^2 + wS^2 R^2 + wQ^2 R^4) if 2 wN wQ >= wS^2 |
| `LiftedGram` | count, sum of q, sum of q q' | 2 (wN^2 + wS^2 R^2 + wM^2 R^4) + max(0, wS^4 / (2 wM^2) - 2 wN^2) |
| `CompletedGram` | `LiftedGram` of records whose missing cells are completed, with their uncertainty | the same |
| `Completed` | another of these, of records whose missing cells are completed | the other's |
| `Bisection` | a quantile, by adaptive counts | steps * w^2 |
| `BoundedScore` | sum of a bounded score | 4 c^2 w^2 |
| `StableCells` | the fullest cell of each column, above a threshold | 2 l w^2 for l columns, and a chance of failing |
| `Selection` | which public hypothesis wins its contests; a choice, no sum | epsilon^2 = (2 w)^2 |
| `InShares` | `Moments` or `LiftedGram`, each record divided among the components | theirs |
| `PerPerson` | another of these, a person's rows counting as L records at most | L^2 times the other's |
| `PersonSizes` | persons, and persons by number of rows | 2 w^2 |
| `InPeriod` | any of these of rows, or of persons, in one period | twice theirs for one count or a bisection of rows |
| `OfSample` | any sum of these, of a public sample of the rows | theirs |
| `Radial` | any of these of rows, with radial noise (pure DP) | epsilon^2: theirs, or by region 4 f |

w is (public integer factor of the part) / (its integer noise sd); R = `frames.GRID`; f is
the squared length of what a record adds to its region, at most. Proofs are in the classes.
"""

from pubpriv.data.questions._bisection import Bisection
from pubpriv.data.questions._counts import ClippedSums, Counts, JointCounts
from pubpriv.data.questions._fourth import FourthMoments
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions._score import BoundedScore
from pubpriv.data.questions.base import Part, Question
from pubpriv.data.questions.completed import Completed, CompletedGram
from pubpriv.data.questions.in_period import InPeriod
from pubpriv.data.questions.in_shares import InShares
from pubpriv.data.questions.of_rows import OF_ROWS
from pubpriv.data.questions.of_sample import OfSample
from pubpriv.data.questions.per_person import PerPerson, PersonSizes
from pubpriv.data.questions.radial import Radial
from pubpriv.data.questions.selection import Selection
from pubpriv.data.questions.stable import StableCells

QUESTIONS = (*OF_ROWS, InPeriod, OfSample, PerPerson, PersonSizes, Radial)
"""The closed list itself: the door answers objects of these classes, and of no subclass."""

__all__ = [
    "Bisection",
    "BoundedScore",
    "ClippedSums",
    "Completed",
    "CompletedGram",
    "Counts",
    "FourthMoments",
    "InPeriod",
    "InShares",
    "JointCounts",
    "LiftedGram",
    "Moments",
    "OfSample",
    "Part",
    "PerPerson",
    "PersonSizes",
    "Question",
    "Radial",
    "Selection",
    "StableCells",
]
