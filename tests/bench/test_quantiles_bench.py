"""`pubpriv bench quantiles`: exact laws, and a row for each cell."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import quantile_groups
from benchmarks.quantiles import AT, LAWS, _row
from pubpriv.cli.main import app


@pytest.mark.parametrize("name", LAWS)
def test_each_law_holds_what_its_rows_hold(name):
    """Up to a value and below it, at heaps and between them."""
    law = LAWS[name]
    rows = np.sort(law.sample(200_000, np.random.default_rng(1)))
    at = np.unique([*np.quantile(rows, [0.1, 0.3, 0.5, 0.9]), 0.0, 45.0, 44.5])
    for side, of_law in (("right", law.up_to), ("left", law.below)):
        assert np.searchsorted(rows, at, side=side) / len(rows) == pytest.approx(of_law(at), abs=0.006)


@pytest.mark.slow
def test_a_row_for_each_cell_of_a_law():
    told = CliRunner().invoke(app, ["bench", "quantiles", "--laws", "counts,zeros", "--runs", "2", "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert [row["law"] for row in found["rows"]] == ["zeros", "counts"]
    assert found["rows"][0]["ratio"] > 0
    assert found["rows"][1]["ratio"] is None
    assert found["rows"][0]["predicted"] == pytest.approx(1.088, abs=0.001)


def drawn(error, held=True, flagged=False):
    """A draw of 1,000 rows whose ranks are all off by so many sampling errors, beside a sample that is off by one."""
    sampling = np.sqrt(AT * (1 - AT) / 1000)
    own = {"ours": error * sampling, "sample": sampling, "held": np.full(5, held), "held_by_sample": np.full(5, True)}
    return own | {"flagged": flagged}


@pytest.mark.parametrize(
    ("shift", "draws", "missed"),
    [
        (0.0, [drawn(1.09)] * 20, ""),
        (0.0, [drawn(1.09)] * 17 + [drawn(1.09, held=False)] * 3, "coverage, coverage_worst"),
        (0.0, [drawn(1.3)] * 20, "ratio, forecast"),
        (0.0, [drawn(1.09)] * 19 + [drawn(1.09, flagged=True)], "flagged"),
        (3.0, [drawn(1.19)] * 19 + [drawn(1.19, held=False)], ""),
        (3.0, [drawn(1.25)] * 18 + [drawn(1.25, held=False)] * 2, "ratio, coverage"),
        (10.0, [drawn(9.0, flagged=True)] * 20, ""),
        (10.0, [drawn(9.0, flagged=True)] * 18 + [drawn(9.0)] * 2, "ratio"),
    ],
)
def test_a_row_says_which_bounds_it_misses(shift, draws, missed):
    row = _row(("gaussian", 1_000, 0.1, 100, shift), draws)
    assert (row["missed"], row["met"]) == (missed, not missed)


@pytest.mark.slow
@pytest.mark.parametrize(("of", "rows"), [("groups", 4), ("shares", 3)])
def test_groups_and_shares_have_rows_of_their_own(of, rows, monkeypatch):
    """One draw; with fewer rows in the groups."""
    monkeypatch.setattr(quantile_groups, "SIZES", np.geomspace(5, 20_000, 8).astype(int))
    told = CliRunner().invoke(app, ["bench", "quantiles", "--of", of, "--runs", "1", "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert len(found["rows"]) == rows
    assert found["rows"][-1]["coverage"] > 0.5


_ANSWERS = """
import json, sys
import numpy as np
tasks = json.load(sys.stdin)
assert {len(task["rows"]) for task in tasks} == {1000}
json.dump([[None, *np.quantile(task["rows"], task["at"][1:]).tolist()] for task in tasks], sys.stdout)
"""
"""What another Python answers: the sample's own quantiles, and an error for the first."""


@pytest.mark.long
def test_beside_peers_the_same_rows_are_released(tmp_path):
    """One draw of zeros, which candidates without zero cannot name, with a stand-in for diffprivlib's Python."""
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{_ANSWERS}")
    python.chmod(0o755)
    found = []
    for other in ([], ["--diffprivlib", str(python)]):
        arguments = ["bench", "quantiles", "--of", "peers", "--laws", "zeros", "--runs", "1", "--json", *other]
        told = CliRunner().invoke(app, arguments)
        assert told.exit_code == 0
        found += json.loads(told.stdout)["rows"]
    alone, beside = found
    assert alone["ours"] < alone["spaced"]
    assert {"sample", "even", "spaced", "vague"} < set(alone)
    assert "wide" not in alone
    assert beside["failed"] == 0.2
    assert beside["bounded"] == beside["wide"] == pytest.approx(beside["sample"], abs=0.1)
    assert beside["over_vague"] == pytest.approx(beside["ours"] / min(beside["vague"], beside["wide"]))
