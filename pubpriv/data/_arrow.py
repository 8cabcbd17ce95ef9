"""Arrow's numbers as NumPy's. Arrow's own conversion loads pandas, which takes longer than a small fit."""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from pubpriv.data._day_counts import endless, in_days

_HALVES, _EXACT_POWERS, _EXACT_WHOLE = 128, 22, 1 << 53
"""Bits of a decimal in two halves; powers of ten, and whole numbers, that are exact as floats."""

_UUID_TEXT = 36
_UUID_PLACES = [place for place in range(_UUID_TEXT) if place not in (8, 13, 18, 23)]
"""Characters of a UUID in text, and the places of its digits; dashes are at the others."""

PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""How many of each unit of time a day has."""

UNKNOWN_TYPE = (
    "has a column of a type that Arrow does not know, for example whole numbers of 128 bits, so it cannot be read even "
    "if that column is not asked for: write the file without the column, or with another type of it"
)
"""What is wrong with a file of which Arrow reads no schema, for messages."""


def is_dataset(source: object) -> bool:
    """Check whether an object is a dataset of pyarrow, as libraries of table formats open one."""
    dataset = sys.modules.get("pyarrow.dataset")  # who has one has loaded it
    return dataset is not None and isinstance(source, dataset.Dataset)


def is_polars(source: object) -> bool:
    """Check whether an object is a DataFrame of polars, which has types that Arrow does not know."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(source, polars.DataFrame)


def is_number(kind: Any) -> bool:
    """Check whether an Arrow type is a plain number: integer, float or decimal."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_bytes(kind: Any) -> bool:
    """Check whether an Arrow type is that of cells of a column without a type."""
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind))


@lru_cache
def is_read_as_number(kind: Any) -> bool:
    """Check whether cells of an Arrow type can be read as numbers, as `numbers_of` does."""
    from pyarrow import types

    times = types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind)
    return bool(is_number(kind) or types.is_boolean(kind) or times)


def no_number(name: str, kind: Any) -> str:
    """Return the message for a column that has no numbers; for categories it suggests `--by`."""
    from pyarrow import types

    if types.is_dictionary(kind):
        values = "objects" if is_bytes(kind.value_type) else _for_people(kind.value_type)
        return f"is categories of {values}, not a number; --by {name} makes groups of them"
    return f"is {_for_people(kind)}, not a number: name other columns, or write its cells as numbers"


def _for_people(kind: Any) -> str:
    """Name a type: text of any width is a string."""
    from pyarrow import types

    return "string" if types.is_large_string(kind) or types.is_string_view(kind) else str(kind)


def numbers_of(array: Any) -> np.ndarray:
    """Convert an Arrow array to float64, with nulls as NaN. The result may be a view. Never fails on a value.

    Booleans become 1 and 0, dates and times become days since the beginning of 1970 in UTC, durations become days.

    Args:
        array: of a type that `is_read_as_number`.
    """
    import pyarrow as pa

    if pa.types.is_decimal(array.type):
        return _of_decimals(array)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    numbers = counts_of(array) if is_number(array.type) else _days_of(array)
    # arrays read from Parquet files have a validity bitmap even if nothing is null
    missing = array.buffers()[0] is not None and array.null_count
    numbers = numbers.astype(np.float64, copy=False)
    return np.where(validity_of(array), numbers, np.nan) if missing else numbers


def counts_of(array: Any) -> np.ndarray:
    """Return the values of an Arrow array as they are stored, (length,): of times, whole numbers of their unit.

    A null has any value. The result may be a view.

    Args:
        array: of integers, floats, dates, times or durations.
    """
    import pyarrow as pa

    if not is_number(array.type):
        array = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    held, kind = array.buffers()[1], array.type.to_pandas_dtype()
    if held is None:  # nothing but nulls, or nothing at all
        return np.zeros(len(array), kind)
    return np.frombuffer(held, kind)[array.offset : array.offset + len(array)]


def unit_of(kind: Any) -> str:
    """Return the unit, a key of `PER_DAY`, in which an Arrow type counts days or times; of integers it is seconds."""
    from pyarrow import types

    if types.is_integer(kind):
        return "s"
    return "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else str(kind.unit)


def _days_of(array: Any) -> np.ndarray:
    """Dates, times and durations in days; what databases write for infinite dates and times is infinite."""
    from pyarrow import types

    counts = counts_of(array)
    days = in_days(counts.astype(np.int64, copy=False), PER_DAY[unit_of(array.type)])
    return days if types.is_duration(array.type) else np.where(endless(counts), np.copysign(np.inf, days), days)


def _of_decimals(array: Any) -> np.ndarray:
    """Convert decimals to the nearest floats, as Python does; Arrow's own conversion rounds more than once.

    A whole number of up to 53 bits, divided by a power of ten of up to 22 places, is a quotient of two floats that are
    exact, so it is rounded once. All others are read from their digits.
    """
    import pyarrow as pa

    kind, there = array.type, validity_of(array)
    numbers, far = np.full(len(array), np.nan), there
    if kind.bit_width <= _HALVES and 0 <= kind.scale <= _EXACT_POWERS:
        alike = array.cast(pa.decimal128(38, kind.scale), safe=False)  # the widest: no digit can be one too many
        held = alike.buffers()[1]
        if held is not None:  # there is more than nulls
            low, high = np.frombuffer(held, "<i8").reshape(-1, 2)[alike.offset :][: len(array)].T
            numbers = np.where(there, low / 10.0**kind.scale, np.nan)
            far = there & ((high != low >> 63) | (low < -_EXACT_WHOLE) | (low > _EXACT_WHOLE))
    if far.any():
        numbers[far] = array.filter(pa.array(far)).cast(pa.string()).cast(pa.float64())
    return numbers


def is_uuid(kind: Any) -> bool:
    """Check whether an Arrow type is that of UUIDs."""
    return bool(getattr(kind, "extension_name", "") == "arrow.uuid")


def texts_of_uuids(array: Any) -> Any:
    """Write UUIDs as texts with small letters and dashes, as databases do; nulls stay."""
    import pyarrow as pa

    stored = array.storage
    held, count = stored.buffers()[1], len(stored)
    texts = np.full((count, _UUID_TEXT), ord("-"), np.uint8)
    if held is not None:  # there is more than nulls
        parts = np.frombuffer(held, np.uint8).reshape(-1, 16)[stored.offset :][:count]
        digits = np.stack([parts >> 4, parts & 15], axis=2).reshape(count, 32)
        texts[:, _UUID_PLACES] = np.frombuffer(b"0123456789abcdef", np.uint8)[digits]
    missing = pa.py_buffer(np.packbits(validity_of(stored), bitorder="little"))
    offsets = pa.py_buffer(np.arange(0, (count + 1) * _UUID_TEXT, _UUID_TEXT))
    return pa.Array.from_buffers(pa.large_string(), count, [missing, offsets, pa.py_buffer(texts)])


def distinct(array: Any) -> tuple[Any, np.ndarray]:
    """Return the values that occur in a dictionary array, and for each row the index of its value, -1 if it has none.

    Indices are not replaced by their values: the values of all rows together may exceed memory or the limit of an
    Arrow array, and then it would depend on rows whether reading succeeds. Never fails on a value.
    """
    import pyarrow as pa

    values, held = array.dictionary, array.indices.buffers()[1]
    # Arrow cannot filter string views, which polars uses for its categories
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string(), safe=False)
    elif pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    numbers = np.full(len(array), -1)
    if held is not None:
        whole = np.frombuffer(held, array.indices.type.to_pandas_dtype())
        numbers = whole[array.indices.offset :][: len(array)].astype(np.int64)
    there = validity_of(array.indices) & (numbers >= 0) & (numbers < len(values))
    occurs = np.zeros(len(values), dtype=bool)
    occurs[numbers[there]] = True
    places = np.full(len(array), -1)
    places[there] = (np.cumsum(occurs) - 1)[numbers[there]]
    return values.filter(pa.array(occurs)), places


def of_each_value(array: Any, of: Callable[[Any], np.ndarray], missing: Any) -> np.ndarray:
    """Apply `of` to each value, result (length,); for a dictionary array, once to each value that occurs.

    Args:
        array: Arrow array, with or without a dictionary.
        of: maps an Arrow array of `count` values to a NumPy array (count,).
        missing: result for a row without a value in a dictionary array.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return of(array)
    values, places = distinct(array)
    return np.asarray(np.append(of(values), missing)[places])


def validity_of(array: Any) -> np.ndarray:
    """Which values of an Arrow array are there: bool (length,)."""
    validity = array.buffers()[0]
    if validity is None:
        return np.ones(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)
