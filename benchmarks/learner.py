"""The Gaussian learner against the non-private estimate of the same rows, by simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian.driver import estimate_gaussian

_BAD = 2.0
"""A run is bad if its error is so many times the non-private one."""


@dataclass(frozen=True)
class Setting:
    """A Gaussian to learn, and how far the public rows are from it.

    Attributes:
        n, d, m: private rows, columns, public rows (0: d + 1).
        condition: condition number of the covariance.
        shift: length of the mean, in standard deviations.
        public_scale: factor of the public covariance.
        public_condition: condition number of the public covariance where the private one is I; random axes.
        public_shift: distance of the public mean, in standard deviations.
        times: as many runs are made for one: in few dimensions single errors vary more.
    """

    n: int
    d: int
    m: int = 0
    condition: float = 1.0
    shift: float = 0.0
    public_scale: float = 1.0
    public_condition: float = 1.0
    public_shift: float = 0.0
    times: int = 1


SETTINGS = {
    "5-1e3": (Setting(1_000, 5, times=5), 1.14),
    "10-1e3": (Setting(1_000, 10), 1.22),
    "10-1e4": (Setting(10_000, 10), 1.04),
    "20-1e3": (Setting(1_000, 20), 1.50),
    "20-1e4": (Setting(10_000, 20), 1.07),
    "50-1e4": (Setting(10_000, 50), 1.23),
    "10-1e4-hard": (Setting(10_000, 10, condition=1e8, shift=1e6), 1.04),
    "20-1e4-hard": (Setting(10_000, 20, condition=1e8, shift=1e6), 1.07),
    "10-1e4-wide": (Setting(10_000, 10, 50, public_scale=1e6), 1.05),
    "10-1e4-narrow": (Setting(10_000, 10, 50, public_scale=1e-6), 1.05),
    "10-1e4-axes": (Setting(10_000, 10, 50, public_condition=1e4), 1.05),
    "10-1e4-shifted": (Setting(10_000, 10, 50, public_shift=1e4), 1.05),
    "20-1e4-wide": (Setting(10_000, 20, 100, public_scale=1e6), 1.08),
    "20-1e4-narrow": (Setting(10_000, 20, 100, public_scale=1e-6), 1.08),
    "20-1e4-axes": (Setting(10_000, 20, 100, public_condition=1e4), 1.08),
    "20-1e4-shifted": (Setting(10_000, 20, 100, public_shift=1e4), 1.08),
}
"""Settings by name, with the ratio that must be reached at rho = 0.5."""


@dataclass(frozen=True)
class _World:
    """One draw: rows, and the map by which errors are measured where the covariance is I.

    Attributes:
        public, private: rows in the table's units.
        standard: the private rows where their law is N(0, I).
        mean: true mean.
        root: Sigma^(1/2), a matrix L with Sigma = L L'.
    """

    public: np.ndarray
    private: np.ndarray
    standard: np.ndarray
    mean: np.ndarray
    root: np.ndarray

    def error(self, mean: np.ndarray, covariance: np.ndarray) -> tuple[float, float]:
        """(relative Frobenius error of the covariance, Mahalanobis error of the mean)."""
        inverse = np.linalg.inv(self.root)
        identity = np.eye(len(mean))
        return (
            float(np.linalg.norm(inverse @ covariance @ inverse.T - identity)),
            float(np.linalg.norm(inverse @ (mean - self.mean))),
        )

    def best(self) -> tuple[float, float]:
        """Errors of the non-private mean and covariance of the same rows."""
        identity = np.eye(self.standard.shape[1])
        covariance = np.cov(self.standard.T).reshape(identity.shape)
        return float(np.linalg.norm(covariance - identity)), float(np.linalg.norm(self.standard.mean(axis=0)))


def world(setting: Setting, seed: int) -> _World:
    """Public and private rows of a setting."""
    generator = np.random.default_rng(seed)
    d, m = setting.d, setting.m or setting.d + 1
    standard = generator.standard_normal((setting.n, d))
    near = generator.standard_normal((m, d)) * np.sqrt(setting.public_scale)
    if setting.public_condition > 1:
        near = near @ _root(setting.public_condition, d, generator).T
    near = near + setting.public_shift * _direction(d, generator)
    root = _root(setting.condition, d, generator) if setting.condition > 1 else np.eye(d)
    mean = setting.shift * (root @ _direction(d, generator))
    return _World(mean + near @ root.T, mean + standard @ root.T, standard, mean, root)


def bench(
    name: str, budget: str = "zcdp:0.5", runs: int = 100, method: str = "learner", first: int = 0
) -> dict[str, Any]:
    """Ratios of errors to the non-private ones over `runs` simulated runs; 10% trimmed means on each side.

    Args:
        name: of a setting.
        budget: of every run, as text.
        runs: trials, times the setting's own `times`.
        method: see `estimate_gaussian`.
        first: seed of the first trial.
    """
    if name not in SETTINGS:
        raise InvalidInput(f"setting must be one of {', '.join(SETTINGS)}, not {name!r}")
    setting, target = SETTINGS[name]
    return {"bench": "learner", "setting": name, "budget": budget, "method": method, "target": target} | measure(
        setting,
        lambda w, c: estimate_gaussian(w.public, c, target="gaussian", method=method, force=True),
        budget,
        runs * setting.times,
        first,
    )


def measure(
    setting: Setting, estimate: Callable[[_World, Any], Any], budget: str, runs: int, first: int = 0
) -> dict[str, Any]:
    """The same for any estimator of a `World` with a simulated curator."""
    allotment = pp.parse_budget(budget)
    ours, best, flags = [], [], []
    for seed in range(first, first + runs):
        drawn = world(setting, seed)
        found = estimate(drawn, pp.Curator.simulation(drawn.private, allotment, seed))
        ours.append(drawn.error(found.mean, found.covariance))
        best.append(drawn.best())
        flags.append(not found.converged)
    (covariance, mean), (best_covariance, best_mean) = _trimmed(ours), _trimmed(best)
    ratios = np.array(ours)[:, 0] / np.array(best)[:, 0]
    bad = ratios > _BAD
    return {
        "runs": runs,
        "ratio": covariance / best_covariance,
        "ratio_of": "relative Frobenius error of the covariance to the non-private one on the same rows, trimmed means",
        "mean_ratio": mean / best_mean,
        "largest_ratio": float(ratios.max()),
        "bad": int(bad.sum()),
        "bad_and_flagged": int((bad & np.array(flags)).sum()),
        "flagged": int(sum(flags)),
    }


def _trimmed(errors: list[tuple[float, float]]) -> tuple[float, float]:
    """10% trimmed means, each side, of the two columns."""
    from scipy.stats import trim_mean

    covariance, mean = trim_mean(np.array(errors), 0.1, axis=0)
    return float(covariance), float(mean)


def _root(condition: float, d: int, generator: np.random.Generator) -> np.ndarray:
    """A matrix L whose L L' has random axes, this condition number, and determinant 1."""
    axes, _ = np.linalg.qr(generator.standard_normal((d, d)))
    deviations = np.geomspace(condition**-0.25, condition**0.25, d)
    return np.asarray(axes * deviations)


def _direction(d: int, generator: np.random.Generator) -> np.ndarray:
    """A random unit vector."""
    direction = generator.standard_normal(d)
    return np.asarray(direction / np.linalg.norm(direction))
