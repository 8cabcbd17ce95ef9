"""Read a release in shells beyond its core: how many rows, how long, and how the tail continues.

Each shell's rows are counted three times: by the trace of its second moment, by its count in the same release and by
the bins of the histogram. What clipping removes from a shell, which the histogram shows, is added back.
Post-processing.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._known_tails import Lengths, known_tail
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shell_shapes import common_part
from pubpriv.estimators.gaussian._shells import RATIO, Cut, Histogram, Loss, clipped_off, middle_squares
from pubpriv.estimators.gaussian._tail import Shells, Tail, read_tail

_MOST_CLIPPED = RATIO**2 - 1
"""Largest ratio of what clipping removes from the squared lengths in a shell to what it leaves: rows at the outer edge,
clipped at the inner one."""

_PROBABLY, _USUAL = 0.5, 0.25
"""Where a single column is likelier long than not, shells with more than the second share of rows that are as long
without it tell nothing of how its tail goes on."""

_BEFORE = 4
"""Number of shells within the core, from the histogram, that the tail is fitted to."""


@dataclass(frozen=True)
class ShellMoments:
    """A release in shells, per whole row; the core comes first.

    Attributes:
        records: number of whole rows.
        rows: (shells + 1,) noisy counts, not per row.
        means: (shells + 1, d) sums of w per whole row.
        seconds: (shells + 1, d, d) second moments of w.
        rows_sd: noise sd of a count.
        mean_sds, second_sds: (shells + 1,) noise sds of a coordinate, and of a diagonal entry.
    """

    records: float
    rows: np.ndarray
    means: np.ndarray
    seconds: np.ndarray
    rows_sd: float
    mean_sds: np.ndarray
    second_sds: np.ndarray


@dataclass(frozen=True)
class CoreRead:
    """A release in shells whose core was read: the basis for reading the rows beyond.

    Attributes:
        moments: the release.
        histogram: of |w|.
        where: the cut of the release.
        core: (d, d) estimated second moment of the core about `center`.
        center: (d,) middle of the core, in w.
        frame: the map to w.
        public: what the public rows show about the shape of all rows.
    """

    moments: ShellMoments
    histogram: Histogram
    where: Cut
    core: np.ndarray
    center: np.ndarray
    frame: Frame
    public: PublicShape


@dataclass(frozen=True)
class ReadShells:
    """The shells beyond a core, (shells,) each, and the tail that they show.

    Attributes:
        shells: released numbers of the shells.
        tail: which shells count, and what lies beyond them.
        seconds: (shells, d, d) second moments of w, with what clipping removed added back.
        second_sds: noise sds of a diagonal entry.
        longer, unsure: the factors on second moments that add it back, and their sds.
        sizes: (d,) second moments of the core along the axes.
    """

    shells: Shells
    tail: Tail
    seconds: np.ndarray
    second_sds: np.ndarray
    longer: np.ndarray
    unsure: np.ndarray
    sizes: np.ndarray


def read_shells(
    known: CoreRead, axes: np.ndarray, traces: np.ndarray, trace_sds: np.ndarray, left: np.ndarray
) -> ReadShells:
    """Compute how many rows each shell contains, and which shells count.

    Args:
        known: the release.
        axes: (d, d) orthogonal; rows are directions in w along which sizes are taken.
        traces: (shells,) of second moments, before what clipping removed is added back.
        trace_sds: (shells,) noise sds of these.
        left: (shells,) what clipping leaves of the squared lengths in a shell whose shape is known; 0 in others.
    """
    moments, histogram, where = known.moments, known.histogram, known.where
    n, d = moments.records, len(axes)
    middle = middle_squares(np.array([*where.edges, where.edges[-1] * RATIO]))
    middle[-1] = where.radii[-1] ** 2 / RATIO
    left_of_each = np.minimum(middle, np.array(where.radii[1:]) ** 2) / n  # of the squared length of a clipped row
    rows, rows_sd = _rows(moments, histogram, where, traces / left_of_each, trace_sds / left_of_each)
    lost = clipped_off(histogram, where, n)  # which is no evidence of rows
    longer, unsure = _whole_again(lost, left)
    seconds, second_sds = moments.seconds[1:] * longer[:, None, None], moments.second_sds[1:] * longer
    traces, trace_sds = traces + lost.squares, np.hypot(trace_sds, lost.sds)
    shells = Shells(traces, trace_sds, rows, rows_sd, middle)
    sizes = np.maximum(np.einsum("ij,jk,ik->i", axes, known.core, axes), 0.0)
    common = common_part(sizes, np.einsum("ij,jk,ik->i", axes, seconds[0], axes), float(second_sds[0]))
    others = float(sizes.sum()) * (1 - 1 / d)
    alone = _alone(where, rows, n, d)
    tail = read_tail(shells, _before(histogram, where, n, common, others), where.gaussian, n, alone, d == 1)
    if not where.gaussian:
        seen = slice(0, tail.last + 1)
        place, square = moments.means[seen].sum(axis=0), moments.seconds[seen].sum(axis=0)
        so_far = place, square - np.outer(place, place)
        tail = known_tail(tail, shells, _lengths(histogram, where, shells, n), known.frame, known.public, so_far)
    return ReadShells(shells, tail, seconds, second_sds, longer, unsure, sizes)


def _alone(where: Cut, rows: np.ndarray, n: float, d: int) -> int:
    """Find the first shell whose `rows` are nearly all far out in a column that is long by itself; 0: none is.

    The other columns have rows of some length, too. Where they end, lengths fall steeply, and the column does not.
    """
    if where.gaussian or not where.long or max(map(sum, where.long)) < _PROBABLY:
        return 0
    usual = n * gaussian_shares(np.array(where.edges), d, np.ones(1))[0][1:]
    return int(np.argmax(usual < _USUAL * rows))


def _whole_again(lost: Loss, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (factors (shells,) on second moments that add back what clipping removed, their sds).

    The removed part is assumed to have the shape of the rest. A factor is 1 where that shape may be noise: there the
    shape that the shell is shrunk towards has the removed part.

    Args:
        lost: what clipping removed from the squared lengths.
        left: (shells,) squared lengths as released; 0 where the shape may be noise.
    """
    shaped = left > 0
    over = np.where(shaped, left, 1.0)  # what is clipped off has the shape of the rest
    longer = 1 + np.where(shaped, np.minimum(lost.squares / over, _MOST_CLIPPED), 0.0)
    return longer, np.where(shaped, lost.sds / over, 0.0)


def _rows(
    moments: ShellMoments, histogram: Histogram, where: Cut, by_trace: np.ndarray, by_trace_sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute (rows in each shell, their noise sds) from traces, counts of the release and bins of the histogram."""
    bins, number = _binned(histogram, where)
    sds = np.array([by_trace_sd, np.full(len(bins), moments.rows_sd), histogram.sd * np.sqrt(number)])
    weights = sds**-2
    values = np.array([by_trace, moments.rows[1:], bins])
    return (weights * values).sum(axis=0) / weights.sum(axis=0), np.sqrt(1 / weights.sum(axis=0))


def _binned(histogram: Histogram, where: Cut) -> tuple[np.ndarray, np.ndarray]:
    """Compute (rows of the histogram in each shell, number of its bins)."""
    counts, edges = np.array(histogram.counts), np.array(histogram.edges)
    first = np.searchsorted(edges, np.array(where.edges) * 0.999) + 1
    ends = np.append(first[1:], len(counts))
    return np.array([counts[a:b].sum() for a, b in zip(first, ends, strict=True)]), ends - first


def _lengths(histogram: Histogram, where: Cut, shells: Shells, n: float) -> Lengths:
    """Combine counts by length: from the histogram in the core, and from everything released beyond it."""
    at = int(np.searchsorted(np.array(histogram.edges), where.edges[0] * 0.999))
    return Lengths(
        np.array([*histogram.edges[:at], *where.edges]),
        np.array([*histogram.counts[: at + 1], *shells.rows]),
        np.array([*[histogram.sd] * (at + 1), *shells.rows_sd]),
        at + 1,
        n,
    )


def _before(histogram: Histogram, where: Cut, n: float, common: float, others: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute (mean squared lengths, per row, in the shells within the first edge, their sds), from the histogram.

    They are for the columns whose tail continues beyond. The `others` contribute to any row's squared length; of the
    rest, these columns have at least the `common` part, and at most all.
    """
    counts, edges = np.array(histogram.counts), np.array(histogram.edges)
    at = int(np.searchsorted(edges, where.edges[0] * 0.999))
    middle = middle_squares(edges)
    lengths = counts[1:-1] * middle / n  # bin i + 1 lies between edges i and i + 1
    ends = range(at - 2 * _BEFORE, at, 2)
    found = np.array([float(lengths[max(end, 0) : max(end + 2, 0)].sum()) for end in ends])
    noise = np.array([math.sqrt(float((middle[max(end, 0) : max(end + 2, 0)] ** 2).sum())) for end in ends])
    found = np.maximum(found, 0.0)
    squares = middle_squares(edges[[max(end, 0) for end in ends]], edges[[end + 2 for end in ends]])
    least = common * np.maximum(1 - others / squares, 0.0)
    return found * (1 + least) / 2, np.hypot(histogram.sd * noise / n, found * (1 - least) / 2)
