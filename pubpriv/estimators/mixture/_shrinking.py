"""How much of a noisy round to believe: shifts of means, clipped variances, and shapes of covariances.

Everything is computed from released numbers, so it is free.
"""

import math

import numpy as np

from pubpriv.estimators.gaussian.clipping import unclip_variances
from pubpriv.estimators.mixture._linear import floored

LOUDEST = 0.5
"""No whitened variance is estimated below one noise standard deviation, or below this if that is smaller."""

_LEAST = 0.02
"""Least factor by which a round may change the variances of columns in a full covariance, on average."""

_HELD, _RAISED, _UNCLIPPED = 0.8, 3.0, 8
"""Clipping is undone as if rows filled at most this share of the squared clip radius; it raises variances by at most
the second number; and it takes this many steps."""

_STANDS_OUT = 6.0
"""An entry stands out if it exceeds this many sds of its noise."""

_TINY = 1e-3
"""Second moments below this, in units of the last estimate, are treated as noise."""


def unclipped(variances: np.ndarray, radius: float) -> np.ndarray:
    """Compute variances (d,) along axes of whitened Gaussian rows from those of the rows clipped to a radius.

    Without this, a component whose last estimate was too narrow (from narrow public rows, or a group of few) would stay
    so. The variances are about the rows' own mean: a mean that is far off is clipped, too, and does not increase them.
    """
    kept = np.maximum(variances, _TINY)
    kept *= min(1.0, _HELD * radius**2 / float(kept.sum()))
    return np.asarray(variances * np.minimum(unclip_variances(kept, radius, _TINY, _UNCLIPPED) / kept, _RAISED))


def believed(length: float, radius: float, sd: float, d: int) -> float:
    """Give the part of a mean's shift to believe: at most a radius, minus what noise explains (James and Stein 1961).

    The shift is from the last estimate and undoes its noise, so both rounds are weighted by their precision.
    """
    explained = max(d - 2, 0) * (sd / max(length, 1e-9)) ** 2
    return max(0.0, 1.0 - explained) * min(1.0, radius / max(length, 1e-9))


def shrunk(noisy: np.ndarray, before: np.ndarray, colour: np.ndarray, sd: float) -> np.ndarray:
    """Shrink towards the last estimate's shape by the share that noise explains: separately for variances and the rest.

    `noisy` (d, d) has orthogonal-ensemble noise of diagonal sd `sd`, so noise alone moves its diagonal by sd^2 d and
    the rest by sd^2 d (d - 1) / 2 in squared Frobenius norm. The last estimate may be better for one part than for the
    other. Sampling error is not counted: it is part of what was asked for.

    Entries that stand out of the noise are excluded and stay as they are, so a column that was wrong in the last
    estimate is not pulled back.

    Only the shape is shrunk; the size is that of the noisy columns, to which `colour` leads back. Rows that are
    whitened by an estimate with noise E have the covariance (1 + E)^-1, whose trace is too large by that of E^2.
    """
    then = _spread(before, colour)
    d, size = len(noisy), _size(noisy, then, colour)
    away = noisy - size * before
    diagonal, back = np.eye(d, dtype=bool), np.zeros((d, d))
    for part, count, own in ((diagonal, d, sd), (~diagonal, d * (d - 1) / 2, sd / math.sqrt(2))):
        within = np.where(np.abs(away[part]) < _STANDS_OUT * own, away[part], 0.0)
        back[part] = min(1.0, sd**2 * count / max(float((within**2).sum()), 1e-12)) * within
    shape = size * before + away - back
    return floored(shape * (size / _size(shape, then, colour)), min(sd, LOUDEST))


def _size(covariance: np.ndarray, then: np.ndarray, colour: np.ndarray) -> float:
    """Compute the mean over columns of the variance divided by `then`, the variance before."""
    return max(float((_spread(covariance, colour) / then).mean()), _LEAST)


def _spread(covariance: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Compute the variances (d,) of the original columns; `colour` undoes the whitening."""
    return np.asarray(np.einsum("ij,jk,ik->i", colour, covariance, colour))


def at_most(shifts: np.ndarray, radius: float) -> np.ndarray:
    """Shorten shifts (k, d) to the clip radius."""
    lengths = np.linalg.norm(shifts, axis=1, keepdims=True)
    return np.asarray(shifts * np.minimum(1.0, radius / np.maximum(lengths, 1e-9)))
