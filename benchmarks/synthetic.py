"""Synthetic mixtures of known truth, and how far an estimate lies from it."""

import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import numpy as np

TABLES: dict[str, Any] = tomllib.loads(files("benchmarks").joinpath("settings/mixture.toml").read_text("utf-8"))
"""Settings of the mixture benches and what they must reach: `benchmarks/settings/mixture.toml`."""


@dataclass(frozen=True)
class Setting:
    """A family of mixtures.

    Attributes:
        d: columns.
        k: components.
        separation: least distance of two means over the larger top standard deviation.
        m: public rows.
        n: private rows.
        spherical: identity covariances; else a log-uniform spectrum of condition number 10.
        scales: scale of each component; () for all 1. Scaled components come as two far groups.
        unequal: weights rise linearly from 1 to 3 instead of being equal.
    """

    d: int
    k: int
    separation: float
    m: int
    n: int
    spherical: bool = False
    scales: tuple[float, ...] = ()
    unequal: bool = False

    @classmethod
    def of(cls, row: dict[str, Any]) -> "Setting":
        """Read a setting from a row of the settings file, whose bounds are left out."""
        own = {field.name: row[field.name] for field in fields(cls) if field.name in row}
        return cls(**own | {"scales": tuple(own.get("scales", ()))})


SETTINGS = {name: Setting.of(row) for name, row in TABLES["synthetic"].items()}
_GROUP_GAP = 1e4


@dataclass(frozen=True)
class Truth:
    """Weights (k,), means (k, d) and covariances (k, d, d)."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def sample(self, n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, d) and their components (n,)."""
        labels = generator.choice(len(self.weights), size=n, p=self.weights)
        rows = np.empty((n, self.means.shape[1]))
        for j, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            own = np.flatnonzero(labels == j)
            noise = generator.standard_normal((len(own), len(mean)))
            rows[own] = mean + noise @ np.linalg.cholesky(covariance).T
        return rows, labels


def draw(setting: Setting, generator: np.random.Generator) -> Truth:
    """A mixture of the family: orthogonal means at the wanted distance, about a random origin."""
    d, k = setting.d, setting.k
    scales = np.array(setting.scales or (1.0,) * k)
    weights = np.linspace(1, 3, k) if setting.unequal else np.ones(k)
    covariances = np.stack([scale**2 * _covariance(setting, generator) for scale in scales])
    if setting.scales:
        half = k // 2
        near = _orthogonal(d, half, generator) * setting.separation * scales[:half].max() / np.sqrt(2)
        far = _orthogonal(d, k - half, generator) * setting.separation * scales[half:].max() / np.sqrt(2)
        direction = generator.standard_normal(d)
        means = np.concatenate([near, far + _GROUP_GAP * direction / np.linalg.norm(direction)])
    else:
        means = _orthogonal(d, k, generator) * setting.separation / np.sqrt(2)
    return Truth(weights / weights.sum(), means + 5 * scales.max() * generator.standard_normal(d), covariances)


def draw_public(setting: Setting, truth: Truth, generator: np.random.Generator) -> np.ndarray:
    """m public rows in which every component has at least two."""
    return covering_draw(setting, truth, generator)[0]


def covering_draw(setting: Setting, truth: Truth, generator: np.random.Generator) -> tuple[np.ndarray, int]:
    """(m public rows in which every component has at least two, draws before it that missed one)."""
    missed = 0
    while True:
        rows, labels = truth.sample(setting.m, generator)
        if np.bincount(labels, minlength=setting.k).min() >= 2:
            return rows, missed
        missed += 1


def oracle(rows: np.ndarray, labels: np.ndarray, k: int) -> Truth:
    """The non-private estimate that knows every row's component."""
    parts, d = [rows[labels == j] for j in range(k)], rows.shape[1]
    return Truth(
        np.array([len(part) / len(rows) for part in parts]),
        np.stack([part.mean(axis=0) for part in parts]),
        np.stack([np.cov(part.T, bias=True).reshape(d, d) for part in parts]),
    )


@dataclass(frozen=True)
class _Error:
    """Largest error over matched components: Mahalanobis (mean), relative Frobenius, absolute (weight)."""

    mean: float
    covariance: float
    weight: float


def matched(truth: Truth, estimate: Truth) -> np.ndarray:
    """(k,) component of the estimate that goes with each true one: least sum of Mahalanobis distances of means."""
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(_distances(truth, estimate))[1])


def error(truth: Truth, estimate: Truth) -> _Error:
    """Errors after the matching of components that makes the mean errors smallest in sum."""
    k, d = truth.means.shape
    columns = matched(truth, estimate)
    relative = [
        np.linalg.norm(inverse @ estimate.covariances[j] @ inverse.T - np.eye(d))
        for inverse, j in zip(_inverse_roots(truth), columns, strict=True)
    ]
    weights = np.abs(estimate.weights[columns] - truth.weights)
    return _Error(
        float(_distances(truth, estimate)[np.arange(k), columns].max()), float(max(relative)), float(weights.max())
    )


def _distances(truth: Truth, estimate: Truth) -> np.ndarray:
    """(k, k) Mahalanobis distances: row i from the true mean i, in units of its covariance."""
    return np.array(
        [
            [np.linalg.norm(inverse @ (other - mean)) for other in estimate.means]
            for mean, inverse in zip(truth.means, _inverse_roots(truth), strict=True)
        ]
    )


def _inverse_roots(truth: Truth) -> list[np.ndarray]:
    return [np.linalg.inv(np.linalg.cholesky(covariance)) for covariance in truth.covariances]


def _covariance(setting: Setting, generator: np.random.Generator) -> np.ndarray:
    if setting.spherical:
        return np.eye(setting.d)
    values = np.exp(generator.uniform(-np.log(10.0), 0, setting.d))
    axes = _orthogonal(setting.d, setting.d, generator)
    return np.asarray((axes * (values / values.max())) @ axes.T)


def _orthogonal(d: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """`count` orthonormal rows in R^d."""
    return np.linalg.qr(generator.standard_normal((d, count)))[0].T
