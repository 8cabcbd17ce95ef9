"""Shapes of shells: which columns are wide there, apart from noise and sampling error in their second moments.

A shell's trace has less relative noise than its shape, so the shape is shrunk towards that of everything before it, as
its noise requires (James-Stein). Columns with longer tails than others have more of each shell the further out it is.
If a shell's noise exceeds all of a column so far, that column needs stronger evidence.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.gaussian._shells import column_scales

_ASTRAY = 0.25
"""Relative sd by which columns' shares in a shell may differ from the expected ones."""

_CLEAR = 1.1
"""A direction of a shell stands out if its eigenvalue is this many times the largest from noise and sampling alone."""

_STANDS_OUT = 1.0
"""A column stands out if it exceeds the largest noise of all columns by this many sds of the noise."""

_SURELY = 5.0
"""Sds from which a column stands out beyond doubt: noise alone makes one such column in ten thousand tables."""

_LASTING = 2.0
"""Weight of the tail's shape before a shell, in rows per column, when the shell's own rows are added to it."""

_BY_CHANCE = 0.25
"""A shape is kept as far as its square exceeds what noise, and this part of what sampling, should contribute: sampling
is in the sampling errors, but what shrinking removes from a shape is in no error."""


@dataclass(frozen=True)
class Leant:
    """The shrunk second moment of a shell, and its errors.

    Attributes:
        second: (d, d).
        shape: (d, d) of trace 1: the direction of noise in the trace.
        clear: (d, d) part of `second` in the columns that stand out.
        tops: (directions, d, d) projections on the directions that stand out, which have noise of their own.
        on: (d,) mean squared errors of its entries along the columns, divided by those of the noise.
        off: the same across the columns.
        left: the part of the noise across the columns that remains in `second`, as mean squares.
    """

    second: np.ndarray
    shape: np.ndarray
    clear: np.ndarray
    tops: np.ndarray
    on: np.ndarray
    off: float
    left: float

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


def column_axes(matrix: np.ndarray, principal: bool = False) -> np.ndarray:
    """Give directions along which shells may be wide one at a time: rows of an orthogonal matrix (d, d).

    These are the directions nearest to the columns or, if a factor is long, the principal axes of the columns'
    correlations.

    Args:
        matrix: (d, d) matrix of the frame.
        principal: whether rows are long along principal axes instead of columns.
    """
    left, _, right = np.linalg.svd(np.linalg.inv(matrix) / column_scales(matrix)[:, None])
    return np.asarray(right if principal else left @ right)


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


def aimed_traces(sizes: np.ndarray, sds: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the traces (shells,) of shells and their sds, using the columns' expected shares.

    If few columns are long, the others only add noise to a trace. The sum weighted with the `shares` has the least
    noise. It is biased if these are wrong, so it is moved back towards the trace by as much as they may be.

    Args:
        sizes: (shells, d) released second moments along the columns.
        sds: (shells,) noise sds of these.
        shares: (shells, d) or (d,) expected shares of the columns, in any unit; all 0 if unknown.
    """
    d, total = sizes.shape[1], shares.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0, shares / np.maximum(total, 1e-300), 1 / d)
    sharp = (shares**2).sum(axis=-1)
    traces, aimed, own = sizes.sum(axis=1), (sizes * shares).sum(axis=1) / sharp, sds**2 / sharp
    more = np.maximum(sds**2 * d - own, 0.0)  # rounding makes it negative for equal shares
    astray = (_ASTRAY * np.maximum(aimed, 0.0)) ** 2
    back = astray / np.maximum(astray + more, 1e-300)
    return aimed + back * (traces - aimed), np.sqrt(own + back * more)


def standing_out(sizes: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Give the second moments (shells, d) of columns that stand out of a shell beyond doubt; 0 for others.

    Args:
        sizes: (shells, d) released second moments along the columns.
        sds: (shells,) noise sds of these.
    """
    return np.where(sizes > _SURELY * sds[:, None], sizes, 0.0)


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


def leant(
    second: np.ndarray, trace: float, shape: np.ndarray, sd: float, chance: float, axes: np.ndarray, known: np.ndarray
) -> Leant:
    """Shrink the second moment of a shell to at most this trace, from the released one and what is known otherwise.

    Columns that stand out of the noise are kept, because rows with one outlying cell are much commoner than rows with
    many; so are directions in what these columns do not explain, shrunk optimally for an orthogonal ensemble (Donoho,
    Gavish and Johnstone 2018). The rest is shrunk towards `shape` as its noise requires (James-Stein), separately along
    and across the columns.

    Args:
        second: (d, d), as released.
        trace: its estimated trace; after the columns that stand out, the part of it that may be noise is subtracted.
        shape: (d, d) of trace 1.
        sd: noise sd of a diagonal entry.
        chance: how far sampling moves the shape of so few rows, in Frobenius norm.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
        known: (d,) positive second moments along the columns, up to this shell; if the noise exceeds them, columns need
            stronger evidence.
    """
    d = len(shape)
    if d == 1 or trace <= 0:
        even = np.eye(d) / d
        return Leant(max(trace, 0.0) * even, even, np.zeros((d, d)), np.zeros((0, d, d)), np.zeros(d), 0.0, 0.0)
    found, before = axes @ second @ axes.T, axes @ shape @ axes.T
    sizes, harm = np.diag(found), np.log1p((sd / known) ** 2)
    clear = _clear_columns(sizes, trace, np.diag(before), sd, harm)
    left = d - int(clear.sum())
    room = max(trace - float(sizes[clear].sum()), 0.0)
    if clear.any():  # columns that stand out have less noise than the trace, so the rest may be noise of the trace
        room = max(room - left * sd**2 / max(room, 1e-150), 0.0)
    own = np.where(np.outer(~clear, ~clear), before, 0.0)
    own = own / max(float(np.trace(own)), 1e-300)
    on = np.where(clear, 0.0, sizes - float(sizes[~clear].sum()) * np.diag(own))
    chance *= room / trace  # for the rest only: much of the shell may be in the columns that stand out
    kept_on, risk_on = _kept(on, max(left - 1, 0), sd, chance**2, float(harm[~clear].max(initial=0.0)))
    wanted = np.maximum(room * np.diag(own) + kept_on * on, 0.0)
    wanted = np.where(clear, sizes, wanted * room / max(float(wanted.sum()), 1e-300))
    base = room * own
    across, tops, risk_off, kept_off = _across(found - np.diag(sizes) - base + np.diag(np.diag(base)), sd, chance)
    np.fill_diagonal(base, wanted)
    values, vectors = np.linalg.eigh(base + across)
    made = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scales = np.sqrt(wanted / np.maximum(np.diag(made), 1e-300))  # no column's size changes
    made = scales[:, None] * made * scales
    tops = axes.T @ tops
    return Leant(
        axes.T @ made @ axes,
        axes.T @ own @ axes,
        axes.T @ np.where(np.outer(clear, clear), made, 0.0) @ axes,
        np.einsum("ik,jk->kij", tops, tops),
        np.where(clear, 1.0, risk_on * (1 - 1 / max(left, 1))),
        risk_off,
        kept_off**2,
    )


@dataclass(frozen=True)
class Restored:
    """What is given back of what shrinking removed from shells.

    Attributes:
        last: number of shells that get some of it back.
        kept: the part of it that they get.
        variance: mean square error of an entry that this leaves, by noise and by the rest.
    """

    last: int
    kept: float
    variance: float


def restored(removed: np.ndarray, sds: np.ndarray, known: np.ndarray) -> Restored:
    """Tell how much of what shrinking `removed` from shells is given back: as far as it adds up to more than noise.

    Shrinking is right for each shell by itself. But what it removes from several of them has one shape, and adds up;
    their noises are independent. So the sum up to each shell is shrunk by its own noise, and given
    back up to the shell for which that gains most.

    Args:
        removed: (shells, d, d) second moments as released, minus the shrunk ones.
        sds: (shells,) noise sds of a diagonal entry.
        known: (shells, d) positive second moments along the columns, up to each shell; see `leant`.
    """
    d = known.shape[1]
    if d == 1 or not len(sds):  # a single column has no shape
        return Restored(0, 0.0, 0.0)
    freedom, noise = d * (d + 1) / 2, np.cumsum(sds**2)
    harm = np.log1p(noise[:, None] / known**2).max(axis=1)
    squares = (np.cumsum(removed, axis=0) ** 2).sum(axis=(1, 2))
    beyond = np.maximum(squares - _at_most(freedom * noise, freedom, noise, harm), 0.0)
    kept = beyond / (beyond + freedom * noise)
    last = int(np.argmax(kept * beyond))
    if not kept[last]:
        return Restored(0, 0.0, 0.0)
    return Restored(last + 1, float(kept[last]), float(kept[last] * noise[last]))


def _across(off: np.ndarray, sd: float, chance: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Compute (what is kept, directions (d, count) that stand out, mean squared error of the rest over noise, part).

    The last one is the part of the rest that is kept.

    Args:
        off: (d, d) difference from the expected, with an empty diagonal.
        sd: noise sd of a diagonal entry.
        chance: how far sampling moves the shape, in Frobenius norm.
    """
    d = len(off)
    values, vectors = np.linalg.eigh(off)
    edge = sd * math.sqrt(2 * d)
    clear = np.abs(values) > _CLEAR * math.hypot(edge, chance)
    tops, strong = vectors[:, clear], values[clear]
    rest = off - (tops * strong) @ tops.T
    kept, risk = _kept(rest, d * (d - 1) / 2, sd, chance**2 / 2)
    shrunk = np.sign(strong) * np.sqrt(np.maximum(strong**2 - edge**2, 0.0))
    return (tops * shrunk) @ tops.T + kept * rest, tops, risk, kept


def _clear_columns(sizes: np.ndarray, trace: float, shares: np.ndarray, sd: float, harm: np.ndarray) -> np.ndarray:
    """Find the columns (d,) that stand out of a shell, the clearest first: the rest then shows what others should have.

    Args:
        sizes: (d,) released second moments along the columns.
        trace: trace of the shell.
        shares: (d,) expected shares of the columns.
        sd: noise sd of one size.
        harm: (d,) logarithms of the factors by which the noise would multiply the mean square error of a column.
    """
    clear = np.zeros(len(sizes), dtype=bool)
    least = np.sqrt((_STANDS_OUT + math.sqrt(2 * math.log(len(sizes)))) ** 2 + 2 * harm) * sd
    while not clear.all():
        room = max(trace - float(sizes[clear].sum()), 0.0)
        expected = room * shares / max(float(shares[~clear].sum()), 1e-300)
        above = np.where(clear, -np.inf, sizes - expected - least)
        at = int(np.argmax(above))
        if above[at] <= 0:
            break
        clear[at] = True
    return clear


def _kept(off: np.ndarray, freedom: float, sd: float, chance: float, harm: float = 0.0) -> tuple[float, float]:
    """Compute (the factor of James and Stein, the mean squared error that it leaves over that of the noise).

    For a matrix with so many free entries, each with noise `sd`, and sampling error. The probability that chance is
    taken for shape falls as `harm` rises (Laurent and Massart 2000, Lemma 1), the logarithm of the factor by which
    noise would multiply the mean square error of a column. The factor's own error is Stein's unbiased estimate of risk.
    """
    expected = freedom * sd**2 + _BY_CHANCE * chance
    most = float(_at_most(expected, max(freedom, 1.0), sd**2, harm))
    square = float((off**2).sum())
    kept = max(0.0, 1 - most / max(square, 1e-300))
    noise = max(freedom, 1.0) * sd**2
    risk = 1 - 2 * (1 - kept) * max(1 - 2 / max(freedom, 1.0), 0.0) + (1 - kept) ** 2 * square / max(noise, 1e-300)
    return kept, min(max(risk, kept), 1.0)


def _at_most(
    expected: float | np.ndarray,
    freedom: float,
    variance: float | np.ndarray,
    harm: float | np.ndarray,
) -> np.ndarray:
    """Bound the square of so many free entries of noise, `expected` where nothing is at stake; see `_kept`."""
    return np.asarray(expected * (1 + 2 * np.sqrt(harm / freedom)) + 2 * harm * variance)


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
