"""Calendar periods by name: `2026`, `2026-Q4`, `2026-11`, `2026-W47`, `2026-11-21`.

A name determines the unit and the days, so it means the same in a ledger, in a question and in a file. Periods of one
unit are disjoint and cover all days. All functions are pure: nothing here uses a clock.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from pubpriv.errors import InvalidInput

UNITS = ("year", "quarter", "month", "week", "day")
"""Units of periods, from the coarsest to the finest."""

_NAMES = {
    "year": re.compile(r"([0-9]{4})"),
    "quarter": re.compile(r"([0-9]{4})-Q([1-4])"),
    "month": re.compile(r"([0-9]{4})-([0-9]{2})"),
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "day": re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"),
}

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Span:
    """A calendar period: the days from `start` to the one before `end`.

    Attributes:
        unit: one of `UNITS`.
        name: name of the period.
        start, end: its first day, and the first day after it.
    """

    unit: str
    name: str
    start: date
    end: date

    @classmethod
    def of(cls, name: object) -> "Span":
        """Parse the name of a period.

        Raises:
            InvalidInput: not the name of a period.
        """
        for unit, pattern in _NAMES.items():
            match = pattern.fullmatch(name) if isinstance(name, str) else None
            found = None if match is None else _first_day(unit, *map(int, match.groups()))
            if found is not None:
                return cls.holding(unit, found)
        raise InvalidInput(f"a period is named like 2026, 2026-Q4, 2026-11, 2026-W47 or 2026-11-21, not {name!r}")

    @classmethod
    def holding(cls, unit: str, day: date) -> "Span":
        """Find the period of a unit in which a day lies; weeks begin on Monday (ISO 8601).

        Raises:
            InvalidInput: an unknown unit, or the last year of the calendar.
        """
        if unit not in UNITS:
            raise InvalidInput(f"the unit of a period is {', '.join(UNITS[:-1])} or {UNITS[-1]}, not {unit!r}")
        if not date.min.year < day.year < date.max.year:
            raise InvalidInput(f"the calendar of periods does not reach the year {day.year}")
        year, week, _ = day.isocalendar()
        quarter = (day.month + 2) // 3
        if unit == "year":
            return cls(unit, f"{day.year:04d}", date(day.year, 1, 1), date(day.year + 1, 1, 1))
        if unit == "quarter":
            return cls(unit, f"{day.year:04d}-Q{quarter}", *_months(day.year, 3 * quarter - 2, 3))
        if unit == "month":
            return cls(unit, f"{day.year:04d}-{day.month:02d}", *_months(day.year, day.month, 1))
        if unit == "week":
            first = date.fromisocalendar(year, week, 1)
            return cls(unit, f"{year:04d}-W{week:02d}", first, first + timedelta(days=7))
        return cls(unit, day.isoformat(), day, day + timedelta(days=1))

    def before(self) -> "Span":
        """Find the period of the same unit that ended when this one began."""
        return self.holding(self.unit, self.start - timedelta(days=1))

    @property
    def days(self) -> tuple[int, int]:
        """First day and the first day after, counted from 1970-01-01."""
        return (self.start - _EPOCH).days, (self.end - _EPOCH).days


def _months(year: int, month: int, count: int) -> tuple[date, date]:
    """First day of some months, and the first day after them."""
    after = month + count
    return date(year, month, 1), date(year + (after > 12), (after - 1) % 12 + 1, 1)


def _first_day(unit: str, year: int, number: int = 1, day: int = 1) -> date | None:
    """First day of a period by its numbers; None if there is no such day."""
    try:
        if unit == "week":
            return date.fromisocalendar(year, number, 1)
        return date(year, 3 * number - 2 if unit == "quarter" else number, day)
    except ValueError:
        return None
