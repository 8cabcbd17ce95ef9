"""`pubpriv serve`: up in seconds, schedules at work, runs that take turns, and an end that leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from helpers.served import PATIENCE, PUBPRIV, Served, clean_environment, serving
from helpers.stores import PASSWORD

from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
THEIRS = [f"estimate-{each}" for each in ("mixture/rand-people.mixture", "gaussian/rand-people.gaussian")]
EXAMPLES = {"rand-people.mixture", "rand-people.gaussian", "sensors.mean", "machines.mixture", "nightly"}


OWN = """
dataset: visits
unit: one patient
cap: zcdp:1
private: /data/private.parquet
public: /data/public.parquet
releases: [{name: mean, estimator: mean, allotment: "zcdp:0.25"}]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    """With the examples and their schedules, as somebody sees it who starts it first."""
    with serving(tmp_path_factory.mktemp("serve") / "home", migrated=False) as running:
        yield running


def test_it_is_up_in_half_a_minute_with_the_examples_registered(served: Served):
    """From the command to a server, a worker and every example deployment."""
    with served.client() as client:
        names = {each.name for each in client.read_deployments()}
    assert names >= EXAMPLES
    for line in ("UI:", "what runs next", "Ctrl-C ends"):
        assert line in served.said()
    if served.seconds >= 30 and served.load > 2 * (os.cpu_count() or 1):
        pytest.skip(f"{served.seconds:.0f} s, but at a load of {served.load:.0f} on {os.cpu_count()} processors")
    assert served.seconds < 30


def test_the_scheduler_creates_runs_and_a_worker_finishes_one(served: Served):
    """Runs that nobody asked for are there, a minute apart; one that was due completes, and is in the ledger."""
    deadline = time.monotonic() + PATIENCE
    finished = []
    while not finished and time.monotonic() < deadline:
        runs = [run for run in served.runs("sensors.mean") if run.auto_scheduled]
        finished = [run for run in runs if run.state_name == "Completed"]
        time.sleep(1)
    assert len(runs) > 10
    gaps = {(after.expected_start_time - run.expected_start_time).total_seconds() for run, after in pairwise(runs)}
    assert gaps == {60.0}
    assert finished, served.worker_log()
    release_id = f"mean-{finished[0].expected_start_time:%Y-%m-%dT%H%MZ}"
    assert finished[0].name == f"sensors-{release_id}"
    with Ledger.open(served.ledger, create=False) as ledger:
        assert ledger.run("sensors", release_id).bill().state.closed


def test_deploying_again_changes_nothing(served: Served):
    """The same files once more: every line says unchanged, what was paused too, and no deployment is another one."""
    with served.client() as client:  # from here on no run a minute slows down what follows
        client.pause_deployment(served.deployment("sensors.mean").id)
    before = {each: served.deployment(each).id for each in EXAMPLES}
    told = served.run("deploy")
    assert told.returncode == 0, told.stderr
    lines = [line for line in told.stdout.splitlines() if line.startswith(("work pool", "slot", "deployment"))]
    results = {line.rpartition(": ")[2] for line in lines}
    assert "deployment estimate-mean/sensors.mean: unchanged (it is paused)" in told.stdout
    assert results == {"unchanged", "unchanged (it is paused)"}
    assert {each: served.deployment(each).id for each in EXAMPLES} == before


def test_prefect_deploy_registers_what_pubpriv_deploy_does(served: Served):
    """Prefect's own command with `deployments/prefect.yaml`, and then ours: it only says whose the deployments are."""
    words = ["--no-prompt", "deploy", "--all", "--prefect-file", str(ROOT / "pubpriv" / "deployments" / "prefect.yaml")]
    theirs = subprocess.run(
        [sys.executable, "-m", "prefect", *words],
        env=served.environment,
        cwd=served.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert theirs.returncode == 0, theirs.stdout + theirs.stderr
    ours = served.run("deploy")
    assert ours.returncode == 0, ours.stderr
    results = dict(line.split(": ", 1) for line in ours.stdout.splitlines() if line.startswith("deployment estimate"))
    for name in THEIRS:
        before, after = results[f"deployment {name}"].removeprefix("changed (tags: ").removesuffix(")").split(" -> ")
        assert {*json.loads(after)} - {*json.loads(before)} == {"pubpriv-of-unnamed"}


def alive(process: psutil.Process) -> bool:
    """It is there, and not only waited for."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_its_end_is_the_end_of_everything_it_started(tmp_path, number):
    """After Ctrl-C, and even after kill -9, no server, worker or run of it is alive."""
    (tmp_path / "audit.yaml").write_text("audit: books\n")
    with serving(tmp_path / "home", "--no-examples", "--datasets", tmp_path / "audit.yaml") as running:
        family = psutil.Process(running.process.pid).children(recursive=True)
        assert {running.server, running.worker} <= {child.pid for child in family}
        assert all(alive(child) for child in family)
        running.process.send_signal(number)
        code = running.process.wait(60)
        deadline = time.monotonic() + 40
        while any(alive(child) for child in family) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert [child for child in family if alive(child)] == []
        if number == signal.SIGINT:
            assert code == 0
            assert running.said().splitlines()[-1] == "ending ..."


def test_a_taken_port_is_told_before_anything_starts(tmp_path):
    """One line that names the port and the option, and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        told = subprocess.run(
            [*PUBPRIV, "serve", "--port", str(port), "--home", str(tmp_path / "home")],
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.returncode == 2
    assert told.stderr.splitlines() == [
        f"error: port {port} of 127.0.0.1 is taken: choose another with --port, or stop what listens there"
    ]
    assert not (tmp_path / "home").exists()


def test_a_ledger_of_ones_own_is_used_without_examples_and_its_password_shown_to_nobody(tmp_path, postgres):
    """With --no-examples the ledger that PUBPRIV_LEDGER names is looked at, and gets no budget by itself."""
    url = postgres.new_url()
    with Ledger.open(url) as ledger:
        ledger.register("others", budget=parse_budget("zcdp:1"))
    (tmp_path / "visits.yaml").write_text(OWN)
    options = ("--no-examples", "--datasets", tmp_path / "visits.yaml")
    with serving(tmp_path / "home", *options, environment={"PUBPRIV_LEDGER": url}) as running:
        said = running.said()
        server = Path(f"/proc/{running.server}/environ").read_bytes()
    assert "dataset visits: not registered" in said
    with Ledger.open(url) as ledger:
        assert ledger.datasets() == ["others"]
    assert running.ledger.startswith("postgresql://pubpriv@127.0.0.1")
    for form in (PASSWORD, quote(PASSWORD, safe="")):
        assert form not in said + (tmp_path / "home" / "ready.json").read_text()
        assert form.encode() not in server
