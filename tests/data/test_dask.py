"""Blocks on a Dask cluster: the same bits as here, also if a worker dies, and nothing but totals comes back."""

import logging
import os
import pickle
import signal
import time
from fractions import Fraction

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster
from helpers.clusters import Struck
from helpers.neighbours import QUESTIONS
from helpers.tables import gaussian_tables
from helpers.waiting import eventually

import pubpriv as pp
from benchmarks.fits import write_rows
from pubpriv.audit._neighbours import COLUMNS
from pubpriv.data import memory
from pubpriv.data.arithmetic import bits
from pubpriv.data.cluster import Cluster, _BlockFailed, _client, _on_worker, _versions
from pubpriv.data.outages import failure_of_scan
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import Counts, PerPerson
from pubpriv.data.regions import Everything
from pubpriv.data.scan import _scan_chunk, scan
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput, PrivateStepFailed, Unavailable
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.ledger.unit.units import RowUnit
from pubpriv.privacy.ledger import Ledger

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

IN_MEMORY = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}
QUIETLY = {"host": "127.0.0.1", "dashboard_address": ":0"}
GROUPS = 120
"""Row groups of the table that is scanned while a worker dies."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of many row groups, long enough to be caught in mid-scan."""
    rows = np.random.default_rng(5).normal(0, 4, (GROUPS * 1000, 2))
    rows[::97, 1] = np.nan
    path = tmp_path_factory.mktemp("dask") / "t.parquet"
    who = np.random.default_rng(6).integers(0, 9000, len(rows))
    pq.write_table(pa.table({"a": rows[:, 0], "b": np.expm1(rows[:, 1]), "who": who}), path, row_group_size=1000)
    return PrivateTable.open(path, COLUMNS)


@pytest.fixture(scope="module")
def persons(table):
    """The same, with the unit of a person, of whom each has rows in many row groups."""
    return PrivateTable.open(table.uri, COLUMNS, person="who")


@pytest.fixture(scope="module")
def two_workers():
    """Two worker processes that keep results in memory."""
    with (
        dask.config.set(IN_MEMORY | {"distributed.comm.timeouts.connect": "2s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, **QUIETLY, silence_logs=logging.CRITICAL) as cluster,
    ):
        yield cluster


def in_this_process(**settings):
    """A cluster whose worker is a thread here, so that its log lines are seen."""
    with dask.config.set(settings):
        return LocalCluster(n_workers=1, processes=False, protocol="tcp://", **QUIETLY, silence_logs=False)


@pytest.mark.parametrize("unit", ["row", "person"])
def test_a_killed_worker_changes_no_bit(unit, table, persons, two_workers):
    """Totals of a scan in whose middle a worker is killed -9 are those of threads here; weights go with the rows."""
    question = QUESTIONS["gram-cells"]
    if unit == "person":
        question = PerPerson(question, 2, 64)
        table = PersonTable(persons, most_bytes=0).asked(question)
    (victim, *_), tasks = two_workers.workers.values(), two_workers.scheduler.tasks
    pid, left = victim.pid, []

    def kill() -> None:
        os.kill(pid, signal.SIGKILL)
        left.extend(task for task in list(tasks.values()) if task.state in ("processing", "queued"))

    cluster = Struck(two_workers.scheduler_address, 5, kill)
    cluster.check()
    totals, here = scan(table, question, cluster), scan(table, question)
    assert left
    eventually(lambda: victim.pid != pid, "the killed worker's successor", 60, 0.01)
    assert list(totals) == list(here)
    assert all(totals[name].tobytes() == here[name].tobytes() for name in here)


@pytest.mark.slow
def test_a_whole_run_on_a_cluster_is_paid_once_and_its_tasks_find_the_cluster(two_workers, tmp_path, monkeypatch):
    """A mean by address: the run's handle carries it, and where nobody answers nothing is held."""
    tables = gaussian_tables(tmp_path, private=3000)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=pp.parse_budget("zcdp:2"))
    common = (*tables, None, "zcdp:0.5", "visits", url)
    estimate = run_job(Job.of(MEAN, *common, "r1", dask=two_workers.scheduler_address))
    assert np.abs(estimate.mean).max() < 0.5
    with monkeypatch.context() as hasty:
        hasty.setattr("pubpriv.data.cluster._CONNECT_SECONDS", 1)
        with pytest.raises(Unavailable, match="does not answer"):
            run_job(Job.of(MEAN, *common, "r2", dask=_nobody()))
    with Ledger.open(url) as ledger:
        assert [run.release_id for run in ledger.history("visits")] == ["r1"]
        private = PrivateTable.open(tables[0], ["a", "b"])
        cluster = Cluster(two_workers.scheduler_address)
        with pp.Curator(private, ledger, "visits", pp.parse_budget("zcdp:0.1"), "r3", cluster) as curator:
            entered = pickle.loads(pickle.dumps(curator.handle)).open()
            assert entered._executor.address == cluster.address
            entered.leave()


def test_a_long_gaussian_on_a_cluster_reads_its_rows_four_times(two_workers, tmp_path, monkeypatch):
    """The first pass brings a sample back, whose rows stay here: the same answers as by threads."""
    rows = np.random.default_rng(3).standard_normal((280_000, 3))
    (tmp_path / "t").mkdir()
    table = PrivateTable.open(tmp_path / "t" / "rows.parquet", write_rows(rows, tmp_path / "t" / "rows.parquet", 9))
    monkeypatch.setattr(memory, "MOST_BYTES", 1 << 22)  # the table is not kept, a sample of 2^16 rows is

    def fitted(executor):
        curator = pp.Curator.simulation(rows, "zcdp:0.5", 1, executor=executor)
        curator._source = RowUnit(table).source(remembered=True)
        return pp.estimate_gaussian(rows[:60], curator).covariance.tobytes(), curator.passes

    assert fitted(Cluster(two_workers.scheduler_address)) == fitted(None)
    assert fitted(None)[1] == 4


def _nobody() -> str:
    """An address at which nobody listens."""
    return "tcp://127.0.0.1:1"


def _fails_on(rows):
    error = ValueError(f"cannot use {rows}")
    error.add_note(repr(rows))
    raise error from KeyError(rows)


def test_lines_of_a_csv_file_are_read_on_workers(two_workers, tmp_path):
    """Each worker begins where its lines do; the same bits as here."""
    rows = np.random.default_rng(5).normal(0, 4, (140_000, 2))
    lines = (f"{a},{b}" for a, b in zip(rows[:, 0].tolist(), np.expm1(rows[:, 1]).tolist(), strict=True))
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *lines]))
    table = PrivateTable.open(tmp_path / "t.csv", COLUMNS)
    assert len(table.chunks()) == 3
    question = QUESTIONS["gram-cells"]
    here, there = scan(table, question), scan(table, question, Cluster(two_workers.scheduler_address))
    assert {name: list(values) for name, values in here.items()} == {
        name: list(values) for name, values in there.items()
    }


def test_what_a_worker_raises_says_nothing(caplog):
    """A block that fails with a row in its text comes back, and is logged by Dask, as one fixed text."""
    with in_this_process(**IN_MEMORY) as cluster:
        executor = Cluster(cluster.scheduler_address)
        with pytest.raises(_BlockFailed) as failed:
            executor.submit(_fails_on, (1234.56789,)).result()
        assert failed.value.__cause__ is failed.value.__context__ is None
        assert not hasattr(failed.value, "__notes__")
    assert "Compute Failed" in caplog.text  # Dask does log it
    assert "1234" not in caplog.text


TRIED: list[int] = []


def _fails_at_first(piece):
    """Twice, for each piece that is odd; the worker is a thread of this process."""
    TRIED.append(piece)
    if piece % 2 and TRIED.count(piece) < 3:
        raise OSError("the store is out of reach")
    return piece


def test_what_fails_is_sent_again_and_no_more_than_twice(monkeypatch):
    """What a store does not answer at once, another try may read; what always fails does so in the end, as ever."""
    TRIED.clear()
    with in_this_process(**IN_MEMORY) as cluster:
        executor = Cluster(cluster.scheduler_address)
        assert sorted(executor.map(_fails_at_first, range(4))) == [0, 1, 2, 3]
        assert sorted(TRIED) == [0, 1, 1, 1, 2, 3, 3, 3]
        assert sorted(executor.map(_fails_at_first, range(5), chunksize=2)) == [0, 1, 2, 3, 4]
        monkeypatch.setattr("pubpriv.data.cluster._TRIES", 2)
        with pytest.raises(_BlockFailed):
            list(executor.map(_fails_on, [(1234.5,)]))


def test_a_cluster_that_finishes_nothing_is_given_up(table, monkeypatch):
    """After a while that is bounded, whatever its workers say of themselves; a later scan begins anew."""
    monkeypatch.setattr("pubpriv.data.cluster._SILENT_SECONDS", 0.2)
    with in_this_process(**IN_MEMORY) as cluster:
        executor = Cluster(cluster.scheduler_address)
        with pytest.raises(Unavailable, match="finishes nothing"):
            list(executor.map(time.sleep, [1.0]))
        assert "finishes nothing" in str(failure_of_scan(table, executor))
        monkeypatch.undo()
        assert list(executor.map(len, ["a"])) == [1]
        assert type(failure_of_scan(table, executor)) is PrivateStepFailed


def test_a_scheduler_that_is_lost_after_a_charge_is_reported_and_nothing_else_is(tmp_path, monkeypatch):
    """By asking it once more, not by what the scan raised; the charge is kept, and threads go on for nothing.

    One that is lost before the charge is reported for nothing.
    """
    monkeypatch.setattr("pubpriv.data.cluster._CONNECT_SECONDS", 0.1)
    private, _ = gaussian_tables(tmp_path)
    table = PrivateTable.open(private, ["a", "b"])
    question = Counts.priced(Everything(), Fraction(1, 10))
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=pp.parse_budget("zcdp:2"))
        run = pp.Curator(table, ledger, "visits", "zcdp:0.5", "r1", Cluster(_nobody()))
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer"):
            run.release(question, "counts")
        assert ledger.balance("visits").spent.main == 0
        monkeypatch.setattr(Cluster, "check_trial", lambda *_: None)  # it is lost afterwards
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer.*run the same release id again") as lost:
            run.release(question, "counts")
        assert lost.value.__cause__ is lost.value.__context__ is None
        spent = ledger.balance("visits").spent
        answer = pp.Curator(table, ledger, "visits", "zcdp:0.5", "r1").release(question, "counts")
        assert answer.values["count"][0] > 0
        assert ledger.balance("visits").spent == spent


def test_ids_that_changed_are_found_where_they_are_read(tmp_path, two_workers, caplog):
    """On the worker, beside the rows; what it raises and logs says nothing of a table whose size is private."""
    path, question = tmp_path / "t.parquet", PerPerson(QUESTIONS["counts-everything"], 1, 64)
    columns = {"a": np.zeros(7919), "b": np.zeros(7919)}
    pq.write_table(pa.table(columns | {"who": np.arange(7919)}), path)
    asked = PersonTable(PrivateTable.open(path, COLUMNS, person="who"), most_bytes=0).asked(question)
    with in_this_process(**IN_MEMORY) as cluster:
        executor = Cluster(cluster.scheduler_address)
        assert scan(asked, question, executor)["count"].tolist() == [64 * 7919]
        pq.write_table(pa.table(columns | {"who": np.zeros(7919, dtype=int)}), path)
        with pytest.raises(_BlockFailed):
            scan(asked, question, executor)
    assert "Compute Failed" in caplog.text
    assert "7919" not in caplog.text
    assert "Chunk" not in caplog.text  # so nobody counts them


def test_weights_leave_the_process_for_an_executor_only(persons):
    """A chunk as the door has it is not pickled; neither is shown with its weights or their number."""
    (chunk, *_) = PersonTable(persons, most_bytes=0).asked(PerPerson(QUESTIONS["counts-everything"], 1, 64)).chunks()
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(chunk)
    sent = chunk.travelling()
    assert np.array_equal(pickle.loads(pickle.dumps(sent)).weights, chunk.weights)
    assert repr(sent) == "<_TravellingChunk>"


def test_a_worker_that_may_spill_is_refused_before_and_in_a_scan(table):
    """Totals may not be written to a disk: Dask's default settings are refused, with those that do."""
    with in_this_process(**dict.fromkeys(IN_MEMORY, 0.6)) as cluster:
        executor = Cluster(cluster.scheduler_address)
        with pytest.raises(InvalidInput, match="DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False"):
            executor.check()
        with pytest.raises(_BlockFailed):
            executor.submit(_scan_chunk, QUESTIONS["counts-everything"], table.chunks()[0]).result()


def test_workers_of_other_versions_and_none_at_all_are_refused(monkeypatch):
    """The same libraries must be at work everywhere, and somebody must be."""
    with in_this_process(**IN_MEMORY) as cluster:
        executor = Cluster(cluster.scheduler_address)
        executor.check()
        told = {"tcp://w:1": (("0.0.1", "1", "1"), bits(), False)}
        monkeypatch.setattr("pubpriv.data.cluster._ask_workers", lambda *_: told)
        with pytest.raises(InvalidInput, match=r"pubpriv 0\.0\.1.*install the same"):
            executor.check()
        told = {"tcp://w:1": (_versions(), "0" * 8, False)}
        with pytest.raises(InvalidInput, match="processors of one kind"):
            executor.check()
        with pytest.raises(_BlockFailed):  # one that came after the check
            _client(executor.address).submit(_on_worker, "0" * 8, len, ()).result()
        monkeypatch.setattr("pubpriv.data.cluster._ask_workers", lambda *_: {})
        with pytest.raises(Unavailable, match="has no worker"):
            executor.check()


@pytest.mark.parametrize("address", ["localhost:8786", "tcp://user:word@host:1", "tcp://host", "http://host:1"])
def test_an_address_that_is_none_is_refused_without_being_repeated(address):
    """Whatever a person typed there may hold a password."""
    with pytest.raises(InvalidInput) as refused:
        Cluster(address)
    assert address not in str(refused.value)


def test_the_environment_may_name_the_scheduler(monkeypatch):
    """Where a form names none; what is wrong with it is found before any table is opened."""
    monkeypatch.setenv("PUBPRIV_DASK", "cluster.example")
    with pytest.raises(InvalidInput, match="address of a Dask scheduler"):
        run_job(Job.of(MEAN, "no.parquet", "no.csv", None, "zcdp:1", "visits", "sqlite:///no.db", "r1"))
