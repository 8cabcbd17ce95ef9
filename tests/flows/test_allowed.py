"""Whoever may start runs on a worker names what the operator allows, and nothing else; the default is nothing."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubpriv.data.tables import PrivateTable
from pubpriv.deployments.files import read
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.estimators import ESTIMATORS, MEAN
from pubpriv.estimators.jobs import run_job
from pubpriv.flows.allowed import check_audit_allowed
from pubpriv.flows.deployed import job_of
from pubpriv.flows.parameters import form_of
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger

FILE = """\
dataset: visits
unit: one patient
cap: zcdp:1
private: {0}/visits.parquet
public: ${{WHERE}}/public.parquet
dask: tls://own:8786
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.25", settings: {{covariance: "{0}/known.csv"}}}}
  - {{name: same, estimator: mean, allotment: "zcdp:0.25"}}
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Its tables, its ledger, its dataset file, and the mark of a process that does somebody's flow run."""
    for name, n in (("visits", 900), ("salaries", 900), ("public", 9), ("lying about", 9)):
        cells = np.random.default_rng(n).normal(0, 1, (n, 2))
        table = pa.table({"a": cells[:, 0], "b": cells[:, 1], "c": cells[:, 1]})
        pq.write_table(table.drop_columns(["c"]) if n < 10 else table, tmp_path / f"{name}.parquet")
    (tmp_path / "known.csv").write_text("a,b\n1,0\n0,1\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "visits.yaml").write_text(FILE.format(tmp_path))
    (tmp_path / "files" / "nightly.yaml").write_text("audit: nightly\n")
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        for name in ("visits", "salaries"):
            table = PrivateTable.open(tmp_path / f"{name}.parquet", ["a", "b"])
            ledger.register(name, ZeroConcentratedDP(1), table, another_table=True)
    monkeypatch.setenv("WHERE", str(tmp_path))
    monkeypatch.setenv("PUBPRIV_LEDGER", url)
    monkeypatch.setenv("PUBPRIV_ALLOW", str(tmp_path / "files"))
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", "00000000-0000-0000-0000-000000000000")
    return tmp_path


def parameters(worker, estimator=MEAN, **fields):
    good = {
        "private": f"{worker}/visits.parquet",
        "public": f"{worker}/public.parquet",
        "columns": ("a", "b"),
        "budget": "zcdp:0.25",
        "dataset": "visits",
        "ledger": "PUBPRIV_LEDGER",
        "release_id": "r",
    }
    return form_of(estimator)(**good | fields)


def test_what_the_file_names_runs(worker):
    """The deployment's own parameters, both covariances, other spellings of the same files; and its file is one."""
    assert read(worker / "files" / "visits.yaml").form("same").dask == "tls://own:8786"
    known = parameters(worker, covariance=f"{worker}/known.csv", dask="tls://own:8786", release_id="known")
    assert job_of(known).settings.covariance == f"{worker}/known.csv"
    assert job_of(parameters(worker, public=f"file://{worker}/./public.parquet"))
    assert run_job(job_of(parameters(worker, covariance="identity"))).converged


HOSTILE = {
    "another dataset's private table as public": {"public": "{0}/salaries.parquet"},
    "its own private table as public": {"public": "{0}/visits.parquet"},
    "the folder of all tables as public": {"public": "{0}"},
    "any file that the worker can read": {"public": "{0}/lying about.parquet"},
    "any other place": {"public": "http://evil.example/rows.csv"},
    "the worker's own files": {"public": "/proc/self/environ"},
    "a link to the public file's neighbour": {"public": "{0}/link.parquet"},
    "a covariance from anywhere": {"covariance": "{0}/salaries.csv"},
    "the covariance of a password file": {"covariance": "/etc/passwd"},
    "a ledger of one's own": {"ledger": "sqlite:///{0}/mine.db"},
    "the right ledger by its URL": {"ledger": "sqlite:///{0}/ledger.db"},
    "another variable of the worker": {"ledger": "OTHER_LEDGER"},
    "a scheduler of one's own": {"dask": "tcp://evil.example:8786"},
    "a dataset without a file": {"dataset": "salaries", "private": "{0}/salaries.parquet"},
    "a dataset that is not there": {"dataset": "nobody"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_everything_else_is_refused_before_anything_is_opened(name, worker, monkeypatch):
    """Each field that names something, with what somebody would put there."""
    (worker / "link.parquet").symlink_to(worker / "lying about.parquet")
    with Ledger.open(f"sqlite:///{worker}/mine.db") as ledger:
        ledger.register("visits", ZeroConcentratedDP(10**6))
    monkeypatch.setenv("OTHER_LEDGER", f"sqlite:///{worker}/mine.db")
    monkeypatch.setattr("pubpriv.data.tables.read_rows", None)
    monkeypatch.setattr("pubpriv.estimators.jobs.Ledger", None)
    wanted = {field: value.format(worker) for field, value in HOSTILE[name].items()}
    with pytest.raises(InvalidInput, match="PUBPRIV_ALLOW"):
        job_of(parameters(worker, **wanted))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.name)
def test_without_a_list_nothing_runs(estimator, worker, monkeypatch):
    """Whatever is asked for; at one's own shell there is no list."""
    monkeypatch.delenv("PUBPRIV_ALLOW")
    with pytest.raises(InvalidInput, match="runs nothing for dataset 'visits'"):
        job_of(parameters(worker, estimator))
    monkeypatch.delenv("PREFECT__FLOW_RUN_ID")
    assert job_of(parameters(worker, estimator, public=f"{worker}/lying about.parquet"))


def test_a_run_on_a_worker_binds_nothing(worker):
    """Neither a table, where the dataset has none, nor another one, nor other columns of it."""
    fresh = f"sqlite:///{worker}/fresh.db"
    with Ledger.open(fresh) as ledger:
        ledger.register("visits", ZeroConcentratedDP(1))
    os.environ["PUBPRIV_LEDGER"], kept = fresh, os.environ["PUBPRIV_LEDGER"]
    with pytest.raises(InvalidInput, match="binds none"):
        job_of(parameters(worker))
    os.environ["PUBPRIV_LEDGER"] = kept
    for fields in (
        {"private": f"{worker}/salaries.parquet"},
        {"private": f"{worker}/lying about.parquet"},
        {"private": f"{worker}/*.parquet"},
        {"columns": ("a", "log1p(c)")},
        {"columns": ("c",)},
    ):
        with pytest.raises((SpecMismatch, InvalidInput)):
            run_job(job_of(parameters(worker, **fields)))
    with Ledger.open(kept) as ledger:
        assert [table["columns"] for table in ledger.balance("visits").tables] == [["a", "b"]]
        assert not ledger.history("visits")


@pytest.mark.parametrize(
    ("content", "said"), [("visits: [", "cannot be read"), ("- a\n", "cannot be read"), (FILE, "in two files")]
)
def test_a_list_that_cannot_be_read_allows_nothing(content, said, worker):
    """A broken file is told, and not passed over."""
    (worker / "files" / "more.yaml").write_text(content.format(worker) if content == FILE else content)
    with pytest.raises(InvalidInput, match=said):
        job_of(parameters(worker))


def test_an_audit_reads_the_workers_own_books(worker):
    """No ledger and no folder of one's own."""
    check_audit_allowed("PUBPRIV_LEDGER", None)
    for ledger, models in (("sqlite:////tmp/mine.db", None), ("HOME", None), ("PUBPRIV_LEDGER", "/srv/tables")):
        with pytest.raises(InvalidInput, match="an audit on a worker"):
            check_audit_allowed(ledger, models)
