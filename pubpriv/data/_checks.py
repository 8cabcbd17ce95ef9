"""Checks of public values: types, lengths and ranges of the fields of questions and partitions.

Until a question is checked, a careless colleague or an adversary may have made it. Each class checks its own fields
when it is built, and in `check(columns)` what depends on the table's number of columns.
"""

import math
from typing import Any

from pubpriv.errors import InvalidInput

_NUMBERS = frozenset((float, int))

_SMALLEST, LARGEST = 1e-140, 1e140
"""Range of radii and bounds: outside it their squares overflow or underflow."""


def kind(what: str, value: Any, *allowed: type) -> None:
    """Check that the class of `value` is in `allowed`; a subclass is refused, as its methods may differ from the proof.

    Raises:
        InvalidInput: it is not.
    """
    if type(value) not in allowed:
        names = " or ".join(cls.__name__ for cls in allowed)
        raise InvalidInput(f"{what} must be a {names}, not a {type(value).__name__}")


def kinds(what: str, values: Any, *allowed: type) -> None:
    """Check that `values` is a non-empty tuple whose items are of the classes `allowed`.

    Raises:
        InvalidInput: it is not.
    """
    kind(what, values, tuple)
    if not values:
        raise InvalidInput(f"{what} must not be empty")
    for value in values:
        kind(f"each of {what}", value, *allowed)


def integer(what: str, value: Any, least: int) -> None:
    """Check that `value` is an integer of at least `least`; True and 1.0 are not integers here.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{what} must be an integer of at least {least}")


def flag(what: str, value: Any) -> None:
    """Check that `value` is True or False.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be true or false")


def numbers(what: str, values: Any, count: int | None = None) -> None:
    """Check that `values` is a tuple of finite numbers.

    Args:
        what: name of the values in messages.
        values: to be checked.
        count: required number of values; None: at least one.

    Raises:
        InvalidInput: they are not.
    """
    if not isinstance(values, tuple) or not (_NUMBERS.issuperset(map(type, values)) or all(map(_is_number, values))):
        raise InvalidInput(f"{what} must be a tuple of numbers")
    if len(values) != count if count is not None else not values:
        raise InvalidInput(f"{what} must be {count or 'at least one'} in number, not {len(values)}")
    # the sum of finite numbers may overflow, but NaN and infinity never add up to a finite one
    try:
        finite = math.isfinite(sum(values)) or all(map(math.isfinite, values))
    except OverflowError:
        finite = False
    if not finite:
        raise InvalidInput(f"{what} must be finite")


def number(what: str, value: Any) -> None:
    """Check that `value` is a finite number.

    Raises:
        InvalidInput: it is not.
    """
    if not _is_number(value):
        raise InvalidInput(f"{what} must be a number")
    numbers(what, (value,))


def size(what: str, value: Any) -> None:
    """Check that `value` is positive and that its square neither overflows nor underflows.

    Raises:
        InvalidInput: it is not.
    """
    number(what, value)
    if not _SMALLEST <= value <= LARGEST:
        raise InvalidInput(f"{what} must be positive, and between {_SMALLEST:g} and {LARGEST:g}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
