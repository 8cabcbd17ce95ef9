"""Components of yes-or-no columns: found by what values they have, with variances that their means tell."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.mixture._count_clusters import count_clusters
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.released.law import Mixture

STEP, CHANCE = 0.5, 0.05


def answers(n, seed, d=5, k=3):
    """Rows (n, d) of components that are four steps apart in a column each, where few have the next value."""
    generator = np.random.default_rng(seed)
    own = np.arange(n) % k
    return STEP * ((generator.random((n, d)) < CHANCE) + 4 * np.eye(k, d)[own]), own


@pytest.mark.parametrize("seed", range(5))
def test_components_of_rare_values_are_clusters(seed):
    """Rows with a rare value stay with their component: five of 60 have one in each column."""
    rows, own = answers(60, seed)
    labels = count_clusters(rows, 3)
    assert [len(np.unique(labels[own == j])) for j in range(3)] == [1, 1, 1]
    assert len(np.unique(labels)) == 3
    assert count_clusters(7.0 - rows[:0], 3) is None


@pytest.mark.parametrize(
    "noise",
    [
        lambda generator: generator.normal(size=(60, 5)),
        lambda generator: np.rint(generator.normal(scale=2.0, size=(60, 5))),
        lambda generator: generator.integers(2, size=(60, 5)),
    ],
    ids=["any numbers", "rounded numbers", "only one component"],
)
def test_other_rows_have_no_such_clusters(noise):
    """Neither columns that do not count, nor clusters that only chance makes."""
    generator = np.random.default_rng(0)
    apart = 0 if noise(generator).max() == 1 else 16
    rows = noise(generator) + apart * np.eye(3, 5)[np.arange(60) % 3]
    assert count_clusters(rows, 3) is None


@pytest.mark.slow
def test_means_tell_variances_of_two_values():
    """All components are found, each variance is p(1 - p) steps squared, and intervals of both hold.

    No public row shows the rare value of the last column.
    """
    public = answers(60, 2)[0]
    public[:, 4] = 0.0
    curator = pp.Curator.simulation(answers(6000, 3)[0], pp.ZeroConcentratedDP(0.5), 1)
    estimate = pp.estimate_mixture(public, curator, n_components=3)
    assert estimate.converged
    centers = 4 * STEP * np.eye(3, 5)
    order = [int(np.abs(estimate.means - center).sum(axis=1).argmin()) for center in centers]
    assert sorted(order) == [0, 1, 2]
    means, variances = estimate.means[order], np.einsum("kii->ki", estimate.covariances)[order]
    chances = (means - centers) / STEP
    assert variances == pytest.approx(STEP**2 * chances * (1 - chances), rel=1e-6)
    for found, truth, kind in ((means, centers + STEP * CHANCE, "means"), (variances, STEP**2 * 0.0475, "covariances")):
        parts = [np.array(part)[order] for part in estimate.standard_errors[kind].values()]
        sds = np.sqrt(sum((part if kind == "means" else np.einsum("kii->ki", part)) ** 2 for part in parts))
        assert (np.abs(found - truth) < 1.96 * sds).mean() > 0.7


def test_a_third_value_in_a_public_row_unties_a_column():
    """Then its variance is measured, as that of any law of counts."""
    rows, own = answers(60, 0)
    model = Mixture.of([1 / 3] * 3, STEP * (4 * np.eye(3, 5) + CHANCE), [STEP**2 * 0.0475 * np.eye(5)] * 3)
    assert CountLaws.of(model, rows).two_valued == (True,) * 5
    rows[np.flatnonzero(own == 0)[0], 4] = 2 * STEP
    assert CountLaws.of(model, rows).two_valued == (True,) * 4 + (False,)
