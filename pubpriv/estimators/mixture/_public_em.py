"""Expectation and maximisation on public rows: scikit-learn's Gaussian mixture bit for bit, in less than half its time.

A fit of few rows is a thousand steps of few numbers each, before every one of which scikit-learn looks at types and
options anew. A start that is given is taken as it is, where scikit-learn looks for clusters all the same.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_MOST_STEPS, _SMALL = 100, 1e-3
"""Steps of one climb, and the gain of a row's log likelihood below which it ends."""


@dataclass(frozen=True)
class Point:
    """Weights (k,), means (k, d) and, by shape, the roots of the precisions: (k, d, d), (k, d) or (k,)."""

    weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    covariances: np.ndarray
    """Of the same shape; no climb looks at them."""


@dataclass(frozen=True)
class EM:
    """Climbs of the likelihood of rows (m, d).

    Attributes:
        rows: finite, two at least.
        kind: "full", "diag" or "spherical".
        floor: added to each variance.
    """

    rows: np.ndarray
    kind: str
    floor: float

    def __post_init__(self) -> None:
        """Refuse what has no fit.

        Raises:
            ValueError: fewer than two rows, or numbers that are not finite.
        """
        if len(self.rows) < 2 or not np.isfinite(self.rows).all():
            raise ValueError("a mixture is fitted to two finite rows or more")

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared cells (m, d)."""
        return np.asarray(self.rows * self.rows)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Squared lengths (m,)."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows))

    def of_clusters(self, labels: np.ndarray, k: int) -> Point:
        """Start from clusters, one label a row."""
        sizes, means, covariances = self._moments(np.eye(k)[labels])
        return Point(sizes / len(self.rows), means, self._roots(covariances), covariances)

    def climb(self, starts: Iterable[Point]) -> Point:
        """Return the likeliest end of all climbs, the first of equal ones."""
        with np.errstate(all="ignore"):  # repeated points, and components that lose their rows, are expected
            return max(map(self._climbed, starts), key=lambda end: end[1])[0]

    def likelihood(self, point: Point) -> float:
        """Mean log density of the rows."""
        with np.errstate(all="ignore"):
            return float(self._expected(point)[0])

    def _climbed(self, point: Point) -> tuple[Point, float]:
        likelihood = -math.inf
        for _ in range(_MOST_STEPS):
            before = likelihood
            likelihood, shares = self._expected(point)
            sizes, means, covariances = self._moments(np.exp(shares))
            point = Point(sizes / np.sum(sizes), means, self._roots(covariances), covariances)
            if abs(likelihood - before) < _SMALL:
                break
        return point, likelihood

    def _expected(self, point: Point) -> tuple[float, np.ndarray]:
        """Mean log density, and the logarithms of the components' shares of each row (m, k)."""
        joint = self._densities(point) + np.log(point.weights)
        total = _log_of_sum(joint)
        return np.mean(total), joint - total[:, None]

    def _densities(self, point: Point) -> np.ndarray:
        """Log densities (m, k)."""
        rows, means, roots = self.rows, point.means, point.roots
        d = rows.shape[1]
        if self.kind == "full":
            level = np.sum(np.log(np.reshape(roots, (len(means), -1))[:, :: d + 1]), axis=1)
            away = np.empty((len(rows), len(means)))
            for j, (mean, root) in enumerate(zip(means, roots, strict=True)):
                away[:, j] = np.sum(np.square((rows @ root) - (mean @ root)), axis=1)
        elif self.kind == "diag":
            level, own = np.sum(np.log(roots), axis=1), roots**2
            away = np.sum((means**2 * own), axis=1) - 2.0 * (rows @ (means * own).T) + (self.squares @ own.T)
        else:
            level, own = d * np.log(roots), roots**2
            away = np.sum(means**2, axis=1) * own - 2 * (rows @ means.T * own) + np.multiply.outer(self.lengths, own)
        return np.asarray(-0.5 * (d * math.log(2 * math.pi) + away) + level)

    def _moments(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes, means and covariances of rows that belong to components in these shares (m, k)."""
        rows = self.rows
        sizes = np.sum(shares, axis=0) + 10 * np.finfo(np.float64).eps
        means = (shares.T @ rows) / sizes[:, None]
        if self.kind != "full":
            variances = (shares.T @ self.squares) / sizes[:, None] - means**2 + self.floor
            return sizes, means, variances if self.kind == "diag" else np.mean(variances, axis=1)
        covariances = np.empty((len(means), rows.shape[1], rows.shape[1]))
        for j, mean in enumerate(means):
            away = rows - mean
            covariances[j] = ((shares[:, j] * away.T) @ away) / sizes[j]
            covariances[j].flat[:: rows.shape[1] + 1] += self.floor
        return sizes, means, covariances

    def _roots(self, covariances: np.ndarray) -> np.ndarray:
        """Roots of precisions.

        Raises:
            ValueError: of a covariance that has none.
        """
        if self.kind != "full":
            if np.any(covariances <= 0.0):
                raise ValueError("a component without variance")
            return np.asarray(1.0 / np.sqrt(covariances))
        from scipy.linalg.lapack import dpotrf, dtrtrs

        roots, unit = np.empty_like(covariances), np.eye(covariances.shape[1])
        for j, covariance in enumerate(covariances):
            lower, bad = dpotrf(covariance, lower=1)
            if bad:
                raise ValueError("a component without variance in some direction")
            roots[j] = dtrtrs(lower, unit, lower=1)[0].T
        return roots


def _log_of_sum(joint: np.ndarray) -> np.ndarray:
    """log of the sums of exp of each row (m,): the largest apart, so that the rest are small beside one."""
    largest = np.max(joint, axis=1, keepdims=True)
    where = joint == largest
    rest = joint.copy()
    rest[where] = -np.inf
    times = np.sum(where.astype(joint.dtype), axis=1, keepdims=True)
    total = np.sum(np.exp(rest - np.where(np.isfinite(largest), largest, 0)), axis=1, keepdims=True)
    total = np.where(total == 0, total, total / times)
    return np.asarray(np.squeeze(np.log1p(total) + np.log(times) + largest, axis=1))
