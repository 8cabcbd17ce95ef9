"""Diagonal and spherical components, and the choice among types: exact, honest, and better where they hold."""

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._shapes import choose_shape, shaped
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.mixture.rounds import spectral_noise
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture

CHEAP = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))
TYPES = ("full", "diag", "spherical")
VARIANCES = {"diag": np.array([1.0, 0.4, 5.0, 1.0, 3.0]), "spherical": np.full(5, 2.0)}
MEANS = 12 * np.eye(5)[:2]


def drawn(variances, n=8000, m=30, seed=0, colour=None):
    """Public and private rows of two far components with those column variances, correlated by `colour`."""
    generator = np.random.default_rng(seed)
    colour = np.eye(5) if colour is None else colour

    def rows(count):
        z = generator.normal(size=(count, 5)) * np.sqrt(variances)
        return MEANS[np.arange(count) % 2] + z @ colour.T

    return rows(m), rows(n)


def estimated(public, private, kind, rho=0.1, seed=1):
    curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP(rho), seed)
    return pp.estimate_mixture(public, curator, n_components=2, covariance_type=kind, runner=CHEAP)


def off(estimate, variances):
    """Largest relative error of a component's covariance, in Frobenius norm."""
    inverse = np.diag(variances**-0.5)
    return max(np.linalg.norm(inverse @ own @ inverse - np.eye(5)) for own in estimate.covariances)


@pytest.fixture(scope="module")
def estimates():
    """One of each type from rows that have it."""
    return {kind: estimated(*drawn(variances), kind) for kind, variances in VARIANCES.items()}


@pytest.mark.long
@pytest.mark.parametrize("kind", VARIANCES)
def test_a_released_model_has_exactly_the_type_that_was_asked_for(estimates, kind):
    """Zeros off the diagonal, one variance where spherical, in the data's own units; errors have the same shape."""
    estimate = estimates[kind]
    for own in estimate.covariances:
        assert np.array_equal(own, np.diag(np.diag(own)))
        assert kind != "spherical" or len(set(np.diag(own))) == 1
    for found in map(np.array, estimate.standard_errors["covariances"].values()):
        assert (found[:, ~np.eye(5, dtype=bool)] == 0).all()
        assert (np.einsum("kii->ki", found) > 0).all()
    assert estimate.diagnostics["covariance_type"] == kind
    assert estimate.converged


@pytest.mark.long
@pytest.mark.parametrize("kind", VARIANCES)
def test_a_type_that_holds_is_nearer_than_a_full_covariance(estimates, kind):
    """At the same budget the numbers that are not estimated add no noise."""
    full = estimated(*drawn(VARIANCES[kind]), "full")
    assert off(estimates[kind], VARIANCES[kind]) < 0.7 * off(full, VARIANCES[kind])


def test_spherical_components_are_asked_for_less():
    """Count, sum and one squared norm per component instead of a second moment, and less noise for it."""
    purse = Purse(10**11, "zcdp")
    assert (
        MixturePlan.of(purse, 8000, 5, 2, covariance_type="spherical").noise
        < 0.3 * MixturePlan.of(purse, 8000, 5, 2).noise
    )
    curator = pp.Curator.simulation(drawn(VARIANCES["spherical"])[1], pp.ZeroConcentratedDP(0.1), 1)
    pp.estimate_mixture(
        drawn(VARIANCES["spherical"])[0], curator, n_components=2, covariance_type="spherical", runner=CHEAP
    )
    kinds = {line.label.rpartition("/")[2]: line.question for line in curator.statement().charges}
    assert {kinds[label] for label in kinds if "round" in label} == {"InShares(Moments)"}


@pytest.mark.parametrize("d", [1, 5, 100])
def test_predicted_noise_falls_with_the_numbers_that_are_asked_for(d):
    """Full is louder than diagonal, diagonal louder than spherical; in one column they are much the same."""
    noise = [spectral_noise(0.1, d, 1000.0, kind) for kind in TYPES]
    if d > 1:
        assert noise[0] > noise[1] > noise[2]
    else:
        assert max(noise) < 2.5 * min(noise)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "rho"), [("diag", 0.1), ("diag", 0.01), ("spherical", 0.1), ("spherical", 0.01)])
def test_standard_errors_of_few_numbers_are_as_large_as_the_errors(kind, rho):
    """Over draws of rows and noise, variances miss the truth by about what is told."""
    misses, told = [], []
    for seed in range(10):
        estimate = estimated(*drawn(VARIANCES[kind], seed=seed), kind, rho, seed)
        parts = [np.array(part) for part in estimate.standard_errors["covariances"].values()]
        misses.append(np.einsum("kii->ki", estimate.covariances) - VARIANCES[kind])
        told.append(np.einsum("kii->ki", np.hypot(*parts)))
    ratio = np.sqrt(np.mean((np.array(misses) / VARIANCES[kind]) ** 2))
    ratio /= np.sqrt(np.mean((np.array(told) / VARIANCES[kind]) ** 2))
    assert 0.5 < ratio < 1.7


# --- the choice ----------------------------------------------------------------------------------------------

COLOUR = np.eye(5) + 0.7 * np.tril(np.ones((5, 5)), -1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("chosen", "variances", "colour"),
    [
        ("full", VARIANCES["diag"], COLOUR),
        ("diag", VARIANCES["diag"], None),
        ("spherical", VARIANCES["spherical"], None),
    ],
    ids=TYPES,
)
def test_auto_takes_the_type_that_the_rows_have(chosen, variances, colour):
    """Where the answers are good enough to tell, and says why."""
    estimate = estimated(*drawn(variances, n=20_000, colour=colour), "auto", rho=1.0)
    assert estimate.diagnostics["covariance_type"] == chosen
    assert "correlations" in estimate.diagnostics["covariance_reason"]
    for own in estimate.covariances:
        assert (chosen == "full") == bool(own[~np.eye(5, dtype=bool)].any())


def test_auto_drops_what_noise_drowns():
    """A round whose correlations are noise gives a simpler type; the same correlations without that noise stay."""
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(2, 6, 6)) * 0.1
    covariances = np.diag(np.linspace(1, 4, 6)) + (noise + noise.transpose(0, 2, 1)) / 2
    mixture = Mixture.of(np.array([0.5, 0.5]), np.zeros((2, 6)), covariances)
    start = Mixture.of(np.array([0.5, 0.5]), np.zeros((2, 6)), [np.eye(6)] * 2)
    scaling = Scaling((0.0,) * 6, (1.0,) * 6)
    kinds = [
        choose_shape(Round(mixture, (1e6, 1e6), 1.0, 1.0, sd * 1e6, start, 2e6), scaling).kind
        for sd in (0.1, 0.001, 3.0)
    ]
    assert kinds == ["diag", "full", "spherical"]


def test_shapes_are_those_of_the_datas_own_units():
    """Columns in other units: spherical components have one variance in the data's units, not in standard ones."""
    mixture = Mixture.of(np.array([1.0]), np.zeros((1, 2)), np.array([[[1.0, 0.5], [0.5, 1.0]]]))
    scaling = Scaling((0.0, 0.0), (1.0, 10.0))
    own = shaped(mixture, "spherical", scaling).arrays[2][0] * np.outer(scaling.scale, scaling.scale)
    assert np.allclose(own, 50.5 * np.eye(2))
    assert np.array_equal(shaped(mixture, "diag", scaling).arrays[2][0], np.eye(2))
    assert shaped(mixture, "full", scaling) is mixture


@pytest.mark.long
@pytest.mark.parametrize("kind", ["diag", "spherical", "auto"])
def test_types_hold_for_overlapping_components_and_for_the_public_model(kind):
    """The route of overlapping components, and the public model where a handful of rows says nothing."""
    generator = np.random.default_rng(0)
    public, private = generator.normal(size=(40, 3)), generator.normal(size=(30, 3))
    curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP(0.1), 1)
    estimate = pp.estimate_mixture(public, curator, n_components=2, covariance_type=kind)
    assert estimate.diagnostics["regime"] == "overlapping"
    assert not estimate.diagnostics["private_model_chosen"]
    if kind != "auto":
        for own in estimate.covariances:
            assert np.array_equal(own, np.diag(np.diag(own)))
            assert kind != "spherical" or len(set(np.diag(own))) == 1
