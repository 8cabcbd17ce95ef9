"""Deployed runs that do not begin, and those that are tried again: on a server, each in this process."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from helpers.tables import gaussian_tables

from pubpriv.deployments.budgets import budget_checks
from pubpriv.deployments.files import read
from pubpriv.deployments.register import register, server
from pubpriv.deployments.render import render
from pubpriv.flows import again, estimate
from pubpriv.privacy.ledger import Ledger

pytestmark = pytest.mark.prefect

FILE = """
dataset: fleet
unit: one patient
cap: zcdp:0.5
private: {folder}/private.parquet
public: {folder}/public.parquet
table_changes: true
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.1", schedule: {{cron: "15 2 * * *"}}}}
  - {{name: big, estimator: mean, allotment: "zcdp:0.3", schedule: {{cron: "15 3 * * *"}}}}
"""


class Fleet:
    """Two series of one dataset on a server, and their runs."""

    def __init__(self, folder, ledger):
        self.ledger = ledger
        (folder / "fleet.yaml").write_text(FILE.format(folder=folder))
        model = read(folder / "fleet.yaml")
        assert budget_checks([model], set_budget=True)[0].right
        with server() as client:
            register(client, render([model]))

    def deployment(self, series):
        with server() as client:
            return client.read_deployment_by_name(f"estimate-mean/fleet.{series}")

    def switch(self, series, on):
        with server() as client:
            (client.resume_deployment if on else client.pause_deployment)(self.deployment(series).id)

    def run(self, series, release_id, late=timedelta(0), scheduled=True, **more):
        """Run a release as a worker does, made by the schedule so long ago; give its final state."""
        from prefect.client.orchestration import SyncPrefectClient
        from prefect.flow_engine import run_flow
        from prefect.states import Scheduled

        with server() as client:
            known = self.deployment(series)
            form = {"parameters": known.parameters["parameters"] | {"release_id": release_id} | more}
            due = Scheduled(scheduled_time=datetime.now(UTC) - late)
            run = client.create_flow_run_from_deployment(known.id, parameters=form, state=due)
        real = SyncPrefectClient.read_flow_run

        def read(*names, **named):  # only the server's scheduler can mark a run as its own
            return real(*names, **named).model_copy(update={"auto_scheduled": scheduled})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SyncPrefectClient, "read_flow_run", read)
            return run_flow(estimate.FLOWS["mean"], flow_run=run, parameters=form, return_type="state")

    def releases(self):
        with Ledger.open(self.ledger, create=False) as ledger:
            return {run.release_id: len(run.charges) for run in ledger.history("fleet")}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, prefect_server):
    folder = tmp_path_factory.mktemp("fleet")
    gaussian_tables(folder, private=1500)
    url = f"sqlite:///{folder}/ledger.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBPRIV_LEDGER", url)
        patch.setenv("PUBPRIV_ALLOW", str(folder))
        patch.setattr(again, "_WAITS", (0.01, 0.01, 0.01))
        yield Fleet(folder, url)


def test_a_run_that_comes_too_late_is_skipped_and_charges_nothing(fleet):
    """Days late: told and nothing opened; once it has begun it goes on, however late."""
    state = fleet.run("mean", "late", timedelta(days=3))
    assert (state.name, state.type.value) == ("Skipped", "CANCELLED")
    assert "it was due 3 days ago, and a run of this series begins within 24 hours or never" in state.message
    assert "late" not in fleet.releases()
    assert fleet.run("mean", "late", timedelta(hours=20)).is_completed()
    assert fleet.run("mean", "late", timedelta(days=3)).is_completed()


def test_a_paused_series_runs_none_of_its_backlog(fleet):
    """What the schedule made before is skipped; a person may run it all the same."""
    fleet.switch("mean", on=False)
    state = fleet.run("mean", "backlog")
    assert state.name == "Skipped"
    assert "is paused. Release backlog was not made" in state.message
    assert "backlog" not in fleet.releases()
    assert fleet.run("mean", "by-hand", scheduled=False).is_completed()
    fleet.switch("mean", on=True)


def test_a_run_after_a_crash_that_was_none_does_nothing(fleet):
    """A server that was started anew may take a cancelled run for dead; what crashed, or failed, is gone on with."""
    from prefect.states import Cancelled, Crashed, Failed

    for state, name in ((Cancelled(), "Skipped"), (Failed(), "Completed"), (Crashed(), "Completed")):
        with server() as client:
            before = client.create_flow_run_from_deployment(fleet.deployment("mean").id)
            client.set_flow_run_state(before.id, state, force=True)
        resumes = {"run": str(before.id), "after": str(before.id), "due": "2026-11-20T02:15:00+00:00", "crashes": 1}
        ended = fleet.run("mean", f"after-{state.name}", scheduled=False, resumes=resumes)
        assert ended.name == name
        assert (f"after-{state.name}" in fleet.releases()) == ended.is_completed()


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_outage_of_the_server_is_no_defect_and_the_run_finishes_by_itself(fleet, monkeypatch, where):
    """An error of the client, before anything was paid or after all was: tried again, and paid once."""
    name = {"before": "run_job", "after": "publish_release"}[where]
    real, failed = getattr(estimate, name), []

    def unwell(*arguments, **named):
        if not failed:
            failed.append(name)
            request = httpx.Request("POST", "http://127.0.0.1/api/artifacts")
            raise httpx.HTTPStatusError("database is locked", request=request, response=httpx.Response(503))
        return real(*arguments, **named)

    monkeypatch.setattr(estimate, name, unwell)
    # one release for both: the second outage finds it paid
    assert fleet.run("mean", "outage").is_completed()
    assert failed == [name]
    assert fleet.releases()["outage"] == fleet.releases()["late"]


def test_an_outage_that_lasts_is_told_by_its_class_and_status(fleet, monkeypatch):
    """Failed and unavailable; the text of the client's error, which may quote what was sent, is not in it."""
    from pubpriv.errors import PubPrivError, Unavailable

    def refuse(error):
        def refused(*_, **__):
            raise error

        monkeypatch.setattr(estimate, "run_job", refused)
        with pytest.raises(PubPrivError) as told:
            fleet.run("mean", "outage").result()
        return told.value

    response = httpx.Response(503, request=httpx.Request("POST", "http://127.0.0.1"))
    locked = refuse(httpx.HTTPStatusError("secret", request=response.request, response=response))
    gone = refuse(httpx.ConnectError("secret"))
    full = refuse(OSError(28, "No space left on device", "/secret"))
    assert {type(error) for error in (locked, gone, full)} == {Unavailable}
    for error, words in (
        (locked, "(HTTPStatusError, status 503)"),
        (gone, "(ConnectError)"),
        (full, "no space is left"),
    ):
        assert words in str(error)
        assert "secret" not in str(error)
    bad = httpx.Response(422, request=response.request)
    assert "which is a defect" in str(refuse(httpx.HTTPStatusError("secret", request=bad.request, response=bad)))


def test_what_fits_no_more_is_paused_and_nothing_else(fleet):
    """The series whose run was refused; the smaller one of the same dataset goes on."""
    import time

    from pubpriv.flows.automations import ensure_automations

    ensure_automations()
    state = fleet.run("big", "too-big")
    assert state.is_failed()
    assert "the allotment does not fit" in state.message
    deadline = time.monotonic() + 60
    while not fleet.deployment("big").paused and time.monotonic() < deadline:
        time.sleep(0.1)
    assert fleet.deployment("big").paused
    assert not fleet.deployment("mean").paused
