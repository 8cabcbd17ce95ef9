"""What goes wrong around a Dask cluster in mid-scan: the same bits, or a clear word and a release that goes on."""

import os
import signal
import subprocess
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.clusters import Struck, await_workers, prepared
from helpers.neighbours import QUESTIONS
from helpers.paid import assert_paid_once
from helpers.served import PUBPRIV
from helpers.tables import gaussian_tables
from helpers.waiting import eventually

from pubpriv.audit._neighbours import COLUMNS
from pubpriv.data import cluster as clusters
from pubpriv.data.cluster import Cluster
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import PerPerson
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import Unavailable
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.operate, pytest.mark.timeout(300)]

PIECES = 1000
"""Row groups of a table: to read so many takes some seconds, however few rows each has."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The same rows in the unit of a row and of a person."""
    rows = np.random.default_rng(5).normal(0, 4, (PIECES * 12, 2))
    who = np.random.default_rng(6).integers(0, 900, len(rows))
    path = tmp_path_factory.mktemp("faults") / "t.parquet"
    pq.write_table(pa.table({"a": rows[:, 0], "b": np.expm1(rows[:, 1]), "who": who}), path, row_group_size=12)
    question = QUESTIONS["gram-cells"]
    of_persons = PerPerson(question, 2, 64)
    persons = PersonTable(PrivateTable.open(path, COLUMNS, person="who"), most_bytes=0).asked(of_persons)
    return {"row": (PrivateTable.open(path, COLUMNS), question), "person": (persons, of_persons)}


@pytest.fixture(scope="module")
def expected(tables):
    """What threads find in these tables."""
    return {unit: scan(*asked) for unit, asked in tables.items()}


@pytest.fixture(scope="module")
def lasting():
    """A cluster for several tests, which gives up a worker that is silent for four seconds."""
    with prepared(2, {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "4s"}) as cluster:
        yield cluster


@pytest.fixture
def pair(lasting):
    """That cluster with two sound workers: the first of them is struck, and is replaced afterwards."""
    await_workers(lasting, 2)
    yield lasting
    struck = lasting.workers.pop(0)
    struck.kill()
    struck.wait()
    await_workers(lasting, 1)
    lasting.start_worker()


def assert_same(found, expected) -> None:
    assert list(found) == list(expected)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)


@pytest.mark.parametrize("unit", ["row", "person"])
@pytest.mark.parametrize("signals", [(signal.SIGKILL,), (signal.SIGSTOP,), (signal.SIGSTOP, signal.SIGCONT)])
def test_a_worker_that_is_killed_stopped_or_slow_changes_no_bit(unit, signals, tables, expected, pair):
    """One of two: what it had is read by the other one, or by itself when it goes on."""

    def strike() -> None:
        for number in signals:
            os.kill(pair.workers[0].pid, number)
            time.sleep(1)

    struck = Struck(pair.address, 20, strike)
    found = scan(*tables[unit], struck)
    assert struck.struck
    assert_same(found, expected[unit])


@pytest.mark.parametrize("unit", ["row", "person"])
def test_a_scheduler_that_is_started_anew_is_sent_what_was_lost(unit, tables, expected, monkeypatch):
    """Killed with its workers in mid-scan, and back at its address a moment later."""
    monkeypatch.setattr(clusters, "_CONNECT_SECONDS", 60)  # it is a slow moment on a busy machine
    with prepared(1) as cluster:

        def strike() -> None:
            cluster.kill()
            cluster.start_scheduler()
            cluster.start_worker()

        struck = Struck(cluster.address, 20, strike)
        found = scan(*tables[unit], struck)
        assert struck.struck
    assert_same(found, expected[unit])


def test_a_cluster_that_finishes_nothing_is_given_up(tables, monkeypatch):
    """Its only worker is stopped for ever: a wait of bounded length, then the reason."""
    monkeypatch.setattr(clusters, "_SILENT_SECONDS", 3.0)
    monkeypatch.setattr(clusters, "_WORKERS_SECONDS", 2.0)
    with prepared(1) as cluster:
        struck = Struck(cluster.address, 20, lambda: os.kill(cluster.workers[0].pid, signal.SIGSTOP))
        with pytest.raises(Unavailable, match=rf"{cluster.address} finishes nothing"):
            scan(*tables["row"], struck)
        with pytest.raises(Unavailable, match=r"a worker of the Dask cluster .* does not answer"):
            Cluster(cluster.address).check()


@pytest.fixture
def visits(tmp_path):
    """A dataset whose table has many pieces: ledger, and the words of a run."""
    private, public = gaussian_tables(tmp_path, private=PIECES * 12, public=12)
    pq.write_table(pq.read_table(private), private, row_group_size=12)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))
    return Job.of(MEAN, private, public, None, "zcdp:0.1", "visits", url, "r1")


def fit(job: Job, out, *options: str) -> subprocess.CompletedProcess:
    """The run of a job as a person starts it."""
    tables = ["--private", job.private, "--public", job.public, "--dataset", job.dataset, "--ledger", job.ledger]
    words = ["fit", "mean", *tables, "--budget", job.budget, "--release-id", job.release_id, "--plain", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    command = [*PUBPRIV, *words, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def charged(job: Job) -> int:
    with Ledger.open(job.ledger, create=False) as ledger:
        return sum(record.kind == "charged" for record in ledger.records(job.dataset))


def test_a_run_whose_scheduler_is_killed_goes_on_elsewhere(visits, tmp_path):
    """In the scan of its first question, which is paid: exit 5 in a line; without a cluster it ends."""
    with prepared(1) as cluster:

        def kill() -> None:
            eventually(lambda: charged(visits) == 1, "the first charge", 60, 0.05)
            cluster.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        lost = fit(visits, tmp_path / "m.json", "--dask", cluster.address)
        killer.join()
    assert lost.returncode == 5, lost.stderr
    told = " ".join(lost.stderr.split())
    assert f"the Dask scheduler at {cluster.address} does not answer" in told
    assert "run the same release id again" in told
    assert "Traceback" not in told, lost.stderr
    assert "distributed" not in told
    done = fit(visits, tmp_path / "m.json")
    assert done.returncode == 0, done.stderr
    assert_paid_once(visits.ledger, "visits", "r1")


def test_a_run_whose_worker_is_stopped_goes_on_when_it_is_back(visits, monkeypatch):
    """The only one, in mid-scan: unavailable, and no more is told; the same release id ends on the cluster."""
    monkeypatch.setattr(clusters, "_SILENT_SECONDS", 3.0)
    monkeypatch.setattr(clusters, "_WORKERS_SECONDS", 2.0)
    with prepared(1) as cluster:
        worker = cluster.workers[0]
        struck = Struck(cluster.address, 20, lambda: os.kill(worker.pid, signal.SIGSTOP))
        with pytest.raises(Unavailable, match=r"a worker .* does not answer.*the same release id") as refused:
            run_job(visits, executor=struck)
        assert refused.value.__cause__ is refused.value.__context__ is None
        assert charged(visits) == 1
        os.kill(worker.pid, signal.SIGCONT)
        monkeypatch.undo()
        estimate = run_job(visits, executor=Cluster(cluster.address))
    assert np.abs(estimate.mean).max() < 0.5
    assert_paid_once(visits.ledger, "visits", "r1")
