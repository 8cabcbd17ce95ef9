"""Which rows lie in a calendar period, by a date column: a public function of one cell.

Dates are days; times without a zone are taken as they are written, times with one as UTC, integers as seconds since
1970-01-01 UTC. A row without a date is in no period.
"""

from typing import Any

import numpy as np

from pubpriv.data.arrow import validity_of
from pubpriv.errors import InvalidInput
from pubpriv.spans import Span

_DAY = 86_400

_PER_DAY = {"s": _DAY, "ms": _DAY * 10**3, "us": _DAY * 10**6, "ns": _DAY * 10**9}


def check_dates(name: str, kind: Any, where: str) -> None:
    """Refuse a column that does not say when.

    Args:
        name: of the column.
        kind: Arrow type.
        where: the table, for a message.

    Raises:
        InvalidInput: it is no date, no time, and no integer.
    """
    if _per_day(kind) is None:
        raise InvalidInput(
            f"column {name!r} of the private table {where} is {kind}: in which period a row lies has to be told by "
            "dates, times, or whole seconds since 1970"
        )


def in_span(array: Any, span: Span) -> np.ndarray:
    """Which cells of an Arrow array of dates lie in a period: bool (length,). Fails on no value."""
    import pyarrow as pa

    per_day, first, end = _per_day(array.type), *span.days
    known = validity_of(array)
    if pa.types.is_integer(array.type):
        array = array.cast(pa.int64(), safe=False)
    values = array.buffers()[1]
    if values is None or per_day is None:
        return np.zeros(len(array), dtype=bool)
    width = np.int32 if pa.types.is_date32(array.type) else np.int64
    cells = np.frombuffer(values, width)[array.offset : array.offset + len(array)].astype(np.int64, copy=False)
    return known & (cells >= _fits(first * per_day)) & (cells < _fits(end * per_day))


def _per_day(kind: Any) -> int | None:
    """How many steps of a type a day has; None: it does not say when."""
    from pyarrow import types

    if types.is_date32(kind):
        return 1
    if types.is_date64(kind):
        return _PER_DAY["ms"]
    if types.is_timestamp(kind):
        return _PER_DAY[kind.unit]
    return _DAY if types.is_integer(kind) else None


def _fits(cell: int) -> int:
    """The nearest number that a cell can hold."""
    return max(-(1 << 63), min((1 << 63) - 1, cell))
