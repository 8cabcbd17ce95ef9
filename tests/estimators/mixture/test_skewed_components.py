"""Skewed components of one column: what sorting and clipping did to them is put back."""

from types import SimpleNamespace

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._skewed_laws import skewed_laws
from pubpriv.estimators.mixture._skewness import read_skewness
from pubpriv.estimators.mixture._sorted_rows import ColumnSorting
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.released.law import Mixture

N, K, APART = 300_000, 3, 8.0

LAWS = {
    "gamma": lambda shape, generator: (generator.gamma(20.0, 1.0, shape) - 20) / np.sqrt(20),
    "to the left": lambda shape, generator: (20 - generator.gamma(20.0, 1.0, shape)) / np.sqrt(20),
    "rayleigh": lambda shape, generator: (generator.rayleigh(1.0, shape) - np.sqrt(np.pi / 2)) / np.sqrt(2 - np.pi / 2),
    "counts": lambda shape, generator: (generator.poisson(8.0, shape) - 8) / np.sqrt(8),
}


def run(law, seed, unlike=False):
    """Estimate three components of a law, or only the first of it; beside the estimate of the same rows with labels."""
    generator = np.random.default_rng(seed)
    places = np.rint(APART * np.sqrt(8) * np.arange(K)) / np.sqrt(8)

    def rows(n):
        labels = generator.integers(K, size=n)
        values = law(n, generator)
        values = np.where(labels == 0, values, generator.standard_normal(n)) if unlike else values
        return places[labels] + values, labels

    public, (private, labels) = rows(60)[0], rows(N)
    curator = pp.Curator.simulation(private[:, None], pp.ZeroConcentratedDP(0.5), seed)
    found = pp.estimate_mixture(public[:, None], curator, n_components=K)
    own = [private[labels == j] for j in range(K)]
    order = np.argsort(found.means[:, 0])
    return found, order, np.array([each.mean() for each in own]), np.array([each.var() for each in own])


def off(found, order, means, variances):
    """Largest difference from the estimate with labels, in stated errors: of means, and of variances."""
    errors = found.standard_errors
    mean_sd = np.sqrt(sum(np.square(part)[order, 0] for part in errors["means"].values()))
    sd = np.sqrt(sum(np.square(part)[order, 0, 0] for part in errors["covariances"].values()))
    assert (sd < 1.6 * variances * np.sqrt(2 * K / N)).all()
    return (
        np.abs((found.means[order, 0] - means) / mean_sd).max(),
        np.abs((found.covariances[order, 0, 0] - variances) / sd).max(),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", [*LAWS][:1] + [pytest.param(name, marks=pytest.mark.slow) for name in [*LAWS][1:]])
def test_skewed_rows_are_measured_as_with_labels(name):
    """Rows that were nearer to the next component, or clipped, moved means and variances by two errors and more."""
    found, *labelled = run(LAWS[name], 2)
    assert found.diagnostics["tails"]["skewed"]
    assert max(off(found, *labelled)) < 1.2
    assert any("skewed" in text for text in found.diagnostics["warnings"])


@pytest.mark.slow
def test_one_skewed_component_among_gaussian_ones():
    """Each component has a law of its own; its rows are among those of the next one."""
    found, *labelled = run(LAWS["rayleigh"], 2, unlike=True)
    assert found.diagnostics["tails"]["skewed"]
    assert max(off(found, *labelled)) < 1.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [
        lambda n, generator: generator.standard_normal(n),
        lambda n, generator: generator.standard_t(5, n) * np.sqrt(3 / 5),
        lambda n, generator: np.where(generator.random(n) < 0.7, -0.5, 1.0) + 0.4 * generator.standard_normal(n),
    ],
    ids=["gaussian", "long on both sides", "two clusters"],
)
def test_other_rows_are_not_taken_for_skewed(law):
    """Rows that no skewed law explains keep what is made of their lengths."""
    tails = run(law, 3)[0].diagnostics.get("tails")
    assert tails is None or not tails["skewed"]


def test_laws_are_standard_and_of_the_skewness_that_they_say():
    """They differ in how far they reach; each has a mirror image."""
    laws = skewed_laws()
    mean, variance, third = (laws.values**power @ laws.weights for power in (1, 2, 3))
    assert np.abs(mean).max() < 1e-9
    assert variance == pytest.approx(np.ones(len(variance)))
    half = (len(third) - 1) // 2
    assert third[1 : half + 1] == pytest.approx(-third[half + 1 :], abs=1e-9)
    gammas, lognormals, powers = (slice(start, start + 19) for start in (1, 20, 39))
    assert third[gammas] == pytest.approx(np.linspace(0.1, 1.0, 19), rel=0.01)
    ratios = [np.median(laws.excess[part] / third[part] ** 2) for part in (gammas, lognormals, powers)]
    assert ratios == pytest.approx([1.5, 16 / 9, 8 / 9], rel=0.05)
    assert laws.excess[0] == pytest.approx(0, abs=1e-3)


def test_a_component_of_which_others_hold_all_rows_moves_nothing():
    """Rows of a law about components one of which is narrow, inside another and rare: everything is a number."""
    rows = np.random.default_rng(0).standard_normal((60, 1))
    scaling = precondition(PublicTable.open(rows))
    hidden = Mixture.of([0.999, 0.001], [[0.0], [0.1]], [[[1.0]], [[0.25]]])
    last = Round(hidden, (1000.0, 1.0), 1.0, 1.0, 1.0, hidden, 1000.0, radius=3.0)
    laws = skewed_laws()
    moves = ColumnSorting(scaling, rows, last).moves(laws.values, laws.weights)
    assert moves.shape == (len(laws.values), 2, 2, 2)
    assert np.isfinite(moves).all()
    fit = SimpleNamespace(sides=((30.0,) * 18, (-2.0,) * 18), sd=5.0)
    assert read_skewness(scaling, rows, last, fit, 1.0) is None
