"""What of a noisy round of components is believed: shifts of means, clipped variances, and shapes of covariances.

All of it is made of released numbers, so it is free.
"""

import math

import numpy as np

from pubpriv.estimators.gaussian.clipping import unclip_variances
from pubpriv.estimators.mixture._linear import floored

LOUDEST = 0.5
"""No whitened variance is estimated below one noise standard deviation, or this if that is smaller."""

_LEAST = 0.02
"""Columns of full covariances are taken to be no smaller than by this factor, all together."""

_HELD, _RAISED, _UNCLIPPED = 0.8, 3.0, 8
"""Clipping is undone as if rows filled no more than this share of the squared clip radius; it raises variances by this
factor at most; in so many steps."""

_STANDS_OUT = 6.0
"""An entry stands out of the noise by so many of its sds."""

_TINY = 1e-3
"""Second moments below this, in units of the last estimate, are noise."""


def unclipped(variances: np.ndarray, radius: float) -> np.ndarray:
    """Variances (d,) along axes of whitened Gaussian rows, from those of the rows clipped to a radius.

    Without this a component whose last estimate was too narrow stays so: by public rows that are, or by a group of few.
    They are variances about the rows' own mean: a mean that is far off is clipped, too, and makes nothing wider.
    """
    kept = np.maximum(variances, _TINY)
    kept *= min(1.0, _HELD * radius**2 / float(kept.sum()))
    return np.asarray(variances * np.minimum(unclip_variances(kept, radius, _TINY, _UNCLIPPED) / kept, _RAISED))


def believed(length: float, radius: float, sd: float, d: int) -> float:
    """How much of a shift of the mean is believed: at most a radius, less what noise explains (James and Stein 1961).

    The shift is from the last estimate, whose own noise it undoes, so that both rounds count by their precision.
    """
    explained = max(d - 2, 0) * (sd / max(length, 1e-9)) ** 2
    return max(0.0, 1.0 - explained) * min(1.0, radius / max(length, 1e-9))


def shrunk(noisy: np.ndarray, before: np.ndarray, colour: np.ndarray, sd: float) -> np.ndarray:
    """Towards the last estimate's shape, by as much of the difference as noise explains: of variances, and of the rest.

    `noisy` (d, d) has orthogonal-ensemble noise of diagonal sd `sd`, so noise alone moves its diagonal by sd^2 d and
    the rest by sd^2 d (d - 1) / 2 in squared Frobenius norm. The last estimate may know one better than the other.
    Sampling error is not counted: it is what was asked for.

    Entries that stand out of the noise do not count in that, and stay as they are: a column that the last estimate had
    wrong is not drawn back there.

    Only the shape is: the size is that of the noisy columns, to which `colour` leads back. Whitened by an estimate with
    noise E, rows have the covariance (1 + E)^-1, whose trace is too large by that of E^2.
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
    """Give the variance of a column in units of what it was `then`: the mean of all columns."""
    return max(float((_spread(covariance, colour) / then).mean()), _LEAST)


def _spread(covariance: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Give the variances (d,) of the columns to which `colour` leads back from whitened ones."""
    return np.asarray(np.einsum("ij,jk,ik->i", colour, covariance, colour))


def at_most(shifts: np.ndarray, radius: float) -> np.ndarray:
    """Shorten shifts (k, d) to the radius that no record is beyond."""
    lengths = np.linalg.norm(shifts, axis=1, keepdims=True)
    return np.asarray(shifts * np.minimum(1.0, radius / np.maximum(lengths, 1e-9)))
