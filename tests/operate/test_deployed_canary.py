"""Deployed runs on a table with marked rows: no mark is in anything that server, worker and runs keep or say."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.datasets import write_dataset
from helpers.frail import MIXTURE, working
from helpers.leaks import make_canaries, needles, plant, search
from helpers.served import PATIENCE, Served
from prefect.exceptions import PrefectHTTPStatusError

from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]

# released means of the mixture, and of the one Gaussian, are in these spans
CANARIES = make_canaries(500, 3, seed=23, apart_from=[(2200, 2800), (4500, 5500), (7200, 7800)])
WANTED = needles(CANARIES.rows, CANARIES.strings)
DECOYS = make_canaries(3, 1, seed=99).rows.ravel().tolist()
COLUMNS = ["age", "cost", "stay"]

GAUSSIAN = {"name": "gaussian", "estimator": "gaussian", "allotment": "zcdp:0.5"}
EVERY_MINUTE = {"schedule": {"interval": 60}, "period": "day"}
"""The first run pays, those of later minutes replay it."""


@pytest.fixture(scope="module")
def deployed(served: Served, tmp_path_factory) -> Served:
    """Marked rows in `marked`, on a schedule, in `damaged`, whose pages cannot be read, and in `debugged`."""
    folder = tmp_path_factory.mktemp("marked")
    generator = np.random.default_rng(0)
    others = [generator.normal(centre, 300, (2000, 3)) for centre in (2500, 7500)]
    public = np.concatenate([generator.normal(centre, 300, (30, 3)) for centre in (2500, 7500)]).round(1)
    pd.DataFrame(public, columns=COLUMNS).to_parquet(folder / "public.parquet")
    files: list = []
    pools = {"marked": served.pool, "damaged": served.pool, "debugged": "debugged"}
    for name, pool in pools.items():
        plant(folder / name, CANARIES, COLUMNS, np.concatenate(others))
        mixture = MIXTURE | (EVERY_MINUTE if name == "marked" else {})
        more = {"private": folder / name, "public": folder / "public.parquet", "pool": pool, "output": served.output}
        more |= {"columns": ["age", "cost", "log1p(stay)"], "table_changes": True}
        files.append(write_dataset(served.datasets, name, folder, "zcdp:3", mixture, GAUSSIAN, **more))
    pages = next((folder / "damaged").rglob("*.parquet"))
    data = bytearray(pages.read_bytes())
    data[4:30_000] = bytes(29_996)
    pages.write_bytes(data)
    done = served.run("deploy", *files, "--set-budget")
    assert done.returncode == 0, done.stdout + done.stderr
    return served


@dataclass(frozen=True)
class Runs:
    """How the runs ended: one that the scheduler made, one by hand, on damaged pages, on a worker in debug mode."""

    scheduled: Any
    by_hand: Any
    failed: Any
    debugged: Any


@pytest.fixture(scope="module")
def finished(deployed: Served, tmp_path_factory) -> Runs:
    """All of them, and no further ones: what is searched should not move."""
    by_hand, failed = (deployed.trigger(f"{name}.gaussian", release_id="hand") for name in ("marked", "damaged"))
    log = tmp_path_factory.mktemp("debugged") / "worker.log"
    with working(deployed, "debugged", log, PREFECT_DEBUG_MODE="true"):
        debugged = deployed.await_run(deployed.trigger("debugged.gaussian", release_id="debug"))
    deadline = time.monotonic() + PATIENCE
    done: list = []
    while not done and time.monotonic() < deadline:
        time.sleep(1)
        done = [run for run in deployed.runs("marked.mixture") if run.state_name == "Completed"]
    assert done, deployed.worker_log()
    with deployed.client() as client:
        client.pause_deployment(deployed.deployment("marked.mixture").id)
    return Runs(done[0], *map(deployed.await_run, (by_hand, failed)), debugged)


def counted(served: Served, kind: str, run) -> int:
    """How many log lines, artifacts or events the server keeps about a run."""
    filters = {
        "logs": {"logs": {"flow_run_id": {"any_": [str(run.id)]}}},
        "artifacts": {"artifacts": {"flow_run_id": {"any_": [str(run.id)]}}},
        "events": {"filter": {"any_resource": {"id": [f"prefect.flow-run.{run.id}"]}}},
    }[kind]
    with served.client() as client:
        answer = client.request("POST", f"/{kind}/filter", json=filters).json()
    return len(answer["events"] if kind == "events" else answer)


def test_runs_end_as_they_should(finished):
    """The scheduled run and the one by hand complete; on damaged pages a run fails with the one fixed text."""
    assert finished.scheduled.auto_scheduled
    assert finished.by_hand.state_name == "Completed"
    assert finished.failed.state_name == "Failed"
    assert "a private step failed" in finished.failed.state.message


def test_a_deployed_run_refuses_debug_mode(deployed, finished):
    """On a worker that has it on: it reads nothing and says why."""
    assert finished.debugged.state_name == "Failed"
    assert "PREFECT_DEBUG_MODE is on" in finished.debugged.state.message
    with Ledger.open(deployed.ledger, create=False) as ledger:
        assert ledger.history("debugged") == []


def test_whoever_starts_a_run_cannot_turn_debug_mode_on(deployed):
    """The server takes no environment for a run but that of its file."""
    deployment = deployed.deployment("marked.gaussian")
    environment = {"env": {**deployment.job_variables["env"], "PREFECT_DEBUG_MODE": "true"}}
    with deployed.client() as client, pytest.raises(PrefectHTTPStatusError, match="PREFECT_DEBUG_MODE"):
        client.create_flow_run_from_deployment(deployment.id, job_variables=environment)


def test_serve_refuses_debug_mode(served, tmp_path):
    """`pubpriv serve` says why it does not start, and starts nothing."""
    done = served.run("serve", "--port", 0, "--home", tmp_path / "home", PREFECT_DEBUG_MODE="true")
    assert done.returncode == 2
    assert "PREFECT_DEBUG_MODE is on" in done.stderr
    assert not (tmp_path / "home").exists()


def test_no_mark_is_anywhere(deployed, finished):
    """Not in the server's database, storage, logs, events, artifacts, the worker's output, the ledger, the releases."""
    for run in (finished.scheduled, finished.by_hand, finished.failed):
        assert counted(deployed, "logs", run) > 3
    for run in (finished.scheduled, finished.by_hand):
        assert counted(deployed, "artifacts", run) > 3
    assert any(counted(deployed, "events", finished.scheduled) or time.sleep(1) for _ in range(20))
    names = {path.name for path in deployed.home.rglob("*")}
    assert {"prefect.db", "ledger.db", "server.log", "worker.log", "storage", "hand.json", "hand.html"} <= names
    assert search([deployed.home], {"console": deployed.said()}, WANTED) == []


def test_a_mark_would_have_been_found(deployed, finished):
    """One in a log line, one in an artifact, one in the name of a run: each is found in the server's database."""
    line, cell, text = (repr(value) for value in DECOYS)
    run = {"flow_run_id": str(finished.scheduled.id)}
    log = {"name": "x", "level": 20, "message": line, "timestamp": finished.scheduled.start_time.isoformat()}
    with deployed.client() as client:
        client.request("POST", "/logs/", json=[log | run])
        client.request("POST", "/artifacts/", json={"type": "table", "data": f'[{{"x": {cell}}}]'} | run)
        client.request("PATCH", f"/flow_runs/{finished.scheduled.id}", json={"name": f"run {text}"})
    hits = search(deployed.home.glob("prefect/prefect.db*"), {}, needles(DECOYS))
    assert {hit.canary for hit in hits} == {line, cell, text}
