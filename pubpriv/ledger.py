"""The ledger as its users hold it: the books, which also know what their questions cost.

A question says how sensitive it is (`data.questions`), the ledger prices events (`privacy.events`); here the two
wings meet. The books themselves (`privacy.ledger`) read a stored question as data: a question that comes from a
ledger is what somebody wrote there. So its event is made again and compared: by the door before it is answered, when
it is charged, and by `verify` and `restore`, which find what was planted.
"""

from typing import Any

from pubpriv.data import questions  # noqa: F401 - registers what `from_json` may build
from pubpriv.data.codec import from_json
from pubpriv.data.questions.base import Question
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger as Books
from pubpriv.privacy.ledger.views import Asked

UNREADABLE = (TypeError, ValueError, KeyError, ArithmeticError, AttributeError, IndexError, RecursionError)
"""Whatever data that is no question can bring about while it is built or priced."""


def event_of(question: Question) -> GaussianEvent:
    """What a question costs, as data: its distance of neighbours, and its noise."""
    noise = tuple((part.noise_scale, part.size) for part in question.parts.values())
    return GaussianEvent(question.squared_distance, noise)


def sizes_of(question: Question) -> dict[str, int]:
    """How many integers each part of an answer has."""
    return {name: part.size for name, part in question.parts.items()}


def asked_by(stored: Any) -> Asked | None:
    """The event and the sizes that a stored question comes to.

    Returns:
        None for a question that this version does not know: another version may have asked it.

    Raises:
        ValueError: this version builds it, and it has no price.
    """
    try:
        question = from_json(stored)
    except UNREADABLE:
        return None
    try:
        return Asked(event_of(question), sizes_of(question))
    except UNREADABLE as error:
        why = str(error) or type(error).__name__
    raise ValueError(f"the question has no price: {why}")


class Ledger(Books):
    """Append-only books of datasets' budgets; open one with `Ledger.open`."""

    @staticmethod
    def asked(question: Any) -> Asked | None:
        """Recompute a stored question; see `asked_by`."""
        return asked_by(question)
