"""What a release says of its own numbers: by column and quantity, and with what would help."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.columns import parse_columns
from pubpriv.estimators.gaussian.bounded import bounds_of_columns
from pubpriv.estimators.gaussian.hints import tail_remedy
from pubpriv.released.findings import doubts

HALF = "zcdp:0.5"


def released(rows, public=60, seed=1, columns=None, estimate=pp.estimate_gaussian):
    table = rows[:public]
    if columns is not None:
        names = [column.source for column in parse_columns(columns)]
        table = pp.PublicTable.open(pd.DataFrame(table, columns=names), columns)
    return estimate(table, pp.Curator.simulation(rows[public:], HALF, seed=seed, columns=columns))


def with_a_long_column(n, seed, place=1):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, 4))
    rows[:, place] = np.exp(1.2 * generator.standard_normal(n))
    return rows


@pytest.mark.long
@pytest.mark.parametrize("estimate", [pp.estimate_mean, pp.estimate_gaussian])
def test_one_long_column_condemns_no_other(estimate):
    """Of six tables of 800 rows, one column of four is lognormal in each: only that one may be doubtful."""
    for seed in range(6):
        states = released(with_a_long_column(800, seed), seed=seed, estimate=estimate).states
        assert "doubtful" not in {states[name] for name in ("x0", "x2", "x3")}


def test_a_public_row_far_out_makes_a_number_doubtful_that_such_rows_could_move():
    """One of sixty public rows lies nine deviations out in one column, and noise hides some of 600 private ones."""
    rows = np.random.default_rng(3).standard_normal((660, 3))
    rows[7, 1] = -9.0
    estimate = released(rows)
    found = [finding for finding in doubts(estimate.findings) if finding.code == "could-hide"]
    assert {finding.columns for finding in found} == {("x1",)} == {tuple(f.columns) for f in doubts(estimate.findings)}
    assert estimate.states["x0"] != "doubtful"
    assert not estimate.converged
    assert all("log" not in finding.remedy and "clip(x1, LOW, HIGH)" in finding.remedy for finding in found)
    assert f"{found[0].figures['distance']:.2g} standard deviations out" in found[0].text
    many = released(np.vstack([rows, np.random.default_rng(4).standard_normal((40_000, 3))]))
    assert many.states["x1"] != "doubtful"  # of so many rows more would have been seen


def test_a_remedy_is_a_logarithm_of_a_tail_to_the_right_alone():
    """Not of one to the left, nor of a column that is a logarithm, or clipped, already."""
    tail = np.exp(1.2 * np.random.default_rng(5).standard_normal(200))
    assert "log1p(fare)" in tail_remedy("fare", tail)
    for column, values in (("fare", -tail), ("log1p(fare)", tail), ("sqrt(fare)", tail)):
        assert "log1p(" not in tail_remedy(column, values).replace(column, "")


@pytest.mark.parametrize("seed", range(4))
def test_bounded_columns_are_not_doubted_for_tails(seed):
    """Ratings, a yes or no and a clipped column of 300 rows, beside nothing that is long."""
    generator = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            generator.integers(1, 6, 360),
            generator.random(360) < 0.4,
            np.clip(generator.standard_normal(360) ** 3, -2, 2),
        ]
    )
    estimate = released(rows.astype(float), columns=["rating", "yes", "clip(cube, -2, 2)"], seed=seed)
    tails = {"could-hide", "boundless", "long-tail"}
    assert not tails & {finding.code for finding in estimate.findings}


def test_bounds_are_declared_or_plain():
    """Levels whose ends are common, two values, a clip; not a count with a rare highest value, nor a measurement."""
    generator = np.random.default_rng(6)
    rows = np.column_stack(
        [
            generator.integers(1, 6, 60),
            np.arange(60) < 2,
            np.minimum(generator.poisson(1.0, 60), 3) + 9 * (np.arange(60) == 0),
            generator.standard_normal(60),
            generator.uniform(0, 1, 60),
        ]
    ).astype(float)
    columns = ["rating", "yes", "count", "length", "clip(share, 0, 1)"]
    table = pp.PublicTable.open(rows, columns)
    bounds = bounds_of_columns(table)
    assert bounds[[0, 1, 4]].tolist() == [[1, 5], [0, 1], [0, 1]]
    assert np.isinf(bounds[[2, 3]]).all()


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.02, 0.04])
def test_a_rare_yes_has_no_interval_of_zero_width(share):
    """Of 300 rows so few say yes that none is seen: mean and variance are in their intervals, and wide."""
    for seed in range(5):
        generator = np.random.default_rng(seed)
        rows = np.column_stack([generator.standard_normal(360), generator.random(360) < share]).astype(float)
        rows[:2, 1] = 1.0, 0.0  # one public row says yes
        estimate = released(rows, seed=seed)
        told = {number.name: number for number in estimate.numbers()}
        private = rows[60:, 1]
        for name, truth in (("mean:x1", private.mean()), ("variance:x1", private.var())):
            assert abs(told[name].value - truth) < 2 * told[name].error
            assert told[name].error > 0.001
        assert estimate.states["x1"] != "doubtful"


def test_a_column_of_one_public_value_is_doubtful():
    """No size of another value is known: its numbers may be anything, and the others' are as they were."""
    rows = np.random.default_rng(8).standard_normal((660, 3))
    rows[:, 2] = 5.0
    estimate = released(rows)
    assert estimate.states["x2"] == "doubtful"
    assert {estimate.states["x0"], estimate.states["x1"]} == {"good"}
    assert [finding.code for finding in doubts(estimate.findings)] == ["unseen-spread"]


def test_bounds_that_private_rows_refute_bound_nothing():
    """All public rows are 0 or 1, and the private ones counts up to nine: the variance is released as it is."""
    generator = np.random.default_rng(9)
    rows = np.column_stack([generator.standard_normal(4060), generator.poisson(2.0, 4060)]).astype(float)
    rows[:60, 1] = np.arange(60) % 2
    estimate = released(rows)
    assert estimate.covariance[1, 1] == pytest.approx(2.0, rel=0.2)
    assert "beyond-bounds" not in {finding.code for finding in estimate.findings}
