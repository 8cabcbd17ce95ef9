"""Decide where the last release is cut and clipped, from the histogram of lengths and the public rows; free.

If the histogram is that of a Gaussian, of a scale that it shows better than the rounds do, the core reaches to the end
of such rows, and its clip radius minimises the expected error of variances: the less is known about the tail, the
further out it is.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators._lengths import gaussian_shares, length_quantile
from pubpriv.estimators.gaussian._far_columns import FarColumns
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._rounding import lattice_shift
from pubpriv.estimators.gaussian._shells import (
    BINS_INSIDE,
    FINE,
    RATIO,
    Cut,
    Histogram,
    clipping_loss,
    histogram_edges,
    middle_squares,
    rows_by_step,
)
from pubpriv.estimators.gaussian._tail import UNSURE, Shells, known_to, last_shell
from pubpriv.estimators.gaussian.clipping import best_moment_radius
from pubpriv.estimators.gaussian.tail_belief import believe, believe_far, best_radius
from pubpriv.estimators.steps import step

_CORE = 1.2
"""Where the core of rows that are not Gaussian ends, over the root mean square length of white rows: it has as large a
part of them as of Gaussian ones, three in four of few columns, nine in ten of twenty. With more of few columns, shells
have so little that their shapes drown in noise; with less of many columns, rows of the usual length pass for a tail."""

_FEWEST_SHELLS = 2
"""Least number of shells beyond the core."""

_SCALES, _TRIED = (0.5, 0.01, 0.0005), 101
"""The histogram is compared with a Gaussian at TRIED scales, up to a factor of exp(0.5) either way; then about the best
at finer ones, twice: many lengths of many columns determine their scale to one in thousands."""

_UNLIKE, _HEAVY = 3.5, 2.9
"""Rows are not Gaussian if chi-square, or the weighted excess in the tail, exceeds this many standard deviations."""

_DOUBTED = 0.5
"""Small counts are not Gaussian if the Gaussian is no likelier than all other laws together: laws of counts have known
tails."""

_APART = 0.7
"""How far the shape of a shell is expected to be from that of the rows before it, in Frobenius norm, over that of rows
of its squared length that are alike in all directions. Set on fourteen real tables, where .25 lost a tenth of the
accuracy of light tails, and on columns of unlike laws, where 1 lost as much."""

_TRIED_RADII = 24
"""Clip radii that are tried in each step."""

_INSIDE = 0.9
"""The tail is what lies beyond this share of Gaussian rows."""

_BINS_BEYOND = 2
"""Bins beyond the core that are evidence about its tail: rows further out are outliers, and measured separately."""


@step(title="cut into shells")
def cut(
    histogram: Histogram,
    frame: Frame,
    records: float,
    rho: float,
    may_be_gaussian: bool,
    shape: PublicShape,
    far: FarColumns | None = None,
    accuracy: float = 0.0,
) -> Cut:
    """Choose the end of the core, its clip radius, and the shells beyond it.

    Args:
        histogram: of |w|.
        frame: the map to w.
        records: number of rows without missing or infinite values.
        rho: rho of the second moment in the last release, see `final_rho`.
        may_be_gaussian: False if the shape of a Gaussian must not be used.
        shape: shape of the public rows.
        far: rows that columns take far out; None: not asked.
        accuracy: how far the rounds are expected to have left w from standard; see `Position`.
    """
    d, edges = frame.dimension, np.array(histogram.edges)
    shift = np.zeros(len(edges) + 1)
    unlike, excess, scale = _against_gaussian(histogram, d, records, shift)
    if may_be_gaussian and shape.steps:
        shift = lattice_shift(frame, shape, edges, scale)
        unlike, excess, scale = _against_gaussian(histogram, d, records, shift)
    first, believed = BINS_INSIDE + round(math.log(scale) / math.log(FINE)), None
    odds = 0.0 if far is None else _odds(far, frame, records, scale, accuracy, shape)
    if may_be_gaussian and unlike < _UNLIKE and excess < _HEAVY:
        believed = believe(histogram, d, records, first + 1 + _BINS_BEYOND, shift, shape, odds)
    if believed is not None and (believed[0][0] > _DOUBTED or not shape.counts):
        most = float(edges[first]) / scale
        least = min(best_moment_radius(int(records), d, rho), most)
        radius = scale * best_radius(*believed, records, rho, least, most)
        outer = edges[first::2]
        radii = (radius, *outer.tolist()[1:], float(outer[-1] * RATIO))
        laws, long = believed
        return Cut(True, scale, excess, tuple(outer.tolist()), radii, (), tuple(laws.tolist()), row_tuples(long))
    inner = float(gaussian_shares(np.array([_CORE * math.sqrt(d)]), d, np.ones(1))[0, 0])
    enough = np.flatnonzero(_within(histogram, records) >= inner * records)
    widest = len(edges) - 2 * _FEWEST_SHELLS
    first = min(int(enough[0]) if len(enough) else widest, widest)
    shells, radii, visible = _shells(histogram, first, d, records, rho)
    by_rows = () if far is None else row_tuples(believe_far(d, shape, odds))
    steps = tuple(edges[first::2].tolist())
    return Cut(False, 1.0, excess, shells, radii, steps, long=by_rows, visible=visible)


def _odds(
    far: FarColumns, frame: Frame, records: float, scale: float, accuracy: float, shape: PublicShape
) -> np.ndarray:
    """Compute the odds of long columns; rows were counted in coordinates whose scale is 1 if these are other ones."""
    counted = far.frame or frame
    return far.log_odds(counted, records, scale if counted == frame else 1.0, accuracy, shape)


def _shells(
    histogram: Histogram, first: int, d: int, n: float, rho: float
) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """Compute (edges, clip radii, visible steps or 0, see `Cut`) of the core and of all shells, if it is not Gaussian.

    Each shell adds the noise of its clip radius, and what is not known of what clipping removes: the histogram shows
    that roughly, and it is added back. Steps with visible rows are joined to those shells that have least of both
    together (dynamic programming, Bellman 1957). The step after them belongs to the last of these, where its rows are
    clipped, if what noise hides there costs less than the noise of a shell of its own. Steps further out are shells by
    themselves, and all steps of a single column are: it has no shape that noise would hide, and each step by itself is
    counted three times.

    Args:
        histogram: of |w|.
        first: index of the edge.
        d: number of columns.
        n: number of whole rows.
        rho: rho of the second moment in the last release.
    """
    edges = np.array(histogram.edges)
    inner = np.arange(first, len(edges), 2)
    visible = min(_visible(histogram, inner, n), len(inner) - 1) if d > 1 else 0
    best = [_Shells(0.0, (), ())]
    for end in range(1, max(visible, 1) + 1):
        tried = [best[begin].and_one(histogram, inner, begin, end, d, rho) for begin in range(end)]
        best.append(min(tried, key=lambda shells: shells.error))
    shells, further = best[-1], max(visible, 1)
    if d > 1 and further < len(inner) - 1:
        apart = shells.and_one(histogram, inner, further, further + 1, d, rho)
        if shells.error + _hidden_beyond(histogram, inner[further], shells.radii[-1], d) < apart.error:
            further += 1
        else:
            visible = 0
    for begin in range(further, len(inner) - 1):
        shells = shells.and_one(histogram, inner, begin, begin + 1, d, rho)
    last = float(edges[inner[-1]])
    cut = edges[inner[[*shells.begins, len(inner) - 1]]]
    return tuple(cut.tolist()), (float(cut[0]), *shells.radii, last * RATIO), visible


@dataclass(frozen=True)
class _Shells:
    """Shells up to some step.

    Attributes:
        error: their squared error of squared lengths.
        begins: the steps that they begin at.
        radii: their clip radii.
    """

    error: float
    begins: tuple[int, ...]
    radii: tuple[float, ...]

    def and_one(self, histogram: Histogram, inner: np.ndarray, begin: int, end: int, d: int, rho: float) -> "_Shells":
        """Add one, from step `begin` to step `end`."""
        error, radius = _clipped(histogram, int(inner[begin]), int(inner[end]), d, rho)
        return _Shells(self.error + error, (*self.begins, begin), (*self.radii, radius))


def _hidden_beyond(histogram: Histogram, begin: int, radius: float, d: int) -> float:
    """Expect the squared error of squared lengths of rows that noise hides in a step from an edge on, if clipped."""
    square = float(middle_squares(np.array(histogram.edges[begin : begin + 3 : 2]))[0])
    lost = math.sqrt(2) * histogram.sd * (square - radius**2)
    return lost**2 * (1 + _APART**2) / d


def _clipped(histogram: Histogram, begin: int, end: int, d: int, rho: float) -> tuple[float, float]:
    """Compute (squared error of squared lengths, the clip radius with the least one) of a shell between two edges.

    The noise of its trace is less where counts tell more. That of its shape is shrunk as far as it exceeds what this
    and the expected shape may differ by.
    """
    tried = np.geomspace(histogram.edges[begin], histogram.edges[end], 1 + _TRIED_RADII * (end - begin) // 2)
    entry = tried**4 / rho
    counts, edges = np.array(histogram.counts[begin + 1 : end + 1]), np.array(histogram.edges[begin : end + 1])
    middle = middle_squares(edges)
    squares = float(np.maximum(counts, histogram.sd) @ middle)
    counted = (histogram.sd * float(np.linalg.norm(middle))) ** 2 / 2 + (UNSURE * squares) ** 2
    trace, shape, apart = d * entry, (d * (d + 1) / 2 - 1) * entry, (_APART * squares) ** 2 / d
    known = 1 / (1 / trace + 1 / counted) / d + shape * apart / (shape + apart)
    errors = known + clipping_loss(histogram, begin, end, tried).sds ** 2
    best = int(np.argmin(errors))
    return float(errors[best]), float(tried[best])


def _visible(histogram: Histogram, inner: np.ndarray, n: float) -> int:
    """Count the steps that begin at edges `inner` whose rows stand out of the noise of the histogram."""
    edges, (rows, sds) = np.array(histogram.edges), rows_by_step(histogram, inner + 1)
    middle = middle_squares(np.append(edges[inner], edges[-1] * RATIO))
    shells = Shells(rows * middle / n, np.full(len(rows), np.inf), rows, sds, middle)
    return last_shell(rows / sds, False, known_to(shells, n))


def _within(histogram: Histogram, records: float) -> np.ndarray:
    """Estimate how many rows are no longer than each edge, (edges,): a little high, by one sd of the noise.

    Counts up to the edge and counts beyond it both give an estimate. Their noise adds up bin by bin, so the estimate
    from fewer bins has more weight. A core that ends a little early costs less than one that has no end.
    """
    counts = np.array(histogram.counts)
    bins, near = len(counts), np.arange(1, len(counts))
    below = np.cumsum(counts)[:-1]
    beyond = counts.sum() - below
    within = ((bins - near) * below + near * (records - beyond)) / bins
    return np.asarray(within + histogram.sd * np.sqrt(near * (bins - near) / bins))


def core_end(n: float, d: int) -> float:
    """Give the radius at which the core of n standard Gaussian rows of d columns ends if no shape is assumed."""
    edges = histogram_edges(n, d)
    return next((edge for edge in edges if edge >= _CORE * math.sqrt(d)), edges[-1])


def _against_gaussian(histogram: Histogram, d: int, records: float, shift: np.ndarray) -> tuple[float, float, float]:
    """Compute (sds of chi-square beyond noise, sds of the weighted excess in the tail, the best scale).

    Args:
        histogram: of |w|.
        d: number of columns.
        records: number of rows without missing or infinite values.
        shift: correction of the shares of bins, see `lattice_shift`.
    """
    counts, edges = np.array(histogram.counts), np.array(histogram.edges)
    scale = 1.0
    for width in _SCALES:
        scales = scale * np.exp(np.linspace(-width, width, _TRIED))
        expected = records * np.maximum(gaussian_shares(edges, d, scales) + shift, 0.0)
        variances = histogram.sd**2 + expected
        distances = ((counts - expected) ** 2 / variances).sum(axis=1)
        best = int(np.argmin(distances))
        scale = float(scales[best])
    freedom = len(counts) - 1
    middles = np.append(middle_squares(np.insert(edges, 0, 0.0)), edges[-1] ** 2)
    begin = (length_quantile(d, _INSIDE) * scale) ** 2
    weights = np.where(middles > begin, np.minimum(middles - begin, 8 * d), 0.0)
    off = float(weights @ (counts - expected[best])) / math.sqrt(float(weights**2 @ variances[best]))
    return (float(distances[best]) - freedom) / math.sqrt(2 * freedom), off, scale
