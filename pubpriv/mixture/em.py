"""Expectation maximisation on public rows: few points, many starts.

The usual algorithm as scikit-learn has it (k-means starts, a floor added to every variance), without the checks
and conversions that take most of the time where a fit of eighty rows is repeated fifty times.
"""

from dataclasses import dataclass

import numpy as np

ITERATIONS = 100
LLOYD_ITERATIONS = 30
CONVERGED = 1e-3
"""Gain of a step in nats per row below which a fit is done."""


@dataclass(frozen=True)
class Fit:
    """A mixture of one covariance shape.

    Attributes:
        weights: (k,), summing to one.
        means: (k, d).
        covariances: (k, d, d) for `full`, (k, d) variances for `diag` and `spherical`.
        log_likelihood: of the rows that were fitted, in nats per row.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float


def fit_mixture(rows: np.ndarray, k: int, kind: str, floor: float, n_init: int) -> Fit:
    """The likeliest of `n_init` fits of k components to rows (m, d).

    Args:
        rows: public rows, at least k of them.
        k: components.
        kind: `full`, `diag` or `spherical`.
        floor: added to every variance.
        n_init: starts; they are the same in every run, so the fit is a function of the rows.
    """
    generator = np.random.default_rng(0)
    found = (_climb(rows, np.eye(k)[kmeans(rows, k, generator)[0]], kind, floor) for _ in range(n_init))
    return max(found, key=lambda fit: fit.log_likelihood)


def kmeans(rows: np.ndarray, k: int, generator: np.random.Generator) -> tuple[np.ndarray, float]:
    """(cluster of each row, sum of squared distances to their centers): Lloyd's algorithm from a k-means++ start."""
    centers = _spread(rows, k, generator)
    own = np.einsum("ij,ij->i", rows, rows)
    labels, before = np.full(len(rows), -1), np.full(len(rows), -1)
    for _ in range(LLOYD_ITERATIONS):
        squares = own[:, None] - 2 * rows @ centers.T + np.einsum("ij,ij->i", centers, centers)
        labels = squares.argmin(axis=1)
        if (labels == before).all():
            break
        before = labels
        share = np.eye(k)[labels]
        counts = share.sum(axis=0)
        centers = np.where(counts[:, None] > 0, share.T @ rows / np.maximum(counts, 1)[:, None], centers)
    return labels, float(squares[np.arange(len(rows)), labels].sum())


def _spread(rows: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    """k rows far from each other (Arthur and Vassilvitskii 2007, the best of a few candidates each time)."""
    trials = 2 + int(np.log(k))
    chosen = [int(generator.integers(len(rows)))]
    nearest = ((rows - rows[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(k - 1):
        steps = np.cumsum(nearest)
        drawn = np.minimum(np.searchsorted(steps, generator.random(trials) * steps[-1]), len(rows) - 1)
        closer = np.minimum(nearest, ((rows[drawn][:, None, :] - rows) ** 2).sum(axis=2))
        best = int(closer.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        nearest = closer[best]
    return np.asarray(rows[chosen])


def _climb(rows: np.ndarray, share: np.ndarray, kind: str, floor: float) -> Fit:
    """Steps from responsibilities (m, k) until the likelihood stands still."""
    before = -np.inf
    for _ in range(ITERATIONS):
        weights, means, covariances = _maximise(rows, share, kind, floor)
        joint = np.log(weights) + _log_densities(rows, means, covariances)
        top = joint.max(axis=1, keepdims=True)
        likelihoods = np.exp(joint - top)
        total = likelihoods.sum(axis=1, keepdims=True)
        share = likelihoods / total
        reached = float((top + np.log(total)).mean())
        if abs(reached - before) < CONVERGED:
            break
        before = reached
    return Fit(weights, means, covariances, reached)


def _maximise(
    rows: np.ndarray, share: np.ndarray, kind: str, floor: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances that fit the responsibilities best."""
    members = share.sum(axis=0) + 1e-15
    means = share.T @ rows / members[:, None]
    if kind == "full":
        away = rows - means[:, None, :]
        covariances = (share.T[:, :, None] * away).transpose(0, 2, 1) @ away / members[:, None, None]
        covariances += floor * np.eye(rows.shape[1])
        return members / members.sum(), means, covariances
    # the rows are standardised, so that this loses nothing
    variances = np.maximum(share.T @ rows**2 / members[:, None] - means**2, 0) + floor
    if kind == "spherical":
        variances = np.repeat(variances.mean(axis=1, keepdims=True), rows.shape[1], axis=1)
    return members / members.sum(), means, variances


def _log_densities(rows: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """log density of each row under each component, (m, k)."""
    constant = rows.shape[1] * np.log(2 * np.pi)
    if covariances.ndim == 2:
        squares = rows**2 @ (1 / covariances).T - 2 * rows @ (means / covariances).T
        squares += (means**2 / covariances).sum(axis=1)
        return np.asarray(-(squares + np.log(covariances).sum(axis=1) + constant) / 2)
    roots = np.linalg.cholesky(covariances)
    z = (rows - means[:, None, :]) @ np.linalg.inv(roots).transpose(0, 2, 1)
    logs = np.log(np.einsum("kii->ki", roots)).sum(axis=1)
    return np.asarray(-(np.einsum("kmi,kmi->mk", z, z) + constant) / 2 - logs)
