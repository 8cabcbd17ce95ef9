"""`pubpriv serve`: up in seconds, schedules at work, runs that take turns, and an end that leaves nothing behind."""

import time
from itertools import pairwise

import pytest
from served import PATIENCE, Served

from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]

EXAMPLES = {"rand-people-mixture", "rand-people-gaussian", "sensors-mean", "nightly"}


def test_it_is_up_in_half_a_minute_with_the_examples_registered(served: Served):
    """From the command to a server, a worker and every example deployment."""
    assert served.seconds < 30
    with served.client() as client:
        names = {each.name for each in client.read_deployments()}
    assert names >= EXAMPLES
    for line in ("UI:", "what runs next", "Ctrl-C ends"):
        assert line in served.said()


def test_the_scheduler_creates_runs_and_a_worker_finishes_one(served: Served):
    """Runs that nobody asked for are there, a minute apart; one that was due completes, and is in the ledger."""
    deadline = time.monotonic() + PATIENCE
    finished = []
    while not finished and time.monotonic() < deadline:
        runs = [run for run in served.runs("sensors-mean") if run.auto_scheduled]
        finished = [run for run in runs if run.state_name == "Completed"]
        time.sleep(1)
    assert len(runs) > 10
    gaps = {(after.expected_start_time - run.expected_start_time).total_seconds() for run, after in pairwise(runs)}
    assert gaps == {60.0}
    assert finished, served.worker_log()
    release_id = f"mean-{finished[0].expected_start_time:%Y-%m-%dT%H%MZ}"
    assert finished[0].name == f"sensors-{release_id}"
    with Ledger.open(served.ledger, create=False) as ledger:
        assert ledger.run("sensors", release_id).state.closed
