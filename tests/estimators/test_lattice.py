"""Steps of columns, as public rows show them."""

import numpy as np
import pytest

from pubpriv.estimators.lattice import distinct, lattice


@pytest.mark.parametrize("scale", [1.0, 3.0, 0.7])
def test_quotients_of_whole_numbers_have_the_step_that_they_were_made_with(scale):
    """Made in two ways they differ in the last digit, which is no step."""
    whole = np.random.default_rng(0).integers(-20, 20, 60)
    column = np.append(whole / scale, (whole + 8) / scale - 8 / scale)
    assert len(distinct(column)) == len(np.unique(whole))
    assert lattice(column) == pytest.approx(1 / scale)
