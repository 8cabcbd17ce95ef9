"""The bench of regressions: rows of known slopes, OLS as its limit, and shares that are what the draws say."""

import numpy as np
import pytest

from benchmarks.regression import Cell, _drawn, _row, bench, bound_of, draw, least_squares_of


@pytest.mark.parametrize("law", ["gauss", "condition-1e8", "binary", "lognormal"])
def test_rows_have_the_slopes_that_are_told(law):
    """OLS of many rows finds them, within its own errors; slopes are the same in every draw."""
    generator = np.random.default_rng(1)
    rows, slopes = draw(law, 40_000, 4, generator)
    found, errors, _ = least_squares_of(rows)
    assert np.abs((found - slopes) / errors).max() < 4
    assert np.array_equal(draw(law, 10, 4, generator)[1], slopes)


def test_regressors_have_the_condition_of_their_name():
    rows, _ = draw("condition-1e8", 20_000, 6, np.random.default_rng(2))
    units = 10 ** np.random.default_rng(0).uniform(0, 0, 6)
    values = np.linalg.eigvalsh(np.cov((rows[:, :-1] / rows[:, :-1].std(axis=0) / units).T))
    assert values[-1] / values[0] > 1e6


@pytest.mark.long
def test_a_bench_is_the_same_again():
    one = _drawn((Cell("gauss", 1_000, 2), "zcdp:0.5", 3, False))
    two = _drawn((Cell("gauss", 1_000, 2), "zcdp:0.5", 3, False))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    found = bench(1, workers=1, laws="gauss", sizes="1000:2")
    assert [(row["law"], row["n"], row["d"]) for row in found["rows"]] == [("gauss", 1_000, 2)]


def drawn(added, held=True, marked=False):
    ols = np.array([1.0, -1.0])
    return {
        "ols": ols, "ols_held": np.array([True, True]), "released": ols + added, "held": np.array([held, held]),
        "marked": np.array([marked, marked]), "width": np.array([1.1, 1.1]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("added", "changed", "refused", "met"),
    [
        (0.3, {}, 0, True),
        (0.9, {}, 0, False),
        (0.3, {"held": False}, 0, False),
        (0.3, {"marked": True}, 0, False),
        (0.3, {}, 1, False),
    ],
)
def test_a_cell_is_met_if_all_of_its_bounds_are(added, changed, refused, met):
    """Ratio, coverage, marks, and no refusal."""
    row = _row(Cell("gauss", 5_000, 2), [drawn(added, **changed)] * 3 + [None] * refused)
    assert row["met"] is met
    assert row["ratio"] == pytest.approx(np.sqrt(1 + added**2))


def test_bounds_are_for_gaussian_rows_and_enough_of_them():
    assert bound_of("gauss", 1_000, 3) is None
    assert bound_of("lognormal", 5_000, 3) is None
    assert (bound_of("gauss", 5_000, 10), bound_of("condition-1e8", 5_000, 20)) == (1.12, 1.15)
