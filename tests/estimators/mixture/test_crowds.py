"""Odd rows that lie together may lie among those of a component: its own counts rule that out, or find them."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.regions import View
from pubpriv.estimators.mixture._fit_regions import (
    longest_axes,
    shells_along,
    shells_to_sides,
    side_edges,
    without_sides,
)
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

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


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
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


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_counts_find_odd_rows_that_lie_together(seed):
    """Those of each component but the last lie 3 sds from the mean of the next, and made its variance 5% too large."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal(N)
    rows[60:][np.arange(60, N) // 3 % 100 == 0] += 21.0
    found = fitted(rows, seed)
    assert found.diagnostics["outside"]["seen"]
    for place in (0.0, 18.0, 36.0):
        mean, mean_error, variance, error = of_component(found, place)
        assert abs(mean - place) < 1.96 * mean_error < 1.96 * 2.2 * np.sqrt(3 / N)
        assert abs(variance - 1) < min(1.96 * error, 0.03)


SIDES = side_edges()


def test_shells_to_either_side_are_those_of_distances_and_of_signs():
    """One partition, so that a row is in one region; both sides together are the shells along the axis."""
    scaling = Scaling((3.0,), (2.0,))
    model = Mixture.of([0.5, 0.5], [[-9.0], [9.0]], [[[1.0]], [[4.0]]])
    cells = scaling.cells(model)
    rows = 3.0 + 2.0 * model.sample(4000, seed=1)
    rows[:2] = [[3.0 + 2.0 * 60.0], [3.0 - 2.0 * 60.0]]
    view = View(np.ascontiguousarray(rows.T))
    sided, along = shells_to_sides(cells), shells_along(cells, longest_axes(scaling, model, (0.1, 0.1)))
    counts = np.bincount(sided.assign(view), minlength=sided.n_regions).reshape(2, -1)
    place, owners = (rows[:, 0] - 3.0) / 2.0, cells.assign(view)
    for component, mean in enumerate([-9.0, 9.0]):
        there = np.searchsorted(SIDES, (place[owners == component] - mean) / (1.0 + component))
        assert counts[component].tolist() == np.bincount(there, minlength=len(SIDES) + 1).tolist()
    folded = np.bincount(along.assign(view), minlength=along.n_regions).reshape(2, -1)
    assert without_sides(counts).tolist() == folded.tolist()


@pytest.mark.long
@pytest.mark.parametrize("side", [pytest.param(-1, marks=pytest.mark.slow), 1])
def test_counts_tell_to_which_side_a_crowd_lies(side):
    """The mean is off to that side by so much; of odd rows that lie nowhere near, it is not."""
    generator = np.random.default_rng(7)
    rows = generator.standard_normal(N)
    rows[60:][np.arange(60, N) // 3 % 100 == 0] += side * 20.5
    found = fitted(rows, 7)
    for place in (0.0, 18.0, 36.0):
        mean, error, variance, variance_error = of_component(found, place)
        assert abs(mean - place) < min(1.96 * error, 0.02)
        assert error < 3 * np.sqrt(3 / N)
        assert abs(variance - 1) < min(1.96 * variance_error, 0.035)
