"""Another run after one that crashed: the same release, at most twice; as the server fills in its form."""

import json
import logging
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import StateType
from pydantic import ValidationError

from pubpriv.estimators import MEAN
from pubpriv.flows import again, deployed
from pubpriv.flows._crashes import _FORM
from pubpriv.flows.parameters import form_of

FORM = {
    "private": "/data/private.parquet",
    "public": "/data/public.parquet",
    "budget": "zcdp:0.1",
    "dataset": "visits",
    "ledger": "PUBPRIV_LEDGER",
    "series": "mean",
}


def after(run) -> dict:
    """The form of the run that the server makes after this one, by the server's own templates."""
    from prefect.server.utilities.user_templates import render_user_template_sync

    return json.loads(render_user_template_sync(_FORM, {"flow_run": run}))


def run(form, due=datetime(2026, 11, 20, 23, 59, tzinfo=UTC), state="CRASHED"):
    """A flow run as the server's templates see it."""
    seen = SimpleNamespace(type=StateType[state])
    return SimpleNamespace(id=uuid4(), expected_start_time=due, parameters={"parameters": form}, state=seen)


def release_id(monkeypatch, of, form) -> str:
    """What the run calls its release."""
    runtime = SimpleNamespace(scheduled_start_time=of.expected_start_time, id=str(of.id))
    monkeypatch.setattr(deployed, "flow_run", runtime)
    return deployed._release_id_of(form_of(MEAN)(**form))


@pytest.mark.parametrize("period", ["day", None])
def test_it_is_the_same_release_though_it_is_due_on_another_day(monkeypatch, period):
    """With a period and without one; a second crash still means the first run."""
    first = last = run(FORM | {"period": period})
    expected = release_id(monkeypatch, first, first.parameters["parameters"])
    for crashes in (1, 2):
        form = after(last)
        of_first = {"run": str(first.id), "due": "2026-11-20T23:59:00+00:00"}
        assert form["resumes"] == of_first | {"after": str(last.id), "crashes": crashes}
        last = run(form, datetime(2026, 11, 21, 0, 1, tzinfo=UTC))
        assert release_id(monkeypatch, last, form) == expected
    with pytest.raises(ValidationError, match="less than or equal to 2"):
        form_of(MEAN)(**after(last))


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED"])
def test_of_a_run_that_has_ended_no_other_one_is_made(state):
    """What the server would fill in is no JSON, so its action fails."""
    with pytest.raises(json.JSONDecodeError):
        after(run(FORM, state=state))
    assert after(run(FORM, state="RUNNING"))["resumes"]["crashes"] == 1  # found dead, and not marked yet


def test_the_server_refuses_a_third_one_by_its_schema():
    """What the deployment's form says is what the server checks before it makes a run."""
    from prefect.utilities.callables import parameter_schema
    from prefect.utilities.schema_tools.validation import is_valid

    from pubpriv.flows.estimate import FLOWS

    schema = parameter_schema(FLOWS["mean"]).model_dump_for_openapi()
    form = after(run(FORM))
    assert is_valid({"parameters": form}, schema)
    form["resumes"]["crashes"] = 3
    assert not is_valid({"parameters": form}, schema)


def test_each_crash_is_followed_by_a_longer_wait(monkeypatch):
    """The server waits 30 s each time, so the run after a second crash waits the rest of two minutes itself."""
    slept: list[float] = []
    monkeypatch.setattr(again.time, "sleep", slept.append)
    monkeypatch.setattr(again, "get_run_logger", lambda: logging.getLogger("test"))
    again.wait_after_crashes(None)
    last = run(FORM)
    for _ in range(2):
        form = after(last)
        again.wait_after_crashes(form_of(MEAN)(**form).resumes)
        last = run(form)
    assert slept == [90.0]
    assert again.AFTER_CRASHES == (30.0, 120.0)
    for words in ("after 15, then 60, then 240 s", "after 30, then 120 s"):
        assert words in again.in_words()
