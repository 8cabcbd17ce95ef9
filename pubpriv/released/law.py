"""A law of rows: a Gaussian mixture as plain numbers, with density, samples and conversion for other libraries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pubpriv.data.codec import public_value, row_tuples

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture


_FURTHER = 5.0
"""A background is so many times as wide as the whole mixture. It is no claim about odd rows, but leaves a row to a
component up to some four sds, and not much further."""


@public_value
@dataclass(frozen=True)
class Mixture:
    """A Gaussian mixture as numbers: k weights, (k, d) means, (k, d, d) covariances."""

    weights: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    covariances: tuple[tuple[tuple[float, ...], ...], ...]

    @classmethod
    def of(cls, weights: Any, means: Any, covariances: Any) -> "Mixture":
        """Make a mixture from arrays."""
        w, m, c = (np.asarray(values, dtype=float) for values in (weights, means, covariances))
        return cls(tuple(w.tolist()), row_tuples(m), tuple(map(row_tuples, c)))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(weights, means, covariances)."""
        return np.array(self.weights), np.array(self.means), np.array(self.covariances)

    @property
    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean (d,) of the whole mixture, covariance (d, d) of its component means, and covariance of the whole."""
        weights, means, covariances = self.arrays
        weights = weights / weights.sum()
        center = weights @ means
        apart = means - center
        between = (weights[:, None] * apart).T @ apart
        return center, between, between + np.einsum("k,kij->ij", weights, covariances)

    @property
    def telling(self) -> np.ndarray:
        """Columns (d,) ordered by how much components differ in them, most first; in their own order for k = 1."""
        _, between, total = self.moments
        return np.argsort(-(np.diag(between) / np.diag(total)).round(9), kind="stable")

    def beside_background(self, share: float, center: "Mixture | None" = None) -> "Mixture":
        """Return it beside one wide Gaussian, last, for a share of the rows that belongs to no component.

        Args:
            share: of all rows; 0: there is none, and the mixture stays as it is.
            center: mixture about which the Gaussian lies, `_FURTHER` times as wide as all of it; None: this one.
        """
        if not share:
            return self
        mean, _, spread = (center or self).moments
        weights, means, covariances = self.arrays
        weights = np.append((1 - share) * weights / weights.sum(), share)
        return Mixture.of(weights, [*means, mean], [*covariances, _FURTHER**2 * spread])

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """Return log p(x) of each row (n, d)."""
        return log_density(*self.arrays, rows)

    def given(self, columns: Sequence[int], values: Sequence[float]) -> "Mixture":
        """Return the law of the other columns, in their order, given values of these columns.

        A component's weight becomes its share of such rows; its mean moves along its covariance.

        Args:
            columns: indices of at least one column, but not of all.
            values: one value for each of these columns.
        """
        from scipy.special import logsumexp

        weights, means, covariances = self.arrays
        fixed, free = list(columns), [i for i in range(means.shape[1]) if i not in set(columns)]
        off = np.asarray(values, dtype=float) - means[:, fixed]
        logs, centers, shapes = [], [], []
        for weight, mean, covariance, apart in zip(weights, means, covariances, off, strict=True):
            root = np.linalg.cholesky(covariance[np.ix_(fixed, fixed)])
            z = np.linalg.solve(root, apart)
            half = np.linalg.solve(root, covariance[np.ix_(fixed, free)])
            logs.append(np.log(weight) - np.log(np.diag(root)).sum() - z @ z / 2)
            centers.append(mean[free] + z @ half)
            shapes.append(covariance[np.ix_(free, free)] - half.T @ half)
        return Mixture.of(np.exp(np.array(logs) - logsumexp(logs)), centers, shapes)

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """Return `n` rows (n, d) in random order."""
        generator = np.random.default_rng(seed)
        weights, means, covariances = self.arrays
        counts = generator.multinomial(n, weights / weights.sum())
        rows = [
            generator.multivariate_normal(mean, covariance, count, method="cholesky")
            for mean, covariance, count in zip(means, covariances, counts, strict=True)
        ]
        return generator.permutation(np.concatenate(rows))

    def to_sklearn(self, converged: bool) -> "GaussianMixture":
        """Return a fitted `sklearn.mixture.GaussianMixture` with these parameters."""
        from sklearn.mixture import GaussianMixture

        weights, means, covariances = self.arrays
        model = GaussianMixture(len(weights), covariance_type="full")
        model.weights_, model.means_, model.covariances_ = weights / weights.sum(), means, covariances
        model.precisions_cholesky_ = np.stack([np.linalg.inv(np.linalg.cholesky(c)).T for c in covariances])
        model.precisions_ = np.stack([p @ p.T for p in model.precisions_cholesky_])
        model.converged_, model.n_iter_, model.lower_bound_ = converged, 0, float("nan")
        model.n_features_in_ = means.shape[1]
        return model


def log_density(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return log p(x) of each row (n, d) under a mixture in arrays (k,), (k, d) and (k, d, d)."""
    from scipy.special import logsumexp

    joint = joint_log_density(weights, means, covariances, rows)
    return np.asarray(logsumexp(joint, axis=0) - rows.shape[1] / 2 * np.log(2 * np.pi))


def joint_log_density(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return log p(x, component) of each component and row, (k, n), but for a constant; see `log_density`."""
    from scipy.linalg import solve_triangular

    joint = np.empty((len(weights), len(rows)))
    for j, (weight, mean, covariance) in enumerate(zip(weights, means, covariances, strict=True)):
        root = np.linalg.cholesky(covariance)
        z = solve_triangular(root, (rows - mean).T, lower=True, check_finite=False)
        joint[j] = np.log(weight) - np.log(np.diag(root)).sum() - np.einsum("ij,ij->j", z, z) / 2
    return joint
