"""What rounding to the lattices of the public rows makes of Gaussian rows: of their lengths, and of what a clip leaves.

Public: rows are drawn, evenly in each column, and nothing here sees a private one.
"""

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators._even_rows import even_chances, shuffled_columns
from pubpriv.estimators._lattice import rounded
from pubpriv.estimators.gaussian._public_shape import PublicShape

_DRAWN = 200_000
"""Number of cells of the rows that represent a Gaussian on a lattice; at most 100,000 rows."""


def lattice_shift(frame: Frame, shape: PublicShape, edges: np.ndarray, scale: float) -> np.ndarray:
    """Compute what rounding adds to the shares (len(edges) + 1,) of Gaussian rows of this scale between `edges`.

    Values on a lattice fill some bins of lengths and leave others empty. Rows are drawn, evenly in each column, and
    counted before and after they are rounded as the public rows are.
    """
    d, steps = frame.dimension, np.array(shape.steps)
    if not steps.any():
        return np.zeros(len(edges) + 1)
    drawn = scale * _drawn(d)
    center, matrix = frame.dense()
    moved = (rounded(center + drawn @ np.linalg.inv(matrix).T, np.array(shape.origin), steps) - center) @ matrix.T
    found = [np.searchsorted(edges, np.linalg.norm(rows, axis=1)) for rows in (moved, drawn)]
    after, before = (np.bincount(bins, minlength=len(edges) + 1) for bins in found)
    return np.asarray((after - before) / len(drawn))


def rounding_kept(frame: Frame, covariance: np.ndarray, shape: PublicShape, radius: float) -> float:
    """Compute by what part rounding makes the mean square larger that a clip leaves Gaussian rows of this covariance.

    A clip between two values of a lattice takes more from rows, or less, than from Gaussian ones of the same variance.

    Args:
        frame: map to w, by which rows are clipped.
        covariance: of rounded rows, (d, d).
        shape: of the public rows, with the lattices of the columns.
        radius: of the clip.
    """
    steps = np.array(shape.steps)
    if not steps.any():
        return 0.0
    unrounded = covariance - np.diag(steps**2) / 12
    if np.linalg.eigvalsh(unrounded).min() <= 0:
        return 0.0
    drawn, (center, matrix) = _drawn(frame.dimension), frame.dense()
    before = drawn @ np.linalg.cholesky(unrounded).T
    after = rounded(center + before, np.array(shape.origin), steps) - center
    of_lattice, of_gaussian = (
        float(np.minimum(((rows @ matrix.T) ** 2).sum(axis=1), radius**2).mean())
        for rows in (after, drawn @ np.linalg.cholesky(covariance).T)
    )
    return of_lattice / of_gaussian - 1


def _drawn(d: int) -> np.ndarray:
    """Draw standard Gaussian rows (count, d), evenly in each column, always the same."""
    from scipy.special import ndtri

    return shuffled_columns(ndtri(even_chances(max(min(_DRAWN // d, 100_000), 1000))), d, seed=d)
