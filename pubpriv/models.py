"""What is released: Gaussian mixtures as plain numbers, with their privacy statement and their errors."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.errors import InvalidInput

FORMAT = 1


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


@dataclass(frozen=True)
class MixtureEstimate:
    """A released Gaussian mixture; components by falling weight.

    Attributes:
        mixture: the numbers, in the data's own units.
        columns: names of the d columns.
        method: which pipeline made it.
        converged: False if the model is to be mistrusted; `diagnostics` says why.
        standard_errors: {"weights" | "means" | "covariances": {"sampling": ..., "privacy": ...}}.
        privacy: the statement: unit, neighbouring, kind, guarantee, spent, charges.
        provenance: dataset, release_id, n_private, n_public, public_sha256, chain_head, version, created.
        diagnostics: public facts of the run.
    """

    kind: ClassVar[str] = "gaussian-mixture"

    mixture: Mixture
    columns: tuple[str, ...]
    method: str
    converged: bool
    standard_errors: Mapping[str, Any]
    privacy: Mapping[str, Any]
    provenance: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

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
        generator = np.random.default_rng(seed)
        weights, means, covariances = self.mixture.arrays
        counts = generator.multinomial(n, weights / weights.sum())
        rows = [
            generator.multivariate_normal(mean, covariance, count, method="cholesky")
            for mean, covariance, count in zip(means, covariances, counts, strict=True)
        ]
        return generator.permutation(np.concatenate(rows))

    def to_sklearn(self) -> Any:
        """A fitted `sklearn.mixture.GaussianMixture` with these parameters."""
        from sklearn.mixture import GaussianMixture

        weights, means, covariances = self.mixture.arrays
        model = GaussianMixture(len(weights), covariance_type="full")
        model.weights_, model.means_, model.covariances_ = weights / weights.sum(), means, covariances
        model.precisions_cholesky_ = np.stack([np.linalg.inv(np.linalg.cholesky(c)).T for c in covariances])
        model.precisions_ = np.stack([p @ p.T for p in model.precisions_cholesky_])
        model.converged_, model.n_iter_, model.lower_bound_ = self.converged, 0, float("nan")
        model.n_features_in_ = means.shape[1]
        return model

    def to_json(self) -> dict[str, Any]:
        """The model file as plain data."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "method": self.method,
            "converged": self.converged,
            "columns": list(self.columns),
            "weights": self.weights.tolist(),
            "means": self.means.tolist(),
            "covariances": self.covariances.tolist(),
            "standard_errors": _plain(self.standard_errors),
            "privacy": _plain(self.privacy),
            "provenance": _plain(self.provenance),
            "diagnostics": _plain(self.diagnostics),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(
            mixture=Mixture.of(data["weights"], data["means"], data["covariances"]),
            columns=tuple(data["columns"]),
            method=data["method"],
            converged=data["converged"],
            standard_errors=data["standard_errors"],
            privacy=data["privacy"],
            provenance=data["provenance"],
            diagnostics=data["diagnostics"],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file atomically: readers see the old file or the whole new one."""
        write_atomically(Path(path), json.dumps(self.to_json(), indent=1) + "\n")


def load(path: str | os.PathLike[str]) -> MixtureEstimate:
    """Read a model file.

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
    if known > FORMAT or kind != MixtureEstimate.kind:
        raise InvalidInput(
            f"{file} is a model of format {known} ({kind}), which this version cannot read: upgrade pubpriv"
        )
    try:
        return MixtureEstimate.from_json(data)
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{file} is damaged: it is not a whole pubpriv model") from None


def write_atomically(path: Path, text: str) -> None:
    """Write `text` beside `path`, then move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists, numpy scalars as numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
