"""Steps of columns, as public rows show them."""

import numpy as np
import pytest

from pubpriv.estimators._lattice import count_steps, distinct, lattice


@pytest.mark.parametrize("scale", [1.0, 3.0, 0.7])
def test_quotients_of_whole_numbers_have_the_step_that_they_were_made_with(scale):
    """Made in two ways they differ in the last digit, which is no step."""
    whole = np.random.default_rng(0).integers(-20, 20, 60)
    column = np.append(whole / scale, (whole + 8) / scale - 8 / scale)
    assert len(distinct(column)) == len(np.unique(whole))
    assert lattice(column) == pytest.approx(1 / scale)


def test_a_constant_column_has_the_step_of_the_others():
    """Where these count in multiples of one step; else nothing is known of it, or of all, if one is on no lattice."""
    generator = np.random.default_rng(0)
    rows = np.c_[generator.poisson(0.5, (60, 2)) * [0.5, 1.5], np.full(60, 7.0)]
    assert count_steps(rows) == pytest.approx([0.5, 1.5, 0.5])
    assert count_steps(rows * [1.0, 0.7, 1.0])[2] == 0
    assert not count_steps(np.c_[rows, generator.standard_normal(60)]).any()
    assert not count_steps(rows[:, 2:]).any()
