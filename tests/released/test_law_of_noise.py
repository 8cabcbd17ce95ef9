"""The law of the noise in a model file: it gives the errors of single numbers, and those of what combines them."""

import numpy as np
import pytest

import pubpriv as pp

D = 3


def gaussian_rows(generator, n):
    return generator.standard_normal((n, D)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]])


def long_rows(generator, n):
    return np.exp(0.7 * generator.standard_normal((n, D)))


def released(draw, seed=3, **settings):
    generator = np.random.default_rng(seed)
    rows = draw(generator, 4_000)
    return pp.estimate_gaussian(draw(generator, 60), pp.Curator.simulation(rows, "zcdp:0.5", seed=seed), **settings)


def entry(i, j):
    weights = np.zeros((D, D))
    weights[i, j] += 0.5
    weights[j, i] += 0.5
    return weights


@pytest.mark.parametrize(
    ("draw", "settings"),
    [(gaussian_rows, {}), (gaussian_rows, {"target": "gaussian"}), (long_rows, {})],
    ids=["a core", "the target gaussian", "shells"],
)
def test_it_gives_the_errors_that_the_release_states(draw, settings):
    """Of every mean and covariance: what is stated by number follows from the law."""
    estimate = released(draw, **settings)
    law = estimate.noise
    means, covariances = (np.array(estimate.standard_errors[part]["privacy"]) for part in ("mean", "covariance"))
    assert [law.sd_of_mean(row) for row in np.eye(D)] == pytest.approx(means.tolist(), rel=1e-6)
    found = np.array([[law.sd_of_covariance(entry(i, j)) for j in range(D)] for i in range(D)])
    assert found == pytest.approx(covariances, rel=0.02)


@pytest.mark.long
def test_noise_of_a_sum_is_that_of_many_releases():
    """Releases of the same rows differ by noise alone: the spread of a contrast of covariances is the law's."""
    generator = np.random.default_rng(5)
    rows, public = gaussian_rows(generator, 6_000), gaussian_rows(generator, 60)
    weights = np.array([[1.0, -0.5, 0.0], [-0.5, 0.0, 0.0], [0.0, 0.0, -1.0]])
    runs = [
        pp.estimate_gaussian(public, pp.Curator.simulation(rows, "zcdp:0.1", seed=seed), target="gaussian")
        for seed in range(60)
    ]
    spread = np.std([(weights * run.covariance).sum() for run in runs])
    assert spread == pytest.approx(np.median([run.noise.sd_of_covariance(weights) for run in runs]), rel=0.35)


def test_it_is_read_back_as_it_was_written(tmp_path):
    for number, draw in enumerate((gaussian_rows, long_rows)):
        estimate = released(draw)
        estimate.save(tmp_path / f"{number}.json")
        assert pp.load(tmp_path / f"{number}.json").noise == estimate.noise
