"""Clip radii are those of the least error, as scipy finds them."""

import math

import pytest
from scipy.optimize import minimize_scalar

from pubpriv.estimators.gaussian.clipping import best_moment_radius, variance_error


@pytest.mark.parametrize("rho", [0.001, 0.1, 10.0])
@pytest.mark.parametrize("n", [200, 100_000])
def test_radii_of_one_column_are_those_that_scipy_finds(n, rho):
    """Of one column the Frobenius error is that of the variance; radii agree to one in 100,000."""
    found = best_moment_radius(n, 1, rho)
    bounds = math.log(0.3), math.log(8)
    expected = minimize_scalar(lambda log: variance_error(n, 1, rho, math.exp(log)), bounds=bounds, method="bounded")
    assert found == pytest.approx(math.exp(expected.x), rel=1e-5)
