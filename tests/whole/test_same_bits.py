"""Groups, persons, a period, and all of them: one run is the same bits on threads, Dask, Prefect, and after a kill.

Noise is seeded, so that runs on ledgers of their own may be compared: what they ask, what they pay, what they release.
"""

import json
import logging
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster
from helpers.seeded import killed

from pubpriv.deployments.budgets import budget_checks
from pubpriv.deployments.files import read
from pubpriv.deployments.render import render
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms

pytestmark = pytest.mark.long

MONTH, RELEASE = "2024-02", "r1"
BUDGET = "zcdp:0.5"


@dataclass(frozen=True)
class Case:
    """What is asked: an estimator with its settings, by groups or not, of persons or rows, of a month or all rows."""

    estimator: str = "mean"
    by: bool = False
    persons: bool = False
    month: bool = False

    @property
    def settings(self) -> dict:
        """Of the estimator."""
        own = {"n_components": 2} if self.estimator == "mixture" else {}
        return own | ({"by": "region", "by_values": ("north", "south")} if self.by else {})


CASES = {
    "everything": Case("mean", by=True, persons=True, month=True),
    "groups": Case("gaussian", by=True),
    "persons": Case("gaussian", persons=True),
    "a month": Case("gaussian", month=True),
    "everything of quantiles": Case("quantiles", by=True, persons=True, month=True),
    "everything of a mixture": Case("mixture", by=True, persons=True, month=True),
    "persons of a month in a regression": Case("regression", persons=True, month=True),
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CASES if name != "everything"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A private table of several row groups, and public rows."""
    folder, generator = tmp_path_factory.mktemp("same"), np.random.default_rng(2)
    for name, n in (("private", 2400), ("public", 24)):
        cells = generator.standard_normal((n, 2)) + 9.0 * (np.arange(n) % 2)[:, None]
        days = pd.Timestamp("2024-01-15") + pd.to_timedelta(generator.integers(0, 60, n), "D")
        frame = pd.DataFrame(
            {"a": cells[:, 0], "b": cells[:, 1], "seen": days, "who": generator.integers(0, n // 2, n)}
        )
        frame["region"] = np.resize(["north", "south", "north", None], n)
        columns = [*frame] if name == "private" else ["a", "b"]
        frame[columns].to_parquet(folder / f"{name}.parquet", index=False, row_group_size=300)
    return folder


@pytest.fixture(scope="module")
def scheduler():
    """A cluster of one worker, in this process."""
    quietly = {"host": "127.0.0.1", "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    settings = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}
    with dask.config.set(settings), LocalCluster(n_workers=1, processes=False, protocol="tcp://", **quietly) as cluster:
        yield cluster.scheduler_address


def job_of(case: Case, tables: Path, folder: Path) -> Job:
    """The run, on a ledger that is made in a folder of its own."""
    folder.mkdir()
    url = f"sqlite:///{folder}/ledger.db"
    periods = PeriodTerms("month", "seen", parse_budget("zcdp:1")) if case.month else None
    with Ledger.open(url) as ledger:
        ledger.register("visits", parse_budget("zcdp:2"), person=("who",) if case.persons else (), periods=periods)
    estimator = next(each for each in ESTIMATORS if each.name == case.estimator)
    files = str(tables / "private.parquet"), str(tables / "public.parquet"), ("a", "b")
    rows_of = MONTH if case.month else None
    return Job.of(estimator, *files, BUDGET, "visits", url, RELEASE, rows_of=rows_of, **case.settings)


def released(job: Job, estimate) -> tuple:
    """What it told, asked and paid; but for the day, and for the chain of records, which is blinded by chance."""
    told = estimate.to_json()
    del told["provenance"]["created"], told["provenance"]["chain_head"]
    with Ledger.open(job.ledger) as ledger:
        charged = [record.facts() for record in ledger.records("visits") if record.kind == "charged"]
        spent = ledger.balance("visits").spent
    asked = [(each["label"], json.dumps(each["question"]), each["price_ledger"]) for each in charged]
    return json.dumps(told), asked, spent


@pytest.fixture(params=["everything", *SLOW])
def plain(request, tables, tmp_path):
    """A case, and what its run released on threads, with nothing in between."""
    case = CASES[request.param]
    job = job_of(case, tables, tmp_path / "plain")
    return case, released(job, run_job(job))


def deployed(case: Case, tables: Path, folder: Path, monkeypatch) -> tuple:
    """The run as a dataset's file deploys it: its flow, with its form."""
    folder.mkdir()
    url = f"sqlite:///{folder}/ledger.db"
    monkeypatch.setenv("PUBPRIV_LEDGER", url)
    whose = "person: [who]\n" if case.persons else ""
    month = "periods: month:seen\nper_period: zcdp:1\n" if case.month else ""
    names = {"n_components": "components"}
    own = {names.get(name, name): value for name, value in case.settings.items()}
    (folder / "visits.yaml").write_text(
        f"dataset: visits\nunit: one record\n{whose}{month}cap: zcdp:2\nprivate: {tables}/private.parquet\n"
        f"public: {tables}/public.parquet\ncolumns: [a, b]\nledger: PUBPRIV_LEDGER\nreleases:\n"
        f"  - {{name: it, estimator: {case.estimator}, allotment: '{BUDGET}', settings: {json.dumps(own)}}}\n"
    )
    dataset = read(folder / "visits.yaml")
    budget_checks([dataset], set_budget=True)
    (rendered,) = render([dataset])
    form = rendered.parameters["parameters"] | {"release_id": RELEASE} | ({"rows_of": MONTH} if case.month else {})
    estimate = resolve_name(rendered.entrypoint)(parameters=form)
    return released(replace(job_of(case, tables, folder / "unused"), ledger=url), estimate)


@pytest.mark.timeout(180)
def test_it_is_the_same_run_on_a_cluster_and_after_a_kill(plain, tables, tmp_path, scheduler):
    """Also resumed where another process was killed at its last charge."""
    case, expected = plain
    assert len(expected[1]) > 3
    on_dask = replace(job_of(case, tables, tmp_path / "dask"), dask=scheduler)
    assert released(on_dask, run_job(on_dask)) == expected
    broken = job_of(case, tables, tmp_path / "killed")
    assert killed(broken, expected[1][-1][0]) == -signal.SIGKILL
    assert released(broken, run_job(broken)) == expected


@pytest.mark.slow
@pytest.mark.prefect
@pytest.mark.timeout(180)
def test_it_is_the_same_run_as_a_flow_and_deployed(plain, tables, tmp_path, prefect_server, monkeypatch):
    """A replay of a flow is in `test_estimate_gaussian`; here it runs by itself, and as a dataset's file has it."""
    from pubpriv.flows.estimate import FLOWS
    from pubpriv.flows.parameters import parameters_of

    case, expected = plain
    flow = job_of(case, tables, tmp_path / "flow")
    assert released(flow, FLOWS[case.estimator](parameters_of(flow))) == expected
    assert deployed(case, tables, tmp_path / "deployed", monkeypatch) == expected
