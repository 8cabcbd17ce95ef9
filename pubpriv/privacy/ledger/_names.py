"""Checks of names and texts before the ledger keeps them forever: short, printable, one line.

Stored texts are shown on consoles and pages later, where a line feed or a terminal's escape code would take effect.
"""

import re

from pubpriv.errors import InvalidInput

_LONGEST_TEXT = 2000
"""Longest unit or reason, in characters."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def is_name(name: object) -> bool:
    """Check the name of a dataset, a run or a method."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _is_text(text: object, longest: int = _LONGEST_TEXT) -> bool:
    """Check for one printable line, without surrogates, controls and direction marks."""
    return isinstance(text, str) and 0 < len(text) <= longest and text.isprintable()


def check_name(name: object, what: str) -> None:
    """Refuse an invalid name.

    Raises:
        InvalidInput: it is not 1 to 100 letters, digits and `._:-`.
    """
    if not is_name(name):
        raise InvalidInput(
            f"a {what} is 1 to 100 letters, digits and ._:- starting with a letter or digit, not {_short(name)}"
        )


def check_text(text: object, what: str, longest: int = _LONGEST_TEXT) -> None:
    """Refuse a text that is not one printable line.

    Raises:
        InvalidInput: not a text, an empty or a long one, or one with a line feed, an escape or another control.
    """
    if not _is_text(text, longest):
        raise InvalidInput(f"a {what} is one line of 1 to {longest:,} printable characters, not {_short(text)}")


def _short(value: object) -> str:
    text = ascii(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:120]}..."
