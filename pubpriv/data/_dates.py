"""Find the rows in a calendar period by a date column: a public function of one cell.

Dates are days. Times without a zone are taken as they are written, times with one as UTC. Whole numbers are seconds
since the beginning of 1970. In a file without types a cell is a date or time in ISO 8601, or whole seconds. A row
without a date is in no period.
"""

from typing import Any

import numpy as np

from pubpriv.common.periods import Span
from pubpriv.data._arrow import is_bytes, numbers_of
from pubpriv.data.formats.cells import days_in
from pubpriv.errors import InvalidInput

_DAY = 86_400


def check_dates(name: str, kind: Any, where: str) -> None:
    """Refuse a date column whose type is not a date, a time or an integer.

    Args:
        name: of the column.
        kind: Arrow type.
        where: name of the table in messages.

    Raises:
        InvalidInput: the type is another one.
    """
    from pyarrow import types

    if not (types.is_date(kind) or types.is_timestamp(kind) or types.is_integer(kind)):
        raise InvalidInput(
            f"column {name!r} of the private table {where} is {kind}: the period of a row is read from "
            "dates, times, or whole seconds since 1970"
        )


def in_span(array: Any, span: Span) -> np.ndarray:
    """Mark the cells of an Arrow array of dates that lie in a period, bool (length,). Never fails on a value.

    The number of days of a cell does not depend on the period, so a cell lies in at most one month (or day, or year).
    """
    from pyarrow import types

    days = days_in(array) if is_bytes(array.type) else numbers_of(array)
    first, end = span.days
    with np.errstate(all="ignore"):
        days = days / _DAY if types.is_integer(array.type) else days
        return np.asarray((days >= first) & (days < end))
