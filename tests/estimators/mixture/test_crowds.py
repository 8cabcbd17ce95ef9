"""Odd rows that lie together may lie among those of a component: its own counts rule that out, or find them."""

import numpy as np
import pytest

import pubpriv as pp

N = 60_000


def fitted(rows, seed):
    """A mixture of three components in one column, 18 standard deviations apart, of rows about these."""
    owners = np.arange(len(rows)) % 3
    private = rows + 18.0 * owners
    curator = pp.Curator.simulation(private[60:, None], pp.parse_budget("zcdp:0.5"), seed)
    return pp.estimate_mixture(private[:60, None], curator, n_components=3)


def of_component(found, place):
    """(mean, its error, variance, its error) of the component at `place`."""
    j = int(np.argmin(np.abs(found.means[:, 0] - place)))
    errors = {
        name: np.sqrt(sum(np.array(part).reshape(3, -1)[j, 0] ** 2 for part in found.standard_errors[name].values()))
        for name in ("means", "covariances")
    }
    return found.means[j, 0], errors["means"], found.covariances[j, 0, 0], errors["covariances"]


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_rule_out_that_odd_rows_lie_together(seed):
    """Intervals were four times as wide as they need be, in case odd rows lay together in each component."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal(N)
    rows[60::100] *= 15.0
    found = fitted(rows, seed)
    assert found.diagnostics["outside"]["seen"]
    for place in (0.0, 18.0, 36.0):
        mean, mean_error, variance, error = of_component(found, place)
        assert abs(mean - place) < 3 * mean_error < 3 * 2.5 * np.sqrt(3 / N)
        assert abs(variance - 1) < 3 * error < 3 * 2.5 * np.sqrt(6 / N)


@pytest.mark.parametrize("seed", [3, 5])
def test_counts_find_odd_rows_that_lie_together(seed):
    """Those of each component but the last lie 3 sds from the mean of the next, and made its variance 5% too large."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal(N)
    rows[60:][np.arange(60, N) // 3 % 100 == 0] += 21.0
    found = fitted(rows, seed)
    assert found.diagnostics["outside"]["seen"]
    for place in (0.0, 18.0, 36.0):
        mean, mean_error, variance, error = of_component(found, place)
        assert abs(mean - place) < 1.96 * mean_error
        assert abs(variance - 1) < min(1.96 * error, 0.03)
    assert of_component(found, 0.0)[1] < of_component(found, 36.0)[1] / 2
