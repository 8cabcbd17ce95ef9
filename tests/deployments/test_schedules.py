"""Schedules: their words are the times at which they fire; what has two readings, or no time, is refused."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from pubpriv.deployments._parts import Schedule
from pubpriv.deployments.files import read
from pubpriv.deployments.fire_times import times
from pubpriv.deployments.schedules import in_words, next_times, period_of
from pubpriv.errors import InvalidInput

BERLIN = "Europe/Berlin"

WORDS = {
    "15 2 * * *": "at 02:15 every day",
    "@daily": "at 00:00 every day",
    "* * * * *": "every minute",
    "*/20 * * * *": "every 20 minutes",
    "7 * * * *": "at minute 7 of every hour",
    "7,37 * * * *": "at minutes 7 and 37 of every hour",
    "0 8/4 * * *": "at 08:00, 12:00, 16:00 and 20:00 every day",
    "*/20 8-18 * * *": "every 20 minutes of hours 8 to 18 every day",
    "0 0-6,22 * * MON-FRI": "at minute 0 of hours 0 to 6 and 22 on Monday to Friday",
    "0 3 * * 7": "at 03:00 on Sunday",
    "0 3 * * 1,3,5": "at 03:00 on Monday, Wednesday and Friday",
    "0 3 * * */2": "at 03:00 on Tuesday, Thursday, Saturday and Sunday",
    "0 3 1 * *": "at 03:00 on day 1 of every month",
    "0 3 1 1,4,7,10 *": "at 03:00 on day 1 of January, April, July and October",
    "0 3 */7 * *": "at 03:00 on days 1, 8, 15, 22 and 29 of every month",
    "0 3 L * *": "at 03:00 on the last day of every month",
    "0 3 29 2 *": "at 03:00 on day 29 of February",
    "0 3 * 6 *": "at 03:00 every day in June",
    "0 3 * 6 1": "at 03:00 on Monday in June",
    "0 3 * * 1#2": "at 03:00 on the second Monday of every month",
    "0 3 1-7 * 1": "at 03:00 on days 1 to 7 of every month, and on Monday",
}
"""Each worked out by hand; the last fires on either, as cron has it."""


@pytest.mark.long
@pytest.mark.parametrize("rule", WORDS)
def test_words_are_the_times(rule):
    """And a rule of days is in the schedule's own zone."""
    assert in_words(Schedule(cron=rule).prefect()) == f"{WORDS[rule]}, UTC"
    assert in_words(Schedule(cron="15 2 * * 1", timezone=BERLIN).prefect()) == f"at 02:15 on Monday, {BERLIN}"


COUNTED = {"0 3 1-31/2 * 1": 18, "0 3 1-7 * 1": 10, "0 3 * * 1": 4, "0 3 */2 * *": 16, "*/30 8-9 1 * *": 4}
"""Runs in January 2027, counted in a calendar: Monday is the 4th."""


def test_a_list_of_days_that_cron_would_lose_in_march_is_written_as_an_rrule():
    """Prefect's reading of cron leaves out the first of March, as the message says."""
    rule = Schedule(rrule="FREQ=MONTHLY;BYMONTHDAY=1,15,30;BYHOUR=3;BYMINUTE=0;BYSECOND=0").prefect()
    start = datetime(2027, 2, 1, tzinfo=UTC)
    assert [f"{time:%m-%d}" for time in times(rule, 5, start)] == ["02-01", "02-15", "03-01", "03-15", "03-30"]


@pytest.mark.parametrize("rule", COUNTED)
def test_a_schedule_fires_as_often_as_the_calendar_says(rule):
    """By the scheduler's own arithmetic."""
    start, end = datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 31, 23, 59, tzinfo=UTC)
    assert len(times(Schedule(cron=rule).prefect(), start=start, end=end)) == COUNTED[rule]


REFUSED = {
    'cron: "0 3 */2 * 1"': "two readings: on Friday 2027-01-01",
    'cron: "0 3 */100,1-7 * 1"': "two readings",
    'cron: "0 3 1 * */2"': "two readings",
    'cron: "0 3 1,15,30 * *"': "on Monday 2027-03-01 it fires by that of cron and not by that of Prefect's scheduler",
    'cron: "0 22-2 * * *"': "cron itself cannot read",
    'cron: "0 3 * * fri-mon"': "cron itself cannot read",
    'cron: "0 0 3 * * *"': "has 6 fields, and five are read: a sixth one is of seconds",
    'cron: "0 0 3 * * * 2027"': "7 fields",
    'cron: "0 0 31 2 *"': "no time at which it fires",
    'cron: "0 0 31 4,6,9,11 *"': "no time at which it fires",
    'cron: "0 0 30 2 *"': "no time at which it fires",
    'cron: "61 3 * * *"': "cron",
    f'cron: "0 * * * 0", timezone: {BERLIN}': "one hour would have no run",
    f'rrule: "FREQ=HOURLY;INTERVAL=1;BYDAY=SU", timezone: {BERLIN}': "one hour would have no run",
    'rrule: "FREQ=DAILY;UNTIL=20281231T000000Z"': "write it without Z",
    f'rrule: "DTSTART:20260101T000000Z\\nRRULE:FREQ=DAILY", timezone: {BERLIN}': "not of UTC",
    'rrule: "DTSTART;TZID=Europe/Berlin:20260101T000000\\nRRULE:FREQ=DAILY"': "not of EUROPE/BERLIN",
    'rrule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"': "does not fire in six years",
    'rrule: "FREQ=DAILY;COUNT=3"': "without DTSTART it begins",
    'rrule: "FREQ=MINUTELY"': "give cron or an interval",
    'rrule: "FREQ=DAILY;BYSECOND=0,30"': "two runs are 30 s apart",
    'rrule: "FREQ=FORTNIGHTLY"': "write an iCalendar rule",
}


@pytest.mark.long
@pytest.mark.parametrize("rule", REFUSED)
def test_what_fires_never_or_by_two_readings_is_refused_where_it_stands(rule, tmp_path):
    """With file, line and field, before anything is deployed."""
    (tmp_path / "d.yaml").write_text(
        "dataset: d\nunit: row\ncap: zcdp:1\nprivate: /data/p.csv\npublic: /data/q.csv\nreleases:\n"
        "  - name: r\n    estimator: mean\n    allotment: zcdp:0.1\n    schedule:\n      active: true\n      {}\n"
    )
    lines = "\n      ".join(rule.split(", timezone")[:1] + ([f"timezone: {BERLIN}"] if "timezone" in rule else []))
    (tmp_path / "d.yaml").write_text((tmp_path / "d.yaml").read_text().replace("{}", lines))
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path / "d.yaml")
    field = rule.partition(":")[0]
    assert str(refused.value).startswith(f"{tmp_path}/d.yaml, line 12: releases[0].schedule.{field}: ")
    assert REFUSED[rule] in str(refused.value)


HOURLY = [
    {"cron": "7 * * * *", "timezone": BERLIN},
    {"cron": "*/20 0-23 * * *", "timezone": "America/New_York"},
    {"cron": "7,40 * * * 0-6", "timezone": "Australia/Adelaide"},
    {"cron": "0 * * * *", "timezone": "America/St_Johns"},
    {"cron": "0 * * * *", "timezone": "Africa/Casablanca"},
    {"cron": "@hourly", "timezone": "Asia/Kolkata"},
    {"rrule": "FREQ=HOURLY;BYMINUTE=7", "timezone": BERLIN},
    {"interval": 3600, "timezone": BERLIN},
    {"interval": 1800, "timezone": "America/New_York"},
]


@pytest.mark.long
@pytest.mark.parametrize("rule", HOURLY, ids=str)
def test_an_hourly_series_has_runs_every_hour_of_the_year(rule):
    """Where clocks are set back an hour comes twice, and had runs once; minutes of the zone stay as they are."""
    schedule = Schedule(**rule).prefect()
    minutes = set()
    for day in (date(2026, 2, 14), date(2026, 3, 28), date(2026, 4, 4), date(2026, 10, 24), date(2026, 10, 31)):
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        due = [time.timestamp() for time in times(schedule, start=start, end=start + timedelta(days=2))]
        assert due[0] - start.timestamp() <= 3600
        assert {after - before <= 3600 for before, after in pairwise(due)} == {True}
        counted = Counter(int(time // 3600) for time in due)
        assert len({*counted.values()} - {min(counted.values())}) <= 1  # the last hour has begun
        minutes |= {datetime.fromtimestamp(time, schedule_zone(rule)).minute for time in due}
    assert minutes == {"7 * * * *": {7}, "7,40 * * * 0-6": {7, 40}, "*/20 0-23 * * *": {0, 20, 40}}.get(
        rule.get("cron", ""), {7} if "rrule" in rule else {0}
    ) | ({30} if rule.get("interval") == 1800 else set())
    assert str(period_of(schedule)).startswith(("hour", "minute", "every"))


def schedule_zone(rule):
    from zoneinfo import ZoneInfo

    return ZoneInfo(rule["timezone"])


def test_other_schedules_stay_on_the_clock_of_their_zone():
    """What does not fire in every hour, and where no clock changes."""
    assert Schedule(interval=86_400, timezone=BERLIN).prefect().timezone == BERLIN
    for rule in ("0 3 * * *", "0 */2 * * *", "*/20 8-18 * * *", "0 * * * 1-5", "0 0-6 * * *"):
        assert Schedule(cron=rule, timezone=BERLIN).prefect().timezone == BERLIN
    assert Schedule(cron="0 * * * *", timezone="Asia/Kolkata").prefect().timezone == "Asia/Kolkata"


def test_the_next_times_are_listed():
    """Ten of them on the schedule's clock; or as many as there are."""
    told = next_times(Schedule(cron="15 2 * * 1", timezone=BERLIN).prefect())
    words, _, listed = told.partition("; ")
    assert words == f"at 02:15 on Monday, {BERLIN}"
    assert listed.startswith(f"next ({BERLIN}): 2")
    found = [datetime.strptime(part[-16:], "%Y-%m-%d %H:%M") for part in listed.split(", ")]
    assert [after - before for before, after in pairwise(found)] == [timedelta(days=7)] * 9
    ended = Schedule(rrule="FREQ=DAILY;UNTIL=20260301T000000").prefect()
    assert next_times(ended).endswith("next (UTC): never again")
