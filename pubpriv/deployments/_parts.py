"""Parts that files of datasets and audits have in common: schedules and notifications."""

from datetime import UTC, datetime, timedelta
from typing import Any, Self, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pubpriv.deployments._notices import Kind
from pubpriv.deployments.schedules import checked
from pubpriv.flows.periods import Period

_RULES = {
    "cron": 'write minute, hour, day, month and weekday, for example "15 2 * * *"',
    "interval": "write seconds",
    "rrule": 'write an iCalendar rule, for example "FREQ=DAILY;BYHOUR=2;BYMINUTE=15;BYSECOND=0"',
}

BLOCK = r"^[a-z0-9-]+/[a-z0-9-]+$"
"""Pattern of the name of a block on a Prefect server: TYPE/NAME."""


def wrong_at(text: str, *place: str | int) -> PydanticCustomError:
    """Error about a part of a file that does not fit another part; `files` reads the place from it."""
    return PydanticCustomError("wrong_at", "{text}", {"text": text, "at": place})


class Part(BaseModel):
    """A part of a dataset file: no unknown fields, and no values in texts of errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Schedule(Part):
    """When runs are due: exactly one of `cron`, `interval` and `rrule`.

    Attributes:
        cron: five fields; a rule that cron and Prefect's scheduler read differently is refused.
        interval: seconds between runs, 60 or more.
        rrule: an iCalendar rule, for example `FREQ=MONTHLY;BYDAY=1MO;BYHOUR=3;BYMINUTE=0;BYSECOND=0`.
        timezone: time zone of these times. What fires in every hour is counted in UTC where clocks change.
        anchor: with `interval`: time at which one run is due; default: the first of 2026, midnight.
        active: false: no runs are scheduled, but the deployment can be run by hand.
    """

    cron: str | None = None
    interval: int | None = Field(default=None, ge=60, le=366 * 86_400)
    rrule: str | None = None
    timezone: str = "UTC"
    anchor: datetime | None = None
    active: bool = True

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        return Period.parse(f"day {name}").zone

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in ("cron", "interval", "rrule") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of cron, interval and rrule, not {', '.join(given) or 'none'}")
        if self.anchor is not None and self.interval is None:
            raise ValueError("give an anchor only with an interval")
        try:
            self.prefect()
        except (ValidationError, ValueError) as error:
            text = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        else:
            return self
        raise wrong_at(f"{text.removeprefix('Value error, ')}; {_RULES[given[0]]}", given[0])

    _made: Any = PrivateAttr(default=None)

    def prefect(self) -> Any:
        """Return Prefect's schedule."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Any:
        from prefect.client.schemas import schedules

        if self.cron is not None:
            return checked(schedules.CronSchedule(cron=self.cron, timezone=self.timezone))
        if self.rrule is not None:
            return checked(schedules.RRuleSchedule(rrule=self.rrule, timezone=self.timezone))
        anchor = self.anchor or datetime(2026, 1, 1)
        if anchor.tzinfo is None:
            anchor = anchor.replace(tzinfo=ZoneInfo(self.timezone))
        assert self.interval is not None  # `_one` checks that one of the three is given
        return checked(
            schedules.IntervalSchedule(
                interval=timedelta(seconds=self.interval), anchor_date=anchor.astimezone(UTC), timezone=self.timezone
            )
        )


class Notify(Part):
    """A request for notices: a block on the Prefect server, and events.

    Attributes:
        block: TYPE/NAME of the block: a `webhook` with any address, or a block that sends notifications.
        on: the events; default: all of them.
    """

    block: str = Field(pattern=BLOCK)
    on: tuple[Kind, ...] = Field(default=get_args(Kind), min_length=1)


def said(error: Any) -> str:
    """Return the message of one of pydantic's errors; of a text without quotes, that YAML made a number of it."""
    text = str(error["msg"].removeprefix("Value error, "))
    value = error.get("input")
    if error["type"] != "string_type" or not isinstance(value, int | float):
        return text
    kind = "truth value" if isinstance(value, bool) else "number"
    return f"{text}, and without quotes this is a {kind}: write it in quotes, as '06' or 'yes'"
