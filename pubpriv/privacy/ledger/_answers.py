"""Answers as the ledger stores them: checks before publication, and the data of unanswered charges."""

from collections.abc import Mapping
from typing import Any

from pubpriv.privacy.events import Event, event_from_json, noisy_part
from pubpriv.privacy.ledger.views import Asked

_END = 1 << 63
"""End of the range of 64-bit integers."""


def waiting_json(asked: Event | Asked) -> list[Any]:
    """An unanswered charge as JSON data."""
    return [asked.event.to_json(), dict(asked.sizes)] if isinstance(asked, Asked) else [asked.to_json(), None]


def waiting_from(data: list[Any]) -> Event | Asked:
    """Read what `waiting_json` wrote."""
    event = event_from_json(data[0])
    return event if data[1] is None else Asked(event, data[1])


def check_answer(answer: Any, asked: Event | Asked) -> dict[str, list[int]]:
    """Return an answer after checking that it is lists of 64-bit integers, of the sizes that were paid for.

    Args:
        answer: a stored answer, or one to be stored.
        asked: what was paid for; an event has the sizes of the parts, but not their names.

    Raises:
        ValueError: it is something else.
    """
    parts = answer.values() if isinstance(answer, Mapping) else [None]
    if not all(map(_are_integers, parts)):
        raise ValueError("the answer is not lists of 64-bit integers")
    if isinstance(asked, Asked) and {name: len(part) for name, part in answer.items()} != asked.sizes:
        raise ValueError("the answer is not of its question's sizes")
    noisy = None if isinstance(asked, Asked) else noisy_part(asked)
    if noisy is not None and sorted(map(len, parts)) != sorted(size for _, size in noisy.noise):
        raise ValueError("the answer is not of the sizes that were paid for")
    return dict(answer)


def _are_integers(part: Any) -> bool:
    """Check for a list of 64-bit integers."""
    if not isinstance(part, list) or not {int}.issuperset(map(type, part)):
        return False
    return min(part, default=0) >= -_END and max(part, default=0) < _END
