"""Draw rows from a model, on the lattice of the public rows."""

import numpy as np

from pubpriv.estimators._lattice import lattices, rounded
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.released.law import Mixture

LEFT = 0.05
"""Least share of a variance that remains after the rounding variance is subtracted."""


def drawn_rows(mixture: Mixture, public: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Draw rows (count, d) from a mixture, on the lattice of the public rows (m, d); public, as the seed is fixed.

    If all columns are counts, the rows follow the laws of counts with the same moments; otherwise they are rounded.

    Rounding adds a twelfth of a squared step to a column's variance (Sheppard's correction). A mixture that was fitted
    to rounded rows includes it, so it is subtracted before rows are drawn and rounded.
    """
    laws = CountLaws.of(mixture, public)
    if laws is not None:
        return laws.in_force(mixture).sample(mixture, count, seed)
    steps = lattices(public)
    weights, means, covariances = mixture.arrays
    rows = Mixture.of(weights, means, [_sharpened(own, steps**2 / 12) for own in covariances]).sample(count, seed)
    return rounded(rows, public[0], steps)


def rows_at(mixture: Mixture, public: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Draw public rows (k, count, d) at given distances from each component, on the lattice of the public rows (m, d).

    Args:
        mixture: its covariances define a length of one in each direction.
        public: the public rows.
        lengths: (k, count) distances from the component's mean. Directions are uniform.
    """
    steps = lattices(public)
    _, means, covariances = mixture.arrays
    away = np.random.default_rng(0).standard_normal((*lengths.shape, means.shape[1]))
    away *= (lengths / np.linalg.norm(away, axis=2))[:, :, None]
    roots = np.linalg.cholesky(np.stack([_sharpened(own, steps**2 / 12) for own in covariances]))
    rows = means[:, None, :] + away @ roots.transpose(0, 2, 1)
    return rounded(rows.reshape(-1, len(steps)), public[0], steps).reshape(rows.shape)


def _sharpened(covariance: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Subtract rounding variances (d,) from a covariance (d, d), or as much of them as leaves it positive definite."""
    if not added.any():
        return covariance
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    most = float(np.linalg.eigvalsh((root * added) @ root.T)[-1])
    return np.asarray(covariance - min(1.0, (1 - LEFT) / most) * np.diag(added))
