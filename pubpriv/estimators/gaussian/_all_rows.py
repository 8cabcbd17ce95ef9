"""Coordinates in which all rows have unit variances, and not only those in the middle.

The rounds whiten what is clipped near the median length. A column with a long tail is then much wider than 1, so its
far rows decide where all columns are clipped. So the last round also releases second moments of the shells beyond
Gaussian rows, at no further price, and what stands out of their noise is whitened with the rest.
"""

import math

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._shells import RATIO, Cut, gaussian_end
from pubpriv.estimators.gaussian.clipping import median_norm_squared

_SHELLS = 10
"""Shells beyond Gaussian rows, up to RATIO^10 = 58 times as far: noise hides what lies further out."""

_STANDS_OUT = 2.5
"""A direction stands out of a shell if its second moment exceeds the largest that noise makes by this many sds of a
diagonal entry. That largest one varies by less than an sd; a direction that noise stretched is measured less well, and
no less right."""

_WIDE = 2.0
"""Directions with less than this many times the median variance stay as they are: noise stretches some a little, and to
clip them elsewhere gains little."""


def shells_of_round(n: float, d: int, radius: float, median: float) -> Cut:
    """Cut a round into the rows that a Gaussian of this median length may have, and shells beyond them.

    Args:
        n: number of rows.
        d: number of whitened columns.
        radius: clip radius of the inner rows.
        median: private median of |w|.
    """
    unit = median / math.sqrt(median_norm_squared(np.ones(d)))
    edges = max(gaussian_end(n, d) * unit, radius) * RATIO ** np.arange(_SHELLS + 1.0)
    return Cut(True, 1.0, 0.0, tuple(edges.tolist()), (radius, *(edges * RATIO).tolist()))


def whitened_by_all(frame: Frame, inner: Frame, seconds: np.ndarray, sds: np.ndarray) -> Frame:
    """Scale a map that whitens the inner rows so that it whitens all rows that stand out of the noise.

    Args:
        frame: the map of the round.
        inner: the map in which inner rows are standard.
        seconds: (shells, r, r) second moments of w in `frame` of the shells beyond, per row.
        sds: (shells,) noise sds of their diagonal entries.

    Returns:
        The map in which the covariance of all rows is in proportion to I, and inner rows have Gaussian rows' lengths on
        average; `inner` if no direction is wide.
    """
    # the last shell is open: rows there may be codes of missing values, and nothing bounds how far out they are
    beyond = sum(map(_standing_out, seconds[:-1], sds), np.zeros(seconds.shape[1:]))
    center, matrix = inner.dense()
    step = matrix @ np.linalg.pinv(frame.dense()[1])
    values, vectors = np.linalg.eigh(np.eye(len(step)) + step @ beyond @ step.T)
    usual = float(np.median(values))
    wide = values > _WIDE * usual
    if not wide.any():
        return inner
    values = np.where(wide, values, usual)
    scale = math.sqrt(len(values) / float((1 / values).sum()))
    return Frame.of(center, scale * (vectors / np.sqrt(values)) @ vectors.T @ matrix)


def _standing_out(second: np.ndarray, sd: float) -> np.ndarray:
    """Keep the directions of a second moment (r, r) that stand out of noise with this sd of a diagonal entry."""
    values, vectors = np.linalg.eigh(second)
    clear = values > (math.sqrt(2 * len(values)) + _STANDS_OUT) * sd
    return np.asarray((vectors * np.where(clear, values, 0.0)) @ vectors.T)
