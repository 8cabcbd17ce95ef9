"""Which rows lie in a calendar period, by a date column: a public function of one cell.

Dates are days; times without a zone are taken as they are written, times with one as UTC; whole numbers are seconds
since the beginning of 1970. In a file without types a cell is a date or a time as ISO 8601 writes it, or whole seconds.
A row without a date is in no period.
"""

from typing import Any

import numpy as np

from pubpriv.common.periods import Span
from pubpriv.data._arrow import numbers_of
from pubpriv.data.formats.cells import days_in
from pubpriv.errors import InvalidInput

_DAY = 86_400


def check_dates(name: str, kind: Any, where: str) -> None:
    """Refuse a column with a type that does not say when.

    Args:
        name: of the column.
        kind: Arrow type.
        where: the table, for a message.

    Raises:
        InvalidInput: it is no date, no time, and no integer.
    """
    from pyarrow import types

    if not (types.is_date(kind) or types.is_timestamp(kind) or types.is_integer(kind)):
        raise InvalidInput(
            f"column {name!r} of the private table {where} is {kind}: the period of a row is read from "
            "dates, times, or whole seconds since 1970"
        )


def in_span(array: Any, span: Span) -> np.ndarray:
    """Which cells of an Arrow array of dates lie in a period: bool (length,). Fails on no value.

    Each cell is one number of days, whatever the period is, so it lies in one period of a unit at most.
    """
    from pyarrow import types

    days = days_in(array) if types.is_binary(array.type) else numbers_of(array)
    first, end = span.days
    with np.errstate(all="ignore"):
        days = days / _DAY if types.is_integer(array.type) else days
        return np.asarray((days >= first) & (days < end))
