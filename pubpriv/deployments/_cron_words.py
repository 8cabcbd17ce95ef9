"""The times at which a rule of cron fires, in words: `at 02:15 on Monday in June`.

Words are made from the days and minutes themselves, and say exactly these: a form is used only if it means all of them
and no others.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import TypeVar

from pubpriv.deployments._cron import MINUTES, YEARS, CronTimes

_HOUR, _LISTED = 60, 6
"""Minutes of an hour; and most times of a day that are listed one by one."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = tuple(f"{date(2026, month, 1):%B}" for month in range(1, 13))
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_WEEK = timedelta(days=7)

_T = TypeVar("_T", int, tuple[int, int])


def cron_words(found: CronTimes) -> str:
    """Return when a rule fires, in words, without its zone."""
    on = _on_days(found.days)
    return _at_times(found.minutes) + ("" if found.fills_the_day and on == "every day" else f" {on}")


def _at_times(minutes: Sequence[int]) -> str:
    """Say the minutes of a day, which are the same in each hour of some."""
    hours, of_hour = sorted({m // _HOUR for m in minutes}), sorted({m % _HOUR for m in minutes})
    step = of_hour[1] if len(of_hour) > 1 else _HOUR
    if len(minutes) <= _LISTED:
        return f"at {_joined(f'{m // _HOUR:02}:{m % _HOUR:02}' for m in minutes)}"
    if step < _HOUR and of_hour == list(range(0, _HOUR, step)):
        often = "every minute" if step == 1 else f"every {step} minutes"
        return often if len(minutes) == MINUTES // step else f"{often} of {_numbers('hour', hours)}"
    of = "every hour" if len(hours) == MINUTES // _HOUR else _numbers("hour", hours)
    return f"at {_numbers('minute', of_hour)} of {of}"


def _on_days(days: frozenset[date]) -> str:
    """Say the days of the calendar."""
    months = sorted({day.month for day in days})
    calendar = [day for day in _calendar() if day.month in months]
    all_year = len(months) == len(_MONTHS)
    named = _joined(_MONTHS[month - 1] for month in months)
    of, within = ("every month", "") if all_year else (named, f" in {named}")

    weekdays, numbers = _covered(days, calendar, date.weekday), _covered(days, calendar, _number)
    nths, lasts = _covered(days, calendar, _nth), _covered(days, calendar, _last)
    ordered = [f"{_NTH[which]} {_WEEKDAYS[day]}" for which, day in nths] + [f"last {_WEEKDAYS[day]}" for day in lasts]
    on_weekdays = f"on {_runs([_WEEKDAYS[day] for day in weekdays], weekdays)}{within}"
    on_numbers = f"on {_numbers('day', numbers)} of {of}"
    forms: list[tuple[str, Callable[[date], bool]]] = [
        (f"every day{within}", lambda _: True),
        (on_weekdays, lambda day: day.weekday() in weekdays),
        (on_numbers, lambda day: day.day in numbers),
        (f"on the last day of {of}", lambda day: _number(day + timedelta(days=1)) == 1),
        (f"{on_numbers}, and {on_weekdays}", lambda day: day.weekday() in weekdays or day.day in numbers),
        (f"on the {_joined(ordered)} of {of}", lambda day: _nth(day) in nths or _last(day) in lasts),
    ]
    first = _joined(map(str, sorted(days)[:3]))
    otherwise = f"on {len(days)} days of the years {YEARS[0]} to {YEARS[-1]}, of which the first are {first}"
    return next((text for text, means in forms if days == {*filter(means, calendar)}), otherwise)


def _covered(days: frozenset[date], calendar: Sequence[date], part: Callable[[date], _T | None]) -> list[_T]:
    """Values of a part of a date, such as a weekday, for which each day of the calendar is among the days."""
    others = {part(day) for day in calendar if day not in days}
    return sorted({value for day in days if (value := part(day)) is not None and value not in others})


def _calendar() -> list[date]:
    """All days of `YEARS`."""
    first = date(YEARS.start, 1, 1)
    return [first + timedelta(days=i) for i in range((date(YEARS.stop, 1, 1) - first).days)]


def _number(day: date) -> int:
    return day.day


def _nth(day: date) -> tuple[int, int]:
    """Which of its weekday in its month it is, and the weekday."""
    return -(-day.day // 7), day.weekday()


def _last(day: date) -> int | None:
    """Its weekday, if it is the last one of its month."""
    return day.weekday() if (day + _WEEK).month != day.month else None


def _numbers(word: str, values: Sequence[int]) -> str:
    """Say numbers after a word: `day 1`, `hours 8 to 18`."""
    return f"{word}{'s' if len(values) > 1 else ''} {_runs(list(map(str, values)), values)}"


def _runs(names: Sequence[str], values: Sequence[int]) -> str:
    """Join names; of three and more whose values follow each other the first and the last."""
    parts: list[str] = []
    i = 0
    while i < len(values):
        j = i
        while j + 1 < len(values) and values[j + 1] == values[j] + 1:
            j += 1
        run = names[i : j + 1]
        parts += run if len(run) < 3 else [f"{run[0]} to {run[-1]}"]
        i = j + 1
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    *most, last = ("", *parts)
    named = [part for part in most if part]
    return f"{', '.join(named)} and {last}" if named else last
