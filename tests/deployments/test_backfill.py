"""Backfill: which periods are missing, and what they cost."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pubpriv.deployments.backfill import _moment, plan, trigger
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

BERLIN = "Europe/Berlin"


@pytest.fixture
def daily(tmp_path, monkeypatch):
    """A daily deployment, as the server tells it, on a ledger where one day has a release and one was begun."""
    from prefect.client.schemas.schedules import CronSchedule

    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))
        for day in (2, 3):
            ledger.run("visits", f"mean-2026-03-0{day}").open(parse_budget("zcdp:0.1"))
        ledger.run("visits", "mean-2026-03-02").close("done")
    form = {
        "dataset": "visits",
        "ledger": "PUBPRIV_LEDGER",
        "budget": "zcdp:0.1",
        "period": f"day {BERLIN}",
        "series": "mean",
    }
    rule = CronSchedule(cron="15 2 * * *", timezone=BERLIN)
    return SimpleNamespace(
        name="visits.mean", parameters={"parameters": form}, schedules=[SimpleNamespace(schedule=rule)]
    )


def test_missing_periods_are_found_and_priced(daily):
    """Of five days one has a release; one was begun and has its money; the others cost their allotment each."""
    found = plan(daily, "2026-03-01", "2026-03-05")
    assert [each.release_id for each in found.missing] == [f"mean-2026-03-0{day}" for day in (1, 3, 4, 5)]
    assert (found.present, found.resumed, found.paid, found.fitting) == (1, ("mean-2026-03-03",), 3, 9)
    assert found.price_text(found.each, found.paid) == "0.3 rho"
    assert found.price_text(found.remaining) == "0.9 rho"
    assert found.missing[0].due.astimezone(UTC) == datetime(2026, 3, 1, 1, 15, tzinfo=UTC)


def test_releases_of_a_table_that_grows_are_those_of_the_periods_that_had_ended(daily):
    """The run of the third asks the rows of the second: its release id says so, and so does the form it gets."""
    daily.parameters["parameters"]["rows_of"] = "day"
    daily.id = "0"
    found = plan(daily, "2026-03-02", "2026-03-04")
    assert [each.release_id for each in found.missing] == ["mean-2026-03-01", "mean-2026-03-03"]
    forms = []

    def create_flow_run_from_deployment(_, parameters, name):
        forms.append(parameters["parameters"])
        return SimpleNamespace(name=name)

    trigger(SimpleNamespace(create_flow_run_from_deployment=create_flow_run_from_deployment), daily, found.missing)
    assert [(form["rows_of"], form["release_id"]) for form in forms] == [
        ("2026-03-01", "mean-2026-03-01"),
        ("2026-03-03", "mean-2026-03-03"),
    ]


def test_a_backfill_ends_now(daily):
    """Periods that are to come are the schedule's own business."""
    assert all(each.due <= datetime.now(UTC) for each in plan(daily, "2026-11-01", "2036-11-01").missing)


BAD = {
    ("2026-03-05", "2026-03-01"): "--from must lie before --to",
    ("soon", "2026-03-01"): "not 'soon'",
    ("2000-01-01", "2026-03-01"): "a part at a time",
}


@pytest.mark.parametrize("span", BAD, ids=["backwards", "no date", "too long"])
def test_a_span_that_makes_no_sense_is_refused(daily, span):
    """Each says what to write."""
    with pytest.raises(InvalidInput, match=BAD[span]):
        plan(daily, *span)


def test_what_has_no_schedule_cannot_have_missed_a_run(daily):
    """An audit, or a deployment that is run by hand."""
    daily.schedules = []
    with pytest.raises(InvalidInput, match="no schedule"):
        plan(daily, "2026-03-01", "2026-03-05")


def test_a_day_is_meant_in_the_zone_of_the_schedule():
    """Its beginning, its end, and an offset that somebody wrote."""
    assert _moment("2026-03-01", BERLIN).astimezone(UTC) == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert _moment("2026-03-01", BERLIN, end=True).astimezone(UTC).replace(microsecond=0) == datetime(
        2026, 3, 1, 22, 59, 59, tzinfo=UTC
    )
    assert _moment("2026-03-01T02:00:00+00:00", BERLIN, end=True) == datetime(2026, 3, 1, 2, tzinfo=UTC)
