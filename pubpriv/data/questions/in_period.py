"""Questions about tables that grow: only rows of one calendar period count, and other rows weigh nothing."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pubpriv.common.periods import Span
from pubpriv.data._checks import kind
from pubpriv.data.codec import public_value
from pubpriv.data.questions._counts import ClippedSums, Counts, JointCounts
from pubpriv.data.questions._fourth import FourthMoments
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions._score import BoundedScore
from pubpriv.data.questions.base import Around, Question, Totals, root_up, squared_weight
from pubpriv.data.questions.completed import Completed, CompletedGram
from pubpriv.data.questions.in_shares import InShares
from pubpriv.data.questions.of_rows import WEIGHED, Weighed
from pubpriv.data.questions.per_person import PerPerson, PersonSizes
from pubpriv.data.questions.radial import in_person_unit, without_law
from pubpriv.data.regions import View

_BOTH_ENDS = (BoundedScore, ClippedSums, CompletedGram, FourthMoments, InShares, LiftedGram, Moments)
"""Questions in which adding or removing a record costs at most half the squared distance of replacing one."""


@public_value
@dataclass(frozen=True)
class InPeriod(Around):
    """Another question, asked of the rows of one period; other rows are read too, but have weight 0.

    The date of a row is a cell like any other, so it may differ between neighbours. Periods are disjoint: in each of
    two neighbours, a row is in one period at most.

    Sensitivity where the unit is a row. Let S be the squared distance of the inner question where a record is replaced,
    and O the largest squared length of what one record adds, so that O covers a record that comes or goes. A row with
    one date in both tables changes the questions of that period alone, by S at most. A row whose date moves it from
    period P to P' changes those of P by O and those of P' by O. This question is therefore priced at max(S, 2 O). If
    the charges of each period sum to at most C, then a row that stays is within sum_P S <= C, and one that moves is
    within sum_P O + sum_P' O <= C / 2 + C / 2. Hence C bounds the sum of squared distances of every pair of neighbours
    over all charges, of all periods: each budget's filter limits that sum.

    O is at most S / 2 for sums, scores, moments and counts of several regions, where both ends of a replacement add up.
    It is S itself for a count of one region and for a `Bisection`, which cost twice as much here as a record's
    replacement, and one count for each partition of a `JointCounts`.

    Sensitivity where the unit is a person (the inner question is `PerPerson` or `PersonSizes`): that of the inner
    question, since weights are computed within the period, as if rows of other periods did not exist. The costs of all
    periods add up for one person.

    Attributes:
        inner: the question, about rows or about persons.
        period: name of the period: `2026-11`.

    Raises:
        InvalidInput: a question that is not a sum over rows with weights, or a name that is not a period.
    """

    inner: Weighed | PerPerson | PersonSizes
    period: str

    def __post_init__(self) -> None:
        kind("the question of a period", self.inner, *WEIGHED, PerPerson, PersonSizes)
        kind("the name of a period", self.period, str)
        Span.of(self.period)

    @classmethod
    def of_rows(cls, question: Any, period: str) -> "InPeriod":
        """Ask a question about rows within a period at the same price: if it would cost more, noise is increased."""
        wanted = cls(question, period)
        if isinstance(question, Completed):
            inner: Any = cls.of_rows(question.inner, period).inner
            return cls(replace(question, inner=inner), period)
        if wanted.squared_distance <= question.squared_distance:
            return wanted
        times = wanted.squared_distance / question.squared_distance
        return cls(replace(question, noise_scale=root_up(times * question.noise_scale**2)), period)

    @property
    def squared_distance(self) -> Fraction:
        """max(S, 2 O) for rows; for persons that of the inner question."""
        inner = self.inner
        if in_person_unit(inner):
            return inner.squared_distance
        if isinstance(inner, Completed):  # a record that moves is completed on both sides, and moves no other
            return InPeriod(inner.inner, self.period).squared_distance
        if isinstance(inner, Counts):
            return 2 * inner.squared_length
        if isinstance(inner, JointCounts):
            return 2 * len(inner.partitions) * squared_weight(inner.parts["count"])
        # O is at most S for every question
        return (1 if isinstance(inner, _BOTH_ENDS) else 2) * inner.squared_distance

    def totals(self, view: View) -> Totals:
        """Return exact totals over one block of weighted records.

        Raises:
            ValueError: a defect; records have no weights, so rows of other periods would count.
        """
        if view.weights is None and not isinstance(self.inner, PersonSizes):
            raise ValueError("records without weights")
        return self.inner.totals(view)


def whole(question: Any) -> Any:
    """Return the question without its period, if it has one."""
    return question.inner if isinstance(question, InPeriod) else question


def period_of(question: Any) -> str | None:
    """Return the period whose rows a question is about; None: all rows."""
    return question.period if isinstance(question, InPeriod) else None


def weighing(question: Question) -> tuple[int, int] | None:
    """Return L and G of the row weights that a question needs; None if it needs none."""
    inner = without_law(whole(question))
    if isinstance(inner, PerPerson):
        return inner.most, inner.grain
    return (1, 1) if isinstance(question, InPeriod) and not isinstance(inner, PersonSizes) else None
