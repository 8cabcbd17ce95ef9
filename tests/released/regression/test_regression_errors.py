"""Errors of regressions and principal components of a release are those that draws of its noise, and of rows, have."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.regressions import COLUMNS, COVARIANCE, MEAN, N, covariance_of, goe, release
from helpers.releases import mixture_release

import pubpriv as pp
from pubpriv.released.groups import Group, Groups
from pubpriv.released.law import Mixture


@pytest.mark.long
@pytest.mark.parametrize("condition", [10.0, 1e8])
def test_noise_moves_coefficients_by_what_is_stated_and_on_average_not_at_all(condition):
    """Over draws of the noise, at any condition of the regressors: no bias, and the stated spread."""
    generator = np.random.default_rng(4)
    turn = np.linalg.qr(generator.standard_normal((5, 5)))[0]
    spread = (turn * np.geomspace(1, 1 / condition, 5)) @ turn.T
    slopes = turn[:, -1] * np.sqrt(condition)
    true = covariance_of((spread + spread.T) / 2, slopes)
    root = np.linalg.cholesky(true)
    columns = tuple("abcdey")
    z, stated, scatter = [], [], []
    for _ in range(250):
        noisy = root @ (np.eye(6) + goe(0.1, 6, generator)) @ root.T
        found = release((noisy + noisy.T) / 2, sd=0.1, mean=np.zeros(6), columns=columns).regress("y")
        z.append((found.coef - slopes) / np.sqrt(np.diag(np.linalg.inv(spread))))
        stated.append([figure.privacy**2 for figure in found.coefficients[1:]])
        scatter.append(found.residual_sd.value**2)
    z = np.array(z)
    assert np.abs(z.mean(axis=0) / (z.std(axis=0) / np.sqrt(250))).max() < 3.5
    privacy = np.sqrt(np.mean(stated, axis=0) / np.diag(np.linalg.inv(spread)))
    assert z.std(axis=0) == pytest.approx(privacy, rel=0.15)
    assert np.mean(scatter) == pytest.approx(4.0, rel=0.013)


def moved(estimate, means, covariances):
    """The same release with other numbers."""
    return replace(estimate, gaussian=Mixture.of([1.0], [means], [covariances]))


def measures(found):
    return np.array([
        *(figure.value for figure in found.coefficients), found.r2.value, found.residual_sd.value,
        *(figure.value for figure in (*found.correlations, *found.partial_correlations)),
    ])  # fmt: skip


def stated(found):
    return np.array([
        *(figure.privacy for figure in found.coefficients), found.r2.privacy, found.residual_sd.privacy,
        *(figure.privacy for figure in (*found.correlations, *found.partial_correlations)),
    ])  # fmt: skip


@pytest.mark.long
def test_small_noise_has_the_stated_spread_in_every_number():
    """Of coefficients, R^2, scatter, correlations and partial correlations."""
    generator, sd = np.random.default_rng(5), 0.004
    root = np.linalg.cholesky(COVARIANCE)
    estimate = release(sd=sd)
    draws = []
    for _ in range(200):
        noisy = COVARIANCE + root @ goe(sd, 4, generator) @ root.T
        means = MEAN + root @ generator.standard_normal(4) * sd / 2
        draws.append(measures(moved(estimate, means, noisy).regress("y")))
    assert np.std(draws, axis=0) == pytest.approx(stated(estimate.regress("y")), rel=0.15)


def loadings_of(found):
    return [number["value"] for number in found.to_json()["numbers"]]


@pytest.mark.long
def test_principal_components_have_the_stated_spread():
    """Of variances, shares and loadings, of the correlation matrix and of the covariance."""
    generator, sd = np.random.default_rng(6), 0.002
    spread = np.diag([1.0, 4.0, 0.3, 9.0]) + 0.1
    root = np.linalg.cholesky(spread)
    estimate = release(spread, sd=sd)
    for standardised in (False, True):
        draws = [
            loadings_of(
                moved(estimate, MEAN, spread + root @ goe(sd, 4, generator) @ root.T).principal_components(
                    COLUMNS[:3], standardised
                )
            )
            for _ in range(100)
        ]
        frame = estimate.principal_components(COLUMNS[:3], standardised).to_frame()
        known = (frame["state"] == "good").to_numpy()
        assert known.sum() >= (15 if not standardised else 6)
        assert np.std(draws, axis=0)[known] == pytest.approx(frame["privacy"].to_numpy()[known], rel=0.25, abs=1e-9)


def test_the_sampling_error_of_a_mixture_is_that_of_its_rows():
    """Components of other slopes and widths make uneven scatter: the sandwich of many rows of the law says how much."""
    law = Mixture.of(
        [0.6, 0.4],
        [[0.0, 0.0, 0.0], [3.0, -1.0, 2.0]],
        [np.eye(3) + 0.3, [[4.0, 0.0, 3.0], [0.0, 0.5, 0.1], [3.0, 0.1, 3.0]]],
    )
    found = replace(mixture_release(("a", "b", "y"), means=np.zeros((2, 3))), mixture=law).regress("y")
    rows = law.sample(400_000, seed=1)
    x = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    slopes = np.linalg.lstsq(x, rows[:, 2], rcond=None)[0]
    scores = x * (rows[:, 2] - x @ slopes)[:, None]
    bread = np.linalg.inv(x.T @ x / len(rows))
    sandwich = bread @ (scores.T @ scores / len(rows)) @ bread / N
    assert [figure.value for figure in found.coefficients] == pytest.approx(slopes.tolist(), abs=0.02)
    assert found.cov("sampling") == pytest.approx(sandwich, rel=0.05, abs=1e-7)
    assert any("components may have other slopes" in note for note in found.notes)


@pytest.mark.long
def test_noise_in_weights_means_and_covariances_of_a_mixture_moves_the_whole_regression():
    """The stated error of privacy is what draws of all these numbers make; small ones, to stay at first order."""
    generator, estimate = np.random.default_rng(7), mixture_release(("a", "b", "y"), error=0.004)
    weights, means, covariances = estimate.law.arrays
    found = estimate.regress("y")
    sds = {name: np.asarray(parts["privacy"]) for name, parts in estimate.standard_errors.items()}
    draws = []
    for _ in range(100):
        off = generator.standard_normal(weights.shape) * sds["weights"]
        noise = generator.standard_normal(covariances.shape) * sds["covariances"]
        noise = np.triu(noise) + np.triu(noise, 1).transpose(0, 2, 1)
        law = Mixture.of(
            weights + off, means + generator.standard_normal(means.shape) * sds["means"], covariances + noise
        )
        draws.append(measures(replace(estimate, mixture=law).regress("y"))[:3])
    assert np.std(draws, axis=0) == pytest.approx([f.privacy for f in found.coefficients], rel=0.3)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_simulated_releases():
    """At least 90% of 95% intervals, of rows of a Gaussian, at two conditions of the regressors."""
    from benchmarks.regression import bench

    found = bench(60, first_seed=900, workers=2, laws="gauss,condition-1e8", sizes="5000:3,5000:10")
    assert found["met"], found["rows"]


def test_a_released_gaussian_has_the_regression_of_its_rows():
    """In a simulation: within three stated errors of privacy and clipping of least squares of the same rows."""
    generator = np.random.default_rng(8)
    rows = generator.standard_normal((4_000, 3)) @ np.array([[1.0, 0.5, 2.0], [0.0, 1.0, 0.4], [0.0, 0.0, 1.0]])
    public = rows[:60]
    found = pp.estimate_gaussian(public, pp.Curator.simulation(rows, "zcdp:0.5", seed=3)).regress("x2")
    x = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    own = np.linalg.lstsq(x, rows[:, 2], rcond=None)[0]
    for figure, value in zip(found.coefficients, own, strict=True):
        assert abs(figure.value - value) < 3 * np.hypot(figure.privacy, figure.clipping)


def test_a_group_that_was_drawn_to_all_is_off_in_the_direction_from_which_it_came():
    """Its numbers are off together: moving all of them back changes a coefficient by no more than its error."""
    whole, step = release(), 1e-4
    own = covariance_of(np.diag([1.0, 2.0, 0.5]), np.array([0.5, 1.0, -1.0]))
    errors = {
        "mean": {**whole.standard_errors["mean"], "shrinkage": np.zeros(4)},
        "covariance": {**whole.standard_errors["covariance"], "shrinkage": np.full((4, 4), step)},
    }
    group = Group("north", (2_000.0, 5.0), {"mean": MEAN, "covariance": own}, errors, dict.fromkeys(errors, 0.5))
    found = replace(whole, groups=Groups("region", (group,))).regress("y", group="north")
    back = own + step * np.sign(own - COVARIANCE)
    moved = np.linalg.solve(back[:3, :3], back[:3, 3]) - found.coef
    for figure, change in zip(found.coefficients[1:], moved, strict=True):
        assert abs(change) <= figure.shrinkage * 1.01
        assert figure.shrinkage**2 < change**2 + 50 * step**2
    contrast = found.contrast("a - b")
    assert contrast.shrinkage >= abs(moved[0] - moved[1]) * 0.99


def test_rows_of_persons_are_worth_as_many_as_the_means_of_components_say():
    """Where several rows of a person count; where each person counts once, persons are the rows."""
    estimate = mixture_release(("a", "y"), means=[[0.0, 0.0], [5.0, 5.0]])
    facts = {name: fact for name, fact in estimate.provenance.items() if name != "n_private"}
    facts |= {"persons": {"estimate": 20_000, "sd": 1.0}, "counted_rows": {"estimate": 50_000, "sd": 1.0}}
    once, several = (
        replace(estimate, provenance=facts | {"rows_per_person": most}).regress("y")["a"].sampling for most in (1, 4)
    )
    worth = 2 / estimate.standard_errors["means"]["sampling"][0][0] ** 2
    assert several / once == pytest.approx(np.sqrt(20_000 / worth))
