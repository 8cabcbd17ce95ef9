"""The public `Ledger` class, which also knows what the stored questions cost.

A question states its sensitivity (`data.questions`), and the ledger prices events (`privacy.events`). The ledger itself
(`privacy.ledger`) reads a stored question only as data, which anybody with write access may have put there. So its
event is computed again and compared: by the door before it is answered, when it is charged, and by `verify` and
`restore`, which find planted records.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pubpriv.data import questions  # noqa: F401 - registers what `from_json` may build
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.questions import Radial
from pubpriv.data.questions.base import Question
from pubpriv.data.questions.in_period import period_of, whole
from pubpriv.data.questions.per_person import of_one_row
from pubpriv.data.questions.radial import in_person_unit
from pubpriv.data.questions.selection import Selection
from pubpriv.data.questions.stable import StableCells
from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.events import Event, GaussianEvent, PureEvent, RadialEvent, ThresholdEvent
from pubpriv.privacy.ledger import Ledger as EventLedger
from pubpriv.privacy.ledger.views import Asked, ChargeView, kind_of

_UNREADABLE = (TypeError, ValueError, KeyError, ArithmeticError, AttributeError, IndexError, RecursionError)
"""Exceptions that malformed data can cause while a question is built or priced from it."""

_PLANTED = (
    "the charge under {label!r} in the ledger is not answered: {what}. It was not written by a release: stop "
    "charging this ledger, find the record with `pubpriv ledger verify`, and compare with the last export"
)


def event_of(question: Question) -> Event:
    """Return the event of a question: the distance of neighbours, the noise, and the threshold if there is one."""
    asked = of_one_row(question) or question  # asked of one row of each person, it costs as much as for a record
    return _EVENTS.get(type(asked), _gaussian)(asked)


def _noise_of(question: Question) -> tuple[tuple[int, int], ...]:
    return tuple((part.noise_scale, part.size) for part in question.parts.values())


def _gaussian(question: Question) -> GaussianEvent:
    return GaussianEvent(question.squared_distance, _noise_of(question))


_EVENTS: dict[type, Callable[[Any], Event]] = {
    Radial: lambda question: RadialEvent(question.squared_distance, _noise_of(question), question.blocks),
    Selection: lambda question: PureEvent(question.epsilon),
    StableCells: lambda question: ThresholdEvent(_gaussian(question), question.margin, question.alone),
}
"""Functions that make events of questions that are not simple Gaussian mechanisms."""


def name_of(question: Question) -> str:
    """Return the kind of a question, as the ledger shows it."""
    return kind_of(to_json(question))


def _sizes_of(question: Question) -> dict[str, int]:
    """Number of integers in each part of an answer."""
    return {name: part.size for name, part in question.parts.items()}


def public_value_of(stored: Any) -> Any:
    """Build a public value from a ledger.

    Raises:
        InvalidInput: another version of pubpriv wrote it, and this one cannot read it.
    """
    try:
        return from_json(stored)
    except _UNREADABLE:
        pass
    raise InvalidInput(
        "this run was begun by a version of pubpriv whose questions or steps this version does not know: finish it "
        "with that version, or use another release id"
    )


def question_of(charge: ChargeView, label: str) -> Question:
    """Build the question of a charge, and compute its price again, since anybody may have written into the ledger.

    Raises:
        LedgerViolation: it was charged as another event, or its answer has other sizes.
        InvalidInput: this version does not know the question.
    """
    question: Question = public_value_of(charge.question)
    try:
        same = event_of(question) == charge.event
    except _UNREADABLE:
        same = False
    if not same:
        raise LedgerViolation(_PLANTED.format(label=label, what="it was not charged as the question costs"))
    if charge.answer is not None:
        answer_to(question, charge.answer, label)
    return question


def answer_to(question: Question, answer: dict[str, list[int]], label: str) -> dict[str, list[int]]:
    """Return a stored answer after checking that it has the question's parts and sizes.

    Raises:
        LedgerViolation: it has others.
    """
    if {name: len(values) for name, values in answer.items()} != _sizes_of(question):
        raise LedgerViolation(_PLANTED.format(label=label, what="its answer is not of the question's sizes"))
    return answer


def new_release_id() -> str:
    """Return a fresh name for a run: the date (UTC), and sixteen random hex digits.

    It contains no time of day: together with the time of publication that would reveal how long the run took.
    """
    return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(8)}"


class Ledger(EventLedger):
    """Append-only records of datasets' budgets; open one with `Ledger.open`.

    Example:
        >>> import pubpriv as pp
        >>> with pp.Ledger.open("sqlite:///books.db") as ledger:
        ...     ledger.register("clinic", budget="zcdp:1", unit="one patient")
        ...     ledger.balance("clinic").budget.describe()
        '1-zCDP'
    """

    @staticmethod
    def asked(question: Any) -> Asked | None:
        """Compute the event and the answer sizes of a stored question.

        Returns:
            None for a question that this version does not know: another version may have asked it.

        Raises:
            ValueError: this version can build the question, but it has no price.
        """
        try:
            built = from_json(question)
        except _UNREADABLE:
            return None
        try:
            return Asked(event_of(built), _sizes_of(built), in_person_unit(whole(built)), period_of(built))
        except _UNREADABLE as error:
            why = str(error) or type(error).__name__
        raise ValueError(f"the question has no price: {why}")
