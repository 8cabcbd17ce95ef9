"""Rules of cron, as two programs read them, which have to agree: Prefect's scheduler, and cronsim, which is cron's.

They differ for example on `0 3 */2 * 1`. Where a field of days begins with `*`, cron wants both fields to fit, and
fires on some Mondays; Prefect wants either, and fires on every other day and on Mondays. And where February ends
before the last day of a list, as in `0 3 1,15,30 * *`, Prefect leaves out the first of March.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import takewhile

from pubpriv.deployments.fire_times import times
from pubpriv.errors import InvalidInput

YEARS = range(2027, 2029)
"""Years whose days are compared; one of them has a 29th of February."""

MINUTES = 24 * 60
"""Minutes of a day."""

_FIELDS = 5
_SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True)
class CronTimes:
    """When a rule fires, on the clock of its zone.

    Attributes:
        days: all days of `YEARS` on which it fires.
        minutes: minutes since midnight at which it fires on each of them, rising.
    """

    days: frozenset[date]
    minutes: tuple[int, ...]

    @property
    def is_hourly(self) -> bool:
        """Whether it fires in every hour of every day."""
        return len(self.days) == (_first(YEARS.stop) - _first(YEARS.start)).days and self.fills_the_day

    @property
    def fills_the_day(self) -> bool:
        """Whether it fires in every hour of its days."""
        return len({minute // 60 for minute in self.minutes}) == MINUTES // 60


def read_cron(rule: str) -> CronTimes:
    """Read a rule of five fields.

    Raises:
        InvalidInput: another number of fields, a rule that never fires, or one that the two read differently.
    """
    fields = _SHORT.get(rule.strip().lower(), rule).split()
    if len(fields) != _FIELDS:
        seconds = (
            ": a sixth one is of seconds, first in some programs and last in others" if len(fields) > _FIELDS else ""
        )
        raise InvalidInput(f"{rule!r} has {len(fields)} fields, and five are read{seconds}")
    minute, hour, *of_days = fields
    calendar, clock = f"0 0 {' '.join(of_days)}", f"{minute} {hour} * * *"
    scheduled = CronTimes(_scheduled_days(calendar), _scheduled_minutes(clock))
    other = _as_cron_reads(rule, calendar, clock)
    if scheduled.minutes != other.minutes:
        at = min({*scheduled.minutes} ^ {*other.minutes})
        raise _two_readings(
            rule, f"at {at // 60:02}:{at % 60:02}", at in scheduled.minutes, "list its hours and minutes"
        )
    if scheduled.days != other.days:
        day = min(scheduled.days ^ other.days)
        advice = (
            "write it as an rrule"
            if "*" in (of_days[0], of_days[2])
            else "give days of the month or weekdays, not both"
        )
        raise _two_readings(rule, f"on {day:%A} {day}", day in scheduled.days, advice)
    return scheduled


def _two_readings(rule: str, when: str, scheduled: bool, advice: str) -> InvalidInput:
    one, other = ("Prefect's scheduler", "cron") if scheduled else ("cron", "Prefect's scheduler")
    return InvalidInput(
        f"{rule!r} has two readings: {when} it fires by that of {one} and not by that of {other}; {advice}"
    )


@lru_cache(maxsize=100)
def _scheduled_days(calendar: str) -> frozenset[date]:
    """Days on which a rule fires once, as Prefect's scheduler reads it; cached, since most rules have the same days."""
    from prefect.client.schemas.schedules import CronSchedule

    rule = CronSchedule.model_construct(cron=calendar, timezone="UTC")
    return _days(day for year in YEARS for day in times(rule, start=_first(year), end=_first(year + 1, -1)))


@lru_cache(maxsize=100)
def _scheduled_minutes(clock: str) -> tuple[int, ...]:
    """Minutes of a day at which a rule of every day fires, as Prefect's scheduler reads it."""
    from prefect.client.schemas.schedules import CronSchedule

    rule = CronSchedule.model_construct(cron=clock, timezone="UTC")
    noon, midnight = timedelta(hours=12), _first(YEARS.start)
    halves = [midnight, midnight + noon]  # a whole day has more minutes than the scheduler finds at once
    return _minutes(at for half in halves for at in times(rule, start=half, end=half + noon - timedelta(seconds=1)))


def _as_cron_reads(rule: str, calendar: str, clock: str) -> CronTimes:
    """The same as cron reads it."""
    from cronsim import CronSim, CronSimError

    before, end = _first(YEARS.start, -1), _first(YEARS.stop)
    try:
        on, at = CronSim(calendar, before), CronSim(clock, before)
        return CronTimes(_days(_until(on, end)), _minutes(_until(at, before + timedelta(days=1))))
    except CronSimError:
        refused = f"cron itself cannot read {rule!r}, which Prefect's scheduler reads"
    raise InvalidInput(refused)


def _until(found: Iterable[datetime], end: datetime) -> Iterable[datetime]:
    """Times before the end."""
    return takewhile(lambda at: at < end, found)


def _days(found: Iterable[datetime]) -> frozenset[date]:
    return frozenset(date(day.year, day.month, day.day) for day in found)


def _minutes(found: Iterable[datetime]) -> tuple[int, ...]:
    return tuple(sorted({60 * at.hour + at.minute for at in found}))


def _first(year: int, seconds: int = 0) -> datetime:
    """The beginning of a year, or some seconds after it."""
    return datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
