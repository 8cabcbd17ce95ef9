"""Budgets as integers: epsilon, rho and mu^2 in units of 1e-12, delta in units of 1e-30.

Costs round up, caps round down; sums are sums of Python integers, so nothing is lost and nothing overflows.
"""

import math
import numbers
import re
from decimal import Decimal
from fractions import Fraction

from pubpriv.errors import InvalidInput

UNIT = 10**12
"""Units in one epsilon, one rho, or one mu^2."""

DELTA_UNIT = 10**30
"""Units in a delta of one."""

LARGEST = 10**9
"""Largest budget parameter: a larger one would be a typing error, not a promise."""

Number = int | float | str | Fraction | Decimal
"""Types of a budget parameter; NumPy's scalars count as the int or float that they print as."""

_DIGITS = 400
_INTEGER = re.compile("-?[0-9]+")


def exact(value: Number, name: str) -> Fraction:
    """Return `value` as a positive fraction; a float means its shortest decimal (0.1 is one tenth).

    Raises:
        InvalidInput: not a number, NaN, infinite, zero or negative; the message names `name`.
    """
    try:
        fraction = _fraction(value)
    except (TypeError, ValueError, ArithmeticError):
        fraction = Fraction(0)
    if not 0 < fraction <= LARGEST:
        raise InvalidInput(f"{name} must be a positive number (at most {LARGEST:,}), not {value!r}")
    return fraction


def _fraction(value: object) -> Fraction:
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal | str):
        number = Decimal(value)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = Decimal(str(value))  # the shortest decimal of a Python or NumPy float
    else:
        raise TypeError
    # converting a number with an exponent of millions to a fraction would take forever
    return Fraction(number) if abs(number.adjusted()) <= _DIGITS else Fraction(0)


def stored_integer(text: object) -> int:
    """Read an integer that `str` wrote; other texts that `int` would accept are refused.

    Raises:
        ValueError: other text, or thousands of digits.
    """
    if not (isinstance(text, str) and _INTEGER.fullmatch(text)):
        raise ValueError("not a whole number in decimal digits")
    return int(text)


def stored_fraction(text: object) -> Fraction:
    """Read a fraction that `str` wrote; exponents are refused, since one of millions would take forever to read.

    Raises:
        ValueError: other text, thousands of digits, or a denominator of zero.
    """
    above, line, below = text.partition("/") if isinstance(text, str) else ("", "", "")
    denominator = stored_integer(below) if line else 1
    if denominator < 1:
        raise ValueError("a fraction over nothing")
    return Fraction(stored_integer(above), denominator)


def ceil_units(value: Fraction, unit: int = UNIT) -> int:
    """Return `value` in units, rounded up: for costs."""
    return math.ceil(value * unit)


def floor_units(value: Fraction, unit: int = UNIT) -> int:
    """Return `value` in units, rounded down: for caps."""
    return math.floor(value * unit)


def to_text(units: int, unit: int = UNIT) -> str:
    """Write an amount in units as exact decimal text."""
    places = len(str(unit)) - 1
    whole, rest = divmod(units, unit)
    digits = f"{rest:0{places}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
