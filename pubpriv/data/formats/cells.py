"""Parse cells of a file without types as numbers, each from its own text.

`12`, ` -1.5e3 `, `inf` and `infinity` are numbers; `true` and `false`, or `t` and `f` as PostgreSQL writes them, in
upper or lower case, are 1 and 0; a date or time in ISO 8601 (`times`) becomes days since the beginning of 1970, in UTC
if no zone is given. Any other text is a missing cell.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pubpriv.data._arrow import numbers_of, validity_of
from pubpriv.data._day_counts import NO_DAY, floored
from pubpriv.data.formats.times import NANOSECONDS_PER_DAY, nanoseconds_in

_NUMBER = re.compile(rb"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_USUAL = r"^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$"
"""Numbers as programs write them, which every version of Arrow can parse; it rounds correctly, as Python does."""

_WHOLE = r"^\s*[+-]?[0-9]+(\.0*)?\s*$"
"""A whole number, also as programs write a column of them in which cells are missing: `5.0`."""

_DAY, _EXACT = 86_400, float(1 << 53)
_WORDS = {b"true": 1.0, b"false": 0.0, b"t": 1.0, b"f": 0.0}
_WORDS |= {sign + word: float(sign + word) for sign in (b"", b"+", b"-") for word in (b"inf", b"infinity")}


def numbers_in(cells: Any) -> np.ndarray:
    """Parse an Arrow array of bytes to float64, NaN if a cell is not a number. Never fails on a value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    usual = pc.if_else(pc.match_substring_regex(cells, _USUAL), cells, None)
    kind = pa.large_string() if pa.types.is_large_binary(cells.type) else pa.string()
    texts = pa.Array.from_buffers(kind, len(cells), usual.buffers(), offset=usual.offset)
    numbers = np.array(numbers_of(texts.cast(pa.float64())))
    others = validity_of(cells) & ~validity_of(usual)
    if others.any():
        numbers[others] = _of_distinct(cells, others, number_in)
    return numbers


def whole_days_in(cells: Any, *, seconds: bool) -> np.ndarray:
    """Parse an Arrow array of bytes to the days on which its dates and times lie, in UTC, int64 since 1970.

    Dates and times are parsed as in `numbers_in`, but to integers. A number is no date: `NO_DAY`. Never fails on a
    value.

    Args:
        cells: Arrow array of bytes.
        seconds: whether whole numbers are seconds since the beginning of 1970.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    days = np.full(len(cells), NO_DAY)
    whole = np.asarray(pc.match_substring_regex(cells, _WHOLE).fill_null(False))
    if seconds and whole.any():
        numbers = numbers_in(pc.if_else(pa.array(whole), cells, None))
        exact = np.abs(numbers) < _EXACT  # NaN is not
        days[exact] = floored(numbers[exact].astype(np.int64), _DAY)
    others = validity_of(cells) & ~whole
    if others.any():
        days[others] = _of_distinct(cells, others, _day_in)
    return days


def _of_distinct(cells: Any, chosen: np.ndarray, of: Callable[[bytes], float]) -> np.ndarray:
    """Apply `of` once to each distinct text among the chosen cells, result (chosen,)."""
    import pyarrow as pa

    found = cells.filter(pa.array(chosen)).dictionary_encode()
    results = np.array([of(text) for text in found.dictionary.to_pylist()])
    return results.take(np.asarray(found.indices))


def number_in(text: bytes) -> float:
    """Parse one text."""
    return float(text) if _NUMBER.fullmatch(text) else _otherwise(text.strip())


def _otherwise(text: bytes) -> float:
    """Parse a text that is not written in the usual form of a number."""
    time = nanoseconds_in(text)
    # a quotient of integers of Python is rounded once
    return _WORDS.get(text.lower(), np.nan) if time is None else time / NANOSECONDS_PER_DAY


def _day_in(text: bytes) -> int:
    """Day of one date or time."""
    time = nanoseconds_in(text.strip())
    return NO_DAY if time is None else time // NANOSECONDS_PER_DAY
