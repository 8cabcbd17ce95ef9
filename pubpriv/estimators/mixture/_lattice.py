"""Rows that are drawn from a model, on the lattice that the public rows show."""

import numpy as np

from pubpriv.estimators._even_rows import even_chances
from pubpriv.estimators._lattice import lattices, rounded
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.released.law import Mixture

_LEFT = 0.05
"""Least share of a variance that is left when what rounding adds to it is taken out."""


def drawn_rows(mixture: Mixture, public: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Rows (count, d) from a mixture, on the lattice of the public rows (m, d); they are public, for the seed is fixed.

    Where all columns count, they are of the laws of counts with the same moments; else they are rounded.

    A rounded column has the variance of what was rounded and a twelfth of its squared step (Sheppard's correction). A
    mixture that was fitted to rounded rows has both, so that part is taken out before rows are drawn and rounded.
    """
    laws = CountLaws.of(mixture, public)
    if laws is not None:
        return laws.in_force(mixture).sample(mixture, count, seed)
    steps = lattices(public)
    weights, means, covariances = mixture.arrays
    rows = Mixture.of(weights, means, [_sharpened(own, steps**2 / 12) for own in covariances]).sample(count, seed)
    return rounded(rows, public[0], steps)


def rows_at(mixture: Mixture, public: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Rows (k, count, d) about each component, on the lattice of the public rows (m, d); they are public, too.

    Args:
        mixture: its covariances tell what a length of one is in each direction.
        public: the public rows.
        lengths: (k, count) of the rows from the mean of their component. Directions are even.
    """
    steps = lattices(public)
    _, means, covariances = mixture.arrays
    away = np.random.default_rng(0).standard_normal((*lengths.shape, means.shape[1]))
    away *= (lengths / np.linalg.norm(away, axis=2))[:, :, None]
    roots = np.linalg.cholesky(np.stack([_sharpened(own, steps**2 / 12) for own in covariances]))
    rows = means[:, None, :] + away @ roots.transpose(0, 2, 1)
    return rounded(rows.reshape(-1, len(steps)), public[0], steps).reshape(rows.shape)


def rows_of_column(mixture: Mixture, public: np.ndarray, count: int, wider: float = 1.0) -> np.ndarray:
    """Rows (k * count, 1) about each component of one column, evenly drawn, on the lattice of the public rows (m, 1).

    Args:
        mixture: of one column.
        public: the public rows.
        count: of the rows of each component.
        wider: so many times as wide as the component are they drawn.
    """
    from scipy.special import ndtri

    steps = lattices(public)
    _, means, covariances = mixture.arrays
    roots = np.sqrt([_sharpened(own, steps**2 / 12)[0, 0] for own in covariances])
    rows = means + wider * roots[:, None] * ndtri(even_chances(count))
    return rounded(rows.reshape(-1, 1), public[0], steps)


def _sharpened(covariance: np.ndarray, added: np.ndarray) -> np.ndarray:
    """A covariance (d, d) less the variances (d,) that were added to it, or as much of them as leaves it positive."""
    if not added.any():
        return covariance
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    most = float(np.linalg.eigvalsh((root * added) @ root.T)[-1])
    return np.asarray(covariance - min(1.0, (1 - _LEFT) / most) * np.diag(added))
