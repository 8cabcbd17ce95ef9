"""The law of the noise in a released mean and covariance, from which errors of whatever follows from them are computed.

Standard errors in a model file are those of single numbers. A regression, a contrast or a principal component combines
many numbers, whose noise is not independent. But its law is known: noise was added in whitened coordinates
w = F (x - center), to the mean, and to the second moment as a symmetric matrix of independent entries, off the diagonal
with half the variance. `docs/reference/model-file.md` has the formulas.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from pubpriv.data.codec import Matrix, public_value, row_tuples


@public_value
@dataclass(frozen=True)
class ShellNoise:
    """Noise of what was measured in shells beyond the core: a symmetric matrix in coordinates along the columns.

    Attributes:
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
        along: (d,) variances of diagonal entries.
        across: twice the variance of the other entries.
        mean: (d, d) covariance of the noise in the mean, in w.
    """

    axes: Matrix
    along: tuple[float, ...]
    across: float
    mean: Matrix


@public_value
@dataclass(frozen=True)
class NoiseLaw:
    """What noise is in a mean and a covariance of d columns, and what clipping may have left out.

    Attributes:
        frame: (d, d) matrix F of the whitened coordinates.
        center: (d,) their centre.
        sd_mean: noise sd of each whitened coordinate of the mean.
        sd_moment: noise sd of a diagonal entry of the second moment, before clipping was undone.
        shape, trace: divisors that undid clipping: of the part without trace, and of the trace.
        pooled: weights of the public rows in the mean and in the covariance, which have no noise.
        stretch: (d,) factors on the columns by which the covariance was corrected.
        lost: (d, d) possible second moment beyond all that was measured, in the table's units.
        patterns: (parts, d, d), in the table's units: parts of the noise that are one number times a whole matrix.
        shells: noise from shells; None if none counts.
    """

    frame: Matrix
    center: tuple[float, ...]
    sd_mean: float
    sd_moment: float
    shape: float
    trace: float
    pooled: tuple[float, float]
    stretch: tuple[float, ...]
    lost: Matrix
    patterns: tuple[Matrix, ...] = ()
    shells: ShellNoise | None = None

    def sd_of_mean(self, weights: np.ndarray) -> float:
        """Compute the noise sd of a sum of means with these weights (d,)."""
        return sqrt(max(float(self.of_means(weights[None])[0, 0]), 0.0))

    def sd_of_covariance(self, weights: np.ndarray) -> float:
        """Compute the noise sd of the sum of weights_ij covariance_ij, for symmetric weights (d, d)."""
        return sqrt(max(float(self.of_covariances(weights[None])[0, 0]), 0.0))

    def of_means(self, weights: np.ndarray) -> np.ndarray:
        """Compute the covariance (m, m) of the noise in m sums of means, with weights (m, d)."""
        inner = weights @ np.linalg.inv(np.array(self.frame))
        noise = self.sd_mean**2 * inner @ inner.T
        if self.shells is not None:
            noise = noise + inner @ np.array(self.shells.mean) @ inner.T
        return np.asarray((1 - self.pooled[0]) ** 2 * noise)

    def of_covariances(self, weights: np.ndarray) -> np.ndarray:
        """Compute the covariance (m, m) of the noise in m sums of covariances, with symmetric weights (m, d, d)."""
        colour = np.array(self.stretch)[:, None] * np.linalg.inv(np.array(self.frame))
        inner = colour.T @ weights @ colour
        traces = np.trace(inner, axis1=1, axis2=2)
        even = np.outer(traces, traces) / len(colour)
        core = (_products(inner) - even) / self.shape**2 + even / self.trace**2
        noise = self.sd_moment**2 * core
        if self.shells is not None:
            axes = np.array(self.shells.axes)
            turned = axes @ inner @ axes.T
            along = np.diagonal(turned, axis1=1, axis2=2)
            noise = noise + (along * np.array(self.shells.along)) @ along.T
            noise = noise + self.shells.across * (_products(turned) - along @ along.T)
        patterns = np.array(self.patterns).reshape(-1, len(colour) ** 2) @ weights.reshape(len(weights), -1).T
        return np.asarray((1 - self.pooled[1]) ** 2 * noise + patterns.T @ patterns)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {
            "frame": _lists(self.frame),
            "center": list(self.center),
            "sd_mean": self.sd_mean,
            "sd_moment": self.sd_moment,
            "shape": self.shape,
            "trace": self.trace,
            "pooled": list(self.pooled),
            "stretch": list(self.stretch),
            "lost": _lists(self.lost),
            "patterns": [_lists(pattern) for pattern in self.patterns],
            **({} if self.shells is None else {"shells": _of_shells(self.shells)}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "NoiseLaw":
        """Read what `to_json` wrote.

        Raises:
            ValueError, KeyError, TypeError: parts are missing, or of wrong sizes.
        """
        d = len(data["center"])
        p, q = map(float, data["pooled"])
        shells = data.get("shells")
        return cls(
            frame=_matrix(data["frame"], d),
            center=_row(data["center"], d),
            sd_mean=float(data["sd_mean"]),
            sd_moment=float(data["sd_moment"]),
            shape=float(data["shape"]),
            trace=float(data["trace"]),
            pooled=(p, q),
            stretch=_row(data["stretch"], d),
            lost=_matrix(data["lost"], d),
            patterns=tuple(_matrix(pattern, d) for pattern in data["patterns"]),
            shells=None if shells is None else _shells_of(shells, d),
        )


def _products(matrices: np.ndarray) -> np.ndarray:
    """Compute the sums of products of entries (m, m) of each two of m matrices."""
    flat = matrices.reshape(len(matrices), -1)
    return np.asarray(flat @ flat.T)


def _of_shells(shells: ShellNoise) -> dict[str, Any]:
    parts = {name: _lists(getattr(shells, name)) for name in ("axes", "along", "mean")}
    return parts | {"across": shells.across}


def _shells_of(data: Mapping[str, Any], d: int) -> ShellNoise:
    axes, mean = (_matrix(data[name], d) for name in ("axes", "mean"))
    return ShellNoise(axes, _row(data["along"], d), float(data["across"]), mean)


def _lists(values: Any) -> Any:
    return np.array(values).tolist()


def _row(values: Any, d: int) -> tuple[float, ...]:
    return tuple(np.array(values, dtype=float).reshape(d).tolist())


def _matrix(values: Any, d: int) -> Matrix:
    return row_tuples(np.array(values, dtype=float).reshape(d, d))
