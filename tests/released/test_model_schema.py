"""`docs/reference/model.schema.json` against models as they are: of every kind, of rows and of persons, and real."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import pubpriv as pp

FILE = Path(__file__).parents[2] / "docs" / "reference" / "model.schema.json"
SCHEMA = Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
ROWS = np.random.default_rng(5).standard_normal((2000, 2)) + 9.0 * (np.arange(2000) % 2)[:, None]
ESTIMATORS = {
    "mean": pp.estimate_mean,
    "gaussian": pp.estimate_gaussian,
    "mixture": lambda public, curator: pp.estimate_mixture(public, curator, n_components=2),
}


def model(estimate) -> dict:
    """What a model file has."""
    return json.loads(json.dumps(estimate.to_json()))


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


def test_what_is_no_model_is_seen():
    """Another format, a lost part, an error without its source, numbers that are texts, a field of the wrong kind."""
    good = model(pp.estimate_gaussian(ROWS[:20] + 0.01, pp.Curator.simulation(ROWS, "zcdp:1", seed=1)))
    assert SCHEMA.is_valid(good)
    for change in (
        {"format": 2},
        {"covariance": None},
        {"mean": ["1", "2"]},
        {"kind": "mixture"},
        {"converged": "yes"},
        {"standard_errors": {"mean": {"privacy": [1, 1]}}},
        {"privacy": good["privacy"] | {"spent": "much"}},
        {"provenance": {name: value for name, value in good["provenance"].items() if name != "n_private"}},
    ):
        assert not SCHEMA.is_valid(good | change), change
