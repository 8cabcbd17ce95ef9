"""A table in an object store that is slow, or fails in mid-scan, read by threads and by Dask workers."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.clusters import prepared
from helpers.neighbours import QUESTIONS
from helpers.object_store import SECRET, object_store
from helpers.paid import assert_paid_once
from helpers.tables import gaussian_tables

from pubpriv.audit._neighbours import COLUMNS
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

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]


@pytest.fixture
def store():
    """A server, at which Arrow tries for half a minute."""
    with object_store() as running:
        yield running


def put(store, path, name: str) -> str:
    """A file of this machine in the bucket; its URL."""
    with store.filesystem.open_output_stream(f"clinic/{name}") as out:
        out.write(path.read_bytes())
    return f"s3://clinic/{name}"


@pytest.mark.parametrize("unit", ["row", "person"])
def test_workers_read_a_store_as_threads_read_a_disk(unit, store, tmp_path):
    """The same bits, though each answer takes a moment."""
    rows = np.random.default_rng(5).normal(0, 4, (8000, 2))
    columns = {"a": rows[:, 0], "b": np.expm1(rows[:, 1]), "who": np.random.default_rng(6).integers(0, 900, 8000)}
    here = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), here, row_group_size=200)
    there = put(store, here, "scanned.parquet")
    store.delay = 0.02
    question = QUESTIONS["gram-cells"]
    if unit == "row":
        tables = [PrivateTable.open(uri, COLUMNS) for uri in (here, there)]
    else:
        question = PerPerson(question, 2, 64)
        opened = [PrivateTable.open(uri, COLUMNS, person="who") for uri in (here, there)]
        tables = [PersonTable(table, most_bytes=0).asked(question) for table in opened]
    with prepared(2, store.environment) as cluster:
        found = scan(tables[1], question, Cluster(cluster.address))
    expected = scan(tables[0], question)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)


@pytest.mark.parametrize("where", ["threads", "dask"])
def test_a_store_that_fails_in_mid_scan_costs_nothing_more(where, store, tmp_path):
    """Unavailable, by the store's name and without a secret; the same release id ends when the store is back."""
    private, public = gaussian_tables(tmp_path, private=4000, public=12)
    pq.write_table(pq.read_table(private), private, row_group_size=100)
    there = put(store, tmp_path / "private.parquet", "visits.parquet")
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))
    job = Job.of(MEAN, there, public, None, "zcdp:0.1", "visits", url, "r1")
    with prepared(1, store.environment) as cluster:
        executor = Cluster(cluster.address) if where == "dask" else None
        store.fails_after = 40  # footers, and some of the forty pieces
        with pytest.raises(Unavailable) as refused:
            run_job(job, executor=executor)
        told = str(refused.value)
        assert "the storage of the private table s3://clinic/visits.parquet does not answer" in told
        assert "run the same release id again" in told
        assert SECRET not in told
        assert "503" not in told
        assert refused.value.__cause__ is refused.value.__context__ is None
        with Ledger.open(url, create=False) as ledger:
            assert [record.kind for record in ledger.records("visits")].count("charged") == 1
        store.fails_after = None
        estimate = run_job(job, executor=executor)
    assert np.abs(estimate.mean).max() < 0.5
    assert_paid_once(url, "visits", "r1")
