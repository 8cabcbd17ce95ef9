"""Columns that others compute in most rows: found in the public rows, and no reason for any column to drown."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.gaussian._agreements import agreement
from pubpriv.estimators.gaussian._degenerate_columns import examine

HALF = pp.ZeroConcentratedDP(0.5)


def answers(count, generator, differ=0.1):
    """Three answers, yes or no, of which the last two mostly agree."""
    first, second = generator.random((2, count)) < 0.5
    return np.column_stack([first, second, second ^ (generator.random(count) < differ)]).astype(float)


def one_of_four(count, generator):
    """Numbers, and which of four kinds a row is of; one in ten is of none."""
    kinds = np.eye(4)[generator.choice(4, count)] * (generator.random((count, 1)) > 0.1)
    return np.column_stack([generator.standard_normal((count, 4)), kinds])


def totals(count, generator):
    """Three amounts and their total, to which one row in ten adds something; in other units."""
    rows = generator.gamma(2.0, 1.0, (count, 4))
    rows[:, 3] = 1000 * (rows[:, :3].sum(axis=1) + (generator.random(count) < 0.1) * rows[:, 3])
    return rows


@pytest.mark.parametrize("draw", [answers, one_of_four, totals])
def test_what_is_one_value_in_most_rows_is_found(draw):
    """In 20 of 20 samples; the weights give that value in as many rows as is said."""
    for seed in range(20):
        rows = draw(60, np.random.default_rng(seed))
        weights, value, share = agreement(rows)
        assert 1.0 in weights
        assert np.mean(np.isclose(rows @ weights, value)) == pytest.approx(share)
        assert 0.7 < share < 1


@pytest.mark.long
def test_rows_of_few_values_or_many_do_not_agree_by_chance():
    """Coins, rare ones, counts, numbers and nearly collinear ones, in a few columns and in many."""
    for d in (2, 5, 20):
        for seed in range(10):
            generator = np.random.default_rng([d, seed])
            normal = generator.standard_normal((60, d))
            for rows in (
                generator.random((60, d)) < 0.5,
                generator.random((60, d)) < 0.3,
                generator.poisson(1.0, (60, d)),
                normal,
                normal[:, :1] + 1e-6 * normal,
            ):
                assert agreement(rows.astype(float)) is None


@pytest.mark.long
@pytest.mark.parametrize("n", [900, 5000])
def test_answers_that_mostly_agree_are_measured(n):
    """Every spread is right to a fifth; before, most were ten times too wide, or the run ended with an exception."""
    for seed in range(6):
        generator = np.random.default_rng(seed)
        public, private = answers(55, generator), answers(n, generator)
        estimate = pp.estimate_gaussian(public, pp.Curator.simulation(private, HALF, seed))
        assert np.sqrt(np.diag(estimate.covariance)) == pytest.approx(private.std(axis=0), rel=0.2)
        assert any("of the public rows: what is left" in text for text in estimate.diagnostics["warnings"])


def test_the_center_of_a_combination_is_where_most_rows_are():
    """Also where columns that it is made of are measured from their commonest value, not from their mean."""
    public = answers(50, np.random.default_rng(0), differ=0.0)
    layout = examine(pp.PublicTable.open(public))
    own = next(column for column in layout.degenerate if np.count_nonzero(column.weights) > 1)
    assert len(layout.degenerate) == 3
    assert (public - np.array(layout.center)) @ np.array(own.weights) == pytest.approx(np.zeros(50), abs=1e-12)


def test_rows_beyond_all_that_is_measured_end_no_run():
    """The public rows do not show that most private ones agree, which end far out, where no length is known."""
    generator = np.random.default_rng(0)
    public, private = answers(30, generator, differ=0.4), answers(900, generator, differ=0.08)
    assert agreement(public) is None
    assert not pp.estimate_gaussian(public, pp.Curator.simulation(private, HALF, 0)).converged


def test_public_rows_beyond_all_that_counts_are_feared():
    """A long column beside a rare answer, of which a public row lies where noise hides private ones."""
    generator = np.random.default_rng(38)
    rows = generator.standard_normal((1200, 4))
    rows[:, 3] = generator.random(1200) < 0.1
    rows[:, 0] = generator.standard_t(2.5, 1200)
    public, private = rows[:60], rows[60:]
    estimate = pp.estimate_gaussian(public, pp.Curator.simulation(private, HALF, 38))
    error = np.sqrt(sum(part[0, 0] ** 2 for part in estimate.standard_errors["covariance"].values()))
    assert abs(estimate.covariance[0, 0] - private[:, 0].var()) < 3 * error  # 9 of those of the private rows alone
    assert any("some public rows lie beyond" in text for text in estimate.diagnostics["warnings"])


def test_a_missing_value_among_the_public_rows_is_feared_among_the_private_ones():
    """99 stands for it in one row of 200; six private ones make a variance ten times as large, and noise hides them."""
    generator = np.random.default_rng(1)
    rows = generator.integers(1, 8, (1260, 2)).astype(float)
    rows[::200, 0] = 99
    public, private = rows[:60], rows[60:]
    estimate = pp.estimate_gaussian(public, pp.Curator.simulation(private, HALF, 1))
    error = np.sqrt(sum(part[0, 0] ** 2 for part in estimate.standard_errors["covariance"].values()))
    assert estimate.states["x0"] == "wide"
    assert abs(estimate.covariance[0, 0] - private[:, 0].var()) < 3 * error


def test_public_rows_that_many_private_ones_contradict_are_not_feared():
    """A twentieth of the public rows is fifty standard deviations off: of 5,000 private ones none was seen there."""
    generator = np.random.default_rng(2)
    public, private = generator.standard_normal((60, 5)), generator.standard_normal((5000, 5))
    public[:3, 0] += 50
    estimate = pp.estimate_gaussian(public, pp.Curator.simulation(private, HALF, 2))
    assert estimate.converged
    assert not any("some public rows lie beyond" in text for text in estimate.diagnostics["warnings"])
