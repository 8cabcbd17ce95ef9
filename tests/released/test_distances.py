"""Distances of Gaussians and mixtures: bounds that hold, matchings that are the best of all permutations."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from pubpriv.errors import InvalidInput
from pubpriv.released.distances import _bottleneck_matching, dist_gmm, dist_param, total_variation
from pubpriv.released.law import Mixture


def gaussian(d, generator, near=1.0):
    """A mean and a covariance; `near` 0 is the standard Gaussian."""
    root = np.eye(d) + near * generator.normal(size=(d, d)) / 2
    return near * generator.normal(size=d), root @ root.T


def mixture(k, d, generator):
    parts = [gaussian(d, generator) for _ in range(k)]
    weights = generator.dirichlet(np.ones(k))
    return Mixture.of(weights, [mean for mean, _ in parts], [covariance for _, covariance in parts])


@pytest.mark.long
@pytest.mark.parametrize("near", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_bounds_hold_what_they_bound(d, near):
    """d_TV as an average over rows of the first, |1 - p_2/p_1|_+, lies between the bounds; both are symmetric."""
    generator = np.random.default_rng([d, int(100 * near)])
    for _ in range(4):
        first, second = gaussian(d, generator, near), gaussian(d, generator, near)
        bounds = total_variation(*first, *second)
        rows = generator.multivariate_normal(*first, size=40_000, method="cholesky")
        ratio = multivariate_normal(*second).logpdf(rows) - multivariate_normal(*first).logpdf(rows)
        sample = np.maximum(-np.expm1(ratio), 0.0)
        slack = 5 * sample.std() / np.sqrt(len(sample))
        assert 0 <= bounds.lower <= sample.mean() + slack
        assert sample.mean() - slack <= bounds.upper <= 1
        other_way = total_variation(*second, *first)
        assert (other_way.lower, other_way.upper) == pytest.approx((bounds.lower, bounds.upper), abs=1e-9)


@pytest.mark.long
def test_bounds_are_sharp_where_the_distance_is_known():
    """Equal covariances: the lower bound is 2 Phi(Delta/2) - 1. In one column: it is the integral."""
    generator = np.random.default_rng(1)
    mean, covariance = gaussian(6, generator)
    for length in (1e-3, 0.3, 2.0, 9.0):
        shift = length * np.linalg.cholesky(covariance)[:, 0]
        found = total_variation(mean, covariance, mean + shift, covariance)
        assert found.lower == pytest.approx(2 * norm.cdf(length / 2) - 1, abs=1e-9)
        assert found.upper <= min(1.0, length / 2) + 1e-9
    grid = np.linspace(-40, 60, 2_000_001)
    for shift, variance in ((0.0, 4.0), (1.5, 0.3), (0.2, 1.0001), (7.0, 9.0)):
        gap = norm.pdf(grid) - norm.pdf(grid, shift, np.sqrt(variance))
        exact = np.maximum(gap, 0).sum() * (grid[1] - grid[0])
        found = total_variation([0.0], [[1.0]], [shift], [[variance]])
        assert found.lower == pytest.approx(exact, abs=1e-6)
        assert found.upper >= exact - 1e-6


def test_the_same_gaussian_is_at_no_distance_and_units_do_not_matter():
    """Zero for equal Gaussians, nearly one for far ones, the same after an invertible map of both."""
    generator = np.random.default_rng(2)
    first, second = gaussian(4, generator), gaussian(4, generator)
    assert total_variation(*first, *first).upper < 1e-6
    endless = total_variation(first[0] + 1e200, first[1], *second)
    assert endless.lower == endless.upper == 1.0
    far = total_variation(first[0] + 100, first[1], *second)
    assert far.lower > 0.999
    assert far.upper <= 1
    matrix = generator.normal(size=(4, 4)) * np.array([1e-6, 1.0, 1e6, 1e2])[:, None]
    moved = [(matrix @ mean + 7, matrix @ covariance @ matrix.T) for mean, covariance in (first, second)]
    plain, other = total_variation(*first, *second), total_variation(*moved[0], *moved[1])
    assert (other.lower, other.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-4)


@pytest.mark.parametrize("k", range(1, 7))
def test_matchings_are_the_best_of_all_permutations(k):
    """Largest cost of the matching = least over all k! permutations, ties and repeated costs included."""
    generator = np.random.default_rng(k)
    tables = [*generator.normal(size=(20, k, k)), *generator.integers(3, size=(20, k, k)).astype(float)]
    for costs in tables:
        found = _bottleneck_matching(costs)
        brute = min(max(costs[i, p[i]] for i in range(k)) for p in permutations(range(k)))
        assert found.cost == brute
        assert sorted(found.columns) == list(range(k))
        assert max(costs[i, j] for i, j in enumerate(found.columns)) == brute


@pytest.mark.parametrize("k", [1, 2, 4])
def test_mixture_distances_are_those_of_the_definitions(k):
    """dist_GMM and dist_PARAM against their definitions, written out, over all permutations."""
    generator = np.random.default_rng(10 + k)
    first, second = mixture(k, 3, generator), mixture(k, 3, generator)

    def root(matrix, power):
        values, vectors = np.linalg.eigh(matrix)
        return (vectors * values**power) @ vectors.T

    def component(i, j):
        (m, s), (n, t) = ((np.array(x.means[a]), np.array(x.covariances[a])) for x, a in ((first, i), (second, j)))
        means = max(np.linalg.norm(root(c, -0.5) @ (m - n)) for c in (s, t))
        spreads = max(
            np.linalg.norm(root(a, 0.5) @ np.linalg.inv(b) @ root(a, 0.5) - np.eye(3)) for a, b in ((s, t), (t, s))
        )
        return max(abs(first.weights[i] - second.weights[j]), means, spreads)

    def bound(name):
        def cost(i, j):
            apart = total_variation(first.means[i], first.covariances[i], second.means[j], second.covariances[j])
            return max(abs(first.weights[i] - second.weights[j]), getattr(apart, name))

        return cost

    def brute(cost):
        table = [[cost(i, j) for j in range(k)] for i in range(k)]
        return min(max(table[i][p[i]] for i in range(k)) for p in permutations(range(k)))

    assert dist_param(first, second) == pytest.approx(brute(component), rel=1e-8)
    found = dist_gmm(first, second)
    assert found.lower == pytest.approx(brute(bound("lower")), rel=1e-8)
    assert found.upper == pytest.approx(brute(bound("upper")), rel=1e-8)
    assert found.lower <= found.upper


def test_the_order_of_components_does_not_matter():
    """A mixture is at no distance from itself in another order; a moved weight is seen in both distances."""
    one = mixture(5, 4, np.random.default_rng(3))
    weights, means, covariances = one.arrays
    order = [3, 1, 4, 0, 2]
    turned = Mixture.of(weights[order], means[order], covariances[order])
    assert dist_param(one, turned) < 1e-6
    assert dist_gmm(one, turned).upper < 1e-6
    moved = Mixture.of(weights + np.array([0.01, -0.01, 0, 0, 0]), means, covariances)
    assert dist_param(one, moved) == pytest.approx(0.01)
    assert dist_gmm(one, moved).lower == pytest.approx(0.01)


EYE = np.eye(2)
BAD = {
    "NaN in a mean": ([np.nan, 0.0], EYE, "finite"),
    "infinite covariance": ([0.0, 0.0], np.full((2, 2), np.inf), "finite"),
    "singular": ([0.0, 0.0], np.ones((2, 2)) * 1e-300, "positive definite"),
    "negative": ([0.0, 0.0], -EYE, "positive definite"),
    "not symmetric": ([0.0, 0.0], np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
    "another size": ([0.0, 0.0, 0.0], np.eye(3), "same shape"),
    "sizes that differ": ([0.0, 0.0], np.eye(3), "shape"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_gaussian_is_refused(case):
    """NaN, infinity, singular, negative or lopsided covariances, and shapes that do not fit."""
    mean, covariance, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        total_variation([0.0, 0.0], EYE, mean, covariance)


def test_what_is_no_mixture_is_refused():
    """Other numbers of components or columns, weights that are missing or not finite, odd tables of costs."""
    one = mixture(2, 3, np.random.default_rng(4))
    for other in (mixture(3, 3, np.random.default_rng(5)), mixture(2, 2, np.random.default_rng(5))):
        with pytest.raises(InvalidInput, match="no distance"):
            dist_param(one, other)
    with pytest.raises(InvalidInput, match="weights"):
        dist_gmm(one, Mixture(one.weights[:1], one.means, one.covariances))
    with pytest.raises(InvalidInput, match="finite"):
        dist_gmm(one, Mixture((np.nan, 1.0), one.means, one.covariances))
    for costs in (np.zeros((2, 3)), np.zeros((0, 0)), np.zeros(4)):
        with pytest.raises(InvalidInput, match="square"):
            _bottleneck_matching(costs)
    with pytest.raises(InvalidInput, match="finite"):
        _bottleneck_matching([[0.0, np.inf], [1.0, 2.0]])
