"""Scores of skewness and kurtosis are those of `scipy.stats`, which takes a second to load."""

import numpy as np
import pytest
from scipy import stats

from pubpriv.estimators.gaussian._departures import kurtosis_scores, skewness_scores

DRAWS = {
    "gaussian": lambda generator, shape: generator.normal(size=shape),
    "long": lambda generator, shape: generator.standard_t(3, size=shape),
    "skewed": lambda generator, shape: generator.lognormal(size=shape),
    "short": lambda generator, shape: generator.uniform(size=shape),
}


@pytest.mark.parametrize("law", DRAWS)
@pytest.mark.parametrize("m", [20, 1000])
def test_scores_are_those_of_scipy(law, m):
    """For few rows and many, of either sign."""
    rows = DRAWS[law](np.random.default_rng(3), (m, 4))
    assert skewness_scores(rows) == pytest.approx(stats.skewtest(rows).statistic, rel=1e-9)
    assert kurtosis_scores(rows) == pytest.approx(stats.kurtosistest(rows).statistic, rel=1e-9)
