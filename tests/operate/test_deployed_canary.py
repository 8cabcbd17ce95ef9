"""Deployed runs on a table with marked rows: no mark is in anything that server, worker and runs keep or say."""

import time

import numpy as np
import pandas as pd
import pytest
from leaks import make_canaries, needles, plant, search
from served import PATIENCE, Served

from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]

CANARIES = make_canaries(500, 3, seed=23)
WANTED = needles(CANARIES.rows, CANARIES.strings)
DECOY = make_canaries(3, 3, seed=99)
COLUMNS = ["age", "cost", "stay"]

YAML = """
dataset: {name}
unit: one patient
cap: zcdp:3
private: {folder}/{name}
public: {folder}/public.parquet
columns: [age, cost, log1p(stay)]
output: {output}
releases:
  - {{name: mixture, estimator: mixture, allotment: "zcdp:0.5", settings: {{components: 2}}{schedule}}}
  - {{name: gaussian, estimator: gaussian, allotment: "zcdp:0.5"}}
"""
EVERY_MINUTE = ", schedule: {interval: 60}, period: day"  # the first run pays, those of later minutes replay it


@pytest.fixture(scope="module")
def deployed(served: Served, tmp_path_factory) -> Served:
    """Marked rows in `marked`, on a schedule, and in `damaged`, whose pages cannot be read; tables lie elsewhere."""
    folder = tmp_path_factory.mktemp("marked")
    generator = np.random.default_rng(0)
    others = [generator.normal(centre, 300, (2000, 3)) for centre in (2500, 7500)]
    public = np.concatenate([generator.normal(centre, 300, (30, 3)) for centre in (2500, 7500)]).round(1)
    pd.DataFrame(public, columns=COLUMNS).to_parquet(folder / "public.parquet")
    for name, schedule in (("marked", EVERY_MINUTE), ("damaged", "")):
        plant(folder / name, CANARIES, COLUMNS, np.concatenate(others))
        text = YAML.format(name=name, folder=folder, output=served.output, schedule=schedule)
        (folder / f"{name}.yaml").write_text(text)
    pages = next((folder / "damaged").rglob("*.parquet"))
    data = bytearray(pages.read_bytes())
    data[4:30_000] = bytes(29_996)
    pages.write_bytes(data)
    done = served.run("deploy", folder / "marked.yaml", folder / "damaged.yaml", "--set-budget")
    assert done.returncode == 0, done.stdout + done.stderr
    return served


@pytest.fixture(scope="module")
def finished(deployed: Served):
    """One scheduled run of `marked`, a Gaussian by hand, and a run that fails inside a private step."""
    by_hand = [deployed.trigger(f"{name}-gaussian", release_id="hand") for name in ("marked", "damaged")]
    deadline = time.monotonic() + PATIENCE
    done: list = []
    while not done and time.monotonic() < deadline:
        time.sleep(1)
        done = [run for run in deployed.runs("marked-mixture") if run.state_name == "Completed"]
    assert done, deployed.worker_log()
    with deployed.client() as client:  # no further runs: what is searched should not move
        client.pause_deployment(deployed.deployment("marked-mixture").id)
    return done[0], [deployed.await_run(run) for run in by_hand]


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


def places(served: Served, wanted) -> set[str]:
    """Where marks are, in every file of the home folder and in what `pubpriv serve` said."""
    return {hit.place for hit in search([served.home], {"console": served.said()}, wanted)}


def test_runs_end_as_they_should(finished):
    """The scheduled run and the one by hand complete; on damaged pages a run fails with the one fixed text."""
    scheduled, (by_hand, failed) = finished
    assert scheduled.auto_scheduled
    assert by_hand.state_name == "Completed"
    assert failed.state_name == "Failed"
    assert "a private step failed" in failed.state.message


def test_no_mark_is_anywhere(deployed, finished):
    """Not in the server's database, storage, logs, events, artifacts, the worker's output, the ledger, the releases."""
    scheduled, (by_hand, failed) = finished
    for run in (scheduled, by_hand, failed):
        assert counted(deployed, "logs", run) > 3
    for run in (scheduled, by_hand):
        assert counted(deployed, "artifacts", run) > 3
    assert eventually_events(deployed, scheduled)
    names = {path.name for path in deployed.home.rglob("*")}
    assert {"prefect.db", "ledger.db", "server.log", "worker.log", "storage", "hand.json", "hand.html"} <= names
    assert places(deployed, WANTED) == set()


def eventually_events(served: Served, run) -> bool:
    """Events are written a moment later."""
    return any(counted(served, "events", run) or time.sleep(1) for _ in range(20))


def test_a_mark_would_have_been_found(deployed, finished):
    """One in a log line, one in an artifact, one in the name of a run: each is found in the server's database."""
    scheduled, _ = finished
    line, cell, text = (repr(value) for value in DECOY.rows[:, 0].tolist())
    with deployed.client() as client:
        run = {"flow_run_id": str(scheduled.id)}
        log = {"name": "x", "level": 20, "message": line, "timestamp": scheduled.start_time.isoformat()}
        client.request("POST", "/logs/", json=[log | run])
        artifact = {"key": "decoy", "type": "table", "data": f'[{{"x": {cell}}}]'}
        client.request("POST", "/artifacts/", json=artifact | run)
        client.request("PATCH", f"/flow_runs/{scheduled.id}", json={"name": f"run {text}"})
    found = set()
    for value in (line, cell, text):
        found |= {value for place in places(deployed, needles([float(value)])) if "prefect.db" in place}
    assert found == {line, cell, text}


def test_serve_refuses_debug_mode(served, tmp_path):
    """`pubpriv serve` says why it does not start, and starts nothing."""
    done = served.run("serve", "--port", 0, "--home", tmp_path / "home", PREFECT_DEBUG_MODE="true")
    assert done.returncode == 2
    assert "PREFECT_DEBUG_MODE is on" in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_deployed_run_refuses_debug_mode(deployed):
    """A worker that was started with it, or a run whose environment has it, reads nothing and says why."""
    deployment = deployed.deployment("marked-gaussian")
    form = {"parameters": {**deployment.parameters["parameters"], "release_id": "debug"}}
    environment = {"env": {**deployment.job_variables["env"], "PREFECT_DEBUG_MODE": "true"}}
    with deployed.client() as client:
        run = client.create_flow_run_from_deployment(deployment.id, parameters=form, job_variables=environment)
    ended = deployed.await_run(run.id)
    assert ended.state_name == "Failed"
    assert "PREFECT_DEBUG_MODE is on" in ended.state.message
    with Ledger.open(deployed.ledger, create=False) as ledger:
        assert "debug" not in [each.release_id for each in ledger.history("marked")]
    assert places(deployed, WANTED) == set()
