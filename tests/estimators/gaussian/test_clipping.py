"""The constants of clipped Gaussians, against Monte Carlo, against closed forms, and against each other."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from pubpriv.estimators.gaussian.clipping import (
    _squared_normals,
    best_moment_radius,
    curvature,
    mean_constants,
    median_norm_squared,
    moment_constants,
    response,
    unclip_variances,
)

COUNT = 200_000


def clipped(rows: np.ndarray, radius: float) -> np.ndarray:
    """psi_r of every row, the plain way."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, radius / norms)


@pytest.mark.parametrize(("d", "radius"), [(1, 0.8), (2, 1.3), (5, 1.5), (10, 4.0)])
def test_mean_constants_are_those_of_simulated_rows(d, radius):
    """kappa by moving the Gaussian a little, both ways on the same normals; v as a plain variance."""
    z = np.random.default_rng(d).standard_normal((COUNT, d))
    step = np.zeros(d)
    step[0] = 0.05
    slope = (clipped(z + step, radius) - clipped(z - step, radius))[:, 0].mean() / 0.1
    constants = mean_constants(d, radius)
    assert slope == pytest.approx(constants.slope, rel=0.005)
    assert clipped(z, radius).var() == pytest.approx(constants.variance, rel=0.005)


@pytest.mark.parametrize(("d", "radius"), [(2, 1.3), (5, 2.0), (10, 3.5)])
def test_moment_constants_are_those_of_simulated_rows(d, radius):
    """c0, vs, vt as they stand; ks and kt by stretching the rows a little."""
    z = np.random.default_rng(d).standard_normal((COUNT, d))
    constants, small = moment_constants(d, radius), 0.05

    def second(deviations: np.ndarray) -> np.ndarray:
        return (clipped(z * deviations, radius) ** 2).mean(axis=0)

    squares = clipped(z, radius) ** 2
    assert squares.mean() == pytest.approx(constants.level, rel=0.005)
    tilt = np.zeros(d)
    tilt[:2] = 1, -1
    moved = second(np.sqrt(1 + small * tilt)) - second(np.sqrt(1 - small * tilt))
    assert moved @ tilt / 2 / (2 * small) == pytest.approx(constants.shape, rel=0.01)
    grown = second(np.full(d, math.sqrt(1 + small))) - second(np.full(d, math.sqrt(1 - small)))
    assert grown.mean() / (2 * small) == pytest.approx(constants.trace, rel=0.01)
    assert (squares @ tilt / math.sqrt(2)).var() == pytest.approx(constants.shape_variance, rel=0.02)
    assert (squares.sum(axis=1) / math.sqrt(d)).var() == pytest.approx(constants.trace_variance, rel=0.02)


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.5])
def test_in_one_dimension_constants_are_those_of_the_normal_distribution(radius):
    """kappa = P(|z| <= r), and v = E min(z^2, r^2) by the normal's own density."""
    constants = mean_constants(1, radius)
    inside = 2 * norm.cdf(radius) - 1
    assert constants.slope == pytest.approx(inside, rel=1e-12)
    square = inside - 2 * radius * norm.pdf(radius) + radius**2 * (1 - inside)
    assert constants.variance == pytest.approx(square, rel=1e-12)


def test_a_radius_beyond_all_rows_clips_nothing():
    """Every constant is then that of the Gaussian itself."""
    d = 7
    mean, moment = mean_constants(d, 50.0), moment_constants(d, 50.0)
    assert (mean.slope, mean.variance) == pytest.approx((1.0, 1.0))
    assert (moment.level, moment.shape, moment.trace) == pytest.approx((1.0, 1.0, 1.0))
    assert (moment.shape_variance, moment.trace_variance) == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize(("d", "radius"), [(1, 1.0), (3, 1.2), (50, 6.0)])
def test_the_response_to_a_shift_is_known_near_and_far(d, radius):
    """Slope kappa near zero, the simulated mean in between, and the radius itself far away."""
    near, middle, far = response(d, radius, np.array([1e-3, 2.0, 1e4]))
    assert near / 1e-3 == pytest.approx(mean_constants(d, radius).slope, rel=0.02)
    rows = np.random.default_rng(1).standard_normal((100_000, d))
    rows[:, 0] += 2.0
    assert middle == pytest.approx(clipped(rows, radius)[:, 0].mean(), abs=0.01)
    assert far == pytest.approx(radius, rel=1e-3)


def test_curvature_is_the_variance_that_a_line_leaves():
    """Against centres drawn at random, each with its own exact response."""
    d, radius, spread = 3, 1.0, 1.0
    deltas = spread * np.linalg.norm(np.random.default_rng(0).standard_normal((4_000, d)), axis=1)
    images = response(d, radius, deltas)
    slope = (images @ deltas) / (deltas @ deltas)
    assert slope == pytest.approx(mean_constants(d, radius / math.sqrt(2)).slope, rel=0.01)  # Stein's line
    assert curvature(d, radius, spread) == pytest.approx(np.mean((images - slope * deltas) ** 2) / d, rel=0.1)


def test_the_best_radius_grows_with_the_budget():
    """Where noise is cheap little is clipped; where it is dear, much."""
    radii = [best_moment_radius(10_000, 10, rho) for rho in (0.001, 0.1, 10.0)]
    assert radii[0] < radii[1] < radii[2]


def test_variances_come_back_from_clipped_second_moments():
    """Rows of uneven variances, clipped hard: the map back finds them, and at equal ones it is exact."""
    variances, radius = np.array([0.3, 0.6, 1.0, 1.5, 3.0]), 2.0
    rows = np.random.default_rng(2).standard_normal((COUNT, 5)) * np.sqrt(variances)
    seen = (clipped(rows, radius) ** 2).mean(axis=0)
    assert np.all(seen[-2:] < 0.8 * variances[-2:])
    assert unclip_variances(seen, radius, 1e-3) == pytest.approx(variances, rel=0.03)
    level = moment_constants(5, radius).level
    assert unclip_variances(np.full(5, level), radius, 1e-3) == pytest.approx(np.ones(5), rel=1e-4)


def test_moments_that_no_clipped_rows_have_are_brought_back_to_some():
    """Negative ones are raised to the floor, and a sum beyond radius^2 is scaled below it."""
    found = unclip_variances(np.array([-1.0, 2.0, 50.0]), 2.0, 0.01)
    assert np.isfinite(found).all()
    assert np.all(found > 0)


def test_median_norm_is_that_of_chi_square():
    """For equal variances, the median of chi^2."""
    assert median_norm_squared(np.ones(10)) == pytest.approx(9.342, rel=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_unclipping_stops_only_where_further_rounds_change_no_bit(seed):
    """An even and an odd number of rounds, against the same rounds all gone through; some end back and forth."""
    d, radius, floor = 20, 7.0, 1e-3
    seen, squares = 1 + 0.2 * np.random.default_rng(seed).random(d), _squared_normals(d)
    target = seen * min(1.0, 0.98 * radius * radius / seen.sum())
    at_one = np.minimum(1.0, radius * radius / squares.sum(axis=1)) @ squares / len(squares)
    found = target = target * at_one / moment_constants(d, radius).level
    for rounds in range(1, 26):
        shrink = np.minimum(1.0, radius * radius / (squares @ found))
        found = found * np.clip(target / (found * (shrink @ squares) / len(squares)), 0.5, 2.0)
        if rounds in (3, 11, 12, 24, 25):
            assert found.tobytes() == unclip_variances(seen, radius, floor, rounds).tobytes()
