"""Releases of quantiles as transformers of scikit-learn: those of the rows themselves, but for noise."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

import pubpriv as pp

RANDOM = np.random.default_rng(1)
ROWS = np.column_stack(
    [RANDOM.lognormal(10, 1, 5000), np.where(RANDOM.random(5000) < 0.4, 0.0, RANDOM.lognormal(2, 1, 5000))]
)


@pytest.fixture(scope="module")
def release():
    curator = pp.Curator.simulation(ROWS, "zcdp:0.5", 2, columns=["income", "cost"])
    return pp.estimate_quantiles(ROWS[:80], curator, None)


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_values_are_mapped_to_their_ranks(release, output):
    """As by the transformer that is fitted to the rows; missing cells stay missing."""
    made, own = release.to_quantile_transformer(output), QuantileTransformer(output_distribution=output).fit(ROWS)
    inside = np.quantile(ROWS, [0.45, 0.6, 0.75, 0.95], axis=0)
    assert made.transform(inside) == pytest.approx(own.transform(inside), abs=0.03 if output == "uniform" else 0.2)
    assert np.isnan(made.transform([[np.nan, 1.0]])[0, 0])
    middle = release.to_quantile_transformer().transform([[2e4, 0.0]])[0, 1]
    assert middle == pytest.approx(0.2, abs=0.02)  # of the zeros, which have the first 40%
    far = made.transform([[1e12, 1e12], [-1e12, -1e12]])
    assert (far[0] > far[1]).all()
    back = made.inverse_transform(made.transform(inside))
    assert back == pytest.approx(inside, rel=0.05, abs=0.5)


def test_columns_are_centred_at_the_median_and_divided_by_the_quartiles(release):
    made, own = release.to_robust_scaler(), RobustScaler().fit(ROWS)
    assert made.center_ == pytest.approx(own.center_, rel=0.05)
    assert made.scale_ == pytest.approx(own.scale_, rel=0.08)
    assert make_pipeline(made, StandardScaler()).steps[0][1].transform(ROWS[:3]).shape == (3, 2)


def test_columns_that_are_counted_are_left_out():
    curator = pp.Curator.simulation(
        np.column_stack([ROWS[:, 0], ROWS[:, 1] > 0]), "zcdp:0.5", 2, columns=["income", "any"]
    )
    public = np.column_stack([ROWS[:80, 0], ROWS[:80, 1] > 0])
    found = pp.estimate_quantiles(public, curator, shares=["any"])
    assert found.to_robust_scaler().transform(ROWS[:3, :1]).shape == (3, 1)
