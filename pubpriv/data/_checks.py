"""What public values must be, said plainly: kinds, lengths and ranges of the fields of questions and partitions.

A question is what a careless colleague or an adversary made, until it was checked. Each class checks when it is
built what it can know by itself, and in its `check(columns)` what takes the table's number of columns.
"""

import math
from typing import Any

from pubpriv.errors import InvalidInput

_NUMBERS = frozenset((float, int))

_SMALLEST, LARGEST = 1e-140, 1e140
"""Radii and bounds lie between: beyond, their squares over- or underflow."""


def kind(what: str, value: Any, *allowed: type) -> None:
    """`value` is of one of the classes `allowed` itself; a subclass may have other methods than were proven.

    Raises:
        InvalidInput: it is not.
    """
    if type(value) not in allowed:
        names = " or ".join(cls.__name__ for cls in allowed)
        raise InvalidInput(f"{what} must be a {names}, not a {type(value).__name__}")


def kinds(what: str, values: Any, *allowed: type) -> None:
    """`values` is a tuple with at least one item, each of one of the classes `allowed`.

    Raises:
        InvalidInput: it is not.
    """
    kind(what, values, tuple)
    if not values:
        raise InvalidInput(f"{what} must not be empty")
    for value in values:
        kind(f"each of {what}", value, *allowed)


def integer(what: str, value: Any, least: int) -> None:
    """`value` is an integer of at least `least`; True and 1.0 are none.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{what} must be an integer of at least {least}")


def flag(what: str, value: Any) -> None:
    """`value` is True or False.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be true or false")


def numbers(what: str, values: Any, count: int | None = None) -> None:
    """`values` is a tuple of finite numbers.

    Args:
        what: they are, for a reader.
        values: to be checked.
        count: how many there must be; None: at least one.

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
    """`value` is one finite number.

    Raises:
        InvalidInput: it is not.
    """
    if not _is_number(value):
        raise InvalidInput(f"{what} must be a number")
    numbers(what, (value,))


def size(what: str, value: Any) -> None:
    """`value` is a positive number whose square is one as well.

    Raises:
        InvalidInput: it is not.
    """
    number(what, value)
    if not _SMALLEST <= value <= LARGEST:
        raise InvalidInput(f"{what} must be positive, and between {_SMALLEST:g} and {LARGEST:g}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
