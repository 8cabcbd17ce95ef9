"""What a question costs: the event that is made of it, when it is asked and whenever it is read back.

A question says how sensitive it is (`data.questions`), the ledger prices events (`privacy.events`); here the two
wings meet. A question that comes from a ledger is what somebody wrote there, so its event is made again and
compared: by the door before it is answered, and by `Ledger.verify`.
"""

from typing import Any

from pubpriv.data import questions  # noqa: F401 - registers what `from_json` may build
from pubpriv.data.codec import from_json
from pubpriv.data.questions.base import Question
from pubpriv.privacy.events import GaussianEvent
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
