"""Cells of a file without types: what number a text reads as, told by that text alone.

`12`, ` -1.5e3 ` and `inf` are what they say; `true` and `false`, in any case, are 1 and 0; a date or a time as ISO 8601
writes it is its days since the beginning of 1970, in UTC where no zone is named. Any other text is a missing cell.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from pubpriv.data.arrow import numbers_of, validity_of

_NUMBER = r"[ \t\r]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\r]*"
_TIME = re.compile(rb"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?")
_WORDS = {b"true": 1.0, b"false": 0.0, b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def numbers_in(cells: Any) -> np.ndarray:
    """An Arrow array of bytes as float64, NaN where a cell is no number. Fails on no value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.match_substring_regex(cells, f"^{_NUMBER}$")
    as_numbers = pc.if_else(written, cells, None)
    texts = pa.Array.from_buffers(pa.string(), len(cells), as_numbers.buffers(), offset=as_numbers.offset)
    try:
        numbers = numbers_of(pc.ascii_trim_whitespace(texts).cast(pa.float64()))
    except pa.ArrowInvalid:  # another Arrow reads less than Python; both round correctly
        numbers = np.array([np.nan if text is None else float(text) for text in as_numbers.to_pylist()])
    others = validity_of(cells) & ~validity_of(as_numbers)
    if others.any():
        _fill(numbers, others, cells)
    return numbers


def _fill(numbers: np.ndarray, others: np.ndarray, cells: Any) -> None:
    """Read the `others`, each distinct one once."""
    import pyarrow as pa

    found = cells.filter(pa.array(others)).dictionary_encode()
    of_distinct = np.array([_otherwise(text) for text in found.dictionary.to_pylist()])
    numbers[others] = of_distinct[np.asarray(found.indices)]


def number_in(text: bytes) -> float:
    """What one text reads as."""
    return float(text) if re.fullmatch(_NUMBER.encode(), text) else _otherwise(text)


def _otherwise(text: bytes) -> float:
    """What a text reads as that is not written as a number."""
    text = text.strip()
    if not _TIME.fullmatch(text):
        return _WORDS.get(text.lower(), np.nan)
    try:
        time = datetime.fromisoformat(text.decode())
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
        return (time - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return np.nan
