"""Checks of a question before it is paid for: that it fits the table, and that no record can make it fail.

After the charge all failures have the same text, and whether one happens must not depend on a record: otherwise "is
this row in the table?" could be asked for free. So every question is first tried on public, hostile records.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pubpriv.data.borders import HOSTILE, centers_and_points, parts_of
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import rebuilt
from pubpriv.data.questions import QUESTIONS
from pubpriv.data.questions.base import Question, Scale, check_totals
from pubpriv.data.questions.completed import fill_of
from pubpriv.data.questions.in_period import weighing
from pubpriv.data.questions.radial import GAUSSIAN, under_law
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_MOST_OWN = 64
"""Most trial records made from the question itself: centers of its frames, and points."""


def checked(question: Any, columns: int, law: str = GAUSSIAN) -> Question:
    """Rebuild `question` as if read from a ledger, and check that it fits a table with this number of columns.

    Every object is built again from its fields and checks them: whatever was done to the question before, nothing
    unchecked passes.

    Args:
        question: any object.
        columns: number of columns of the table.
        law: law of the run's noise, which the returned question has.

    Raises:
        InvalidInput: the question is not on the closed list, or does not fit; nothing was spent.
    """
    if type(question) not in QUESTIONS:
        names = ", ".join(kind.__name__ for kind in QUESTIONS)
        raise InvalidInput(f"{type(question).__name__} is no question about private rows; these are: {names}")
    try:
        known: Question = rebuilt(question)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"this {type(question).__name__} is not made of numbers and tuples: {error}") from None
    known.check(columns)
    asked = under_law(law, known)
    return known if asked is known else checked(asked, columns)


def rehearse(question: Question, columns: int) -> None:
    """Try a checked question on public, hostile records, and answer it without noise.

    Raises:
        InvalidInput: the trial fails, or its result does not have the shape that the question announces.
    """
    try:
        _rehearse(question, columns)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
    else:
        return
    raise InvalidInput(f"this {type(question).__name__} cannot be asked: a trial on public records gave {cause}")


def _rehearse(question: Question, columns: int) -> None:
    block = np.ascontiguousarray(np.array(list(_records(question, columns))).T)
    weighed = weighing(question)
    weights = None if weighed is None else np.full(block.shape[1], float(weighed[1]))
    codes = np.resize((np.nan, 0.0, -1.0, 1.0, 1e308), block.shape[1])
    with np.errstate(all="ignore"):  # as in a scan
        totals = question.totals(View(block, weights=weights, codes=codes))
    check_totals(question, totals, block.shape[1])
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        noisy = question.answer(totals, _silent)
        if {name: values.shape for name, values in noisy.items()} != {
            name: (part.size,) for name, part in question.parts.items()
        }:
            raise ValueError("an answer of other shapes than its parts")
        values = question.values(noisy)
        for name, sd in question.noise().items():
            if np.broadcast_shapes(sd.shape, values[name].shape) != values[name].shape:
                raise ValueError(f"noise of another shape than the values of {name}")


def check_groups_asked(question: Any, by: ByCategory | None) -> None:
    """Refuse a question about other groups than the table was opened with: its codes refer to another list.

    Raises:
        InvalidInput: the groups differ.
    """
    for asked in parts_of(question):
        if isinstance(asked, ByCategory) and asked != by:
            table = "has none" if by is None else f"has {by.n_regions} by {by.column}"
            raise InvalidInput(
                f"the question is about {asked.n_regions} groups by {asked.column}, and the table was opened with "
                f"others, or with none: it {table}. Open it with by={asked.column!r} and the same values"
            )


def _silent(part: str, sd: Scale, size: int) -> np.ndarray:  # noqa: ARG001 - a draw's arguments
    return np.zeros(size, dtype=np.int64)


def _records(question: Question, columns: int) -> Iterator[np.ndarray]:
    """Yield records of hostile cells, plain records with one hostile cell, and the question's own points."""
    for cell in HOSTILE:
        yield np.full(columns, cell)
        record = np.zeros(columns)
        record[-1] = cell
        yield record
    if fill_of(question) is not None:
        for column in range(columns):
            yield np.where(np.arange(columns) == column, np.nan, 0.0)
            yield np.where(np.arange(columns) == column, 0.0, np.nan)
            yield np.where(np.arange(columns) == column, np.nan, 1e308)
            yield np.where(np.arange(columns) == column, np.inf, np.nan)
    yield np.resize(HOSTILE, columns)
    yield np.resize((1e308, -1e308), columns)
    own = list(centers_and_points(question, _MOST_OWN // 2))
    yield from own[: _MOST_OWN // 2] + own[_MOST_OWN // 2 :][-_MOST_OWN // 2 :]
