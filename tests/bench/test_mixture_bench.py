"""What the mixture's tables say is what was measured: bounds from the settings file, medians, misses."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import grid, real
from benchmarks.synthetic import SETTINGS, TABLES, Truth, covering_draw, draw, error, matched
from pubpriv.errors import InvalidInput


def rows(budget="zcdp:0.5", **values):
    """Three runs of S1 at its oracle, with other values for the last two."""
    good = {
        "setting": "S1",
        "budget": budget,
        "success": True,
        "redrawn": 0,
        **{f"{part}_ratio": 1.0 for part in ("mean", "covariance", "weight")},
        **dict.fromkeys(grid.DISTANCES, 0.5),
    }
    return [good, good | values, good | values]


def test_the_settings_file_has_the_bounds():
    """Every setting at rho 0.1, 0.5 and 1, four of them at (1, 1e-6)-DP, and no bound below the oracle itself."""
    assert list(SETTINGS) == ["S1", "S2", "S4", "S5", "S6", "S8"]
    for name, row in TABLES["synthetic"].items():
        assert grid.budgets_of(name, approximate=False) == ("zcdp:0.1", "zcdp:0.5", "zcdp:1")
        assert set(row.get("covariance", {})) <= set(row["mean"])
        assert all(bound > 1 for part in ("mean", "covariance") for bound in row.get(part, {}).values())
    assert grid.names_of(approximate=True) == ["S1", "S2", "S5", "S6"]
    assert SETTINGS["S6"].scales == (1, 1, 100, 100)
    with pytest.raises(InvalidInput, match="S4"):
        grid.names_of(approximate=True, name="S4")


MISSES = {
    "none": ({}, True),
    "means": ({"mean_ratio": 1.16}, False),
    "covariances": ({"covariance_ratio": 1.16}, False),
    "weights": ({"weight_ratio": 1.31}, False),
    "a component": ({"success": False}, False),
    "just within": ({"mean_ratio": 1.15, "covariance_ratio": 1.15, "weight_ratio": 1.3}, True),
}


@pytest.mark.parametrize("what", MISSES)
def test_a_missed_bound_is_told(what):
    """A row is met only if success, means, covariances and weights all are: medians against their bounds."""
    values, met = MISSES[what]
    row = grid.summary("S1", "zcdp:0.5", rows(**values))
    assert row["met"] is met
    assert row["mean_ratio"] == values.get("mean_ratio", 1.0)
    assert (row["mean_bound"], row["covariance_bound"], row["weight_bound"]) == (1.15, 1.15, 1.3)


def test_what_has_no_bound_is_reported_only():
    """Covariances at (1, 1e-6)-DP."""
    row = grid.summary("S1", "approx:1,1e-6", rows("approx:1,1e-6", covariance_ratio=9.0))
    assert row["covariance_bound"] is None
    assert row["covariance_ratio"] == 9.0
    assert row["met"]


def test_draws_that_miss_a_component_are_counted_apart():
    """Public rows are redrawn until each component has two; how many draws it took is row."""
    setting = replace(SETTINGS["S1"], m=7)
    truth = draw(setting, np.random.default_rng(0))
    found = [covering_draw(setting, truth, np.random.default_rng(seed)) for seed in range(20)]
    assert 0 < sum(missed for _, missed in found) < 200
    for public, _ in found:
        nearest = np.linalg.norm(public[:, None] - truth.means, axis=2).argmin(axis=1)
        assert np.bincount(nearest, minlength=3).min() >= 2
    assert grid.summary("S1", "zcdp:0.5", rows(redrawn=1))["redrawn"] == pytest.approx(2 / 5)


def test_errors_are_those_of_matched_components():
    """A turned, moved copy: each error is the one that was made, in units of the true component."""
    truth = draw(SETTINGS["S1"], np.random.default_rng(1))
    order = np.array([2, 0, 1])
    moved = truth.means + 0.3 * np.linalg.cholesky(truth.covariances)[:, :, 0]
    other = Truth(truth.weights + np.array([0.02, -0.01, -0.01]), moved, 1.1 * truth.covariances)
    turned = Truth(other.weights[order], other.means[order], other.covariances[order])
    assert order[matched(truth, turned)].tolist() == [0, 1, 2]
    found = error(truth, turned)
    assert (found.mean, found.weight) == pytest.approx((0.3, 0.02))
    assert found.covariance == pytest.approx(0.1 * np.sqrt(10))


def test_intervals_are_counted():
    """An estimate two standard errors off in one coordinate of each mean misses exactly those."""
    truth = draw(SETTINGS["S1"], np.random.default_rng(2))
    off = Truth(truth.weights, truth.means + 2.0 * (np.arange(10) == 3), truth.covariances)
    half = {"sampling": np.float64(np.sqrt(0.5)), "privacy": np.float64(np.sqrt(0.5))}
    errors = {
        "weights": {name: np.full(3, value) for name, value in half.items()},
        "means": {name: np.full((3, 10), value) for name, value in half.items()},
        "covariances": {name: np.full((3, 10, 10), value) for name, value in half.items()},
    }
    assert grid.covered(truth, off, errors) == {
        "weights_covered": 1.0,
        "means_covered": 0.9,
        "covariances_covered": 1.0,
    }


def test_real_tables_are_judged_by_their_worst_draw():
    """One draw far below the public-only model fails a row; the share of the gap counts at the larger budget only."""
    good = {"table": "person", "public_only": -6.0, "released": -5.0, "non_private": -5.0, "private": True}
    found = [good | {"budget": budget, "gap_closed": 0.2} for budget in TABLES["real"]["budgets"]]
    at_four, at_one = (real.summary("person", budget, found) for budget in TABLES["real"]["budgets"])
    assert (at_four["bound"], at_four["met"]) == (0.25, False)
    assert (at_one["bound"], at_one["met"]) == (None, True)
    worse = good | {"budget": "approx:1,1e-6", "gap_closed": 0.0, "released": -6.06}
    assert not real.summary("person", "approx:1,1e-6", [*found, worse])["met"]


BAD = {
    "no such part": (["--part", "everything"], "part must be"),
    "no such setting": (["--setting", "S3", "--no-clock"], "setting must be"),
    "a setting of a part that has its own": (["--part", "coverage", "--setting", "S1"], "leave --setting out"),
    "a setting without a bound": (["--part", "dp", "--setting", "S8"], "S1, S2, S5, S6"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_before_any_run(case):
    """In words, at once."""
    from pubpriv.cli.main import app

    options, message = BAD[case]
    done = CliRunner().invoke(app, ["bench", "mixture", *options])
    assert isinstance(done.exception, InvalidInput)
    assert message in str(done.exception)
