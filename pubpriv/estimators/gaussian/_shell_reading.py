"""Read a release in shells beyond its core: how many rows, how long, and how the tail continues.

Each shell's rows are counted three times: by the trace of its second moment, by its count in the same release and by
the bins of the histogram. What clipping removes from a shell, which the histogram shows, is added back.
Post-processing.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._known_tails import Lengths, known_tail
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shell_shapes import common_part
from pubpriv.estimators.gaussian._shells import (
    RATIO,
    Cut,
    Histogram,
    Loss,
    clipped_off,
    edge_at,
    middle_squares,
    rows_by_step,
)
from pubpriv.estimators.gaussian._tail import UNSURE, Shells, Tail, read_tail, shell_lengths

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
        parts: (steps,) parts of the squared length in a shell that are those of its steps.
        reach: outer edge of the last step that counts: beyond it, rows are clipped, or not in the estimate.
    """

    shells: Shells
    tail: Tail
    seconds: np.ndarray
    second_sds: np.ndarray
    longer: np.ndarray
    unsure: np.ndarray
    sizes: np.ndarray
    parts: np.ndarray
    reach: float


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
    binned = Bins.of(histogram, where)
    middle, left_of_each = binned.middle, binned.left_of_each / n
    by_trace = traces / left_of_each
    rows, rows_sd = _rows(moments, binned, by_trace, np.hypot(trace_sds / left_of_each, UNSURE * by_trace))
    lost = clipped_off(histogram, where, n)  # which is no evidence of rows
    longer, unsure = _whole_again(lost, left, where)
    seconds, second_sds = moments.seconds[1:] * longer[:, None, None], moments.second_sds[1:] * longer
    shells = Shells(traces + lost.squares, np.hypot(trace_sds, lost.sds), rows, rows_sd, middle)
    steps = binned.steps(shells, n)
    sizes = np.maximum(np.einsum("ij,jk,ik->i", axes, known.core, axes), 0.0)
    common = common_part(sizes, np.einsum("ij,jk,ik->i", axes, seconds[0], axes), float(second_sds[0]))
    others = float(sizes.sum()) * (1 - 1 / d)
    alone = _alone(where, steps.rows, n, d)
    tail = read_tail(steps, _before(histogram, where, n, common, others), where.gaussian, n, alone, d == 1)
    if not where.gaussian:
        counted = slice(0, 1 + _shells_up_to(tail.last, where))
        place, square = moments.means[counted].sum(axis=0), moments.seconds[counted].sum(axis=0)
        so_far = place, square - np.outer(place, place)
        tail = known_tail(tail, steps, _lengths(histogram, where, steps, n), known.frame, known.public, so_far)
    reach = float((*where.inner, where.radii[-1])[tail.last])
    return ReadShells(
        shells,
        _by_shell(tail, shells, where, n),
        seconds,
        second_sds,
        longer,
        unsure,
        sizes,
        binned.parts(steps),
        reach,
    )


def _shells_up_to(step: int, where: Cut) -> int:
    """Count the shells that have one of so many steps."""
    return int(where.shell_of[step - 1]) + 1 if step else 0


def _by_shell(tail: Tail, shells: Shells, where: Cut, n: float) -> Tail:
    """Give the tail by shells instead of by steps: one counts if any of its steps does."""
    last = _shells_up_to(tail.last, where)
    if not last:
        return tail
    lengths, sds = shell_lengths(shells, n)
    joined = np.bincount(where.shell_of)[:last] > 1
    first = np.minimum(np.searchsorted(where.shell_of, np.arange(last)), tail.last - 1)
    return replace(
        tail,
        last=last,
        lengths=np.where(joined, np.maximum(lengths[:last], 0.0), tail.lengths[first]),
        sds=np.where(joined, sds[:last], tail.sds[first]),
    )


def _alone(where: Cut, rows: np.ndarray, n: float, d: int) -> int:
    """Find the first shell whose `rows` are nearly all far out in a column that is long by itself; 0: none is.

    The other columns have rows of some length, too. Where they end, lengths fall steeply, and the column does not.
    """
    if where.gaussian or not where.long or max(map(sum, where.long)) < _PROBABLY:
        return 0
    usual = n * gaussian_shares(where.inner, d, np.ones(1))[0][1:]
    return int(np.argmax(usual < _USUAL * rows))


def _whole_again(lost: Loss, left: np.ndarray, where: Cut) -> tuple[np.ndarray, np.ndarray]:
    """Compute (factors (shells,) on second moments that add back what clipping removed, their sds).

    The removed part is assumed to have the shape of the rest. A factor is 1 where that shape may be noise: there the
    shape that the shell is shrunk towards has the removed part. The largest is that of rows at the outer edge, clipped
    at the inner one.

    Args:
        lost: what clipping removed from the squared lengths.
        left: (shells,) squared lengths as released; 0 where the shape may be noise.
        where: the cut.
    """
    shaped, edges = left > 0, np.array([*where.edges, where.edges[-1] * RATIO])
    over = np.where(shaped, left, 1.0)  # what is clipped off has the shape of the rest
    most = (edges[1:] / edges[:-1]) ** 2 - 1
    longer = 1 + np.where(shaped, np.minimum(lost.squares / over, most), 0.0)
    return longer, np.where(shaped, lost.sds / over, 0.0)


def _rows(
    moments: ShellMoments, binned: "Bins", by_trace: np.ndarray, by_trace_sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute (rows in each shell, their noise sds) from traces, counts of the release and bins of the histogram."""
    sds = np.array([by_trace_sd, np.full(len(by_trace), moments.rows_sd), binned.by_shell(binned.sds**2) ** 0.5])
    weights = sds**-2
    values = np.array([by_trace, moments.rows[1:], binned.by_shell(binned.rows)])
    return (weights * values).sum(axis=0) / weights.sum(axis=0), np.sqrt(1 / weights.sum(axis=0))


@dataclass(frozen=True)
class Bins:
    """The histogram beyond the core, by steps of RATIO.

    Attributes:
        shell_of: (steps,) the shell of each.
        rows, sds: (steps,) rows, and their noise sds.
        squares, clipped: (steps,) typical squared lengths, and what clipping leaves of them.
        counted: (steps,) rows that the means of shells are of: those of steps that are not visible are only noise.
    """

    shell_of: np.ndarray
    rows: np.ndarray
    sds: np.ndarray
    squares: np.ndarray
    clipped: np.ndarray
    counted: np.ndarray

    @classmethod
    def of(cls, histogram: Histogram, where: Cut) -> "Bins":
        """Read the histogram at the steps of a cut."""
        inner, shell_of = where.inner, where.shell_of
        rows, sds = rows_by_step(histogram, np.array([edge_at(histogram, edge) + 1 for edge in inner]))
        squares = middle_squares(np.append(inner, inner[-1] * RATIO))
        squares[-1] = where.radii[-1] ** 2 / RATIO
        radii = np.array(where.radii[1:])[shell_of]
        hidden = (np.diff(shell_of, prepend=-1) == 0) & (np.arange(len(rows)) >= (where.visible or len(rows)))
        counted = np.where(hidden, 0.0, np.maximum(rows, sds))
        return cls(shell_of, rows, sds, squares, np.minimum(squares, radii**2), counted)

    @property
    def middle(self) -> np.ndarray:
        """Typical squared length (shells,) in each shell."""
        return self._mean(self.squares)

    @property
    def left_of_each(self) -> np.ndarray:
        """What clipping leaves (shells,) of the squared length of a row."""
        return self._mean(self.clipped)

    def by_shell(self, values: np.ndarray) -> np.ndarray:
        """Add up `values` (steps,) by shell."""
        return np.asarray(np.bincount(self.shell_of, values))

    def steps(self, shells: Shells, n: float) -> Shells:
        """Divide the rows of shells among their steps: as the histogram does, within what else is known of the sum.

        A shell of several steps has one trace, which tells nothing more of each.
        """
        variances = self.sds**2
        together = self.by_shell(variances)
        part, alone = variances / together[self.shell_of], np.bincount(self.shell_of)[self.shell_of] == 1
        rows = self.rows + part * (shells.rows - self.by_shell(self.rows))[self.shell_of]
        less = np.maximum(1 - shells.rows_sd**2 / together, 0.0)[self.shell_of]
        return Shells(
            np.where(alone, shells.trace[self.shell_of], rows * self.squares / n),
            np.where(alone, shells.trace_sd[self.shell_of], np.inf),
            rows,
            np.sqrt(variances * (1 - part * less)),
            self.squares,
            self.shell_of,
            self.clipped,
        )

    def parts(self, steps: Shells) -> np.ndarray:
        """Compute the parts (steps,) of the squared length in a shell that are those of its steps."""
        squares = np.maximum(steps.rows, steps.rows_sd) * self.squares
        return np.asarray(squares / self.by_shell(squares)[self.shell_of])

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """Average `values` (steps,) over the rows of each shell."""
        return np.asarray(self.by_shell(self.counted * values) / self.by_shell(self.counted))


def _lengths(histogram: Histogram, where: Cut, shells: Shells, n: float) -> Lengths:
    """Combine counts by length: from the histogram in the core, and from everything released beyond it."""
    at = edge_at(histogram, where.edges[0])
    return Lengths(
        np.array([*histogram.edges[:at], *where.inner]),
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
    at = edge_at(histogram, where.edges[0])
    middle = middle_squares(edges)
    lengths = counts[1:-1] * middle / n  # bin i + 1 lies between edges i and i + 1
    ends = range(at - 2 * _BEFORE, at, 2)
    found = np.array([float(lengths[max(end, 0) : max(end + 2, 0)].sum()) for end in ends])
    noise = np.array([math.sqrt(float((middle[max(end, 0) : max(end + 2, 0)] ** 2).sum())) for end in ends])
    found = np.maximum(found, 0.0)
    squares = middle_squares(edges[[max(end, 0) for end in ends]], edges[[end + 2 for end in ends]])
    least = common * np.maximum(1 - others / squares, 0.0)
    return found * (1 + least) / 2, np.hypot(histogram.sd * noise / n, found * (1 - least) / 2)
