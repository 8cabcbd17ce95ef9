"""The two privacy units, row and person: how questions are asked, and which number of rows a run may use.

If the unit is a row, the number of rows is public and questions are asked as they are. If it is a person, only the
columns of the table are known: a run first asks how many persons and how many rows count, and in every question the
rows of one person count as at most L rows (`data.questions.per_person`). Drivers use the numbers of a `Size` in both
cases.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from pubpriv.data.images import MOST_TOGETHER, MOST_WEIGHT
from pubpriv.data.memory import MOST_BYTES, ListedOnce, remembering
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, InShares, PerPerson, PersonSizes, Question, Radial
from pubpriv.data.questions.in_period import whole
from pubpriv.data.questions.of_rows import OF_ONE_ROW, WEIGHED
from pubpriv.data.questions.of_sample import sample_of
from pubpriv.data.questions.radial import in_person_unit, without_law
from pubpriv.data.regions import Everything
from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch
from pubpriv.ledger.questions import question_of
from pubpriv.ledger.unit import difference as differing
from pubpriv.ledger.unit.size import UNASKED, Differences, Learnt, Size, Sizes, effective_rows, grain_for
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.runs import Run

_SIZES, _ROWS = "person/sizes", "person/rows"
"""Labels of the first questions of a run."""

_SHARES = {_SIZES: Fraction(1, 100), _ROWS: Fraction(2, 100)}
"""Shares of the run's allotment."""


class Unit(Protocol):
    """The privacy unit of a run."""

    @property
    def size(self) -> Size:
        """Number of rows that questions count."""

    @property
    def bounds(self) -> int:
        """Number n' such that n' times the bound of a part bounds its total, as far as is known."""

    @property
    def exact_rows(self) -> int | None:
        """The number of rows if it is public, else None."""

    @property
    def asks_of_one_row(self) -> bool:
        """Whether questions are accepted that are not sums over records; see `PerPerson`."""

    def asked(self, question: Any) -> Question:
        """Wrap a driver's question as the table is asked it."""

    def check_stored(self, question: Question) -> None:
        """Refuse a stored question that does not protect the unit."""

    def answered(self, question: Question) -> Question:
        """Return the question as a driver asked it."""

    def open(self, release: Callable[[Question, str], Any], budget: Budget | None, public: Any = None) -> None:
        """Ask what must be known before a method begins, which may then spend `budget`.

        Args:
            release: the door's release function.
            budget: the method's budget; None: all that is left.
            public: public rows of the method; None or not a table if there are none.
        """

    def purse(self, purse: Purse) -> Purse:
        """Return what a driver may spend on its questions, whose prices it computes for single rows."""

    def check_table(self) -> None:
        """Look whether the table exists, with as many rows as are known; raises as `PrivateTable.chunks` does."""

    def source(self, remembered: bool, shared: bool = False) -> Callable[[Question], Any]:
        """Return a function that gives the table for each question, the same object where one scan can answer both.

        Args:
            remembered: keep rows of a small table in memory.
            shared: share weights and rows between the curators of one run in this process.
        """


class RowUnit:
    """Each row is protected by itself; their number is public.

    Args:
        table: a `PrivateTable` or `ArrayTable`.
    """

    asks_of_one_row = True

    def __init__(self, table: Any) -> None:
        self._table, self._listed = table, ListedOnce(table)
        self.size = Size(int(table.n_rows))

    @property
    def bounds(self) -> int:
        """n."""
        return self.size.rows

    @property
    def exact_rows(self) -> int | None:
        """n."""
        return self.size.rows

    def asked(self, question: Any) -> Question:
        """Return the question as it is.

        Raises:
            InvalidInput: the question is only for tables whose unit is a person.
        """
        if in_person_unit(question):
            raise InvalidInput(f"a {type(question).__name__} is asked where the unit of the dataset is a person")
        return question  # type: ignore[no-any-return]

    def check_stored(self, question: Question) -> None:
        """Refuse a stored question that would be refused now."""
        self.asked(question)

    def answered(self, question: Question) -> Question:
        """Return the question as it was asked."""
        return question

    def open(self, release: Callable[[Question, str], Any], budget: Budget | None, public: Any = None) -> None:
        """Ask nothing: the number of rows is public."""

    def purse(self, purse: Purse) -> Purse:
        """Return the whole purse."""
        return purse

    def check_table(self) -> None:
        """Look at the files; the next scan does not look again."""
        self._listed.check()

    def source(self, remembered: bool, shared: bool = False) -> Callable[[Question], Any]:  # noqa: ARG002
        """Return the table; if wanted and it is small, its blocks are kept in memory, and so are those of a sample."""
        if not remembered:
            return lambda _: self._listed
        kept: dict[int | None, Any] = {None: remembering(self._table, self._listed)}

        def source(question: Question) -> Any:
            every = sample_of(question)
            if every not in kept:
                kept[every] = remembering(self._table, kept[None], every)
            return kept[every]

        return source


class PersonUnit:
    """All rows of a person are protected together; the numbers of persons and of rows are private.

    Args:
        table: a `PrivateTable` or `ArrayTable` with ids.
        run: run in which the first questions are asked, and found again.
        terms: registered terms.
        most: L, or `auto` to choose it from released sizes; None: as the run began.
    """

    exact_rows = None
    asks_of_one_row = True

    def __init__(self, table: Any, run: Run, terms: PersonTerms, most: int | str | None) -> None:
        self._table, self._run, self._terms, self._most = table, run, terms, most
        self._known: tuple[Size, int] | None = None

    @property
    def size(self) -> Size:
        """The released numbers of rows and persons.

        Raises:
            InvalidInput: no method began, so nothing was asked yet.
        """
        return self._read()[0]

    @property
    def bounds(self) -> int:
        """Bound of the number of persons with L counted rows, as released or declared; 1 before anything is known."""
        if self._known is None:
            return self._terms.persons or 1
        size = self._known[0]
        return math.ceil((size.rows + 8 * size.sd) / (size.most or 1))

    def asked(self, question: Any) -> Question:
        """Wrap the question so that each person answers it with all rows.

        Raises:
            InvalidInput: the question is not a sum over records.
        """
        if in_person_unit(question):
            return question  # type: ignore[no-any-return]
        size, room = self._read()
        return per_person(question, int(size.most or 1), room)

    def check_stored(self, question: Question) -> None:
        """Refuse a stored question that counts single rows: no release wrote it.

        Raises:
            InvalidInput: it does.
        """
        if not in_person_unit(question):
            raise InvalidInput(
                f"a {type(question).__name__} in the ledger counts rows, and the unit of the dataset is a person: it "
                "was not written by a release; find it with `pubpriv ledger verify`"
            )

    def answered(self, question: Question) -> Question:
        """Return the inner question, with the units and the noise of the answer."""
        weighed = without_law(question)
        if not isinstance(weighed, PerPerson):
            return question
        return replace(question, inner=weighed.inner) if isinstance(question, Radial) else weighed.inner

    def open(self, release: Callable[[Question, str], Any], budget: Budget | None, public: Any = None) -> None:
        """Ask how many persons and rows there are, once in a run.

        Raises:
            SpecMismatch: the run began with another L.
            BudgetExceeded: the method was given more than these questions leave; nothing was asked.
        """
        purse = Purse.of(self._run.allotment)
        first, left = first_questions(purse)
        more = sum(differing.SHARES.values()) if self._most == "auto" else 0
        room = left.units - math.ceil(more * purse.units)
        if budget is not None and budget.cap.main > room and self._run.find(_ROWS) is None:
            raise BudgetExceeded(
                "where the unit is a person a run first asks how many persons and rows there are, for 3% of its "
                "allotment, and 2.5% more with auto: give the method a smaller budget, or none of its own, and it has "
                "the rest"
            )
        stands = self._run.find(_ROWS)
        if stands is None:
            if self._terms.persons is None or self._most != 1:
                release(first[_SIZES], _SIZES)
            release(first_questions(purse, self._chosen(purse, release, public))[0][_ROWS], _ROWS)
        elif stands.answer is None:
            release(whole(question_of(stands, _ROWS)), _ROWS)
        began = self.size.most
        if self._most not in (None, "auto", began):
            raise SpecMismatch(
                f"this release id began with {began} rows of a person, not {self._most}: use another release id"
            )

    def purse(self, purse: Purse) -> Purse:
        """Return the purse for questions priced for rows; see `purse_of_rows`."""
        return purse_of_rows(purse, int(self.size.most or 1))

    def check_table(self) -> None:
        """Look at the files."""
        self._table.chunks()

    def source(self, remembered: bool, shared: bool = False) -> Callable[[Question], Any]:
        """Return a function that gives weighted rows, or one record per person."""
        most_bytes = MOST_BYTES if remembered else 0
        if shared and self._run.name:
            return PersonTable.of_run(self._table, self._run.name, most_bytes).asked
        return PersonTable(self._table, most_bytes).asked

    def _chosen(self, purse: Purse, release: Callable[[Question, str], Any], public: Any) -> int:
        """L as it was given, or chosen from released sizes and from how much further rows of a person differ."""
        if self._most is None:
            raise InvalidInput("this run has not begun: begin a method first")
        if self._most != "auto":
            return int(self._most)
        (_, sd), bins = self._persons()
        sizes, d = Sizes(bins, sd), len(self._table.column_names)
        rows = getattr(public, "rows", np.empty((0, 0)))
        asked = differing.asked(purse, rows, sizes) if rows.shape[1] == d and len(rows) > 1 else {}
        if not asked:
            return auto_rows(sizes, d, purse)
        answers = {label: release(question, label) for label, question in asked.items()}
        questions = {label: replace(asked[label], inner=answer.question) for label, answer in answers.items()}
        sums = {label: answer.values["sum"] for label, answer in answers.items()}
        return auto_rows(sizes, d, purse, differing.differences(sizes, questions, sums))

    def _learnt(self, bins: tuple[float, ...], sd: float, most: int) -> Learnt | None:
        """What `auto` learnt from its two questions, if it asked them."""
        questions, sums = dict[str, Any](), dict[str, np.ndarray]()
        for label in differing.SHARES:
            stands = self._run.find(label)
            if stands is not None and stands.answer is not None:
                questions[label] = whole(question_of(stands, label))
                sums[label] = _values(questions[label], stands.answer)["sum"]
        if not bins or len(sums) < len(differing.SHARES):
            return None
        return differing.learnt(Sizes(bins, sd), questions, sums, most, tuple(self._table.column_names))

    def _persons(self) -> tuple[tuple[float, float], tuple[float, ...]]:
        """((persons, sd of the noise), persons by bin); two counts of all persons are averaged by their noise."""
        stands = self._run.find(_SIZES)
        if stands is None or stands.answer is None:
            return (float(self._terms.persons or 0), 0.0), ()
        question = whole(question_of(stands, _SIZES))
        total, *bins = (float(count) for count in _values(question, stands.answer)["persons"])
        sd, k = float(question.noise()["persons"][0]), len(bins)
        return ((k * total + sum(bins)) / (k + 1), sd * math.sqrt(k / (k + 1))), tuple(bins)

    def _read(self) -> tuple[Size, int]:
        """Compute the size, and how many grains rows may weigh, from the run's own answers."""
        if self._known is None:
            stands = self._run.find(_ROWS)
            if stands is None or stands.answer is None:
                raise InvalidInput("this run has not begun: begin a method first")
            question = whole(question_of(stands, _ROWS))
            if not isinstance(without_law(question), PerPerson):
                raise InvalidInput("this run began in another way than this version does: use another release id")
            rows = max(2, round(float(_values(question, stands.answer)["count"][0])))
            persons, bins = self._persons()
            sd, most = float(question.noise()["count"][0]), without_law(question).most
            effective = effective_rows(rows, persons[0], bins, most)
            every = persons if most == 1 else Sizes(bins, persons[1]).all_rows(most) if bins else None
            size = Size(rows, sd, effective, persons, most, all_rows=every, learnt=self._learnt(bins, persons[1], most))
            self._known = size, grain_for(rows + 8 * sd, MOST_TOGETHER)
        return self._known


def _values(question: Question, answer: dict[str, list[int]]) -> Any:
    return question.values({name: np.array(values, dtype=np.int64) for name, values in answer.items()})


def first_questions(purse: Purse, most: int = 1) -> tuple[dict[str, Question], Purse]:
    """Return the questions that a run asks before its first method, by label, and the remaining purse.

    Args:
        purse: the run's whole purse.
        most: rows of a person that count in full.
    """
    rest = 1 - sum(_SHARES.values(), Fraction(0))
    sizes, rows, left = purse.split([*_SHARES.values(), rest])
    counted = PerPerson(Counts.priced(Everything(), rows / most**2), most, MOST_WEIGHT)
    return {_SIZES: PersonSizes.priced(sizes), _ROWS: counted}, purse.part(left)


def per_person(question: Any, most: int, room: int = MOST_TOGETHER) -> Question:
    """Wrap a question so that each person answers it, with the same law of noise; if it is not a sum, with one row.

    Args:
        question: about rows.
        most: rows of a person that count in full.
        room: grains that a row may weigh, shares among components included.

    Raises:
        InvalidInput: a question that is neither a sum nor asked of one row.
    """
    inner = without_law(question)
    if type(inner) in OF_ONE_ROW:
        return PerPerson(inner, 1, 1)
    if type(inner) not in WEIGHED:
        raise InvalidInput(
            f"a {type(inner).__name__} is not asked if the unit of the dataset is a person: it is not a sum over rows "
            "that could be weighted"
        )
    shares = inner.grain if isinstance(inner, InShares) else 1
    weighed = PerPerson(inner, most, max(min(room // shares, MOST_WEIGHT), 1))
    return replace(question, inner=weighed) if isinstance(question, Radial) else weighed


def purse_of_rows(purse: Purse, most: int) -> Purse:
    """Return the purse for questions priced for rows: each costs L^2 times as much, or L times if epsilon adds up."""
    return replace(purse, units=purse.units // (most if purse.radial else most**2))


def auto_rows(sizes: Sizes, d: int, purse: Purse, differences: Differences = UNASKED) -> int:
    """Choose L from released or declared sizes; post-processing.

    Args:
        sizes: persons by number of rows.
        d: number of columns.
        purse: the run's purse. Radial noise of N coordinates is sqrt(N + 1) times a Gaussian's at the same price.
        differences: see `Sizes.rows_that_pay`.
    """
    louder = (d + 1) * (d + 2) / 2 + 1 if purse.radial else 1.0
    return sizes.rows_that_pay(d, purse.rho / louder, differences)
