"""Text of numbers, with as many digits as their error justifies."""

from math import floor, isfinite, log10

MINUS = "\u2212"
"""Minus sign, as wide as a plus; a hyphen is hard to see before a digit."""


def rounded(value: float, error: float | None = None) -> str:
    """Write a number to two digits of its error; without an error, to four digits.

    Args:
        value: the number.
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
    """Write an error to two digits."""
    if not isfinite(value):
        return "not finite"
    return rounded(value, value) if value > 0 else "0"


def percent(value: float, error: float | None = None) -> str:
    """Write a share as a percentage."""
    return f"{rounded(100 * value, 100 * error if error else None)}%"


def _grouped(text: str, value: float) -> str:
    if "e" in text:
        if abs(value) >= 1e9 or abs(value) < 1e-4:
            return text.replace("-", MINUS)
        text = f"{float(text):.0f}"
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}".replace("-", MINUS) if whole not in ("-0", "") else text.replace("-", MINUS)
