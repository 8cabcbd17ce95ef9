"""Shapes of shells: which columns are wide there, beside what noise and sampling make of their second moments.

A shell's trace is known better than its shape, so the shape leans to that of all before it, as far as its noise
makes it (James-Stein). Columns with longer tails than others have more of each shell the further out it lies.
"""

import math

import numpy as np

from pubpriv.estimators.gaussian.shells import column_scales

_CLEAR = 1.1
"""A direction of a shell stands out if its eigenvalue exceeds the level of those below by so many times the largest
of noise and sampling alone."""

_UNEVEN = 5.0
"""w is not white if the core is so many times wider in one direction than in another."""

_CAUTION = 1.0
"""A shape is kept as far as its square exceeds, by so many sds, what noise and sampling are expected to make of it."""

_BY_CHANCE = 0.25
"""... counting this part of the square of what sampling makes of it: that is in the sampling errors, but what leaning
takes from a shape is in none."""


def column_axes(core: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Directions along which shells may be wide one by one: rows of an orthogonal matrix (d, d).

    Where w is about white they are those nearest to the columns; else, with degenerate columns, those of the core.
    """
    values, vectors = np.linalg.eigh(core)
    if values[-1] > _UNEVEN * max(float(values[0]), 0.0):
        return np.asarray(vectors.T)
    left, _, right = np.linalg.svd(np.linalg.inv(matrix) / column_scales(matrix)[:, None])
    return np.asarray(left @ right)


def common_part(core: np.ndarray, shell: np.ndarray, sd: float) -> float:
    """Give the part of the core's squared lengths that columns have as the first shell has them; 1 if it is all alike.

    It is 1 / (1 + chi-square distance of the shell's shape from the core's), less what noise makes of that distance:
    where all that lies in the shell is of some columns, and of these alike, the part is what they have of the core.

    Args:
        core: (d,) second moments of the core along the columns.
        shell: (d,) released ones of the shell.
        sd: of the noise in each of these.
    """
    shares = np.maximum(core / max(float(core.sum()), 1e-300), 1e-12)
    total = max(float(shell.sum()), sd * math.sqrt(len(core)), 1e-150)
    return 1 / max(1.0, float(((shell**2 - sd**2) / shares).sum()) / total**2)


def further_shape(shape: np.ndarray, inside: np.ndarray, shells: int, axes: np.ndarray) -> np.ndarray:
    """Give the shape of what lies beyond the last shell that counts: what made it another one than the core's goes on.

    Columns of which more lies in the shells than in the core have longer tails than others, so of what lies further out
    they have more still: as much more for a shell as they had for each of the `shells` before it.

    Args:
        shape: (d, d) of trace 1, of the tail up to there.
        inside: (d, d) of trace 1, of the core.
        shells: that count.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
    """
    if not shells:
        return shape
    own, before = (np.maximum(np.einsum("ij,jk,ik->i", axes, part, axes), 1e-12) for part in (shape, inside))
    stretch = (axes.T * (own / before) ** (0.5 / shells)) @ axes
    longer = stretch @ shape @ stretch
    return np.asarray(longer / float(np.trace(longer)))


def leant(
    second: np.ndarray, trace: float, shape: np.ndarray, sd: float, chance: float, axes: np.ndarray
) -> tuple[float, np.ndarray]:
    """(what is kept of the measured shape, second moment of a shell with that trace, or less).

    Directions that stand out of the noise are kept, shrunk as is best for an orthogonal ensemble (Donoho, Gavish and
    Johnstone 2018). What is left leans to `shape` as far as noise makes it (James-Stein), its diagonal along the
    columns and the rest apart: rows with one odd cell are much commoner than rows with many.

    Args:
        second: (d, d), released.
        trace: as it is known; of what directions that stand out leave of it, the part that may be noise is taken off.
        shape: (d, d) of trace 1.
        sd: noise of a diagonal entry.
        chance: how far sampling moves the shape of so few rows, in Frobenius norm.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
    """
    d = len(shape)
    if d == 1 or trace <= 0:
        return 0.0, trace * np.ones((d, d)) / d
    values, vectors = np.linalg.eigh((second + second.T) / 2)
    edge = sd * math.sqrt(2 * d)
    clear = np.zeros(d, dtype=bool)
    for i in range(d - 1, 0, -1):
        level = max(trace - float(values[i + 1 :].sum()), 0.0) / (i + 1)
        if values[i] - level < _CLEAR * math.hypot(edge, chance):
            break
        clear[i] = True
    spikes = np.sqrt(np.maximum(values[clear] ** 2 - edge**2, 0.0))
    room = max(trace - float(values[clear].sum()), 0.0)
    spikes *= (trace - room) / max(float(spikes.sum()), 1e-300)
    if clear.any():  # the eigenvalues that stand out are known better than the trace: what is left may be its noise
        room = max(room - (d - int(clear.sum())) * sd**2 / max(room, 1e-150), 0.0)
    others = vectors[:, ~clear] @ vectors[:, ~clear].T
    own = others @ shape @ others
    own = own / max(float(np.trace(own)), 1e-300)
    rest = others @ second @ others
    off = axes @ (rest - float(np.trace(rest)) * own) @ axes.T
    left = int((~clear).sum())
    chance *= room / trace  # of what is left: much of the shell may be in the directions that stand out
    on = np.diag(np.diag(off))
    kept_on = _kept(on, (left - 1) * left / d, sd, chance**2)
    kept_off = _kept(off - on, left * (left - 1) / 2, sd, chance**2 / 2)
    leaning = room * own + axes.T @ (kept_on * on + kept_off * (off - on)) @ axes
    found, turned = np.linalg.eigh((leaning + leaning.T) / 2)
    positive = np.maximum(found, 0.0)
    positive *= room / max(float(positive.sum()), 1e-300)
    part = 1 - left / d
    kept = part + (1 - part) * (2 * kept_on + (left - 1) * kept_off) / (left + 1) if left else 1.0
    return kept, (vectors[:, clear] * spikes) @ vectors[:, clear].T + (turned * positive) @ turned.T


def _kept(off: np.ndarray, freedom: float, sd: float, chance: float) -> float:
    """The factor of James and Stein for a matrix with so many free entries, each with noise `sd`, and sampling.

    It is cautious, so that chance alone is seldom taken for shape: shells add up, and the next ones lean to it.
    """
    expected = freedom * sd**2 + _BY_CHANCE * chance
    most = expected * (1 + _CAUTION * math.sqrt(2 / max(freedom, 1.0)))
    return max(0.0, 1 - most / max(float((off**2).sum()), 1e-300))
