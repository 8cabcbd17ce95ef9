"""Standard errors are the scatter of what they are about: noise of every answer drawn again and again."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._results import _anywhere, _standard_errors
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

COUNTS = np.array([5000.0, 2500.0, 1500.0, 1000.0])
N, K, D = 10_000, 4, 3
COUNT_SD, SUM_SD, MOMENT_SD = 40.0, 60.0, 90.0
ORDER = np.arange(K)
SCALE = (0.5, 2.0, 100.0)
DRAWS = 20_000


def covariances(generator):
    roots = np.eye(D) + generator.normal(size=(K, D, D)) / 2
    return roots @ roots.transpose(0, 2, 1)


@pytest.fixture(scope="module")
def world():
    """(model, frames it was whitened by, its errors as told): four components in units of their own."""
    generator = np.random.default_rng(0)
    model = Mixture.of(COUNTS / N, generator.normal(size=(K, D)), covariances(generator))
    frames = covariances(generator)
    start = Mixture.of(COUNTS / N, generator.normal(size=(K, D)), frames)
    last = Round(model, tuple(COUNTS), COUNT_SD, SUM_SD, MOMENT_SD, start, N)
    return model, frames, _standard_errors(last, ORDER, Scaling((0.0,) * D, SCALE), 50, model)


def like(scatter, told):
    """Within what 20,000 draws can tell."""
    return np.allclose(scatter, told, rtol=0.03)


def test_noise_of_counts_is_noise_of_weights(world):
    """Weights are noisy counts over their noisy sum: so their errors are less than those of counts alone."""
    noisy = COUNTS + COUNT_SD * np.random.default_rng(1).normal(size=(DRAWS, K))
    told = world[2]["weights"]["privacy"]
    assert like((noisy / noisy.sum(axis=1, keepdims=True)).std(axis=0), told)
    assert told[1] < 0.9 * COUNT_SD / N


def test_noise_of_sums_is_noise_of_means(world):
    """A whitened sum's noise, coloured back and in the data's own units."""
    _, frames, told = world
    noise = SUM_SD * np.random.default_rng(2).normal(size=(DRAWS, D))
    for j, frame in enumerate(frames):
        moved = noise @ np.linalg.cholesky(frame).T / COUNTS[j] * SCALE
        assert like(moved.std(axis=0), told["means"]["privacy"][j])


def test_noise_of_moments_is_noise_of_covariances(world):
    """Orthogonal-ensemble noise of a whitened second moment, coloured back and in the data's own units."""
    _, frames, told = world
    half = MOMENT_SD / np.sqrt(2) * np.random.default_rng(3).normal(size=(DRAWS, D, D))
    noise = (half + half.transpose(0, 2, 1)) / np.sqrt(2)
    assert like(noise.std(axis=0), MOMENT_SD * np.sqrt((1 + np.eye(D)) / 2))
    for j, frame in enumerate(frames):
        root = np.linalg.cholesky(frame)
        moved = root @ noise @ root.T / COUNTS[j] * np.outer(SCALE, SCALE)
        assert like(moved.std(axis=0), told["covariances"]["privacy"][j])


def test_sampling_errors_are_those_of_samples(world):
    """Means and covariances of many samples of a component, weights of many tables."""
    model, _, told = world
    generator = np.random.default_rng(4)
    weights = generator.multinomial(N, model.weights, size=DRAWS) / N
    assert like(weights.std(axis=0), told["weights"]["sampling"])
    j, draws = 3, 1000
    rows = generator.multivariate_normal(np.zeros(D), model.arrays[2][j], size=(draws, int(COUNTS[j]))) * SCALE
    assert np.allclose(rows.mean(axis=1).std(axis=0), told["means"]["sampling"][j], rtol=0.1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.einsum("tni,tnj->tij", centred, centred) / COUNTS[j]
    assert np.allclose(spread.std(axis=0), told["covariances"]["sampling"][j], rtol=0.1)


def test_a_public_model_has_no_privacy_error(world):
    """Where the public model is kept no private row entered: sampling errors are those of the public rows."""
    model = world[0]
    told = _standard_errors(None, ORDER, Scaling((0.0,) * D, SCALE), 50, model)
    assert all((parts["privacy"] == 0).all() for parts in told.values())
    assert np.allclose(told["weights"]["sampling"], np.sqrt(COUNTS / N * (1 - COUNTS / N) / 50))


def test_errors_of_weights_are_of_the_rows_that_were_counted(world):
    """Under every method: of a table that lacks half of its values, sampling weighs as in half the rows."""
    model, _, told = world
    last = Round(model, tuple(COUNTS), COUNT_SD, SUM_SD, MOMENT_SD, model, N / 2)
    half = _standard_errors(last, ORDER, Scaling((0.0,) * D, SCALE), 50, model)["weights"]
    assert half["sampling"] == pytest.approx(np.sqrt(2) * told["weights"]["sampling"])
    assert half["privacy"] == pytest.approx(2 * told["weights"]["privacy"])


@pytest.mark.long
@pytest.mark.parametrize(("n", "least", "most"), [(400, 1.02, 1.3), (40_000, 1.0, 1.0)])
def test_few_rows_have_wider_errors_of_covariances(n, least, most):
    """Where counts do not tell whether rows are Gaussian, and the release says so."""
    rows = np.random.default_rng(5).normal(size=(n + 40, 2)) * [1.0, 20.0]
    curator = pp.Curator.simulation(rows[40:], pp.ZeroConcentratedDP(0.5), 6)
    estimate = pp.estimate_mixture(rows[:40], curator, n_components=1)
    parts = {name: np.diag(np.array(errors)[0]) for name, errors in estimate.standard_errors["covariances"].items()}
    gaussian = np.diag(estimate.covariances[0]) * np.sqrt(2 / n)
    total = np.sqrt(sum(part**2 for part in parts.values()))
    wider = total / np.sqrt(gaussian**2 + parts["privacy"] ** 2)
    assert (wider > least - 0.01).all()
    assert (wider < most + 0.01).all()
    assert any("too few rows to tell" in text for text in estimate.diagnostics["warnings"]) == (most > 1)


def test_components_that_may_be_anywhere_are_off_by_what_rows_of_the_table_differ_by(world):
    """Means by two rows, covariances by all, weights by membership; the other parts of the errors are unchanged."""
    model, _, told = world
    errors = _anywhere(told, model)
    rows = model.sample(200_000, seed=1)
    sd = rows.std(axis=0)
    assert np.allclose(errors["means"]["clipping"], np.sqrt(2) * sd, rtol=0.02)
    assert np.allclose(errors["covariances"]["clipping"], np.outer(sd, sd), rtol=0.03)
    assert np.allclose(errors["weights"]["clipping"], told["weights"]["sampling"] * np.sqrt(N))
    assert all(errors[name][part] is told[name][part] for name in told for part in ("sampling", "privacy"))
