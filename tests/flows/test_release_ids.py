"""Release ids from the scheduled time: doubled, late and retried runs are one release, and cost what one costs."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from helpers.tables import gaussian_tables

from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput
from pubpriv.flows import again
from pubpriv.flows.periods import CALENDAR, Period, release_id_for, rows_for
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

BERLIN = "Europe/Berlin"
NIGHT = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
"""In Berlin it is the 21st."""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


NAMES = {
    "year": "2026",
    "quarter": "2026-Q4",
    "month": "2026-11",
    "week": "2026-W47",
    "day": "2026-11-20",
    "hour": "2026-11-20T23Z",
    "minute": "2026-11-20T2330Z",
    f"day {BERLIN}": "2026-11-21",
    f"hour {BERLIN}": "2026-11-20T23Z",
    "every 5400 s from 2026-01-01T00:00:00+00:00": "2026-11-20T2230Z",
    "every 45 s from 2026-01-01T00:00:00+00:00": "2026-11-20T233000Z",
    f"every 172800 s from 2026-01-01T01:30:00+00:00 {BERLIN}": "2026-11-19T0230",
}


@pytest.mark.parametrize("text", NAMES)
def test_a_period_has_a_name_and_a_text_that_reads_back(text):
    """The name of each kind of period at one moment, and the same period from its own text."""
    period = Period.parse(text)
    assert period.name(NIGHT) == NAMES[text]
    assert Period.parse(str(period)) == period
    assert release_id_for(NIGHT, period, "mean") == f"mean-{NAMES[text]}"


def test_the_year_of_a_week_is_the_weeks_own():
    """The first days of January belong to the last week of the year before."""
    assert Period.parse("week").name(at("2027-01-02T00:00:00+00:00")) == "2026-W53"


NO_PERIODS = ["", "fortnight", "day Mars/Olympus", "every 0 s from now", "every 60 s from 2026-01-01"]


def test_a_schedule_is_said_in_words():
    """Cron by a library that reads it as cron does; whole units of an interval; a rule that nobody reads as it is."""
    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule, RRuleSchedule

    from pubpriv.deployments.schedules import in_words

    said = {
        "at 02:15 every day, Europe/Berlin": CronSchedule(cron="15 2 * * *", timezone=BERLIN),
        "every minute": IntervalSchedule(interval=timedelta(seconds=60)),
        "every 90 minutes": IntervalSchedule(interval=timedelta(seconds=5400)),
        "by the rule FREQ=DAILY;BYHOUR=2, UTC": RRuleSchedule(rrule="FREQ=DAILY;BYHOUR=2"),
    }
    assert [in_words(schedule) for schedule in said.values()] == list(said)


@pytest.mark.parametrize("text", NO_PERIODS)
def test_what_is_no_period_is_refused_with_the_grammar(text):
    """Each message says what a period looks like."""
    with pytest.raises(InvalidInput, match=r"a period is|no time zone"):
        Period.parse(text)


def test_a_time_without_a_zone_is_refused():
    """It would be read as the machine's."""
    with pytest.raises(InvalidInput, match="time zone"):
        release_id_for(NIGHT.replace(tzinfo=None), Period.parse("day"))


def test_a_late_or_doubled_start_changes_nothing():
    """The id follows from the time that was scheduled, written in any zone."""
    scheduled = at("2026-11-21T02:15:00+01:00")
    ids = {
        release_id_for(moment, Period.parse(f"day {BERLIN}"))
        for moment in (scheduled, scheduled.astimezone(UTC), scheduled.astimezone(ZoneInfo("Asia/Tokyo")))
    }
    assert ids == {"2026-11-21"}


CHANGES = {"spring": datetime(2026, 3, 26, tzinfo=UTC), "autumn": datetime(2026, 10, 22, tzinfo=UTC)}
"""Some days before clocks change in Berlin."""

CRONS = {"15 2 * * *": "day", "0 * * * *": "hour", "*/20 * * * *": "minute", "0 3 * * 1": "week", "0 3 1 * *": "month"}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("cron", CRONS)
def test_every_time_of_a_cron_schedule_has_a_period_of_its_own_across_clock_changes(cron, change):
    """Over the night with 23 hours and the night with 25 no two runs share an id, by Prefect's own arithmetic."""
    from prefect.client.schemas.schedules import CronSchedule

    from pubpriv.deployments.schedules import period_of, times

    rule = CronSchedule(cron=cron, timezone=BERLIN)
    period = period_of(rule)
    assert period.unit == CRONS[cron]
    due = times(rule, 300, CHANGES[change])
    assert len({period.name(time) for time in due}) == len(due) == 300


@pytest.mark.parametrize("seconds", [3600, 86_400, 259_200])
@pytest.mark.parametrize("began", ["2026-01-10T02:30:00+01:00", "2026-07-10T02:30:00+02:00"])
def test_slots_of_an_interval_stay_apart_however_prefect_counts_them(seconds, began):
    """Prefect counts long intervals from now, by the wall clock: a run may be due an hour before or after its slot
    begins, as it is seen in winter or in summer. Seen from any day of the year, slots follow each other one by one,
    and a run that is seen from two days has one name.
    """
    from prefect.server.schemas.schedules import IntervalSchedule

    anchor = at(began)
    rule = IntervalSchedule(interval=timedelta(seconds=seconds), anchor_date=anchor, timezone=BERLIN)
    period = Period("every", BERLIN, seconds, anchor.astimezone(UTC))

    async def seen_from(start: datetime) -> list[datetime]:
        return await rule.get_dates(90, start=start)

    names: dict[str, set[datetime]] = {}
    for day in range(0, 400, 9):
        start = datetime(2026, 7, 11, tzinfo=UTC) + timedelta(days=day)
        due = [datetime.fromtimestamp(time.timestamp(), UTC) for time in asyncio.run(seen_from(start))]
        own = [period.name(time) for time in due]
        assert len(set(own)) == len(own)
        assert own == sorted(own)
        for name, time in zip(own, due, strict=True):
            names.setdefault(name, set()).add(time)
    assert all(max(times) - min(times) <= timedelta(hours=2) for times in names.values())
    starts = sorted(min(times) for times in names.values())
    assert min(after - before for before, after in pairwise(starts)) >= timedelta(seconds=seconds, hours=-2)


@pytest.mark.parametrize(
    ("scheduled", "rows_of", "zone", "name"),
    [
        ("2026-11-01T02:15:00+00:00", "month", "UTC", "2026-10"),
        ("2026-11-30T23:59:00+00:00", "month", "UTC", "2026-10"),
        ("2026-11-01T00:15:00+01:00", "month", "UTC", "2026-09"),
        ("2026-11-01T00:15:00+01:00", "month", BERLIN, "2026-10"),
        ("2027-01-04T02:15:00+00:00", "week", "UTC", "2026-W53"),
        ("2026-11-01T02:15:00+00:00", "2025-Q4", "UTC", "2025-Q4"),
    ],
)
def test_rows_are_those_of_the_last_period_that_had_ended_when_a_run_was_due(scheduled, rows_of, zone, name):
    """In the days of the schedule's zone; or those of the period that is named."""
    assert rows_for(at(scheduled), rows_of, zone) == name


def test_the_finest_period_is_the_last_that_is_tried():
    """A coarser period than the schedule allows would lose releases; the order of the list is what guards it."""
    moments = [NIGHT + timedelta(minutes=step) for step in range(60 * 24 * 40)][::17]
    counts = [len({Period.parse(unit).name(moment) for moment in moments}) for unit in CALENDAR]
    assert counts == sorted(counts)
    assert len(set(counts)) >= 5


# --- through Prefect -----------------------------------------------------------------------------------------


@pytest.fixture
def deployed(prefect_server, tmp_path, monkeypatch):
    """A dataset on a ledger, and its daily deployment on the session's server."""
    from pubpriv.deployments.files import read
    from pubpriv.deployments.register import identity, register, server
    from pubpriv.deployments.render import render

    gaussian_tables(tmp_path)
    url = f"sqlite:///{tmp_path}/ledger.db"
    monkeypatch.setenv("PUBPRIV_LEDGER", url)
    with Ledger.open(url) as ledger:
        table = PrivateTable.open(tmp_path / "private.parquet", ["a", "b"])
        ledger.register("twice", budget=parse_budget("zcdp:1"), table=table)
    monkeypatch.setenv("PUBPRIV_ALLOW", str(tmp_path))
    (tmp_path / "twice.yaml").write_text(
        f"dataset: twice\nunit: one patient\ncap: zcdp:1\ntable_changes: true\n"
        f"private: {tmp_path}/private.parquet\npublic: {tmp_path}/public.parquet\n"
        'releases: [{name: mean, estimator: mean, allotment: "zcdp:0.25", '
        f'schedule: {{cron: "15 2 * * *", timezone: {BERLIN}}}}}]\n'
    )
    with server() as client:
        register(client, render([read(tmp_path / "twice.yaml")]))
        yield url, client, identity(client, "twice.mean")


def at_work(client, deployment, run):
    """The final state of a deployed run, which this process does as a worker's would."""
    from prefect.flow_engine import run_flow_sync

    from pubpriv.estimators import MEAN
    from pubpriv.flows.estimate import estimate_mean
    from pubpriv.flows.parameters import form_of

    return run_flow_sync(
        estimate_mean,
        flow_run=client.read_flow_run(run.id),
        parameters={"parameters": form_of(MEAN)(**deployment.parameters["parameters"])},
        return_type="state",
    )


@pytest.mark.prefect
def test_a_doubled_and_a_retried_run_cost_what_one_run_costs(deployed):
    """Two runs for one scheduled time, and the first of them again: one release id, one set of charges, one model."""
    from prefect.states import AwaitingRetry, Scheduled

    url, client, deployment = deployed
    due = datetime(2026, 11, 21, 1, 15, tzinfo=UTC)

    def go(run):
        state = at_work(client, deployment, run)
        assert state.is_completed(), state.message
        return client.read_flow_run(run.id).name, state.result().mean.tobytes()

    runs = [client.create_flow_run_from_deployment(deployment.id, state=Scheduled(scheduled_time=due)) for _ in "ab"]
    first = go(runs[0])
    with Ledger.open(url) as ledger:
        spent = ledger.balance("twice").spent
    assert spent.main == pytest.approx(0.25e12)
    assert go(runs[1]) == first
    client.set_flow_run_state(runs[0].id, AwaitingRetry(scheduled_time=datetime.now(UTC)), force=True)
    assert go(runs[0]) == first
    assert first[0] == "twice-mean-2026-11-21"
    with Ledger.open(url) as ledger:
        assert ledger.balance("twice").spent == spent
        assert [run.release_id for run in ledger.history("twice")] == ["mean-2026-11-21"]


@pytest.mark.prefect
def test_a_deployed_run_without_its_turn_reads_and_spends_nothing(deployed, monkeypatch):
    """A slot that stays taken, and one that is not there: refused in words that say what to do."""
    from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate

    url, client, deployment = deployed
    monkeypatch.setenv("PUBPRIV_SLOT_SECONDS", "1")
    monkeypatch.setattr(again, "_WAITS", (0.01,))
    client.update_global_concurrency_limit("private-twice", GlobalConcurrencyLimitUpdate(active_slots=1))
    taken = at_work(client, deployment, client.create_flow_run_from_deployment(deployment.id))
    assert "held the slot private-twice for 1 s; nothing was read or spent" in taken.message
    assert "prefect gcl update private-twice --active-slots 0" in taken.message
    client.delete_global_concurrency_limit_by_name("private-twice")
    missing = at_work(client, deployment, client.create_flow_run_from_deployment(deployment.id))
    assert "prefect gcl create private-twice --limit 1" in missing.message
    with Ledger.open(url) as ledger:
        assert ledger.history("twice") == []
