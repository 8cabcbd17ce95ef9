"""Shapes of shells: columns that stand out are kept, noise is not, and what is not known of them is told."""

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.laws import LAWS
from pubpriv.estimators.gaussian._shell_shapes import (
    added_to,
    beside,
    leant,
    shape_variances,
    unlike,
)

D, SD = 20, 0.03


def noisy(second, generator, sd=SD):
    """The matrix with noise `sd` in diagonal entries, as a release has it."""
    noise = generator.normal(0, sd, second.shape)
    return second + (noise + noise.T) / 2


def leaning(sizes, seed):
    """What a shell with these second moments of its columns is taken for, and what was released; even ones expected."""
    released = noisy(np.diag(sizes), np.random.default_rng(seed))
    total = float(np.sum(sizes))
    return leant(released, total, np.eye(D) / D, SD, np.eye(D), np.ones(D)), released


def test_columns_that_stand_out_keep_their_size():
    """Four of twenty columns have 80 per cent of a shell: neither leaning nor noise across columns takes it."""
    sizes = np.where(np.arange(D) < 4, 0.3, 0.02)
    off = [
        np.diag(found.second)[:4] - np.diag(released)[:4] for found, released in (leaning(sizes, i) for i in range(10))
    ]
    assert np.abs(off).max() < 1e-9


def test_noise_is_no_shape():
    """Of columns that are all alike the leaning takes away two thirds of the noise, and its error is told to half."""
    sizes = np.full(D, 0.1)
    found = [leaning(sizes, i)[0] for i in range(40)]
    square = np.mean([(np.diag(one.second) - sizes) ** 2 for one in found]) / SD**2
    assert square < 1 / 9
    assert square / 2 < np.mean([one.on.mean() for one in found]) < 0.5


def test_noise_that_leaning_takes_is_none_of_the_noise_that_is_left():
    """Of columns that are all alike leaning keeps hardly any noise across, though its own error may be as large."""
    found = [leaning(np.full(D, 0.1), i)[0] for i in range(40)]
    assert np.mean([one.left for one in found]) < 0.05
    assert max(one.off for one in found) > 0.2


def test_noise_that_is_louder_than_a_column_is_no_shape():
    """Rows of one column in a far shell, whose noise is twenty times the variances of the others: these hardly grow."""
    generator, second = np.random.default_rng(3), np.diag([70.0, 0.01, 0.01, 0.01, 0.01, 0.01])
    shape, known = second / np.trace(second), np.array([100.0, 1, 1, 1, 1, 1])
    grown = [
        np.diag(leant(noisy(second, generator, 20.0), 70.0, shape, 20.0, np.eye(6), known).second)[1:].max()
        for _ in range(200)
    ]
    assert np.mean(np.array(grown) > 1) < 0.05


def test_errors_of_shapes_are_those_of_their_noise():
    """Variances of entries in the table's units, over draws of noise along the columns and across."""
    generator = np.random.default_rng(0)
    colour, on, off = generator.standard_normal((3, 3)), np.array([1.0, 0.5, 2.0]), 0.7
    across = np.triu(generator.normal(0, np.sqrt(off / 2), (20_000, 3, 3)), 1)
    noise = across + across.transpose(0, 2, 1) + np.sqrt(on) * generator.standard_normal((20_000, 1, 3)) * np.eye(3)
    assert (colour @ noise @ colour.T).var(axis=0) == pytest.approx(shape_variances(colour, on, off), rel=0.05)


def test_rows_that_one_cell_took_to_a_shell_have_their_other_cells_there():
    """A hundred rows of a thousand with one long column: it has all that is beside what any rows have."""
    shell, riding = np.diag([2.0, 0.1, 0.1]), 0.1 * np.eye(3)
    assert beside(shell, riding, np.eye(3)) == pytest.approx(np.diag([1.0, 0, 0]))
    assert beside(riding, 2 * riding, np.eye(3)) == pytest.approx(np.eye(3) / 3)
    # a column that no row moves has what rounding left of it, below zero: it was made larger by 141 digits
    rounded, core = np.diag([-2e-17, 0.5, 1.0]), np.diag([-4e-17, 0.1, 0.2])
    assert beside(rounded, core, np.eye(3)) == pytest.approx(np.diag([0.0, 1.0, 2.0]) / 3)


def test_a_tail_before_counts_for_less_where_chance_does_not_explain_a_shell():
    """Forty rows of one column are the shape of what lies beyond; forty that are as even as the tail hardly move it."""
    even, one = np.eye(D) / D, np.diag(np.arange(D) == 0) * 1.0
    assert added_to(even, one, 40.0, np.eye(D))[0, 0] > 0.95
    near = np.diag(np.where(np.arange(D) < 10, 0.06, 0.04))
    assert np.diag(added_to(even, near, 40.0, np.eye(D))) == pytest.approx((np.diag(near) + 1 / D) / 2)


def test_columns_are_unlike_as_far_as_their_shares_are():
    shares = np.where(np.arange(D) < 4, 0.22, 0.0075)
    assert unlike(np.full(D, 1 / D), np.ones(D)) == pytest.approx(0, abs=1e-6)
    assert unlike(shares, np.ones(D)) == 1
    assert unlike(np.ones(1), np.zeros(1)) == 0


@pytest.mark.long
def test_long_columns_among_many_are_not_flattened():
    """Variances of lognormal columns among twenty are not too small by one of their errors, in the mean."""
    law, off = LAWS["mixed"], []
    truth, long = np.diag(law.covariance(D)), np.arange(D) % 11 == 0
    for seed in range(4):
        rows = law.draw(5060, D, np.random.default_rng([4, seed]))
        estimate = pp.estimate_gaussian(rows[:60], pp.Curator.simulation(rows[60:], pp.ZeroConcentratedDP(0.5), seed))
        errors = sum(np.diag(part) ** 2 for part in estimate.standard_errors["covariance"].values())
        off.append(((np.diag(estimate.covariance) - truth) / np.sqrt(errors))[long])
    assert np.mean(off) > -1.0


def test_rounding_of_a_column_that_has_nothing_is_no_shape():
    """Rows of the core have nothing of the last column but for rounding, and neither has the shell."""
    riding = np.diag([1.0, 2.0, -1e-18])
    assert beside(np.diag([3.0, 2.0, 0.0]), riding, np.eye(3)) == pytest.approx(np.diag([1.0, 0, 0]))
    assert beside(np.diag([3.0, 2.0, -1e-19]), riding, np.eye(3)) == pytest.approx(np.diag([1.0, 0, 0]))
