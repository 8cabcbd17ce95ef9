"""Limits of columns, and laws of some columns where others are given."""

import numpy as np
import pytest

from pubpriv.errors import InvalidInput
from pubpriv.released.bending import Limits
from pubpriv.released.law import Mixture


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([0.5, 3.25], Limits(low=0.0)),
        ([-2.0, -1.5], Limits(high=0.0)),
        ([-1.0, 4.0, 2.0], Limits(step=1.0)),
        ([0, 1, 1], Limits(0.0, 1.0, 1.0)),
        ([1, 2, 2], Limits(1.0, 2.0, 1.0)),
        ([0, 5, 5], Limits(0.0, 5.0, 5.0)),
    ],
)
def test_public_rows_tell_signs_and_whole_numbers(values, limits):
    """The extremes of public rows are no bounds, but of two values."""
    assert Limits.of_public(np.array(values, dtype=float)) == limits


def test_what_is_bent_is_the_nearest_that_may_be():
    """To steps first, then into the bounds, whose ends are multiples too."""
    drawn = np.array([-3.0, 0.2, 0.5, 2.4, 9.0])
    assert Limits(0.5, 4.2, 0.5).bend(drawn).tolist() == [0.5, 0.5, 0.5, 2.5, 4.0]
    with pytest.raises(InvalidInput):
        Limits(float("nan"), 1.0)


def test_rows_beside_a_value_are_those_of_the_whole_law():
    """Against rows of the whole law that have nearly this value: shares, mean and covariance of the others."""
    law = Mixture.of(
        [0.7, 0.3],
        [[0.0, 1.0, 0.0], [2.0, -3.0, 1.0]],
        [[[1.0, 0.4, 0.2], [0.4, 2.0, 0.1], [0.2, 0.1, 1.5]], np.diag([1.0, 0.5, 0.3])],
    )
    rows = law.sample(1_000_000, seed=3)
    near = rows[np.abs(rows[:, 0] - 1.0) < 0.02]
    beside = law.given([0], [1.0])
    found = beside.sample(len(near), seed=4)
    assert found.mean(axis=0) == pytest.approx(near[:, 1:].mean(axis=0), abs=0.1)
    assert np.cov(found.T) == pytest.approx(np.cov(near[:, 1:].T), abs=0.25)
    apart = law.given([1], [-3.0]).weights
    assert apart[1] > 0.9
    assert sum(law.given([0, 2], [50.0, -50.0]).weights) == pytest.approx(1)
