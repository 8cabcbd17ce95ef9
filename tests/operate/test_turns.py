"""Deployed runs of one dataset take turns, a budget that is used up ends a schedule, and missed periods are run."""

import time
from datetime import UTC, datetime

import pytest
from helpers.datasets import MEAN, write_dataset
from helpers.served import PATIENCE, Served
from helpers.tables import write_groups
from helpers.task_names import title_of

from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]

CAPS_AND_RELEASES = {
    # pays for two runs, and has one a minute
    "scarce": ("zcdp:0.2", MEAN | {"schedule": {"interval": 60}}),
    # was scheduled every year, and nobody ran it
    "missed": ("zcdp:0.45", MEAN | {"schedule": {"cron": "15 2 1 1 *"}, "period": "year"}),
}


@pytest.fixture(scope="module", autouse=True)
def deployed(served: Served, tmp_path_factory) -> None:
    """Both datasets, on the server of the session."""
    folder = tmp_path_factory.mktemp("turns")
    files = []
    for seed, (name, (cap, release)) in enumerate(CAPS_AND_RELEASES.items(), start=1):
        write_groups(folder, name, seed)
        more = {"output": served.output, "table_changes": True}
        files.append(write_dataset(served.datasets, name, folder, cap, release, **more))
    done = served.run("deploy", *files, "--set-budget")
    assert done.returncode == 0, done.stdout + done.stderr


def tasks_of(served: Served, run) -> list:
    """Its task runs that its turn is for, once they are recorded."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    with served.client() as client:
        for _ in range(600):
            found = client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])))
            if found and all(task.end_time for task in found):
                break
            time.sleep(0.1)
    return [task for task in found if not task.name.startswith("store release")]


def test_two_deployments_of_one_dataset_take_turns(served: Served):
    """Both are at work at the same time, and the steps of one begin when those of the other have ended."""
    ids = [served.trigger(name, release_id=f"turn-{name}") for name in ("visits.mixture", "visits.gaussian")]
    runs = [served.await_run(each) for each in ids]
    assert [run.state_name for run in runs] == ["Completed"] * 2, served.worker_log()
    spans = []
    for run in runs:
        tasks = tasks_of(served, run)
        assert tasks
        spans.append((min(task.start_time for task in tasks), max(task.end_time for task in tasks)))
    flows = [(run.start_time, run.end_time) for run in runs]
    assert overlap(*flows), "both flow runs were there, and one waited"
    assert not overlap(*spans)


def overlap(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def test_overlap_is_seen():
    """The comparison above tells the two cases apart."""
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    assert overlap((moments[0], moments[2]), (moments[1], moments[3]))
    assert not overlap((moments[0], moments[1]), (moments[2], moments[3]))


def test_a_budget_that_is_used_up_ends_the_schedule(served: Served):
    """Two scheduled runs are paid; the third is refused before it reads, its state says why, and it is the last."""
    deadline = time.monotonic() + 2 * PATIENCE
    refused = []
    while not refused and time.monotonic() < deadline:
        time.sleep(2)
        runs = served.runs("scarce.mean")
        refused = [run for run in runs if run.state_name == "Failed"]
    assert refused, served.worker_log()
    deadline = time.monotonic() + 30
    while not served.deployment("scarce.mean").paused and time.monotonic() < deadline:
        time.sleep(0.5)
    assert served.deployment("scarce.mean").paused
    message = refused[0].state.message
    for words in ("the allotment does not fit", "'scarce'", "requested 0.1 rho", "of 0.2 rho", "What fits"):
        assert words in message, message
    before_the_hold = ("ingest", "validate")
    assert all(title_of(task).startswith(before_the_hold) for task in tasks_of(served, refused[0]))
    runs = served.runs("scarce.mean")
    assert sum(run.state_name == "Completed" for run in runs) == 2
    assert [run for run in runs if run.state_name == "Scheduled"] == []
    with Ledger.open(served.ledger, create=False) as ledger:
        balance, history = ledger.balance("scarce"), ledger.history("scarce")
    assert (len(history), balance.held.main) == (2, 0)
    assert balance.spent.main <= balance.cap.main


def test_missed_periods_are_priced_and_run_once(served: Served):
    """Two missed years are listed with their price and run; what has a release is left alone; no room is told."""
    words = ("backfill", "missed.mean", "--from", "2024-01-01", "--to", "2025-12-31")
    asked = served.run(*words)
    assert asked.returncode == 2
    assert "there is no terminal to ask at" in asked.stderr
    for text in ("mean-2024", "mean-2025", "0.1 rho", "together 0.2 rho, of 0.45 rho left for missed"):
        assert text in asked.stdout, asked.stdout
    told = served.run(*words, "--yes")
    assert told.returncode == 0, told.stderr
    deadline = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < deadline:
        runs = [run for run in served.runs("missed.mean") if not run.auto_scheduled]
        if len(runs) == 2 and all(run.state_name == "Completed" for run in runs):
            break
        time.sleep(1)
    assert [run.state_name for run in runs] == ["Completed"] * 2, served.worker_log()
    with Ledger.open(served.ledger, create=False) as ledger:
        assert sorted(run.release_id for run in ledger.history("missed")) == ["mean-2024", "mean-2025"]
    assert "nothing is missing: all 2 periods have a release" in served.run(*words, "--yes").stderr
    more = served.run("backfill", "missed.mean", "--from", "2020-01-01", "--to", "2025-12-31", "--yes")
    assert more.returncode == 3
    assert "4 releases would have to be paid for, and the budget of missed has room for 2" in more.stderr
