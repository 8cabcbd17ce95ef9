"""Find the day of each cell of a date column, and so its month, or whether it is in a period: a function of one cell.

There is one rule for periods and for groups by month. Dates are days. Times without a zone are taken as they are
written, times with one as UTC. In a file without types a cell is a date or time in ISO 8601. For periods whole numbers
are seconds since the beginning of 1970. Integers of the unit that is stored are compared, never floats, which would
carry the last nanosecond of a day into the next one. A row without a date is in no period and no month.
"""

from typing import Any

import numpy as np

from pubpriv.common.periods import Span
from pubpriv.data._arrow import PER_DAY, counts_of, is_bytes, is_number, of_each_value, unit_of, validity_of
from pubpriv.data._day_counts import NO_DAY, endless, floored
from pubpriv.data.formats.cells import whole_days_in
from pubpriv.errors import InvalidInput

NO_MONTH = NO_DAY
"""Stands for the month of a cell without a date."""

_SECONDS = 32
"""Fewest bits of an integer that can be seconds since 1970: with 16 they end on its first morning."""


def check_dates(name: str, kind: Any, where: str) -> None:
    """Refuse a date column whose type is not a date, a time or an integer that can be seconds.

    Args:
        name: of the column.
        kind: Arrow type.
        where: name of the table in messages.

    Raises:
        InvalidInput: the type is another one.
    """
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    short = types.is_integer(kind) and kind.bit_width < _SECONDS
    if short or not (types.is_date(kind) or types.is_timestamp(kind) or types.is_integer(kind) or is_bytes(kind)):
        years = f", and {kind} has no room for these, as for years: write dates" if short else ""
        raise InvalidInput(
            f"column {name!r} of the private table {where} is {kind}: the period of a row is read from dates, times, "
            f"or whole seconds since 1970{years}"
        )


def in_span(array: Any, span: Span) -> np.ndarray:
    """Mark the cells of an Arrow array of dates that lie in a period, bool (length,). Never fails on a value.

    The day of a cell does not depend on the period, so a cell lies in at most one month (or day, or year).
    """
    days = of_each_value(array, _days_of_values, NO_DAY)
    first, end = span.days
    return np.asarray((days >= first) & (days < end))


def months_of(array: Any) -> np.ndarray:
    """Return the month of each cell, int64 since January 1970; `NO_MONTH` without a date. Never fails on a value.

    Args:
        array: without a dictionary, of dates, times, or cells without a type.
    """
    days = _days_of_values(array, seconds=False)
    return days.view("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _days_of_values(array: Any, *, seconds: bool = True) -> np.ndarray:
    """Day of each cell of an array without a dictionary, int64 since 1970; `NO_DAY` without a date.

    Args:
        array: of a type that `check_dates` admits.
        seconds: whether whole numbers among cells without a type are seconds; else they are no dates.
    """
    if is_bytes(array.type):
        return whole_days_in(array, seconds=seconds)
    counts, there = counts_of(array), validity_of(array)
    if not is_number(array.type):
        there = there & ~endless(counts)
    return np.where(there, floored(counts, PER_DAY[unit_of(array.type)]), NO_DAY)
