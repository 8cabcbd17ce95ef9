"""Schedules that fire in every hour, where clocks change: on the clock of their zone one hour a year has no run.

On the night when clocks are set back an hour comes twice, and Prefect's scheduler fires in the first of them alone,
even if it counts hours by an interval. In UTC no hour comes twice, so such a schedule is counted in UTC.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from pubpriv.deployments._cron import YEARS, read_cron
from pubpriv.deployments.fire_times import times
from pubpriv.errors import InvalidInput

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

_HOURLY_RULE = re.compile(r"(RRULE:)?((FREQ=HOURLY|INTERVAL=1|BYMINUTE=[0-9,]+|BYSECOND=[0-9]+)(;|\Z))+")
"""Rules of iCalendar that mean the same in every zone whose clocks differ from UTC by whole hours."""


def in_every_hour(schedule: Any) -> Any:
    """Return a schedule as it is, or in UTC if it fires in every hour and clocks are set back in its zone.

    Args:
        schedule: a schedule of Prefect's client.

    Raises:
        InvalidInput: it would have no run in one hour, and cannot be counted in UTC.
    """
    zone = getattr(schedule, "timezone", None) or "UTC"
    nights = _nights_with_an_hour_twice(zone)
    if not nights:
        return schedule
    if hasattr(schedule, "interval"):
        return schedule if schedule.interval >= _DAY else schedule.model_copy(update={"timezone": "UTC"})
    shift = _minutes_ahead(zone)
    if hasattr(schedule, "cron"):
        found = read_cron(schedule.cron)
        left_out, same = found.fills_the_day and not found.days.isdisjoint(nights), found.is_hourly
        minutes = ",".join(map(str, sorted({(minute - shift) % 60 for minute in found.minutes})))
        changed = {"timezone": "UTC"} | ({"cron": f"{minutes} * * * *"} if shift else {})
    else:
        same = bool(_HOURLY_RULE.fullmatch(schedule.rrule)) and not shift
        left_out = same or any(_leaves_out_an_hour(schedule, night, ZoneInfo(zone)) for night in nights)
        changed = {"timezone": "UTC"}
    if not left_out:
        return schedule
    if not same:
        raise InvalidInput(
            f"when clocks are set back in {zone}, one hour would have no run: give `timezone: UTC`, or an interval"
        )
    return schedule.model_copy(update=changed)


@lru_cache(maxsize=100)
def _nights_with_an_hour_twice(zone: str) -> tuple[date, ...]:
    """Days of a zone, within `YEARS`, on which clocks are set back by an hour or more."""
    days = (date(YEARS.start, 1, 1) + i * _DAY for i in range(366 * len(YEARS)))
    return tuple(day for day in days if _length(day, ZoneInfo(zone)) >= _DAY + _HOUR)


def _length(day: date, clock: ZoneInfo) -> timedelta:
    """How long a day of a zone is."""
    begin, end = (datetime.combine(each, time(), clock).astimezone(UTC) for each in (day, day + _DAY))
    return end - begin


def _minutes_ahead(zone: str) -> int:
    """How far the minutes of a zone's clocks are ahead of those of UTC."""
    ahead = datetime(YEARS.start, 1, 1, tzinfo=ZoneInfo(zone)).utcoffset() or timedelta()
    return ahead // _MINUTE % 60


def _leaves_out_an_hour(schedule: Any, night: date, clock: ZoneInfo) -> bool:
    """Check whether a schedule fires in all hours of a clock on a day, and not in an hour that comes twice."""
    begin, end = (datetime.combine(each, time(), clock).astimezone(UTC) for each in (night, night + _DAY))
    due = [datetime.fromtimestamp(at.timestamp(), UTC) for at in times(schedule, start=begin, end=end - _MINUTE)]
    on_the_clock = {at.astimezone(clock).hour for at in due}
    return len(on_the_clock) == _DAY // _HOUR and len({(at - begin) // _HOUR for at in due}) < (end - begin) // _HOUR
