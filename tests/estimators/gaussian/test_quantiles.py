"""Quantiles by `scipy.special` have the bits of the distributions of `scipy.stats`, which fits do not load."""

import math

import pytest
from scipy.stats import chi, chi2, f

from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.mixture._linear import clip_radius

DIMENSIONS = (1, 2, 3, 10, 50, 200, 1000)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_lengths_of_gaussian_rows_are_chi(d):
    """At every share that a rank of a table may have, its ends included."""
    for share in (0.0, 1e-6, 0.01, 0.37, 0.5, 0.99, 1 - 1e-7, 1.0):
        assert length_quantile(d, share) == float(chi.ppf(share, d))
    assert clip_radius(d) == 1.05 * math.sqrt(float(chi2.ppf(0.99, d)))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_typical_radius_is_hotellings(d):
    """The median of the F distribution, from the fewest public rows on."""
    for m in (d + 1, d + 2, 2 * d + 5, 50 * d):
        wanted = math.sqrt((1 + 1 / m) * d * (m - 1) / (m - d) * float(f.ppf(0.5, d, m - d)))
        assert Preconditioner((0.0,) * d, (), (), m).typical_radius == wanted
