"""The Private Populous Estimator as printed: where it answers, its distance, and its noise."""

import math

import numpy as np
import pytest

from benchmarks.papers.populous._as_printed import _agreeing, populous, truncated_laplace
from benchmarks.papers.populous._blocks import Blocks
from pubpriv.estimators.sample_sizes.populous import mask_sizes, parts, populous_blocks
from pubpriv.released.distances import dist_param
from pubpriv.released.law import Mixture


def test_the_printed_algorithm_answers_where_blocks_agree_as_closely_as_it_asks():
    """Its own t of blocks within gamma / (4 z^2) of the truth: an answer within alpha; a little further: none."""
    epsilon, delta, alpha = 0.4, 1e-3, 0.2
    t = populous_blocks(epsilon, delta)
    radius = mask_sizes(1, 1, *parts(epsilon, delta), alpha, 0.05).radius
    generator = np.random.default_rng(0)

    def blocks(spread):
        means = spread * generator.uniform(-1, 1, (t, 1, 1))
        return Blocks(np.ones((t, 1)), means, np.ones((t, 1, 1, 1)), np.ones(t, dtype=bool))

    found = populous(blocks(radius / 9), epsilon, delta, alpha, 0.05, generator)
    assert found.agreement == pytest.approx(1)
    weights, means, covariances = found.answer
    assert abs(means[0, 0]) < alpha
    assert abs(covariances[0, 0, 0] - 1) < alpha
    assert weights == pytest.approx([1.0])
    assert populous(blocks(9 * radius), epsilon, delta, alpha, 0.05, generator).answer is None


def test_the_distance_of_the_printed_algorithm_is_dist_param():
    """Blocks of three components, in random orders, at a radius that some pairs exceed."""
    generator = np.random.default_rng(8)
    centers = 40 * generator.standard_normal((3, 2))
    found = []
    for _ in range(14):
        roots = np.eye(2) + 0.07 * generator.standard_normal((3, 2, 2))
        order = generator.permutation(3)
        means = centers + 0.1 * generator.standard_normal((3, 2))
        found.append((np.full(3, 1 / 3), means[order], (roots @ roots.transpose(0, 2, 1))[order]))
    blocks = Blocks.of(found, 3, 2)
    blocks.means[::2, 1] = blocks.means[::2, 0]  # two components at one place: the nearest is no match
    mixtures = [Mixture.of(*each) for each in zip(blocks.weights, blocks.means, blocks.covariances, strict=True)]
    exact = np.array([[dist_param(_Law(one), _Law(other)) for other in mixtures] for one in mixtures])
    for radius in np.quantile(exact, [0.2, 0.5, 0.8]) * 1.000001:
        assert np.array_equal(_agreeing(blocks, radius), exact <= radius)


class _Law:
    def __init__(self, mixture):
        self.weights, self.means, self.covariances = mixture.arrays


def test_truncated_laplace_noise_has_its_law_and_its_end():
    """Quantiles of 20,000 draws against the density of definition C.5."""
    generator, scale, end = np.random.default_rng(0), 0.02, 0.05
    drawn = np.array([truncated_laplace(0.01, 0.5, end, generator) for _ in range(20_000)])
    assert np.abs(drawn).max() <= end
    for size in (0.01, 0.03):
        expected = -math.expm1(-size / scale) / -math.expm1(-end / scale)
        assert (np.abs(drawn) <= size).mean() == pytest.approx(expected, abs=0.015)
    assert (drawn > 0).mean() == pytest.approx(0.5, abs=0.015)
