"""What is released: means, Gaussians and mixtures as plain numbers."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.errors import InvalidInput
from pubpriv.estimate import FORMAT, Estimate


@public_value
@dataclass(frozen=True)
class Mixture:
    """A Gaussian mixture as numbers: k weights, (k, d) means, (k, d, d) covariances."""

    weights: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    covariances: tuple[tuple[tuple[float, ...], ...], ...]

    @classmethod
    def of(cls, weights: Any, means: Any, covariances: Any) -> "Mixture":
        """From arrays."""
        lists = (np.asarray(values, dtype=float).tolist() for values in (weights, means, covariances))
        w, m, c = lists
        return cls(tuple(w), tuple(map(tuple, m)), tuple(tuple(map(tuple, rows)) for rows in c))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(weights, means, covariances)."""
        return np.array(self.weights), np.array(self.means), np.array(self.covariances)

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """log p(x) of each row (n, d)."""
        from scipy.special import logsumexp

        weights, means, covariances = self.arrays
        joint = np.empty((len(rows), len(weights)))
        for j, (weight, mean, covariance) in enumerate(zip(weights, means, covariances, strict=True)):
            root = np.linalg.cholesky(covariance)
            z = np.linalg.solve(root, (rows - mean).T)
            joint[:, j] = np.log(weight) - np.log(np.diag(root)).sum() - (z * z).sum(axis=0) / 2
        return np.asarray(logsumexp(joint, axis=1) - rows.shape[1] / 2 * np.log(2 * np.pi))

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """`n` rows (n, d) in random order."""
        generator = np.random.default_rng(seed)
        weights, means, covariances = self.arrays
        counts = generator.multinomial(n, weights / weights.sum())
        rows = [
            generator.multivariate_normal(mean, covariance, count, method="cholesky")
            for mean, covariance, count in zip(means, covariances, counts, strict=True)
        ]
        return generator.permutation(np.concatenate(rows))

    def to_sklearn(self, converged: bool) -> Any:
        """A fitted `sklearn.mixture.GaussianMixture` with these parameters."""
        from sklearn.mixture import GaussianMixture

        weights, means, covariances = self.arrays
        model = GaussianMixture(len(weights), covariance_type="full")
        model.weights_, model.means_, model.covariances_ = weights / weights.sum(), means, covariances
        model.precisions_cholesky_ = np.stack([np.linalg.inv(np.linalg.cholesky(c)).T for c in covariances])
        model.precisions_ = np.stack([p @ p.T for p in model.precisions_cholesky_])
        model.converged_, model.n_iter_, model.lower_bound_ = converged, 0, float("nan")
        model.n_features_in_ = means.shape[1]
        return model


@dataclass(frozen=True, kw_only=True)
class MeanEstimate(Estimate):
    """A released mean.

    Attributes:
        center: d numbers, in the data's own units.
    """

    kind: ClassVar[str] = "mean"

    center: tuple[float, ...]

    @property
    def mean(self) -> np.ndarray:
        """(d,)."""
        return np.array(self.center)

    def numbers(self) -> dict[str, Any]:
        """{"mean": [d]}."""
        return {"mean": list(self.center)}

    @classmethod
    def read_numbers(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Of a mean."""
        return {"center": tuple(float(value) for value in data["mean"])}


@dataclass(frozen=True, kw_only=True)
class MixtureEstimate(Estimate):
    """A released Gaussian mixture; components by falling weight.

    Attributes:
        mixture: the numbers, in the data's own units.
    """

    kind: ClassVar[str] = "gaussian-mixture"

    mixture: Mixture

    @property
    def weights(self) -> np.ndarray:
        """(k,), falling."""
        return self.mixture.arrays[0]

    @property
    def means(self) -> np.ndarray:
        """(k, d)."""
        return self.mixture.arrays[1]

    @property
    def covariances(self) -> np.ndarray:
        """(k, d, d)."""
        return self.mixture.arrays[2]

    def log_density(self, rows: Any) -> np.ndarray:
        """log p(x) of each row (n, d), in the data's own units."""
        return self.mixture.log_density(np.asarray(rows, dtype=float))

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """`n` synthetic rows (n, d); they are post-processing and cost nothing."""
        return self.mixture.sample(n, seed)

    def to_sklearn(self) -> Any:
        """A fitted `sklearn.mixture.GaussianMixture` with these parameters."""
        return self.mixture.to_sklearn(self.converged)

    def numbers(self) -> dict[str, Any]:
        """{"weights": [k], "means": [k][d], "covariances": [k][d][d]}."""
        return {
            "weights": self.weights.tolist(),
            "means": self.means.tolist(),
            "covariances": self.covariances.tolist(),
        }

    @classmethod
    def read_numbers(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Of a mixture."""
        return {"mixture": Mixture.of(data["weights"], data["means"], data["covariances"])}


@dataclass(frozen=True, kw_only=True)
class GaussianEstimate(Estimate):
    """A released Gaussian.

    Attributes:
        gaussian: the numbers, in the data's own units: a mixture of one component.
    """

    kind: ClassVar[str] = "gaussian"

    gaussian: Mixture

    @property
    def mean(self) -> np.ndarray:
        """(d,)."""
        return np.asarray(self.gaussian.arrays[1][0])

    @property
    def covariance(self) -> np.ndarray:
        """(d, d)."""
        return np.asarray(self.gaussian.arrays[2][0])

    def log_density(self, rows: Any) -> np.ndarray:
        """log p(x) of each row (n, d), in the data's own units."""
        return self.gaussian.log_density(np.asarray(rows, dtype=float))

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """`n` synthetic rows (n, d); they are post-processing and cost nothing."""
        return self.gaussian.sample(n, seed)

    def to_scipy(self) -> Any:
        """A frozen `scipy.stats.multivariate_normal`."""
        from scipy.stats import Covariance, multivariate_normal

        root = np.linalg.cholesky(self.covariance)
        return multivariate_normal(self.mean, Covariance.from_cholesky(root))

    def to_sklearn(self) -> Any:
        """A fitted `sklearn.mixture.GaussianMixture` with one component."""
        return self.gaussian.to_sklearn(self.converged)

    def numbers(self) -> dict[str, Any]:
        """{"mean": [d], "covariance": [d][d]}."""
        return {"mean": self.mean.tolist(), "covariance": self.covariance.tolist()}

    @classmethod
    def read_numbers(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Of a Gaussian."""
        return {"gaussian": Mixture.of([1.0], [data["mean"]], [data["covariance"]])}


KINDS: Mapping[str, type[Estimate]] = {
    estimate.kind: estimate for estimate in (MeanEstimate, GaussianEstimate, MixtureEstimate)
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file: a `MeanEstimate`, `GaussianEstimate` or `MixtureEstimate`, by its kind.

    Raises:
        InvalidInput: no such file, not a model, or one that a newer version wrote.
    """
    file = Path(path)
    if not file.exists():
        raise InvalidInput(f"no model at {file}")
    try:
        data = json.loads(file.read_text())
        known, kind = int(data["format"]), str(data["kind"])
    except (ValueError, KeyError, TypeError, OSError):
        raise InvalidInput(f"{file} is not a pubpriv model") from None
    if known > FORMAT or kind not in KINDS:
        raise InvalidInput(
            f"{file} is a model of format {known} ({kind}), which this version cannot read: upgrade pubpriv"
        )
    try:
        return KINDS[kind].from_json(data)
    except (ValueError, KeyError, TypeError, IndexError):
        raise InvalidInput(f"{file} is damaged: it is not a whole pubpriv model") from None
