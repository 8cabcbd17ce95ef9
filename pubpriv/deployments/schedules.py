"""Times of a schedule, by the scheduler's own arithmetic, and the period of its releases."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.flows.periods import CALENDAR, Period

_LOOKED_AT = 400
"""Number of times of a schedule from which its period is found."""

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_YEARS = timedelta(days=6 * 366)


def times(schedule: Any, n: int | None = None, start: datetime | None = None, end: datetime | None = None) -> list[Any]:
    """List the times at which a Prefect schedule fires, as its scheduler finds them.

    Args:
        schedule: a `CronSchedule`, `IntervalSchedule` or `RRuleSchedule` of Prefect's client.
        n: most times to list.
        start: earliest time; default: now.
        end: latest time.
    """
    from prefect.server.schemas import schedules as server

    # no validation, which was done before: it would read the names of all time zones again
    same = getattr(server, type(schedule).__name__).model_construct(**schedule.model_dump())
    return list(asyncio.run(same.get_dates(n=n, start=start, end=end)))


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


_LENGTHS = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}


def in_words(schedule: Any) -> str:
    """Describe a Prefect schedule in words: `at 02:15 every day, Europe/Berlin`."""
    zone = f", {getattr(schedule, 'timezone', None) or 'UTC'}"
    if hasattr(schedule, "interval"):
        seconds = int(schedule.interval.total_seconds())
        unit, length = next((unit, length) for unit, length in _LENGTHS.items() if seconds % length == 0)
        return f"every {unit}" if seconds == length else f"every {seconds // length} {unit}s"
    if hasattr(schedule, "cron"):
        from cronsim import CronSim, CronSimError

        try:
            words = CronSim(schedule.cron, _BEGIN).explain()
        except CronSimError:  # Prefect's own parser accepts a few more rules
            return f"by the rule {schedule.cron}{zone}"
        return words[:1].lower() + words[1:] + zone
    return f"by the rule {schedule.rrule}{zone}"


@dataclass(frozen=True)
class _Rule:
    """A schedule that is compared and hashed by its text."""

    text: str
    schedule: Any = field(compare=False)


def _looked_at(schedule: Any) -> tuple[Any, ...]:
    found = _times_of(_Rule(f"{type(schedule).__name__} {schedule.model_dump_json()}", schedule))
    if not found:
        raise InvalidInput("the schedule does not fire in six years: correct its rule")
    return found


@lru_cache(maxsize=100)
def _times_of(rule: _Rule) -> tuple[Any, ...]:
    """Times of a schedule, cached for its period, its gap, and other datasets with the same schedule."""
    return tuple(times(rule.schedule, _LOOKED_AT, _BEGIN, _BEGIN + _YEARS))
