"""What may be cut off and not be seen where the rows are taken for a Gaussian's; post-processing.

Clipping is undone as if the tail were a Gaussian's. The histogram says how much longer it is, to its noise, and smooth
laws have little enough there that this noise is not believed in full.
"""

import math

import numpy as np

from pubpriv.estimators.gaussian.shells import Cut, Histogram, gaussian_shares, middle_squares

_HEAVIER = 0.08
"""Part of a variance by which the tail of a smooth law exceeds a Gaussian's beyond the clip: prior, one sd."""

_UPPER = 0.15
"""Noise sds above what was released to which a heavier tail is feared: more would double the intervals of Gaussians."""

_BINS_BEYOND = 2
"""Bins beyond the end of the core that count: those further out are all noise."""


def unseen_tail(histogram: Histogram, where: Cut, d: int, n: float) -> tuple[float, float]:
    """Say how far a tail that is heavier than a Gaussian's may have moved mean and variance.

    X is what the histogram has beyond the clip, in squared length, above a Gaussian, and S the noise of X. The upper
    end X + `_UPPER` S is taken by the share that noise leaves of it, with smooth laws at `_HEAVIER`.

    Returns:
        sds of a mean, over the standard deviation of the column, and of a variance, over the variance.
    """
    edges = np.array(histogram.edges)
    radius, end = where.radii[0], where.edges[0]
    last = int(np.searchsorted(edges, end * 0.999)) + _BINS_BEYOND
    squares = np.minimum(middle_squares(np.insert(edges[: last + 1], 0, 0.0)), end**2)
    cut_off = np.maximum(squares - radius**2, 0.0) / (d * where.scale**2)
    expected = n * gaussian_shares(edges, d, np.array([where.scale]))[0, : last + 1]
    excess = float(cut_off @ (np.array(histogram.counts[: last + 1]) - expected)) / n
    noise = histogram.sd / n * float(np.linalg.norm(cut_off))
    hidden = max(excess + _UPPER * noise, 0.0) * _HEAVIER / math.hypot(noise, _HEAVIER)
    return hidden * where.scale / radius, hidden
