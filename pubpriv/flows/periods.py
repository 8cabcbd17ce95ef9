"""The periods of a schedule, and the release ids that follow from them.

A release id names a run in the ledger, and a run is paid for once. An id made from the *scheduled* time is the same
however late a run starts, however often it is retried, and whoever triggers it again, so all of these together cost as
much as one run. All functions are pure: nothing here uses Prefect or a clock.

A period is written as one line, because it is a flow parameter that people read:

- `day`, `week`, `month`, `quarter`, `year`, each optionally with a time zone: `day Europe/Berlin`;
- `hour`, `minute`, always in UTC: on the night when clocks go back, local hours happen twice;
- `every 5400 s from 2026-01-01T00:00:00+00:00`, optionally with a time zone: slots of an interval schedule.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from pubpriv.common.periods import UNITS, Span
from pubpriv.errors import InvalidInput

CALENDAR = ("year", "quarter", "month", "week", "day", "hour", "minute")
"""Units of schedules, from the coarsest to the finest."""

_GRAMMAR = (
    "a period is year, quarter, month, week, day, hour or minute, or `every SECONDS s from TIME`, "
    "and after it a time zone such as Europe/Berlin if it is not UTC"
)

NAMES = r"\d{4}(-Q\d|-W\d\d|-\d\d(-\d\d(T\d\d(\d\d){0,2}Z?)?)?)?"
"""Pattern of the names of all periods."""

_EVERY = re.compile(r"every ([1-9][0-9]{0,9}) s from (\S+)")
_DAY = 86_400


@dataclass(frozen=True)
class Period:
    """The period that one release of a schedule covers.

    Attributes:
        unit: one of `CALENDAR`, or `every`.
        zone: name of the time zone in which days, weeks, months, quarters and years begin.
        seconds: length of a slot, if the unit is `every`.
        anchor: beginning of a slot (aware), if the unit is `every`.
    """

    unit: str
    zone: str = "UTC"
    seconds: int = 0
    anchor: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> "Period":
        """Parse a period.

        Raises:
            InvalidInput: the text is not a period.
        """
        text = " ".join(text.split())
        if match := _EVERY.match(text):
            zone = text[match.end() :].strip() or "UTC"
            return cls("every", _zone(zone), int(match[1]), _moment(match[2]))
        unit, _, zone = text.partition(" ")
        if unit not in CALENDAR:
            raise InvalidInput(f"{_GRAMMAR}; not {text!r}")
        return cls(unit, _zone(zone or "UTC"))

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        zone = "" if self.zone == "UTC" else f" {self.zone}"
        if self.anchor is None:
            return f"{self.unit}{zone}"
        return f"every {self.seconds} s from {self.anchor.isoformat()}{zone}"

    def name(self, at: datetime) -> str:
        """Return the name of the period of `at` (aware): letters, digits and dashes, whose order is that of time."""
        at = datetime.fromtimestamp(at.timestamp(), UTC)  # Prefect's own class calculates differently
        if self.anchor is not None:
            return self._slot(at)
        if self.unit in ("hour", "minute"):
            return f"{at:{'%Y-%m-%dT%HZ' if self.unit == 'hour' else '%Y-%m-%dT%H%MZ'}}"
        return Span.holding(self.unit, at.astimezone(ZoneInfo(self.zone)).date()).name

    def _slot(self, at: datetime) -> str:
        """Slots of a day and more follow the wall clock, as Prefect's schedules do; shorter ones follow UTC.

        Prefect counts long intervals from now, so that in the other half of the year a run may be scheduled an hour
        before its slot: the last hour of a long slot belongs to the next.
        """
        assert self.anchor is not None
        whole_days = self.seconds >= _DAY
        clock: tzinfo = ZoneInfo(self.zone) if whole_days else UTC
        now, first = (moment.astimezone(clock).replace(tzinfo=None) for moment in (at, self.anchor))
        now += timedelta(hours=1) if whole_days else timedelta()
        start = first + (now - first) // timedelta(seconds=self.seconds) * timedelta(seconds=self.seconds)
        whole_minutes = self.seconds % 60 == 0 and first.second == 0
        name = f"{start:%Y-%m-%dT%H%M}" if whole_minutes else f"{start:%Y-%m-%dT%H%M%S}"
        return name if whole_days else f"{name}Z"


def rows_for(scheduled: datetime, rows_of: str, zone: str = "UTC") -> str:
    """Return the period whose rows a run asks: the named one, or the last of a unit that has ended.

    Args:
        scheduled: when the run was meant to start (aware), not when it did.
        rows_of: a period, as 2026-11, or a unit, as month.
        zone: time zone of the end of the period.
    """
    if rows_of not in UNITS:
        return rows_of
    at = datetime.fromtimestamp(scheduled.timestamp(), ZoneInfo(zone))
    return Span.holding(rows_of, at.date()).before().name


def release_id_for(scheduled: datetime, period: Period, series: str | None = None) -> str:
    """Return the release id of a scheduled run.

    Args:
        scheduled: when the run was meant to start (aware), not when it did.
        period: period of its schedule.
        series: prefix of the period's name: deployments of one dataset with different settings need different
            series, because a release id belongs to one configuration.

    Raises:
        InvalidInput: a time without a time zone, which would be read as this machine's.
    """
    if scheduled.tzinfo is None:
        raise InvalidInput("a scheduled time needs a time zone, for example 2026-11-21T02:15:00+00:00")
    name = period.name(scheduled)
    return f"{series}-{name}" if series else name


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # what zoneinfo raises for names that are unknown, or none at all
        known = False
    else:
        known = True
    if not known:
        raise InvalidInput(f"there is no time zone {name!r}: write for example UTC or Europe/Berlin")
    return name


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput(f"{_GRAMMAR}; {text!r} is no time with a time zone, as 2026-01-01T00:00:00+00:00 is")
    return moment.astimezone(UTC).replace(microsecond=0)
