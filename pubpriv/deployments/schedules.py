"""Checks of a schedule, the period of its releases, and its times in words: all from the times at which it fires."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pubpriv.deployments._clock_changes import in_every_hour
from pubpriv.deployments._cron import read_cron
from pubpriv.deployments._cron_words import cron_words
from pubpriv.deployments.fire_times import times
from pubpriv.errors import InvalidInput
from pubpriv.flows.periods import CALENDAR, Period

_LOOKED_AT = 400
"""Number of times of a schedule from which its period is found."""

_SHOWN = 10
"""Number of times that are shown to people."""

_MINUTE = 60
"""Shortest time between two runs, in seconds."""

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_YEARS = timedelta(days=6 * 366)


def checked(schedule: Any) -> Any:
    """Check a schedule of a file; return it, in UTC if it fires in every hour and the clocks of its zone change.

    Args:
        schedule: a schedule of Prefect's client.

    Raises:
        InvalidInput: it never fires, more than once in a minute, or is read in two ways.
    """
    if hasattr(schedule, "cron"):
        read_cron(schedule.cron)
    elif hasattr(schedule, "rrule"):
        _check_rrule(schedule.rrule.upper(), schedule.timezone or "UTC")
        gap = gap_of(schedule)
        if gap is not None and gap < _MINUTE:
            raise InvalidInput(f"two runs are {gap} s apart, and at least {_MINUTE} are needed")
    return in_every_hour(schedule)


def _check_rrule(rule: str, zone: str) -> None:
    """Refuse what Prefect's scheduler reads otherwise than iCalendar, or not in any reasonable time."""
    if re.search(r"FREQ=(MINUTE|SECOND)LY", rule):
        raise InvalidInput(
            "Prefect's scheduler takes minutes to find the times of such a rule: give cron or an interval"
        )
    if re.search(r"UNTIL=[0-9T]+Z", rule):
        raise InvalidInput(f"UNTIL is a time of the schedule's zone, {zone}: write it without Z")
    other = re.search(r"TZID=([^:;]+)", rule)
    named = other[1] if other else "UTC" if re.search(r"[0-9]Z", rule) else zone.upper()
    if named != zone.upper():
        raise InvalidInput(f"its times are those of the schedule's zone, {zone}, and not of {named}: write them so")


def period_of(schedule: Any) -> Period:
    """Find the period of one release of a schedule: the coarsest one in which it never fires twice.

    Raises:
        InvalidInput: the schedule never fires.
    """
    zone = getattr(schedule, "timezone", None) or "UTC"
    if hasattr(schedule, "interval"):
        anchor = datetime.fromtimestamp(int(schedule.anchor_date.timestamp()), UTC)
        return Period("every", zone, int(schedule.interval.total_seconds()), anchor)
    found = _looked_at(schedule)
    for unit in CALENDAR:
        period = Period(unit, zone if unit not in ("hour", "minute") else "UTC")
        if len({period.name(time) for time in found}) == len(found):
            break
    return period


def gap_of(schedule: Any) -> int | None:
    """Find the shortest time between two runs of a schedule, in seconds; None if it fires only once.

    Raises:
        InvalidInput: the schedule never fires.
    """
    if hasattr(schedule, "interval"):
        return int(schedule.interval.total_seconds())
    found = _looked_at(schedule)
    gaps = [(after - before).total_seconds() for before, after in pairwise(found)]
    return int(min(gaps)) if gaps else None


def next_times(schedule: Any) -> str:
    """Say when a schedule fires, and list its next ten times, on the clock of its zone."""
    due = [f"{time:%Y-%m-%d %H:%M}" for time in times(schedule, _SHOWN)]
    ends = [] if len(due) == _SHOWN else ["then no more"] if due else ["never again"]
    zone = getattr(schedule, "timezone", None) or "UTC"
    return f"{in_words(schedule)}; next ({zone}): {', '.join([*due, *ends])}"


_LENGTHS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}


def in_words(schedule: Any) -> str:
    """Describe a Prefect schedule in words: `at 02:15 every day, Europe/Berlin`."""
    zone = f", {getattr(schedule, 'timezone', None) or 'UTC'}"
    if hasattr(schedule, "interval"):
        seconds = int(schedule.interval.total_seconds())
        unit, length = next((unit, length) for unit, length in _LENGTHS.items() if seconds % length == 0)
        return f"every {unit}" if seconds == length else f"every {seconds // length} {unit}s"
    if not hasattr(schedule, "cron"):
        return f"by the rule {schedule.rrule}{zone}"
    try:
        return f"{cron_words(read_cron(schedule.cron))}{zone}"
    except InvalidInput:  # it has no one reading; dataset files cannot have such a rule
        return f"by the rule {schedule.cron}{zone}"


@dataclass(frozen=True)
class _Rule:
    """A schedule that is compared and hashed by its text."""

    text: str
    schedule: Any = field(compare=False)


def _looked_at(schedule: Any) -> tuple[Any, ...]:
    found = _times_of(_Rule(f"{type(schedule).__name__} {schedule.model_dump_json()}", schedule))
    if not found:
        begins = "; without DTSTART it begins on the first of January 2020" if hasattr(schedule, "rrule") else ""
        raise InvalidInput(f"the schedule does not fire in six years from {_BEGIN.year} on: correct its rule{begins}")
    return found


@lru_cache(maxsize=100)
def _times_of(rule: _Rule) -> tuple[Any, ...]:
    """Times of a schedule, cached for its period, its gap, and other datasets with the same schedule."""
    return tuple(times(rule.schedule, _LOOKED_AT, _BEGIN, _BEGIN + _YEARS))
