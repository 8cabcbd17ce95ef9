"""`pubpriv status`: what it tells of a ledger and of a server, as JSON and as OpenMetrics."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from helpers.cli_world import run_program
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pubpriv.deployments.metrics import openmetrics
from pubpriv.flows import status
from pubpriv.flows.status import of_server
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger


@pytest.fixture
def url(tmp_path, monkeypatch):
    """A dataset with two runs, of which one is open, one that nobody asked, and an export of both."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        for name in ("visits", "asleep"):
            ledger.register(name, budget=parse_budget("zcdp:1"), unit="one patient")
        for release_id in ("one", "two"):
            ledger.run("visits", release_id).open(parse_budget("zcdp:0.25"))
        ledger.run("visits", "one").close("done")
        ledger.export(tmp_path / "books.jsonl")
    monkeypatch.setenv("PUBPRIV_LEDGER_WITNESS", str(tmp_path / "books.jsonl"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return url


def test_a_ledger_is_told_in_both_forms(url, monkeypatch, capsys):
    """The same figures; what is not known is null in the one and left out of the other."""
    told = json.loads(run_program(monkeypatch, capsys, "status", "--ledger", url, "--json").out)
    visits, asleep = (told["ledger"]["datasets"][name] for name in ("visits", "asleep"))
    assert (visits["remaining"], visits["held"], visits["releases"], visits["open_runs"]) == (0.75, 0.25, 2, 1)
    assert (visits["newest_release"], visits["releases_that_fit"]) == ("two", 3)
    assert visits["newest_release_day"] == f"{datetime.now(UTC):%Y-%m-%d}"
    assert (asleep["newest_release"], asleep["releases_that_fit"]) == (None, None)
    assert 0 <= told["ledger"]["export_age_seconds"] < 60
    assert told["server"] is None
    text = run_program(monkeypatch, capsys, "status", "--ledger", url, "--openmetrics").out
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(each.name, each.labels.get("dataset")): each.value for each in samples}
    assert found["pubpriv_budget_remaining", "visits"] == 0.75
    assert found["pubpriv_releases_that_fit", "visits"] == 3
    assert ("pubpriv_releases_that_fit", "asleep") not in found
    assert run_program(monkeypatch, capsys, "status", "--ledger", url, "--json", "--openmetrics").code == 2
    assert "fewer than" not in run_program(monkeypatch, capsys, "status", "--ledger", url).err
    with Ledger.open(url) as ledger:
        ledger.run("visits", "three").open(parse_budget("zcdp:0.25"))
    assert "releases like the newest fit: visits\n" in run_program(monkeypatch, capsys, "status", "--ledger", url).err


@pytest.mark.prefect
def test_a_server_is_told_with_what_does_not_begin(prefect_server, monkeypatch):
    """A run of ours that is pending for longer than it may be is stuck; one that is due, or somebody else's, is not."""
    from prefect.client.orchestration import get_client
    from prefect.states import Completed, Crashed, Failed, Late, Pending, Scheduled

    from pubpriv.flows.estimate import estimate_mean

    with get_client(sync_client=True) as client:

        def run(name, tag, state):
            return client.create_flow_run(estimate_mean, name=name, tags=[tag], state=state)

        run("stuck-one", "pubpriv", Pending())
        run("foreign-one", "other", Pending())
        run("due-one", "pubpriv", Scheduled(scheduled_time=datetime.now(UTC) - timedelta(minutes=30)))
        run("late-one", "pubpriv", Late(scheduled_time=datetime.now(UTC) - timedelta(minutes=30)))
        run("new-one", "pubpriv", Late(scheduled_time=datetime.now(UTC) - timedelta(minutes=1)))
        for name, state in (("bad-one", Failed()), ("mended-one", Crashed()), ("mended-one", Completed())):
            client.set_flow_run_state(run(name, "pubpriv", Scheduled()).id, state, force=True)
        nameless = run("nameless", "pubpriv", Scheduled())
        client.set_flow_run_state(nameless.id, Crashed(), force=True)
        assert "nameless" in of_server(client)["without_release"]
        resumes = {"parameters": {"resumes": {"run": "earlier", "after": str(nameless.id)}}}
        second = client.create_flow_run(estimate_mean, parameters=resumes, tags=["pubpriv"], state=Scheduled())
        client.set_flow_run_state(second.id, Completed(), force=True)
        before = of_server(client)
        assert "nameless" not in before["without_release"]
        assert before["without_release"]["bad-one"] == "Failed"
        assert not {"mended-one", "late-one"} & {*before["without_release"]}
        assert "stuck-one" not in before["stuck"]
        assert "late-one" in before["late"]
        assert not {"new-one", "due-one"} & {*before["late"]}
        monkeypatch.setattr(status, "_STUCK", timedelta(0))
        told = of_server(client)
    assert "stuck-one" in told["stuck"]
    assert not {"foreign-one", "due-one"} & set(told["stuck"])
    assert told["runs"]["Scheduled"] >= 1
    empty = {"datasets": {}, "read_only": {}, "export_age_seconds": None}
    assert f"pubpriv_stuck_runs {len(told['stuck'])}.0" in openmetrics(empty, told)
