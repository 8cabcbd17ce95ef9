"""What released moments of completed rows tell of a Gaussian: Newton's step, and the errors of its result.

Rows lie where they should be standard, w = F (x - c), with A = F^-1. A row with the cells o is completed to Pi w, Pi
the orthogonal projection on the row space of A_o (p dimensions), is clipped to r_p, and adds psi psi' + c (I - Pi) to
the second moment and psi to the sum. For w ~ N(delta, I + D), small delta and D,

    E[sum / n] = M1 delta,                 M1 = sum over patterns of their share times slope_p Pi
    E[second moment / n] = L + M2 (D),     M2 (D) = share times (shape_p (Pi D Pi)_0 + trace_p tr(Pi D) / p Pi),

where (X)_0 is X without its trace on the range of Pi, and L is what standard rows give. Slopes, shapes and traces are
those of clipped Gaussians in p columns. M1 and M2 are the information that the observed cells have; without clipping
both follow from E[w | observed] = Pi w alone, so the step is unbiased for rows of any law if cells are missing
completely at random, and the fixed point of the steps is the maximum of the observed-data likelihood if what is missing
depends on observed cells.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from pubpriv.estimators.gaussian._pattern_law import PatternLaw
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants

_NEXT_TO_NOTHING = 1e-6
"""Part of the information that is added in all directions, so that matrices have inverses where no row tells anything:
there errors become enormous, and steps none."""

_FINE, _HALVINGS = 1e-3, 60
"""Smallest radius at which a level is sought, and halvings until no float lies between."""


@cache
def completed_clips(d: int, radius: float) -> tuple[float, tuple[float, ...]]:
    """Return the level of complete rows that are clipped to `radius`, and parts of it for rows of 1 to d cells.

    With so much shorter radii, clipping leaves of rows of any number of cells what it leaves of complete ones, where
    the integers of `CompletedGram` have room for that. So the second moment of standard rows is the level times I.
    """
    level = moment_constants(d, radius).level
    parts = []
    for cells in range(1, d):
        low, high = _FINE * radius, radius
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if moment_constants(cells, middle).level < level else (low, middle)
        room = radius**2 - math.sqrt(d - cells) * level
        parts.append(min(high, math.sqrt(max(room, (_FINE * radius) ** 2))) / radius)
    return level, (*parts, 1.0)


@cache
def _basis(d: int) -> np.ndarray:
    """Orthonormal basis of symmetric matrices, flattened: (d (d + 1) / 2, d^2)."""
    rows, columns = np.triu_indices(d)
    made = np.zeros((len(rows), d, d))
    weight = np.where(rows == columns, 1.0, math.sqrt(0.5))
    made[range(len(rows)), rows, columns] = made[range(len(rows)), columns, rows] = weight
    return made.reshape(len(rows), -1)


@dataclass(frozen=True)
class Information:
    """M1, M2 and L of a frame, and how much single rows vary.

    Attributes:
        mean: M1 (d, d).
        moment: M2 in the orthonormal basis of symmetric matrices, (D, D) with D = d (d + 1) / 2.
        level: L (d, d).
        mean_variance, moment_variance: covariance of what one row adds, in the same coordinates.
    """

    mean: np.ndarray
    moment: np.ndarray
    level: np.ndarray
    mean_variance: np.ndarray
    moment_variance: np.ndarray

    @classmethod
    def of(cls, law: PatternLaw, colour: np.ndarray, radius: float) -> "Information":
        """Compute it for rows with the pattern law, in the frame whose inverse matrix is `colour` A (d, d)."""
        has, shares = law.arrays
        d, cells = len(colour), has.sum(axis=1)
        onto = _projections(has, colour)
        flat = onto.reshape(len(onto), -1)
        level, parts = completed_clips(d, radius)
        clips = [float(radius * parts[p - 1]) for p in cells]
        laws = [moment_constants(int(p), clip) for p, clip in zip(cells, clips, strict=True)]
        slopes = np.array([mean_constants(int(p), clip).slope for p, clip in zip(cells, clips, strict=True)])
        left = np.array([law.level for law in laws])
        shape, trace = (np.array([getattr(each, name) for each in laws]) for name in ("shape", "trace"))
        spread = [np.array([getattr(each, f"{name}_variance") for each in laws]) for name in ("shape", "trace")]
        least = _NEXT_TO_NOTHING * float(shares @ shape)
        single = cells == 1  # in one dimension there is no shape
        shape, spread[0] = np.where(single, trace, shape), np.where(single, spread[1], spread[0])
        return cls(
            np.einsum("k,kij->ij", shares * slopes, onto) + least * np.eye(d),
            _on_symmetric(onto, flat, shares * shape, shares * (trace - shape) / cells)
            + least * np.eye(d * (d + 1) // 2),
            level * np.eye(d) + np.einsum("k,kij->ij", shares * (left - level), onto),
            np.einsum("k,kij->ij", shares * left, onto),
            _on_symmetric(onto, flat, shares * spread[0], shares * (spread[1] - spread[0]) / cells),
        )

    def solved(
        self, mean: np.ndarray, second: np.ndarray, ridge: tuple[float, float] = (0.0, 0.0)
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (delta, D) of released moments per row, with a ridge for each: squared noise over what is expected."""
        basis = _basis(len(self.level))
        raw = basis @ (second - self.level).ravel()
        moved = _ridged(self.mean, mean, ridge[0])
        return moved, (_ridged(self.moment, raw, ridge[1]) @ basis).reshape(self.level.shape)

    def errors(self, n: float, mean_sd: float, moment_sd: float) -> tuple[float, float]:
        """Return root mean square length of delta's error, and Frobenius norm of D's, for n rows and noise sds."""
        first, second = np.linalg.inv(self.mean), np.linalg.inv(self.moment)
        of_mean = np.trace(first @ (self.mean_variance / n + mean_sd**2 * np.eye(len(first))) @ first.T)
        of_moment = np.trace(second @ (self.moment_variance / n + moment_sd**2 * np.eye(len(second))) @ second.T)
        return math.sqrt(float(of_mean)), math.sqrt(float(of_moment))

    def mean_variances(self, rows: np.ndarray, n: float, sd: float) -> tuple[np.ndarray, np.ndarray]:
        """Return variances of a_i' delta for the rows a_i (d, d) of A: by sampling of n rows, and by noise."""
        across = rows @ np.linalg.inv(self.mean)
        return np.einsum("ij,jk,ik->i", across, self.mean_variance, across) / n, (across**2).sum(axis=1) * sd**2

    def moment_variances(
        self, rows: np.ndarray, n: float, sd: float, colour: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return variances (d, d) of a_i' D a_j by sampling, for rows a_i of a root of Sigma, and by noise, of A."""
        inverse, d = np.linalg.inv(self.moment), len(rows)
        basis = _basis(d)

        def across(each: np.ndarray) -> np.ndarray:
            pairs = np.einsum("ik,jl->ijkl", each, each).reshape(d * d, d * d)
            return np.asarray(pairs @ basis.T @ inverse)

        sampled, noisy = across(rows), across(colour)
        variances = np.einsum("ij,jk,ik->i", sampled, self.moment_variance, sampled) / n
        return variances.reshape(d, d), ((noisy**2).sum(axis=1) * sd**2).reshape(d, d)

    def least(self) -> float:
        """Return the least part of a second moment's information that is there."""
        values = np.linalg.eigvalsh((self.moment + self.moment.T) / 2)
        return float(values[0] / values[-1])


def _projections(has: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Return Pi (patterns, d, d) of the observed columns `has` (patterns, d)."""
    both = has[:, :, None] & has[:, None, :]
    within = np.where(both, colour @ colour.T, 0.0) + np.eye(len(colour)) * ~has[:, None, :]
    inverse = np.where(both, np.linalg.inv(within), 0.0)
    return np.asarray(colour.T @ inverse @ colour)


def observed_parts(law: PatternLaw, colour: np.ndarray) -> np.ndarray:
    """Return the mean over rows of R_o^4 (d,), R_o^2 the part of a column's variance that the cells o of a row show.

    Args:
        law: of the patterns.
        colour: A (d, d), with A A' the covariance of the columns.
    """
    has, shares = law.arrays
    own = np.einsum("ij,kjl,il->ki", colour, _projections(has, colour), colour) / np.square(colour).sum(axis=1)
    return np.asarray(shares @ own**2)


def _on_symmetric(onto: np.ndarray, flat: np.ndarray, both: np.ndarray, traces: np.ndarray) -> np.ndarray:
    """Return the map D -> sum of both Pi D Pi + traces tr(Pi D) Pi on symmetric matrices, in their basis."""
    d = onto.shape[1]
    basis = _basis(d)
    pairs = (flat.T * both) @ flat  # sum of Pi_ij Pi_kl
    sides = pairs.reshape(d, d, d, d).transpose(0, 2, 1, 3).reshape(d * d, d * d)  # (Pi D Pi)_ik of D_jl
    return np.asarray(basis @ (sides + (flat.T * traces) @ flat) @ basis.T)


def _ridged(matrix: np.ndarray, values: np.ndarray, ridge: float) -> np.ndarray:
    return np.asarray(np.linalg.solve(matrix.T @ matrix + ridge * np.eye(len(matrix)), matrix.T @ values))
