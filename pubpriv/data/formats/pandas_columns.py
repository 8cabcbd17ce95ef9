"""Columns of a pandas DataFrame in Arrow, private and public alike: by the type of the column, never by its cells.

A column of the type `object` has no type, nor has one whose type Arrow does not know, such as a sparse one. Each of its
cells is written as text (`written`), as a CSV file would have it, and read from that text like a cell of a CSV file: as
a number, an id, a date or a category.
"""

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from typing import Any
from uuid import UUID

import numpy as np

_MOST_DIGITS = 600
"""Numbers with more digits are written in powers of 16 or of ten: Python refuses to write some of them in decimals, and
others would not fit into memory."""

_MOST_BITS = 3 * _MOST_DIGITS
"""Most bits of an integer that is written in decimals."""

_NUMBERS = (int, float, Decimal, Fraction, np.integer, np.floating)
_TRUTHS = (bool, np.bool_)

_NANOSECOND = ("ns", "ps", "fs", "as")
_DAY = timedelta(days=1)


def is_untyped(series: Any) -> bool:
    """Return whether a column has no type, or one that Arrow would guess from its cells: each is read by itself."""
    import pandas as pd

    kind = series.dtype
    if isinstance(kind, np.dtype):
        return kind.hasobject
    known = isinstance(kind, pd.CategoricalDtype | pd.DatetimeTZDtype) or hasattr(series.array, "__arrow_array__")
    return not known  # sparse columns, and types of other packages


def are_numbers(series: Any) -> bool:
    """Return whether all cells of a public column without a type are plain numbers, or missing."""
    classes = {type(cell) for cell in series if written(cell) is not None}
    return all(issubclass(each, _NUMBERS) and not issubclass(each, _TRUTHS) for each in classes)


def column_of(series: Any) -> Any:
    """Return a column as an Arrow array, which is of bytes where the column, or its categories, have no type.

    Raises:
        Exception: Arrow has no such type; the message may quote a cell.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        values = column_of(series.cat.categories.to_series())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)
    if is_untyped(series):
        return _cells_of(series)
    if isinstance(series.dtype, pd.StringDtype):
        texts = _cells_of(series)  # Arrow's own conversion refuses texts of Python that have no encoding
        return pa.Array.from_buffers(pa.large_string(), len(texts), texts.buffers())
    return pa.Array.from_pandas(series)


def _cells_of(series: Any) -> Any:
    """Cells as texts, in an Arrow array of bytes."""
    import pyarrow as pa

    with np.errstate(all="ignore"):  # no warnings, since they would depend on values
        return pa.array([written(cell) for cell in series], pa.large_binary())


def written(cell: object) -> bytes | None:
    """Write a cell of a column without a type as text; None if it is missing, or of a class with no such text.

    Equal numbers have one text, whatever their class: `5` for 5, 5.0 and Decimal("5.00"). Truth values are `true` and
    `false`, dates and times are in ISO 8601, in UTC if they have a zone, durations are days, UUIDs have small letters.
    Texts and bytes stay as they are. Never fails on a value.
    """
    try:
        return _write.dispatch(type(cell))(cell)
    except Exception:  # a class whose methods raise, or a date beyond the calendar
        return None


@singledispatch
def _write(_: Any) -> bytes | None:
    return None


@_write.register
def _(cell: str) -> bytes:
    return str.encode(cell, "utf-8", "surrogatepass")


@_write.register(bytes)
@_write.register(bytearray)
@_write.register(memoryview)
def _(cell: Any) -> bytes:
    return memoryview(cell).tobytes()


@_write.register(bool)
@_write.register(np.bool_)
def _(cell: Any) -> bytes:
    return b"true" if cell else b"false"


@_write.register(int)
@_write.register(np.integer)
def _(cell: Any) -> bytes:
    number = int.__index__(cell) if isinstance(cell, int) else int(cell)
    return (str(number) if number.bit_length() <= _MOST_BITS else f"{number:#x}").encode()


@_write.register(float)
@_write.register(np.floating)
def _(cell: Any) -> bytes | None:
    number = float.__float__(cell) if isinstance(cell, float) else float(cell)
    if number.is_integer():
        return str(int(number)).encode()  # all digits, as if it were an integer
    text = repr(number)  # the shortest that reads back
    return text.encode() if math.isfinite(number) and "e" not in text else _decimal(Decimal(text))


@_write.register(Fraction)
def _(cell: Any) -> bytes | None:
    return _decimal(Decimal(cell.numerator) if cell.denominator == 1 else Decimal(repr(float(cell))))


@_write.register(Decimal)
def _decimal(cell: Any) -> bytes | None:
    sign, places, exponent = Decimal.as_tuple(cell)
    minus = "-" if sign else ""
    if not isinstance(exponent, int):  # no number, or infinite
        return f"{minus}inf".encode() if exponent == "F" else None
    digits = "".join(map(str, places)).rstrip("0")
    exponent += len(places) - len(digits)
    if not digits:
        return b"0"
    if max(len(digits), len(digits) + exponent, -exponent) > _MOST_DIGITS:
        return f"{minus}{digits}e{exponent}".encode()
    if exponent >= 0:
        return f"{minus}{digits}{'0' * exponent}".encode()
    digits = digits.zfill(1 - exponent)
    return f"{minus}{digits[:exponent]}.{digits[exponent:]}".encode()


@_write.register
def _(cell: UUID) -> bytes:
    return str(cell).encode()


@_write.register(date)
@_write.register(time)
def _(cell: Any) -> bytes:
    return str(cell.isoformat()).encode()


@_write.register
def _(cell: datetime) -> bytes | None:
    text = (cell if cell.tzinfo is None else cell.astimezone(UTC)).isoformat()
    return None if text == "NaT" else text.encode()  # pandas' missing time


@_write.register
def _(cell: timedelta) -> bytes | None:
    return written(cell / _DAY)


@_write.register
def _(cell: np.datetime64) -> bytes | None:
    if np.isnat(cell):
        return None
    if np.datetime_data(cell.dtype)[0] in _NANOSECOND:
        return str(cell.astype("datetime64[ns]")).encode()
    day = cell.item()  # an integer where Python has no such date
    return written(day) if isinstance(day, date) else None


@_write.register
def _(cell: np.timedelta64) -> bytes | None:
    return written(float(cell / np.timedelta64(1, "D")))
