"""Private rows that repeat, stand on a point or never vary: a whole model, no variance below the floor, no spike."""

import numpy as np
import pytest
from test_pipeline import clusters, fit, whole

import pubpriv as pp


def half_on_a_point(rows):
    """Every other row is the same one."""
    return np.where(np.arange(len(rows))[:, None] % 2 == 0, rows[0], rows)


def mostly_zero(rows):
    """Nine in ten cells of the last two columns are zero, as amounts often are."""
    zero = np.random.default_rng(5).random((len(rows), 2)) < 0.9
    return np.c_[rows[:, :2], np.where(zero, 0.0, np.abs(rows[:, 2:]))]


MASSES = {
    "half on a point": half_on_a_point,
    "all on one point": lambda rows: np.tile(rows[0], (len(rows), 1)),
    "all on a far point": lambda rows: np.full(rows.shape, 1e6),
    "three points": lambda rows: rows[np.arange(len(rows)) % 3],
    "each row twenty times": lambda rows: np.repeat(rows[: len(rows) // 20], 20, axis=0),
    "mostly zero": mostly_zero,
    "a constant column": lambda rows: np.c_[rows[:, :3], np.full(len(rows), 2.0)],
    "on a line": lambda rows: rows[:, :1] * np.ones(4),
}


@pytest.mark.long
@pytest.mark.parametrize("how", MASSES)
def test_point_masses_yield_no_spike(how):
    """No direction's variance is below the stated floor, so no density is above a Gaussian's with that variance."""
    public, private = clusters(k=2, seed=3)
    estimate = whole(fit(public, MASSES[how](private), 2), 2, 4)
    floor = np.array(estimate.diagnostics["covariance_floor"])
    for covariance in estimate.covariances:
        relative = covariance / np.sqrt(np.outer(floor, floor))
        assert np.linalg.eigvalsh(relative).min() > 0.999
    highest = -(np.log(floor).sum() + 4 * np.log(2 * np.pi)) / 2
    assert estimate.log_density(np.r_[estimate.means, MASSES[how](private)]).max() < highest + 0.01


@pytest.mark.long
def test_a_variance_at_its_floor_has_an_interval_down_to_zero():
    """Private rows do not vary where public ones do: their variance is zero, and the floor keeps it above."""
    generator = np.random.default_rng(1)
    private, public = generator.normal(size=(1000, 2)), generator.normal(size=(40, 2))
    private[:, 0] = 0.0
    own, other = (number for number in fit(public, private, 1).numbers() if number.is_variance)
    assert own.value > 0
    assert own.interval[0] <= 0 < other.interval[0]


def test_a_component_that_noise_drowns_keeps_its_size():
    """A twentieth of the rows at a budget that cannot see them: their covariance is the public one's, not a speck."""
    generator = np.random.default_rng(0)
    far = np.arange(4000) % 20 == 0
    private = generator.normal(size=(4000, 3)) + 30.0 * far[:, None]
    public = np.r_[generator.normal(size=(30, 3)), generator.normal(size=(10, 3)) + 30.0]
    estimate = fit(public, private, 2, pp.ZeroConcentratedDP(0.01))
    small = estimate.covariances[int(np.argmax(estimate.means[:, 0]))]
    assert np.linalg.eigvalsh(small).min() > 0.1
    assert estimate.log_density(private[far]).mean() > -25
