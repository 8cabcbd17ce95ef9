"""Releases of a covariance whose regression is known, with noise of a known law, and draws of that noise."""

from dataclasses import replace

import numpy as np

from helpers.releases import gaussian_release
from pubpriv.data.codec import row_tuples
from pubpriv.released.noise import NoiseLaw

COLUMNS = ("a", "b", "c", "y")
SLOPES = np.array([1.0, -2.0, 0.5])
MEAN = np.array([3.0, -1.0, 10.0, 7.0])
N = 20_000


def covariance_of(spread, slopes=SLOPES, residual=4.0):
    """Covariance of x and y = x b + e."""
    half = spread @ slopes
    return np.block([[spread, half[:, None]], [half[None], np.array([[slopes @ half + residual]])]])


SPREAD = np.array([[2.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 0.5]])
COVARIANCE = covariance_of(SPREAD)


def noise_law(covariance, sd, lost=None):
    """Noise of this sd in coordinates in which a covariance is white."""
    d = len(covariance)
    frame = np.linalg.inv(np.linalg.cholesky(covariance))
    lost = np.zeros((d, d)) if lost is None else lost
    return NoiseLaw(
        frame=row_tuples(frame), center=(0.0,) * d, sd_mean=sd / 2, sd_moment=sd, shape=1.0, trace=1.0,
        pooled=(0.0, 0.0), stretch=(1.0,) * d, lost=row_tuples(lost),
    )  # fmt: skip


def release(covariance=COVARIANCE, sd=0.01, mean=MEAN, columns=COLUMNS, **changed):
    """A Gaussian with errors of sampling as of N rows, and noise of this sd where it is white."""
    own = np.diag(covariance)
    squares = np.outer(own, own) + covariance**2
    estimate = gaussian_release(columns, mean, covariance, **changed)
    errors = {
        "mean": {"sampling": np.sqrt(own / N), "privacy": np.sqrt(own) * sd / 2},
        "covariance": {"sampling": np.sqrt(squares / N), "privacy": sd * np.sqrt(squares / 2)},
    }
    return replace(estimate, standard_errors=errors, noise=noise_law(covariance, sd))


def goe(sd, d, generator):
    """A symmetric matrix of independent entries, of half the variance off the diagonal."""
    half = generator.standard_normal((d, d)) * sd / 2
    return half + half.T
