"""Whose privacy a run protects, and what follows: how its questions are asked, and how many rows it may speak of.

Where the unit is a row, the number of rows is public and questions are asked as they are. Where it is a person, nothing
is known of the table but its columns: a run first asks how many persons and how many rows count, and every question
counts the rows of one person as L rows together (`data.questions.per_person`). Drivers plan and divide by the numbers
of a `Size`, and never learn the difference.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from pubpriv.data.frames import GRID
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.memory import remembering
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, PerPerson, PersonSizes, Question
from pubpriv.data.questions.base import LIMIT
from pubpriv.data.questions.per_person import MOST_ROWS, SIZES, WEIGHED, in_person_unit
from pubpriv.data.regions import Everything
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.ledger import question_of
from pubpriv.privacy.budgets import Budget, PureDP, Purse
from pubpriv.privacy.ledger.terms import PersonTerms, person_columns_of
from pubpriv.privacy.runs import Run

_SIZES, _ROWS = "person/sizes", "person/rows"
"""Labels of the first questions of a run."""

_SHARES = {_SIZES: Fraction(1, 100), _ROWS: Fraction(2, 100)}
"""Of the run's allotment."""

_TRIED = (1, *SIZES[1:])
"""Rows of a person that `auto` tries to count in full."""

_LARGEST = 1.5
"""Rows of a person beyond the last bin, as a multiple of where it begins."""

_DIFFERENCE = 0.1
"""Standard deviations by which the means of rows that count and of those left out are taken to differ (`auto`)."""


@dataclass(frozen=True)
class Size:
    """How many rows questions count.

    Attributes:
        rows: n, or as released: the rows that count, a person's being L at most.
        sd: of the noise in it; 0 where it is exact.
        effective: as many independent rows would tell as much; no more than `rows`.
        persons: as released or declared, and the sd of its noise; None where the unit is a row.
        most: L; None where the unit is a row.
    """

    rows: int
    sd: float = 0.0
    effective: float = 0.0
    persons: tuple[float, float] | None = None
    most: int | None = None

    @property
    def widening(self) -> float:
        """What sampling errors of so many independent rows are multiplied by: the rows of one person are alike."""
        return math.sqrt(self.rows / self.effective) if self.effective else 1.0

    def counted(self, count: float, sd: float, doubt: float, least: float) -> float:
        """How many rows have no missing or infinite value, by one more released count of them.

        Where n is exact: n, unless the count is clearly less. Where it was released itself, of such rows alone, the
        mean of both by their noise: a number that is too low by 3% does more harm than all other noise.

        Args:
            count: released.
            sd: of its noise.
            doubt: so many sds below n are clearly less.
            least: the count is not taken to be lower.
        """
        if self.sd == 0:
            return float(self.rows) if count > self.rows - doubt * sd else max(count, least)
        if count < self.rows - doubt * math.hypot(self.sd, sd):  # clearly fewer
            return max(count, least)
        share = self.sd**2 / (self.sd**2 + sd**2)
        return max(share * count + (1 - share) * self.rows, least)

    def counted_sd(self, sd: float) -> float:
        """Noise of what `counted` says."""
        return sd if self.sd == 0 else sd * self.sd / math.hypot(sd, self.sd)

    def told(self, errors: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Standard errors, {number: {"sampling": array, ...}}, with those of sampling for rows that are alike."""
        return {
            name: {source: sd * self.widening if source == "sampling" else sd for source, sd in parts.items()}
            for name, parts in errors.items()
        }

    def provenance(self) -> dict[str, Any]:
        """What a model file says of it."""
        if self.persons is None:
            return {"n_private": self.rows}
        estimate, sd = self.persons
        return {
            "persons": {"estimate": round(estimate), "sd": sd},
            "counted_rows": {"estimate": self.rows, "sd": self.sd},
            "rows_per_person": self.most,
            "target": "each person counts once" if self.most == 1 else f"each row, and {self.most} of a person at most",
        }


class Unit(Protocol):
    """Whose privacy a run protects."""

    @property
    def size(self) -> Size:
        """How many rows questions count."""

    @property
    def bounds(self) -> int:
        """So many times the bound of a part is the most that a total comes to, as far as is known."""

    @property
    def exact_rows(self) -> int | None:
        """The number of rows where it is public."""

    def asked(self, question: Any) -> Question:
        """The question as the table is asked."""

    def answered(self, question: Question) -> Question:
        """The question as a driver asked it."""

    def open(self, release: Callable[[Question, str], Any]) -> None:
        """Ask what has to be known before a method begins."""

    def purse(self, purse: Purse) -> Purse:
        """What a driver may spend on its questions, which it prices for rows."""

    def source(self, remembered: bool) -> Callable[[Question], Any]:
        """What scans read, by question."""


class RowUnit:
    """Each row is protected by itself; their number is public.

    Args:
        table: a `PrivateTable` or `ArrayTable`.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
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
        """As it is.

        Raises:
            InvalidInput: it is one of tables whose unit is a person.
        """
        if in_person_unit(question):
            raise InvalidInput(f"a {type(question).__name__} is asked where the unit of the dataset is a person")
        return question  # type: ignore[no-any-return]

    def answered(self, question: Question) -> Question:
        """As it was asked."""
        return question

    def open(self, release: Callable[[Question, str], Any]) -> None:
        """Ask nothing."""

    def purse(self, purse: Purse) -> Purse:
        """All of it."""
        return purse

    def source(self, remembered: bool) -> Callable[[Question], Any]:
        """The table, with its blocks remembered if that is wanted and it is small."""
        table = remembering(self._table) if remembered else self._table
        return lambda _: table


class PersonUnit:
    """All rows of a person are protected together, and how many there are of either is private.

    Args:
        table: a `PrivateTable` or `ArrayTable` that says whose rows are whose.
        run: in which the first questions are asked, and found again.
        terms: as registered.
        most: L, or `auto`: by released sizes; None: as the run began.
    """

    exact_rows = None

    def __init__(self, table: Any, run: Run, terms: PersonTerms, most: int | str | None) -> None:
        self._table, self._run, self._terms, self._most = table, run, terms, most
        self._known: tuple[Size, int] | None = None

    @property
    def size(self) -> Size:
        """As released.

        Raises:
            InvalidInput: no method began, so nothing was asked yet.
        """
        return self._read()[0]

    @property
    def bounds(self) -> int:
        """Persons whose rows count in full, as released or declared; 1 before anything is known."""
        if self._known is None:
            return self._terms.persons or 1
        size = self._known[0]
        return math.ceil((size.rows + 8 * size.sd) / (size.most or 1))

    def asked(self, question: Any) -> Question:
        """Per person.

        Raises:
            InvalidInput: a question that is no sum over records.
        """
        if in_person_unit(question):
            return question  # type: ignore[no-any-return]
        if type(question) not in WEIGHED:
            raise InvalidInput(
                f"a {type(question).__name__} is not asked where the unit of the dataset is a person: it is no sum "
                "over rows that could be weighted"
            )
        size, grain = self._read()
        return PerPerson(question, int(size.most or 1), grain)

    def answered(self, question: Question) -> Question:
        """The question within, which has the units and the noise of what was answered."""
        return question.inner if isinstance(question, PerPerson) else question

    def open(self, release: Callable[[Question, str], Any]) -> None:
        """Ask how many persons and rows there are, once in a run.

        Raises:
            SpecMismatch: the run began with another L.
        """
        purse = Purse.of(self._run.allotment)
        first, _ = first_questions(purse)
        if self._terms.persons is None or self._most != 1:
            release(first[_SIZES], _SIZES)
        stands = self._run.find(_ROWS)
        if stands is None:
            release(first_questions(purse, self._chosen(purse.rho))[0][_ROWS], _ROWS)
        elif stands.answer is None:
            release(question_of(stands, _ROWS), _ROWS)
        began = self.size.most
        if self._most not in (None, "auto", began):
            raise SpecMismatch(
                f"this release id began with {began} rows of a person, not {self._most}: use another release id"
            )

    def purse(self, purse: Purse) -> Purse:
        """One L^2-th, as each question costs L^2 times what it is priced at."""
        return Purse(purse.units // int(self.size.most or 1) ** 2, purse.kind)

    def source(self, remembered: bool) -> Callable[[Question], Any]:
        """Weighted rows, or persons."""
        return (PersonTable(self._table) if remembered else PersonTable(self._table, most_bytes=0)).asked

    def _chosen(self, rho: float) -> int:
        """L, as it was given or by released sizes."""
        if self._most is None:
            raise InvalidInput("this run has not begun: begin a method first")
        if self._most != "auto":
            return int(self._most)
        return rows_that_pay(self._persons()[1], len(self._table.column_names), rho)

    def _persons(self) -> tuple[tuple[float, float], tuple[float, ...]]:
        """(persons and the sd of the noise, persons by bin): of both counts of all persons the least noisy mean."""
        stands = self._run.find(_SIZES)
        if stands is None or stands.answer is None:
            return (float(self._terms.persons or 0), 0.0), ()
        question = question_of(stands, _SIZES)
        total, *bins = (float(count) for count in _values(question, stands.answer)["persons"])
        sd, k = float(question.noise()["persons"][0]), len(bins)
        return ((k * total + sum(bins)) / (k + 1), sd * math.sqrt(k / (k + 1))), tuple(bins)

    def _read(self) -> tuple[Size, int]:
        """(size, grain) by the run's own answers."""
        if self._known is None:
            stands = self._run.find(_ROWS)
            if stands is None or stands.answer is None:
                raise InvalidInput("this run has not begun: begin a method first")
            question = question_of(stands, _ROWS)
            if not isinstance(question, PerPerson):
                raise InvalidInput("this run began in another way than this version does: use another release id")
            rows = max(2, round(float(_values(question, stands.answer)["count"][0])))
            persons, bins = self._persons()
            sd, most = float(question.noise()["count"][0]), question.most
            size = Size(rows, sd, _effective(rows, persons[0], bins, most), persons, most)
            self._known = size, _grain(rows + 8 * sd)
        return self._known


def _values(question: Question, answer: dict[str, list[int]]) -> Any:
    import numpy as np

    return question.values({name: np.array(values, dtype=np.int64) for name, values in answer.items()})


def _effective(rows: int, persons: float, bins: tuple[float, ...], most: int) -> float:
    """W^2 / sum_p min(n_p, L)^2, at least about: rows of one person are taken to be copies of each other."""
    ends = (*SIZES, most)
    squares = sum(max(count, 0.0) * min(end, most) ** 2 for count, end in zip(bins, ends, strict=True)) if bins else 0.0
    return min(float(rows), rows**2 / max(squares, persons if most == 1 else 0.0, 1.0))


def _grain(rows: float) -> int:
    """The largest power of two up to 64 at which sums of squares over so many rows, twice over, fit the totals."""
    grain = MOST_WEIGHT
    while grain > 1 and 2 * rows * grain * GRID**2 >= LIMIT:
        grain //= 2
    return grain


def rows_that_pay(bins: tuple[float, ...], d: int, rho: float) -> int:
    """L at which noise and what is left of the rows of persons with more are least together; post-processing.

    Noise is that of a covariance and a mean by clipped moments, relative; what is left out is taken to differ by
    `_DIFFERENCE`. Source: ours; nothing is proven of it.

    Args:
        bins: persons by number of rows, as released.
        d: columns.
        rho: mu^2 / 2 of the run.
    """
    counts = [max(count, 0.0) for count in bins]
    lows = (1, *(end + 1 for end in SIZES))
    typical = [(low + high) / 2 for low, high in zip(lows, SIZES, strict=False)] + [_LARGEST * lows[-1]]
    everything = sum(count * rows for count, rows in zip(counts, typical, strict=True)) or 1.0
    reach = math.sqrt(d) + 1.5

    def error(most: int) -> float:
        kept = sum(count * min(rows, most) for count, rows in zip(counts, typical, strict=True)) or 1.0
        covariance = math.sqrt((d + 1) / 2) * reach**2 * most / (math.sqrt(0.75 * rho) * kept)
        mean = reach * most / (math.sqrt(0.2 * rho) * kept)
        return covariance**2 + mean**2 + 2 * (_DIFFERENCE * (1 - kept / everything)) ** 2

    return min(_TRIED, key=error)


def first_questions(purse: Purse, most: int = 1) -> tuple[dict[str, Question], Purse]:
    """What a run asks before its first method, by label, and what that leaves.

    Args:
        purse: all of the run.
        most: rows of a person that count in full.
    """
    rest = 1 - sum(_SHARES.values(), Fraction(0))
    sizes, rows, left = purse.split([*_SHARES.values(), rest])
    counted = PerPerson(Counts.priced(Everything(), rows / most**2), most, MOST_WEIGHT)
    return {_SIZES: PersonSizes.priced(sizes), _ROWS: counted}, purse.part(left)


def unit_of(table: Any, run: Run, terms: PersonTerms | None, most: int | str | None) -> Unit:
    """The unit of a run, by the terms of its dataset."""
    return RowUnit(table) if terms is None else PersonUnit(table, run, terms, most)


def check_unit(terms: PersonTerms | None, budget: Budget, most: int | str, executor: Any = None) -> int | str:
    """Refuse what a run cannot be asked in the unit of its dataset, before it holds anything.

    Args:
        terms: of the dataset; None: its unit is a row.
        budget: of the run.
        most: rows of a person, or `auto`.
        executor: where blocks would be scanned.

    Returns:
        Rows of a person as a number, or `auto`.

    Raises:
        InvalidInput: rows of a person that are no number, or where the unit is a row; where it is a person, a budget
            whose noise is not Gaussian, or blocks that are to be scanned elsewhere.
    """
    if isinstance(most, str) and most.isascii() and most.isdecimal():
        most = int(most)
    whole = isinstance(most, int) and not isinstance(most, bool)
    if most != "auto" and not (whole and 1 <= int(most) <= MOST_ROWS):
        raise InvalidInput(f"the rows of a person that count are a number from 1 to {MOST_ROWS}, or auto")
    if terms is None:
        if most != 1:
            raise InvalidInput(
                "--rows-per-person is for datasets whose unit is a person, which `pubpriv budget set --person` makes"
            )
        return most
    if isinstance(budget, PureDP):
        raise InvalidInput(
            "a pure budget is not offered where the unit of the dataset is a person: give zcdp:RHO or "
            "approx:EPSILON,DELTA"
        )
    if executor is not None:
        raise InvalidInput(
            "where the unit of the dataset is a person its table is read here, as no weight of a row leaves this "
            "process: run without --dask, and without an executor"
        )
    return most


def made_again(table: Any, terms: PersonTerms | None, dataset: str) -> PrivateTable:
    """A table as its class makes it: what was unpickled or changed by hand is checked as an opened one is.

    Raises:
        InvalidInput: no private table.
        SpecMismatch: its unit is not that of the dataset.
    """
    if not isinstance(table, PrivateTable):
        raise InvalidInput("a curator looks at a PrivateTable: open one with PrivateTable.open")
    columns = person_columns_of(terms)
    if tuple(table.person) != columns:
        whose = f"person={list(columns)}" if columns else "no person"
        raise SpecMismatch(
            f"the privacy unit of dataset {dataset!r} is {terms.described() if terms else 'one row'}: open the table "
            f"with {whose}"
        )
    return PrivateTable(table.uri, table.columns, table.n_rows, table.person)


def as_begun(table: PrivateTable, begun: tuple[str, int | None] | None, release_id: str) -> PrivateTable:
    """The table as the run began with it: nothing is reckoned anew from another number of rows.

    Raises:
        SpecMismatch: the run began with another table.
    """
    if begun is None:
        return table
    uri, n_rows = begun
    if uri != table.uri:
        raise SpecMismatch(
            f"release id {release_id!r} began with the table {uri}, not with {table.uri}: use another release id"
        )
    if n_rows != table.n_rows:
        warnings.warn(
            f"the private table {uri} has {table.n_rows} rows, and release id {release_id!r} began with {n_rows}: what "
            f"was answered is replayed for {n_rows}, and nothing new is asked. Use another release id for this table",
            stacklevel=4,
        )
    return replace(table, n_rows=n_rows)
