"""How numbers are written: as many digits as their error lets stand, and round numbers on axes."""

from itertools import pairwise
from math import ceil, floor, isfinite, log10

import numpy as np

MINUS = "\u2212"
"""As wide as a plus; a hyphen is lost before a digit."""

Z95 = 1.959964
"""A normal variable is within so many standard deviations of its mean with probability 0.95."""


def rounded(value: float, error: float | None = None) -> str:
    """A number, to two digits of its error; without an error, to four digits.

    Args:
        value: to write.
        error: its standard error, in the same units.
    """
    if not isfinite(value):
        return "not finite"
    if not error or not isfinite(error):
        return _grouped(f"{value:.4g}", value)
    places = 1 - floor(log10(error))
    whole_digits = round(value, places)
    if 0 <= places <= 6 or (places < 0 and abs(value) < 1e9):
        return f"{whole_digits + 0.0:,.{max(places, 0)}f}".replace("-", MINUS)
    return _grouped(f"{value:.{max(1, min(12, 2 + floor(log10(max(abs(value), error) / error))))}g}", value)


def small(value: float) -> str:
    """An error, to two digits."""
    if not isfinite(value):
        return "not finite"
    return rounded(value, value) if value > 0 else "0"


def percent(value: float, error: float | None = None) -> str:
    """A share as a percentage."""
    return f"{rounded(100 * value, 100 * error if error else None)}%"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between `low` and `high`, at most about `most`, at least one."""
    span = high - low
    if not (isfinite(span) and span > 0):
        return [low]
    raw = span / most
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(np.round(i * step, 12 - floor(log10(step)))) for i in range(first, last + 1)] or [low]


def tick_text(value: float, marks: list[float]) -> str:
    """A mark on an axis, with as many digits as tell it from its neighbours."""
    step = min((b - a for a, b in pairwise(marks)), default=abs(value) or 1.0)
    largest = max(map(abs, marks))
    if largest >= 1e6 or (0 < largest < 1e-3):
        return f"{value:.{max(2, 1 + ceil(log10(max(largest / step, 1))))}g}".replace("-", MINUS)
    places = max(0, -floor(log10(step) + 1e-9))
    if abs(step * 10**places - round(step * 10**places)) > 1e-6:
        places += 1
    return f"{value + 0.0:,.{places}f}".replace("-", MINUS)


def _grouped(text: str, value: float) -> str:
    if "e" in text:
        if abs(value) >= 1e9 or abs(value) < 1e-4:
            return text.replace("-", MINUS)
        text = f"{float(text):.0f}"
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}".replace("-", MINUS) if whole not in ("-0", "") else text.replace("-", MINUS)
