"""A series of releases estimates one thing throughout, whatever a single run would have chosen."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from pubpriv.errors import SpecMismatch
from pubpriv.estimators import GAUSSIAN, MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.flows._series import kept_to_series
from pubpriv.flows.periods import CALENDAR, NAMES, Period
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

SPENT = "zcdp:0.5"


def write(folder, skewed):
    """The table of a month: Gaussian rows, or their exponentials."""
    for name, n, seed in (("private", 4000, 1), ("public", 30, 2)):
        rows = np.random.default_rng(seed).standard_normal((n, 2))
        frame = pd.DataFrame(np.exp(rows) if skewed and name == "private" else rows, columns=["a", "b"])
        frame.to_parquet(folder / f"{name}.parquet")


@pytest.fixture
def month(tmp_path):
    """Make the job of a month's release on a registered table."""
    write(tmp_path, skewed=False)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:5"), unit="one patient")

    def of(release_id, **settings):
        tables = f"{tmp_path}/private.parquet", f"{tmp_path}/public.parquet"
        return Job.of(GAUSSIAN, *tables, None, SPENT, "visits", url, release_id, **settings)

    return of


def test_later_releases_keep_to_what_the_first_was_of(month, tmp_path):
    """A release of the Gaussian, then one that leaves the target open: by itself it would be of the table."""
    first, told = kept_to_series(month("g-2026-10", target="gaussian"), "g")
    assert (first, told) == (month("g-2026-10", target="gaussian"), ())
    assert run_job(first).target == "gaussian"
    write(tmp_path, skewed=True)
    second, told = kept_to_series(month("g-2026-11"), "g")
    assert second == month("g-2026-11", target="gaussian")
    assert "target gaussian, as in release g-2026-10" in told[0]
    assert "YAML" in told[0]
    assert run_job(month("h-2026-11")).target == "moments"
    # a series of the table itself stays as it is, and another series has nothing before it
    for series, release_id in (("h", "h-2026-12"), (None, "g-2026-12"), ("g-2026", "g-2026-2026-12")):
        assert kept_to_series(month(release_id), series) == (month(release_id), ())


def test_a_run_that_began_keeps_what_it_began_with(month):
    """Also if the series has changed meanwhile: a retry is the same release, and costs nothing more."""
    assert run_job(month("g-2026-10", target="gaussian")).target == "gaussian"
    second = kept_to_series(month("g-2026-11"), "g")[0]
    answer = run_job(second)
    assert run_job(month("g-2026-12", target="moments")).target == "moments"
    again, told = kept_to_series(month("g-2026-11"), "g")
    assert (again, told) == (second, ())
    assert json.dumps(run_job(again).to_json()["mean"]) == json.dumps(answer.to_json()["mean"])
    with Ledger.open(second.ledger) as ledger:
        assert len(ledger.history("visits")) == 3
    with pytest.raises(SpecMismatch, match="target: gaussian then, auto now"):
        run_job(month("g-2026-11"))
    # a setting that the YAML file names holds, and the newest release is what the next one keeps to
    assert kept_to_series(month("g-2027-01", target="gaussian"), "g") == (month("g-2027-01", target="gaussian"), ())
    assert kept_to_series(month("g-2027-01"), "g")[0].settings.target == "auto"
    assert kept_to_series(month("g-2026-12"), "g")[0].settings.target == "moments"


def test_a_run_that_broke_off_has_chosen_nothing(month):
    """A run that began and asked nothing more is passed over."""
    job = month("g-2026-10")
    with Ledger.open(job.ledger) as ledger:
        run = ledger.run("visits", "g-2026-10")
        run.open(parse_budget(SPENT))
        run.start("gaussian", '{"target":"auto"}', "ab" * 32, None)
    assert kept_to_series(month("g-2026-11"), "g") == (month("g-2026-11"), ())


def test_estimators_without_such_a_choice_are_left_alone(month):
    """No ledger is opened for them."""
    mean = replace(month("m-2026-10"), estimator=MEAN, settings=MEAN.settings(), ledger="sqlite:////nowhere/at/all.db")
    assert kept_to_series(mean, "m") == (mean, ())


@pytest.mark.parametrize(
    "unit", [*CALENDAR, *(f"every {s} s from 2026-01-01T00:00:00+00:00" for s in (45, 5400, 86400))]
)
def test_names_of_all_periods_are_known(unit):
    """A release is of a series by its name: the series', and that of a period."""
    import re

    name = Period.parse(unit).name(datetime(2026, 11, 20, 23, 30, tzinfo=UTC))
    assert re.fullmatch(NAMES, name)
    assert not re.fullmatch(NAMES, f"daily-{name}")


@pytest.mark.prefect
def test_two_periods_of_a_deployment_are_of_one_target(prefect_server, tmp_path, month):
    """The flow keeps to it, its log says so, and what the second run began with stands in the ledger."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId

    from pubpriv.flows.estimate import FLOWS
    from pubpriv.flows.parameters import parameters_of

    states = []
    for release_id, settings in (("g-2026-10", {"target": "gaussian"}), ("g-2026-11", {})):
        write(tmp_path, skewed=not settings)
        form = parameters_of(month(release_id, **settings)).model_copy(update={"series": "g"})
        states.append(FLOWS["gaussian"](form, return_state=True))
    assert [state.result().target for state in states] == ["gaussian", "gaussian"]
    with Ledger.open(month("x").ledger) as ledger:
        begun = [json.loads(run.methods["gaussian"]["configuration"])["target"] for run in ledger.history("visits")]
    assert begun == ["gaussian", "gaussian"]
    from prefect.logging.handlers import APILogWorker

    APILogWorker.drain_all(timeout=30)
    wanted = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[states[1].state_details.flow_run_id]))
    with get_client(sync_client=True) as client:
        lines = [each.message for each in client.read_logs(wanted, limit=200)]
    assert any("target gaussian, as in release g-2026-10" in line for line in lines)
