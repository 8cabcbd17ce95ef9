"""Shapes of shells: which columns are wide there, apart from noise and sampling error in their second moments.

A shell's trace has less relative noise than its shape, so the shape is shrunk towards that of everything before it, as
its noise requires (James-Stein). Columns with longer tails than others have more of each shell the further out it is.
If a shell's noise exceeds all of a column so far, that column needs stronger evidence.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.gaussian._shells import column_scales

_STANDS_OUT = 3.0
"""A column stands out of a shell, and is kept as released, if it differs from what is expected there by this many sds
of the noise: rows with one outlying cell are much commoner than rows with many."""

_LASTING = 2.0
"""Weight of the tail's shape before a shell, in rows per column, when the shell's own rows are added to it."""


@dataclass(frozen=True)
class Leant:
    """The shrunk second moment of a shell, and its errors.

    Attributes:
        second: (d, d).
        on: (d,) mean squared errors of its entries along the columns, divided by those of the noise.
        off: the same across the columns.
        left: the part of the noise across the columns that remains in `second`, as mean squares.
    """

    second: np.ndarray
    on: np.ndarray
    off: float
    left: float

    @property
    def shape(self) -> np.ndarray:
        """The direction (d, d) of noise in the trace: of trace 1."""
        return self.second / max(float(np.trace(self.second)), 1e-300)

    def weight_of_mean(self, part: float, mean: np.ndarray, mean_sd: float, sd: float, axes: np.ndarray) -> np.ndarray:
        """Compute the factor (d, d) that shrinks the shell's mean by its noise.

        By Cauchy and Schwarz, the square of a mean is at most a part of the second moment. If the mean is longer than
        that permits, noise and shrinking have turned the second moment, which may then be larger in any direction.

        Args:
            part: share of the rows that lie in the shell.
            mean: (d,) released mean, per row of all.
            mean_sd: its noise sd.
            sd: noise sd of a diagonal entry of the second moment.
            axes: (d, d) orthogonal; rows are the directions of the columns in w.
        """
        d, most = len(mean), part * self.second
        noise = mean_sd**2 * np.eye(d)
        if float(mean @ np.linalg.solve(most + noise, mean)) > d:
            most = most + part * sd * (axes.T * np.sqrt(np.maximum(self.on, self.off))) @ axes
        return np.asarray(most @ np.linalg.inv(most + noise))


def column_axes(matrix: np.ndarray) -> np.ndarray:
    """Give directions along which shells may be wide one at a time: rows of an orthogonal matrix (d, d).

    These are the directions nearest to the columns.

    Args:
        matrix: (d, d) matrix of the frame.
    """
    left, _, right = np.linalg.svd(np.linalg.inv(matrix) / column_scales(matrix)[:, None])
    return np.asarray(left @ right)


def common_part(core: np.ndarray, shell: np.ndarray, sd: float) -> float:
    """Bound the part of the core's squared lengths that belongs to the first shell's long columns; 1 if all are alike.

    It is 1 / (1 + chi-square distance of the shell's shape from the core's), with noise subtracted from that distance:
    if everything in the shell belongs to some columns, equally, the part is their share of the core.

    Args:
        core: (d,) second moments of the core along the columns.
        shell: (d,) released second moments of the shell.
        sd: noise sd of each of these.
    """
    shares = np.maximum(core / max(float(core.sum()), 1e-300), 1e-12)
    total = max(float(shell.sum()), sd * math.sqrt(len(core)), 1e-150)
    return 1 / max(1.0, float(((shell**2 - sd**2) / shares).sum()) / total**2)


def unlike(shares: np.ndarray, core: np.ndarray) -> float:
    """Measure how much the `shares` (d,) of columns differ from those in the `core` (d,): from 0 to 1.

    It is the root of their chi-square distance: the standard deviation of the ratios between them.
    """
    before = np.maximum(core, max(1e-12 * float(core.max()), 1e-300))
    return min(math.sqrt(max(float((shares**2 / before).sum() * before.sum()) - 1, 0.0)), 1.0)


def beside(second: np.ndarray, riding: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Compute the shape, of trace 1, of what columns have in a shell beyond what its rows have of them anywhere.

    A row that a single outlying cell brought there has its other cells where they usually are.

    Args:
        second: (d, d) second moment of the shell.
        riding: (d, d) second moment of as many rows of the core.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
    """
    found = axes @ second @ axes.T
    # rounding may make either negative where a column has nothing; a column's addition is at most what it has
    sizes, ridden = (np.maximum(np.diag(part), 0.0) for part in (found, axes @ riding @ axes.T))
    more = np.maximum(sizes - ridden, 0.0)
    if not more.any():
        more = sizes
    scales = np.sqrt(more / np.maximum(sizes, 1e-300))
    left = axes.T @ (scales[:, None] * found * scales) @ axes
    return np.asarray(left / max(float(more.sum()), 1e-300))


def added_to(own: np.ndarray, found: np.ndarray, rows: float, axes: np.ndarray) -> np.ndarray:
    """Combine the shape `own` of a tail, of trace 1, with a shell of shape `found` and `rows` rows.

    The tail before has less weight if so many rows so far from it are unlikely by chance, by chi-square.

    Args:
        own: (d, d) of trace 1, of the tail before.
        found: (d, d) of trace 1, of the shell.
        rows: number of rows in the shell.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
    """
    d = len(own)
    before, here = (np.maximum(np.einsum("ij,jk,ik->i", axes, part, axes), 1e-12) for part in (own, found))
    off = rows * float(((here - before) ** 2 / before).sum()) / max(d - 1, 1)
    weight = _LASTING * d / max(off, 1.0)
    return np.asarray((weight * own + rows * found) / (weight + rows))


def further_shape(shape: np.ndarray, inside: np.ndarray, shells: int, axes: np.ndarray) -> np.ndarray:
    """Extrapolate the shape beyond the last shell that counts: its change from the core's continues.

    Columns with more of the shells than of the core have longer tails than others, so they have still more of what lies
    further out: per shell as much more as for each of the `shells` before it.

    Args:
        shape: (d, d) of trace 1, of the tail so far.
        inside: (d, d) of trace 1, of the core.
        shells: number of shells that count.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
    """
    if not shells:
        return shape
    own, before = (np.maximum(np.einsum("ij,jk,ik->i", axes, part, axes), 1e-12) for part in (shape, inside))
    stretch = (axes.T * (own / before) ** (0.5 / shells)) @ axes
    longer = stretch @ shape @ stretch
    return np.asarray(longer / float(np.trace(longer)))


def leant(second: np.ndarray, trace: float, shape: np.ndarray, sd: float, axes: np.ndarray, known: np.ndarray) -> Leant:
    """Shrink the second moment of a shell, as released, towards a shape with the shell's trace, as its noise requires.

    Columns that stand out of the noise are kept. All others are shrunk by one factor, and what lies across the columns
    by another (James-Stein): towards their part of the trace, and towards what sizes of columns leave of the shape.
    Where the noise exceeds all that is known of a column so far, more is at stake, and both take as much more evidence.

    Args:
        second: (d, d), as released.
        trace: its estimated trace.
        shape: (d, d) of trace 1.
        sd: noise sd of a diagonal entry.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
        known: (d,) positive second moments along the columns, up to this shell.
    """
    d = len(shape)
    if d == 1 or trace <= 0:
        return Leant(max(trace, 0.0) * np.eye(d) / d, np.zeros(d), 0.0, 0.0)
    released, before = axes @ second @ axes.T, axes @ shape @ axes.T
    sizes, shares, harm = np.diag(released), np.maximum(np.diag(before), 0.0), np.log1p((sd / known) ** 2)
    clear = sizes - trace * shares > np.sqrt(_STANDS_OUT**2 + 2 * harm) * sd
    most = float(harm.max())
    shares = np.where(clear, 0.0, shares)
    shares = shares / max(float(shares.sum()), 1e-300)
    along = np.where(clear, 0.0, sizes - float(sizes[~clear].sum()) * shares)
    kept_on, risk_on = _kept(along, max(d - 1 - int(clear.sum()), 1), sd, most)
    room = max(trace - float(sizes[clear].sum()), 0.0)
    wanted = np.maximum(room * shares + kept_on * along, 0.0)
    wanted = np.where(clear, sizes, wanted * room / max(float(wanted.sum()), 1e-300))
    made = _with_diagonal(before, wanted)
    across = (released - made) * (1 - np.eye(d))
    kept_off, risk_off = _kept(across, d * (d - 1) / 2, sd, most)
    values, vectors = np.linalg.eigh(made + kept_off * across)
    made = _with_diagonal((vectors * np.maximum(values, 0.0)) @ vectors.T, wanted)
    risks = np.where(clear, 1.0, np.maximum(risk_on, _left_out((1 - kept_on) * along, sd, known)))
    return Leant(axes.T @ made @ axes, risks, risk_off, kept_off**2)


def _left_out(removed: np.ndarray, sd: float, known: np.ndarray) -> np.ndarray:
    """Bound the squared errors (d,) of columns of which shrinking may have removed what is no noise, over the noise's.

    Stein's mean over all columns is no measure where the noise exceeds all that a column has so far: a size of some sds
    is removed there, and all of it may be the column's own. (What is below the expected is noise.)

    Args:
        removed: (d,) from the sizes of columns.
        sd: noise sd of each.
        known: (d,) second moments along the columns, up to this shell.
    """
    return np.asarray(np.where(known < sd, np.maximum(removed / sd, 0.0) ** 2, 0.0))


def _with_diagonal(second: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Stretch columns of a second moment (d, d) to these sizes (d,); correlations remain."""
    own = np.diag(second)
    scales = np.sqrt(sizes / np.maximum(own, 1e-12 * max(float(own.max()), 1e-300)))
    stretched = scales[:, None] * second * scales
    np.fill_diagonal(stretched, sizes)
    return np.asarray(stretched)


def _kept(off: np.ndarray, freedom: float, sd: float, harm: float) -> tuple[float, float]:
    """Compute (the factor of James and Stein, the mean squared error that it leaves over that of the noise).

    Args:
        off: differences from the expected.
        freedom: number of entries that are free.
        sd: noise sd of a diagonal entry.
        harm: logarithm of the factor by which the noise would multiply the mean square error; chi-square exceeds the
            bound that it makes with a chance of its inverse (Laurent and Massart 2000).
    """
    square, noise = float((off**2).sum()), freedom * sd**2
    if square <= 0:
        return 0.0, 0.0
    kept = max(1 - noise * (1 + 2 * math.sqrt(harm / freedom) + 2 * harm / freedom) / square, 0.0)
    risk = 1 - 2 * (1 - kept) * max(1 - 2 / freedom, 0.0) + (1 - kept) ** 2 * square / noise
    return kept, min(max(risk, kept), 1.0)


def shape_variances(colour: np.ndarray, on: np.ndarray, off: float) -> np.ndarray:
    """Compute the variances of a_i' E a_j for rows a_i of `colour` and a symmetric E.

    Args:
        colour: (d, d), in coordinates along the columns.
        on: (d,) variances of the diagonal entries of E.
        off: twice the variance of the other entries.
    """
    gram, squares = colour @ colour.T, colour**2
    own = np.diag(gram)
    along = squares @ squares.T
    return np.asarray((squares * on) @ squares.T + off * ((np.outer(own, own) + gram**2) / 2 - along))
