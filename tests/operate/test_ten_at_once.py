"""Ten releases of a fleet that begin at one time: they are there, each paid once, and no more memory than was said."""

import psutil
import pytest
from helpers.datasets import MEAN, write_dataset
from helpers.frail import working
from helpers.paid import assert_paid_once
from helpers.served import Served
from helpers.tables import write_groups
from helpers.waiting import eventually
from httpx import TransportError

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]

GIGABYTE = 1 << 30


def test_ten_runs_at_once_are_ten_releases_in_three_gigabytes(served: Served, tmp_path):
    """Ten datasets whose runs begin together on one worker that counts none."""
    names, files = [f"crowd-{number}" for number in range(10)], []
    for number, name in enumerate(names):
        write_groups(tmp_path, name, number)
        files.append(write_dataset(served.datasets, name, tmp_path, "zcdp:1", MEAN, pool="crowd"))
    done = served.run("deploy", *files, "--set-budget")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [served.trigger(f"{name}.mean", release_id="r1") for name in names]
    most = 0
    with working(served, "crowd", tmp_path / "log") as worker:

        def ended() -> bool:
            nonlocal most
            most = max(most, memory_of(worker.pid))
            try:
                with served.client() as client:
                    states = [client.read_flow_run(run).state_name for run in runs]
            except TransportError:  # the server has ten others to answer
                return False
            assert not {"Failed", "Crashed"} & {*states}, (tmp_path / "log").read_text()[-3000:]
            return states == ["Completed"] * 10

        eventually(ended, "ten runs complete", 400, 1)
    print(f"at most {most / GIGABYTE:.2f} GB in worker and runs")
    assert most < 3 * GIGABYTE
    for name in names:
        assert_paid_once(served.ledger, name, "r1")


def memory_of(pid: int) -> int:
    """Bytes that a process and its descendants share with nobody."""
    total = 0
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        try:
            total += process.memory_full_info().uss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total
