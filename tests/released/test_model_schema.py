"""`docs/reference/model.schema.json` against models as they are: of every kind, of rows and of persons, and real."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import run_program
from jsonschema import Draft202012Validator

import pubpriv as pp

FILE = Path(__file__).parents[2] / "docs" / "reference" / "model.schema.json"
SCHEMA = Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
ROWS = np.random.default_rng(5).standard_normal((2000, 2)) + 9.0 * (np.arange(2000) % 2)[:, None]
ESTIMATORS = {
    "mean": pp.estimate_mean,
    "gaussian": pp.estimate_gaussian,
    "quantiles": pp.estimate_quantiles,
    "shares": lambda public, curator: pp.estimate_quantiles(public.round(), curator, shares=curator.columns),
    "mixture": lambda public, curator: pp.estimate_mixture(public, curator, n_components=2),
    "regression": lambda public, curator: pp.estimate_regression(public, curator, outcome=curator.columns[-1]),
}


def model(estimate) -> dict:
    """What a model file has."""
    return json.loads(json.dumps(estimate.to_json()))


@pytest.mark.long
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("persons", [False, True], ids=["rows", "persons"])
def test_a_simulation_is_as_the_schema_says(kind, persons):
    """Every kind, of rows and of persons with two rows each."""
    whose = np.arange(2000) // 2 if persons else None
    curator = pp.Curator.simulation(ROWS, "zcdp:1", seed=1, persons=whose)
    made = model(ESTIMATORS[kind](ROWS[:20] + 0.01, curator))
    assert [error.message for error in SCHEMA.iter_errors(made)] == []


@pytest.mark.parametrize("budget", ["zcdp:1", "approx:4,1e-6", "pure:4"])
def test_a_release_is_as_the_schema_says(budget, tmp_path):
    """Under every kind of budget."""
    pd.DataFrame(ROWS, columns=["a", "b"]).to_parquet(tmp_path / "private.parquet")
    private = pp.PrivateTable.open(tmp_path / "private.parquet", ["a", "b"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget=budget, table=private)
        with pp.Curator(private, ledger, "people", budget) as curator:
            made = model(pp.estimate_mean(ROWS[:20], curator, covariance="identity", force=True))
    assert [error.message for error in SCHEMA.iter_errors(made)] == []


@pytest.mark.long
def test_groups_and_periods_are_as_the_schema_says(tmp_path, monkeypatch, capsys):
    """Of a group its released number of rows, of a period that of the period: in the place of n."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(ROWS, columns=["a", "b"]).assign(ward="x", day=pd.Timestamp("2024-01-05").date())
    frame.iloc[::3, 2] = "y"
    frame.to_parquet("private.parquet")
    (frame.iloc[:20, :3] + {"a": 0.1, "b": 0.1, "ward": ""}).to_csv("public.csv", index=False)
    program = partial(run_program, monkeypatch, capsys)
    ledger = ["--ledger", "sqlite:///ledger.db"]
    table = ["--private", "private.parquet", "--columns", "a,b"]
    terms = ["--by", "ward", "--period", "month:day", "--per-period", "zcdp:1"]
    assert program("budget", "set", "ward", "zcdp:2", *table, *terms, *ledger).code == 0
    fit = [
        "fit",
        "mean",
        "--dataset",
        "ward",
        "--public",
        "public.csv",
        "--columns",
        "a,b",
        "--budget",
        "zcdp:0.5",
        *ledger,
    ]
    for name, asked in (("groups", ["--by", "ward"]), ("period", ["--period", "2024-01"])):
        assert program(*fit, *ledger, *asked, "--out", f"{name}.json", "--plain").code in (0, 4)
        made = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert [error.message for error in SCHEMA.iter_errors(made)] == []
        assert ("groups" in made, "period" in made["provenance"]) == (name == "groups", name == "period")


def test_what_is_no_model_is_seen():
    """Another format, a lost part, an error without its source, numbers that are texts, a field of the wrong kind."""
    good = model(pp.estimate_gaussian(ROWS[:20] + 0.01, pp.Curator.simulation(ROWS, "zcdp:1", seed=1)))
    assert SCHEMA.is_valid(good)
    for change in (
        {"format": 3},
        {"findings": [{"code": "x"}]},
        {"states": {"wide": []}},
        {"covariance": None},
        {"mean": ["1", "2"]},
        {"kind": "mixture"},
        {"converged": "yes"},
        {"standard_errors": {"mean": {"privacy": [1, 1]}}},
        {"privacy": good["privacy"] | {"spent": "much"}},
        {"provenance": {name: value for name, value in good["provenance"].items() if name != "n_private"}},
    ):
        assert not SCHEMA.is_valid(good | change), change
