"""Parse cells of a file without types as numbers, each from its own text.

`12`, ` -1.5e3 `, `inf` and `infinity` are numbers; `true` and `false`, or `t` and `f` as PostgreSQL writes them, in
upper or lower case, are 1 and 0; a date or time in ISO 8601 becomes days since the beginning of 1970, in UTC if no zone
is given. Any other text is a missing cell.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from pubpriv.data._arrow import numbers_of, validity_of

_NUMBER = re.compile(rb"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_USUAL = r"^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$"
"""Numbers as programs write them, which every version of Arrow can parse; it rounds correctly, as Python does."""

_TIME = re.compile(rb"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?")
_DATED, _WHOLE = r"^\s*[0-9]{4}-", r"^\s*[+-]?[0-9]+\s*$"
"""Beginning of a date, with which no number begins; and a whole number."""

_DAY = 86_400
_WORDS = {b"true": 1.0, b"false": 0.0, b"t": 1.0, b"f": 0.0}
_WORDS |= {sign + word: float(sign + word) for sign in (b"", b"+", b"-") for word in (b"inf", b"infinity")}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
        found = cells.filter(pa.array(others)).dictionary_encode()
        of_distinct = np.array([number_in(text) for text in found.dictionary.to_pylist()])
        numbers[others] = of_distinct[np.asarray(found.indices)]
    return numbers


def days_in(cells: Any) -> np.ndarray:
    """Parse an Arrow array of bytes to days since the beginning of 1970, NaN if a cell is no date.

    Dates and times are parsed as in `numbers_in`, and whole numbers are seconds, as in a file with types. Any other
    number is not a date. Never fails on a value.
    """
    import pyarrow.compute as pc

    numbers = numbers_in(cells)
    dates, seconds = (np.asarray(pc.match_substring_regex(cells, form).fill_null(False)) for form in (_DATED, _WHOLE))
    return np.where(dates, numbers, np.where(seconds, numbers / _DAY, np.nan))


def number_in(text: bytes) -> float:
    """Parse one text."""
    return float(text) if _NUMBER.fullmatch(text) else _otherwise(text)


def _otherwise(text: bytes) -> float:
    """Parse a text that is not written in the usual form of a number."""
    text = text.strip()
    if not _TIME.fullmatch(text):
        return _WORDS.get(text.lower(), np.nan)
    try:
        time = datetime.fromisoformat(text.decode())
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
        return (time - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return np.nan
