"""Units of runs that ask rows of one period: the number of these rows is private, for rows and for persons.

If the date of a row changes, the row moves to another period. So n of a period is private and has to be asked. If the
unit is a row, a run first asks how many rows count; if it is a person, the questions of `units.PersonUnit` are asked
within the period.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.data.memory import MOST_BYTES
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, InPeriod, Question
from pubpriv.data.questions.in_period import whole
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.questions.radial import in_person_unit
from pubpriv.data.regions import Everything
from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.ledger.questions import question_of
from pubpriv.ledger.unit.size import Size
from pubpriv.ledger.unit.units import Unit
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.privacy.runs import Run

FIRST = "period/rows"
"""Label of the first question of a run whose unit is a row."""

_SHARE = Fraction(2, 100)
"""Share of the run's allotment."""


class RowsOfPeriod:
    """Each row is protected by itself, including its date; the number of rows of a period is private.

    Args:
        table: a `PrivateTable` of the period.
        run: run in which the first question is asked, and found again.
        period: name of the period.
    """

    exact_rows = None
    asks_of_one_row = False

    def __init__(self, table: Any, run: Run, period: str) -> None:
        self._table, self._run, self._period = table, run, period
        self._known: Size | None = None

    @property
    def size(self) -> Size:
        """The released number of rows.

        Raises:
            InvalidInput: no method began, so nothing was asked yet.
        """
        return self._read()

    def _read(self) -> Size:
        """Compute the size from the run's own answer; later questions are checked against it."""
        if self._known is None:
            stands = self._run.find(FIRST)
            if stands is None or stands.answer is None:
                raise InvalidInput("this run has not begun: begin a method first")
            question = question_of(stands, FIRST)
            counted = question.values({name: np.array(each) for name, each in stands.answer.items()})["count"]
            rows = max(2, round(float(counted[0])))
            sd = float(question.noise()["count"][0])
            self._known = Size(rows, sd, float(rows), period=self._period)
        return self._known

    @property
    def bounds(self) -> int:
        """Released number of rows plus what noise may hide; 1 before anything is known."""
        return 1 if self._known is None else math.ceil(self._known.rows + 8 * self._known.sd)

    def asked(self, question: Any) -> Question:
        """Wrap the question so that it is asked of the period's rows.

        Raises:
            InvalidInput: the question is not a sum over records.
        """
        return of_rows(question, self._period)

    def check_stored(self, question: Question) -> None:
        """Refuse a stored question about other rows or about persons: no release wrote it.

        Raises:
            InvalidInput: it is such a question.
        """
        _check_period(question, self._period)
        if in_person_unit(whole(question)):
            raise InvalidInput(f"a {type(whole(question)).__name__} is asked where the unit of the dataset is a person")

    def answered(self, question: Question) -> Question:
        """Return the inner question, with the noise of the answer."""
        return whole(question)  # type: ignore[no-any-return]

    def open(self, release: Callable[[Question, str], Any], budget: Budget | None, public: Any = None) -> None:  # noqa: ARG002
        """Ask how many rows there are, once in a run.

        Raises:
            BudgetExceeded: the method was given more than this question leaves; nothing was asked.
        """
        stands = self._run.find(FIRST)
        question, left = first_of_period(Purse.of(self._run.allotment))
        if stands is None and budget is not None and budget.cap.main > left.units:
            raise BudgetExceeded(
                "a run of a period first asks how many rows there are, for 2% of its allotment: give the method a "
                "smaller budget, or none of its own, and it has the rest"
            )
        if stands is None or stands.answer is None:
            release(question, FIRST)
        self._read()

    def purse(self, purse: Purse) -> Purse:
        """Return the whole purse: questions that would cost more get more noise."""
        return purse

    def check_table(self) -> None:
        """Look at the files."""
        self._table.chunks()

    def source(self, remembered: bool, shared: bool = False) -> Callable[[Question], Any]:
        """Return the period's rows, each as its own person."""
        return _reading(self._table, self._run, self._period, remembered, shared)


class PersonsInPeriod:
    """All rows of a person in one period are protected together; the costs of several periods add up for a person.

    Args:
        unit: the unit of persons, over a table of the period.
        table: table of the period.
        run: run that asks.
        period: name of the period.
    """

    exact_rows = None
    asks_of_one_row = True

    def __init__(self, unit: Unit, table: Any, run: Run, period: str) -> None:
        self._unit, self._table, self._run, self._period = unit, table, run, period

    @property
    def size(self) -> Size:
        """Released numbers of persons and rows of the period."""
        return replace(self._unit.size, period=self._period)

    @property
    def bounds(self) -> int:
        """Persons whose rows count in full."""
        return self._unit.bounds

    def asked(self, question: Any) -> Question:
        """Wrap the question so that each person answers it with the rows of the period."""
        asked: Any = self._unit.asked(question)  # InPeriod checks the kind of question
        return InPeriod(asked, self._period)

    def check_stored(self, question: Question) -> None:
        """Refuse a stored question about other rows, or about single rows: no release wrote it."""
        _check_period(question, self._period)
        self._unit.check_stored(whole(question))

    def answered(self, question: Question) -> Question:
        """Return the question as a driver asked it."""
        return self._unit.answered(whole(question))

    def open(self, release: Callable[[Question, str], Any], budget: Budget | None, public: Any = None) -> None:
        """Ask how many persons and rows there are, once in a run."""
        self._unit.open(release, budget, public)

    def purse(self, purse: Purse) -> Purse:
        """Return a 1 / L^2 part; see `PersonUnit.purse`."""
        return self._unit.purse(purse)

    def check_table(self) -> None:
        """Look at the files."""
        self._table.chunks()

    def source(self, remembered: bool, shared: bool = False) -> Callable[[Question], Any]:
        """Return weighted rows of the period, or the persons who have rows in it."""
        return _reading(self._table, self._run, self._period, remembered, shared)


def first_of_period(purse: Purse) -> tuple[Question, Purse]:
    """Return the question about the number of rows, which a run asks before its first method, and the remaining purse.

    Args:
        purse: the run's whole purse.
    """
    rows, left = purse.split([_SHARE, 1 - _SHARE])
    return Counts.priced(Everything(), rows), purse.part(left)


def of_rows(question: Any, period: str) -> Question:
    """Wrap a question so that it is asked of the rows of a period, if the unit is a row.

    Raises:
        InvalidInput: the question is not a sum over records.
    """
    if type(question) not in WEIGHED:
        raise InvalidInput(
            f"a {type(question).__name__} is not asked of the rows of a period: it is not a sum over rows, in which "
            "rows of other periods could have weight 0"
        )
    return InPeriod.of_rows(question, period)


def _check_period(question: Question, period: str) -> None:
    """Refuse a stored question that is not about the rows of the period.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(question, InPeriod) or question.period != period:
        raise InvalidInput(
            f"a {type(question).__name__} in the ledger is not of the rows of {period}: it was not written by a "
            "release; find it with `pubpriv ledger verify`"
        )


def _reading(table: Any, run: Run, period: str, remembered: bool, shared: bool) -> Callable[[Question], Any]:
    most_bytes = MOST_BYTES if remembered else 0
    own = shared and run.name
    found = PersonTable.of_run(table, run.name, most_bytes) if own else PersonTable(table, most_bytes)

    def read(question: Question) -> Any:
        _check_period(question, period)
        return found.asked(question)

    return read
