"""What goes wrong around a fleet, while it is at work: in the end each release is there, once, at the price of one."""

import json
import os
import resource
import signal
import subprocess
import time

import psutil
import pytest
from helpers.bad_line import bad_line
from helpers.frail import Frail, deploy, final, working
from helpers.paid import assert_paid_once
from helpers.served import PUBPRIV, Served, serving
from helpers.tables import gaussian_tables

from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]


def test_a_slow_line_that_loses_connections(served: Served, tmp_path):
    """A third of a second before each answer, and each fifth connection is cut: later, and otherwise as ever."""
    frail = deploy(served, tmp_path / "tables", "slow", "slow")
    with bad_line(served.api, 0.3, 5) as line, working(served, "slow", tmp_path / "log", PREFECT_API_URL=line.api):
        frail.trigger("r1")
        final(frail, "r1")
    assert line.cut > 0
    assert_paid_once(served.ledger, "slow", "r1")


def test_a_server_that_is_out_of_reach_in_mid_run(served: Served, tmp_path):
    """For forty seconds nobody answers worker or run: what was paid is kept, and the release ends by itself."""
    frail = deploy(served, tmp_path / "tables", "away", "away")
    with bad_line(served.api) as line, working(served, "away", tmp_path / "log", PREFECT_API_URL=line.api):
        frail.trigger("r1")
        frail.await_answers("r1", 1)
        before = frail.answers("r1")
        line.down = True
        time.sleep(40)
        line.down = False
        final(frail, "r1")
    assert line.refused > 0
    assert frail.answers("r1").items() >= before.items()
    assert_paid_once(served.ledger, "away", "r1")


def test_everything_is_killed_in_mid_run_and_started_again(tmp_path):
    """kill -9 of `pubpriv serve` with server, worker and run: the next start finds the run dead, and finishes it."""
    datasets = tmp_path / "datasets"
    datasets.mkdir()
    (datasets / "audit.yaml").write_text("audit: books\n")
    options = ("--no-examples", "--datasets", datasets)
    with serving(tmp_path / "home", *options) as first:
        frail = deploy(first, tmp_path / "tables", "killed", first.pool)
        frail.trigger("r1")
        frail.await_answers("r1", 1)
        family = psutil.Process(first.process.pid).children(recursive=True)
        first.process.kill()
        for child in family:
            if child.is_running():
                child.kill()
        before = frail.answers("r1")
        first.process.wait()
    assert len(before) >= 1
    with serving(tmp_path / "home", *options) as second:
        again = Frail(second, "killed", second.pool)
        final(again, "r1")
        assert again.answers("r1").items() >= before.items()
        assert_paid_once(second.ledger, "killed", "r1")


@pytest.mark.parametrize("kilobytes", [60, 120])
def test_a_disk_that_is_full_costs_nothing_more(tmp_path, kilobytes):
    """The ledger's file may not grow: exit 5 in one line, before the first charge or between two; later it goes on."""
    private, public = gaussian_tables(tmp_path)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))

    def fit(limit: int) -> subprocess.CompletedProcess:
        def hold() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        tables = ["--private", private, "--public", public, "--dataset", "visits", "--ledger", url]
        words = ["fit", "mean", *tables, "--budget", "zcdp:0.1", "--release-id", "r1", "--plain"]
        command = [*PUBPRIV, *words, "--out", str(tmp_path / "model.json")]
        environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, preexec_fn=hold)

    full = fit(kilobytes << 10)
    assert full.returncode == 5, full.stderr
    assert "Traceback" not in full.stderr
    assert not (tmp_path / "model.json").exists()
    done = fit(resource.RLIM_INFINITY)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "model.json").read_text())["provenance"]["release_id"] == "r1"
    assert_paid_once(url, "visits", "r1")
