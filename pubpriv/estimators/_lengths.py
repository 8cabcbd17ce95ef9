"""Lengths of standard Gaussian rows: |z| has a chi distribution with d degrees of freedom. Avoids `scipy.stats`."""

import numpy as np

SHELLS = 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99
"""Shares of Gaussian rows within the edges of shells: finer ones would tell more of the middle, and have fewer rows
beside the noise of each."""


def length_quantile(d: int, share: float) -> float:
    """Give the quantile of |z| at `share`, for standard Gaussian rows z in R^d."""
    return float(length_quantiles(d, np.array(share)))


def length_quantiles(d: int, shares: np.ndarray) -> np.ndarray:
    """Give the quantiles of |z| at `shares` (any shape), for standard Gaussian rows z in R^d."""
    from scipy.special import gammaincinv

    return np.asarray(np.sqrt(2 * gammaincinv(d / 2, shares)))


def gaussian_shares(edges: np.ndarray, d: int, scales: np.ndarray) -> np.ndarray:
    """Give the shares (scales, len(edges) + 1) of Gaussian rows of each scale between adjacent `edges`."""
    from scipy.special import gammainc

    below = gammainc(d / 2, (edges / scales[:, None]) ** 2 / 2)
    return np.asarray(np.diff(below, axis=1, prepend=0.0, append=1.0))


def beyond_share(d: int, length: float) -> float:
    """Give the share of standard Gaussian rows in R^d that are longer than `length`."""
    from scipy.special import gammaincc

    return float(gammaincc(d / 2, length**2 / 2))
