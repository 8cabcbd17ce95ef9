"""Laws of counts: what rows with columns that are mostly zero, one or two look like where they are sound.

A count with mean mu and variance v, in steps from its least value, is taken to be of Panjer's class, where
p(k) / p(k - 1) = a + b / k: binomial with a < 0, Poisson with a = 0, negative binomial with a > 0. Both moments are met
by a = 1 - mu / v and b = mu (1 - a) - a. Columns depend on one another as Gaussian ones of the same covariance do.
Public: nothing here sees a row.

Source: Panjer 1981.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators._even_rows import even_chances, shuffled_columns

_MEANS, _VARIANCES = (0.93, 1.0, 1.07), (0.6, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5)
"""Factors of mean and variance that are tried, since noise and clipping move both."""

_SHIFTS, _SPREADS = np.linspace(-0.3, 0.3, 7), np.linspace(0.7, 1.4, 8)
"""Means, in sds beside that of the public rows, and factors of sds at which these are held against a Gaussian."""

_CELLS, _FEWEST, _MOST = 40_000, 2_000, 8_000
"""Rows that stand for a law: so many cells, within these bounds."""

_LEAST = 1e-3
"""Means and variances in steps are at least this."""

_LARGEST = 400
"""Counts are cut off there; those of columns that count are small."""


def drawn_counts(
    frame: Frame, origin: np.ndarray, steps: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> Iterator[np.ndarray]:
    """Return |w| of the rows that stand for each law, (rows,) each.

    Args:
        frame: the map to w.
        origin: (d,) least values, from which the columns count.
        steps: (d,) in which they do.
        mean: of w, (d,), as far as it is known.
        covariance: of w, (d, d), in the same way.
    """
    from scipy.special import ndtr, ndtri

    d = frame.dimension
    center, matrix = frame.dense()
    colour = np.linalg.inv(matrix)
    middle, spread = center + colour @ mean, colour @ covariance @ colour.T
    sds = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    values, vectors = np.linalg.eigh(spread / np.outer(sds, sds))
    count = min(max(_CELLS // d, _FEWEST), _MOST)
    column = ndtri(even_chances(count))
    normal = shuffled_columns(column, d, seed=d) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    ranks = ndtr(normal)
    for mean_factor in _MEANS:
        means = mean_factor * np.maximum((middle - origin) / steps, _LEAST)
        for factor in _VARIANCES:
            variances = factor * np.maximum((sds / steps) ** 2, _LEAST)
            shares = map(panjer, means, variances)
            rows = origin + steps * counts_at(shares, ranks)
            yield np.linalg.norm((rows - center) @ matrix.T, axis=1)


def counts_at(shares: Iterable[np.ndarray], ranks: np.ndarray) -> np.ndarray:
    """Return the counts (rows, d) at these ranks (rows, d), from 0 to 1, of columns whose counts have such shares."""
    found = [np.searchsorted(np.cumsum(own)[:-1], column) for own, column in zip(shares, ranks.T, strict=True)]
    return np.stack(found, axis=1)


def panjer(mean: float, variance: float) -> np.ndarray:
    """Return shares of the counts 0, 1, ... of that mean and variance; they add up to 1."""
    a = 1 - mean / variance
    b = mean * (1 - a) - a
    ratios = np.maximum(a + b / np.arange(1, _LARGEST), 0.0)
    logs = np.append(0.0, np.cumsum(np.log(np.maximum(ratios, 1e-300))))
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def count_odds(rows: np.ndarray, origin: np.ndarray, steps: np.ndarray) -> float:
    """Logarithm of how much likelier small counts make rows (m, d) than Gaussians that are rounded.

    Of the likeliest of either, each column by itself.

    Args:
        rows: on lattices.
        origin: (d,) from which the columns count.
        steps: (d,) in which they do.
    """
    counts = np.minimum(np.rint((rows - origin) / steps), _LARGEST - 1).astype(int)
    return float(sum(_log_of_counts(column) - _log_of_gaussian(column) for column in counts.T))


def _moments(column: np.ndarray) -> tuple[float, float]:
    return max(float(column.mean()), _LEAST), max(float(column.var(ddof=1)), _LEAST)


def _log_of_counts(column: np.ndarray) -> float:
    """Give the logarithm of how likely whole numbers (m,) from 0 on are under the likeliest law."""
    mean, variance = _moments(column)
    laws = np.array([panjer(a * mean, b * variance) for a in _MEANS for b in _VARIANCES])
    return float(np.log(np.maximum(laws[:, column], 1e-300)).sum(axis=1).max())


def _log_of_gaussian(column: np.ndarray) -> float:
    """Give the same under the likeliest Gaussian that is rounded to whole numbers."""
    from scipy.special import ndtr

    mean, variance = _moments(column)
    sds = np.sqrt(variance) * _SPREADS[:, None, None]
    off = column - mean - np.sqrt(variance) * _SHIFTS[:, None]
    shares = ndtr((off + 0.5) / sds) - ndtr((off - 0.5) / sds)
    return float(np.log(np.maximum(shares, 1e-300)).sum(axis=-1).max())
