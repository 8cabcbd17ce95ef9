"""`pubpriv bench quantiles`: exact laws, and a row for each cell."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import quantile_groups
from benchmarks.quantiles import LAWS
from pubpriv.cli.main import app


@pytest.mark.parametrize("name", LAWS)
def test_each_law_holds_what_its_rows_hold(name):
    """Up to a value and below it, at heaps and between them."""
    law = LAWS[name]
    rows = np.sort(law.sample(200_000, np.random.default_rng(1)))
    at = np.unique([*np.quantile(rows, [0.1, 0.3, 0.5, 0.9]), 0.0, 45.0, 44.5])
    for side, of_law in (("right", law.up_to), ("left", law.below)):
        assert np.searchsorted(rows, at, side=side) / len(rows) == pytest.approx(of_law(at), abs=0.006)


def test_a_row_for_each_cell_of_a_law():
    told = CliRunner().invoke(app, ["bench", "quantiles", "--laws", "counts,zeros", "--runs", "2", "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert [row["law"] for row in found["rows"]] == ["zeros", "counts"]
    assert found["rows"][0]["ratio"] > 0
    assert found["rows"][1]["ratio"] is None
    assert found["rows"][0]["predicted"] == pytest.approx(1.088, abs=0.001)


@pytest.mark.parametrize(("of", "rows"), [("groups", 4), ("shares", 3)])
def test_groups_and_shares_have_rows_of_their_own(of, rows, monkeypatch):
    """One draw; with fewer rows in the groups."""
    monkeypatch.setattr(quantile_groups, "SIZES", np.geomspace(5, 20_000, 8).astype(int))
    told = CliRunner().invoke(app, ["bench", "quantiles", "--of", of, "--runs", "1", "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert len(found["rows"]) == rows
    assert found["rows"][-1]["coverage"] > 0.5


def test_beside_opendp_the_same_rows_are_released():
    """One draw of zeros, which candidates without zero cannot name."""
    told = CliRunner().invoke(
        app, ["bench", "quantiles", "--beside-opendp", "--laws", "zeros", "--runs", "1", "--json"]
    )
    assert told.exit_code == 0
    (row,) = json.loads(told.stdout)["rows"]
    assert row["ours"] < row["spaced"]
    assert {"sample", "even", "spaced", "vague"} < set(row)
