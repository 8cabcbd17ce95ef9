"""A server that is away for longer than Prefect's own patience: what Prefect gives up, the release does without."""

import time

import pytest
from helpers.bad_line import bad_line
from helpers.frail import carried_through, deploy, working
from helpers.served import Served

pytestmark = [pytest.mark.operate, pytest.mark.timeout(1200)]

FIVE_MINUTES = 300


def test_a_server_that_is_away_for_five_minutes(served: Served, tmp_path):
    """The release of the run that lost its server is there soon after the server is, and the worker lives."""
    frail = deploy(served, tmp_path / "tables", "cut-off", "cut-off")
    log = tmp_path / "worker.log"
    with bad_line(served.api) as line, working(served, frail.pool, log, PREFECT_API_URL=line.api) as worker:
        frail.trigger("r1")
        frail.await_answers("r1", 1)
        line.down = True
        before = frail.answers("r1")
        time.sleep(FIVE_MINUTES)
        line.down = False
        began = time.monotonic()
        carried_through(frail, before)
        print(f"complete {time.monotonic() - began:.0f} s after the server was back")
        assert worker.alive, log.read_text()[-3000:]
