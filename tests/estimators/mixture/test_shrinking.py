"""What noise explains of a round's covariance is taken from the last estimate, and brings no bias with it."""

import numpy as np
import pytest

from pubpriv.estimators.mixture._shrinking import shrunk

D = 20


def ensemble(generator, sd):
    """A symmetric matrix of noise: of this sd on the diagonal, of half that variance off it."""
    noise = generator.normal(size=(D, D)) * sd
    return (noise + noise.T) / 2


def test_variances_are_right_on_average():
    """Whitened by a noisy estimate, rows look wider than they are: 2% at noise of these sizes."""
    generator, found = np.random.default_rng(1), []
    for _ in range(200):
        values, axes = np.linalg.eigh(np.eye(D) + ensemble(generator, 0.1))
        root = (axes * np.sqrt(values)) @ axes.T
        inverse = np.linalg.inv(root)
        seen = inverse @ inverse + ensemble(generator, 0.1)
        found.append(np.trace(root @ shrunk(seen, np.eye(D), root, 0.1) @ root) / D)
    assert np.mean(found) == pytest.approx(1.0, abs=0.006)


def test_variances_do_not_pay_for_correlations_that_were_right():
    """Where the last estimate is off in variances alone, these are drawn to it by as little as their own noise says."""
    generator = np.random.default_rng(2)
    truth = np.diag(np.linspace(0.5, 1.5, D))
    found = shrunk(truth + ensemble(generator, 0.1), np.eye(D), np.eye(D), 0.1)
    away = found - truth
    assert np.sqrt(np.mean(np.diag(away) ** 2)) < 0.13
    assert np.abs(away - np.diag(np.diag(away))).max() < 0.05


def test_a_column_that_the_last_estimate_had_wrong_is_not_drawn_back():
    """As where public rows hold an odd one: nine tenths too wide in one column, and right in the others."""
    truth = np.diag([0.1, *[1.0] * (D - 1)])
    generator = np.random.default_rng(8)
    found = np.mean([shrunk(truth + ensemble(generator, 0.05), np.eye(D), np.eye(D), 0.05)[0, 0] for _ in range(40)])
    assert found == pytest.approx(0.1, abs=0.03)
