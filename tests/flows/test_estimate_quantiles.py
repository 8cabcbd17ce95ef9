"""The flows of quantiles and of a description: what a run without Prefect releases, with artifacts to read."""

import json

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.estimators import DESCRIBE, QUANTILES
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.ledger import Ledger


def test_a_form_asks_for_its_job():
    """Ranks are numbers, as a YAML file writes them."""
    from pubpriv.flows.parameters import form_of, parameters_of

    common = ("private", "public", ("a",), "zcdp:1", "visits", "sqlite:///l.db", "r1")
    for job in (Job.of(QUANTILES, *common, at=(0.2, 0.5)), Job.of(DESCRIBE, *common)):
        assert parameters_of(job).job() == job
    given = {"private": "p", "public": "q", "budget": "zcdp:1", "dataset": "d", "ledger": "PUBPRIV_LEDGER"}
    assert form_of(QUANTILES)(**given, at=[0.25, 0.75]).at == (0.25, 0.75)


@pytest.mark.prefect
@pytest.mark.parametrize("estimator", [QUANTILES, DESCRIBE], ids=lambda each: each.name)
def test_a_flow_releases_what_a_plain_run_does(prefect_server, tmp_path, monkeypatch, estimator):
    """A closed run replays without Prefect; a table has every quantile and share, and the tree all files."""
    from prefect.client.orchestration import get_client

    from pubpriv.flows.estimate import FLOWS
    from pubpriv.flows.parameters import parameters_of

    random = np.random.default_rng(1)
    for name, n in (("private", 3000), ("public", 60)):
        zeros = np.where(random.random(n) < 0.4, 0.0, random.lognormal(2, 1, n))
        frame = pd.DataFrame({"a": random.normal(50, 9, n), "b": zeros})
        frame.assign(c=random.choice(["x", "y"], n)).to_parquet(tmp_path / f"{name}.parquet")
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(tmp_path / "out"))
    url, dataset = f"sqlite:///{tmp_path}/ledger.db", f"about-{estimator.name}"
    with Ledger.open(url) as ledger:
        ledger.register(dataset, budget=pp.parse_budget("zcdp:2"), unit="one patient")
    tables = f"{tmp_path}/private.parquet", f"{tmp_path}/public.parquet"
    job = Job.of(estimator, *tables, None, "zcdp:0.5", dataset, url, "r1", shares=("c",), above={"a": 60.0})
    made = FLOWS[estimator.name](parameters_of(job))
    again = run_job(job)
    assert again.to_json() == made.to_json()
    assert len(made.privacy["charges"]) == 4
    with get_client(sync_client=True) as client:
        listed = {each.key: each for each in client.read_artifacts() if str(each.key).startswith(dataset)}
    rows = json.loads(listed[f"{dataset}--quantiles"].data)
    assert len(rows) == len(made.numbers()) == 2 * len(made.at) + 8
    assert {row["column"] for row in rows} == {"a", "b", "levels(c, x, y)"}
    assert {path.suffix for path in (tmp_path / "out" / "models" / dataset).glob("r1.*")} == {
        ".json",
        ".parquet",
        ".html",
    }
    assert pp.load(tmp_path / "out" / "models" / dataset / "r1.json").to_json() == made.to_json()
