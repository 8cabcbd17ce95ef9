"""`pubpriv bench bounds`: a row for each law, beside a plain clipped mean."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks import declared_bounds, root_means
from pubpriv.cli.main import app


@pytest.mark.slow
def test_stated_noise_is_that_of_a_plain_mean(monkeypatch):
    """Two draws; only bounds that are a safety net are not taken."""
    cells = tuple((law, 1_000, 0.5, 60) for law in ("rare, far", "safety net"))
    monkeypatch.setattr(declared_bounds, "CELLS", cells)
    told = CliRunner().invoke(app, ["bench", "bounds", "--runs", "2", "--json"])
    assert told.exit_code == 0
    rare, net = json.loads(told.stdout)["rows"]
    assert (rare["sums"], net["sums"]) == (1.0, 0.0)
    assert rare["ratio_stated"] == pytest.approx(1, abs=1e-3)
    assert net["ratio"] < 0.01


@pytest.mark.slow
def test_means_of_squares_have_rows_of_their_own(monkeypatch):
    monkeypatch.setattr(root_means, "SIZES", ((1_000, 0.5),))
    monkeypatch.setattr(root_means, "LAWS", {"gamma 2": root_means.LAWS["gamma 2"]})
    told = CliRunner().invoke(app, ["bench", "bounds", "--of", "roots", "--runs", "2", "--json"])
    assert told.exit_code == 0
    (row,) = json.loads(told.stdout)["rows"]
    assert row["coverage"] > 0
    assert row["ratio"] < 5
