"""How far the rows reach: a histogram of |w|, whether it fits a Gaussian, and where the last release is cut.

The last release is one `LiftedGram` over shells of |w|. It costs as much as for one region, because a row that leaves
one shell enters only one other, and each shell has its own clip radius: its outer edge, or less if few rows are beyond
(`_cutting`). So far shells are noisy and near ones are not, and the number of shells that count is chosen after
the release, from its answers.

The core, |w| up to the first edge, is chosen by the histogram. If that fits a Gaussian, whose scale it shows better
than the rounds do, the core reaches to the end of such rows, is clipped at the best radius for them, and is debiased
afterwards. Otherwise the core has about nine rows in ten, and nothing in it is clipped or debiased.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pubpriv.curator import Answer, Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, FourthMoments
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import NearestPoint, Shells
from pubpriv.estimators._far_out import FAR_OUT
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

RATIO = 1.5
"""Outer edge of a shell divided by its inner one."""

FINE = math.sqrt(RATIO)
"""The same for bins of the histogram: two of them make a shell."""

_ROUGHLY_CLIPPED = 1 / 3
"""Relative error with which counted rows determine what clipping removes from them, ..."""

_CLIPPED_APART, _APART = 0.7, 2.0
"""... and the larger one if the outer half of a shell exceeds the inner one by this many sds of the noise: such rows
may all lie at the shell's end."""

_NEARLY = 0.999
"""Edges and radii that differ by less than this factor are the same but for rounding."""

_BINS_OF_STEP, _OF_ANY_SHAPE = 2, 0.5
"""In a shell of more bins, what clipping removes is as far from the shape of the rest as this part of itself: its
longest rows may be long in other columns. Light tails gain by less, unlike columns by more."""

BINS_INSIDE, _BINS_OUTSIDE = 10, 28
"""Bins of the histogram within and beyond the radius where Gaussian rows end."""

_ROWS_BEYOND, _ROOM = 0.1, 1.12
"""Gaussian rows end at ROOM times the radius that ROWS_BEYOND rows of n exceed. ROOM allows for a scale that is a
little off, because rows beyond are measured separately and the core's debiasing does not expect them there."""


@public_value
@dataclass(frozen=True)
class Histogram:
    """Released counts of rows by |w|.

    Attributes:
        edges: (bins - 1,) radii; the first bin begins at zero, the last one is open.
        counts: (bins,).
        sd: noise sd of each count.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float


@public_value
@dataclass(frozen=True)
class Cut:
    """Where the last release is cut.

    Attributes:
        gaussian: whether the histogram fits a Gaussian, up to noise.
        scale: scale of the Gaussian that fits best, by which the last radius of the rounds is off; 1 if the rows are
            not Gaussian.
        excess: sds by which the tail of the histogram is heavier than a Gaussian's; negative if it is lighter.
        edges: (shells,) outer edges of the core and of all shells but the last one, which is open.
        radii: (shells + 1,) clip radii.
        steps: (steps,) inner edges of steps of RATIO, of which a shell has one or several, and of the last one, which
            is open; empty: each shell is one.
        laws: weights of `tail_laws` if `gaussian`; else empty.
        long: (d,) weights of `long_columns` for each column; if not `gaussian`, by the rows that columns take far out;
            empty: these were not counted.
        visible: number of steps with rows that stand out of the noise of the histogram, if the last shell of these has
            one step more, which is clipped with them; else 0.
    """

    gaussian: bool
    scale: float
    excess: float
    edges: tuple[float, ...]
    radii: tuple[float, ...]
    steps: tuple[float, ...] = ()
    laws: tuple[float, ...] = ()
    long: tuple[tuple[float, ...], ...] = ()
    visible: int = 0

    @property
    def inner(self) -> np.ndarray:
        """Inner edges (steps,) of all steps."""
        return np.array(self.steps or self.edges)

    @property
    def shell_of(self) -> np.ndarray:
        """The shell (steps,) that each step belongs to."""
        return np.searchsorted(np.array(self.edges) * _NEARLY, self.inner) - 1


def blank_cut() -> Cut:
    """Make a placeholder cut into as many shells as there can be, for prices."""
    shells = (BINS_INSIDE + _BINS_OUTSIDE) // 2
    edges = tuple((RATIO ** np.arange(shells, dtype=float)).tolist())
    return Cut(False, 1.0, 0.0, edges, (*edges, edges[-1] * RATIO))


def gaussian_end(n: float, d: int) -> float:
    """Give a radius within which all of n standard Gaussian rows of d columns lie, with some margin."""
    return _ROOM * length_quantile(d, 1 - _ROWS_BEYOND / n)


def histogram_edges(n: float, d: int) -> tuple[float, ...]:
    """Give the edges of the histogram, which are public."""
    powers = np.arange(-BINS_INSIDE, _BINS_OUTSIDE + 1, dtype=float)
    return tuple((gaussian_end(n, d) * FINE**powers).tolist())


def histogram_question(frame: Frame, n: float, ask: Ask) -> Counts:
    """Ask how many rows have |w| in each bin."""
    return Counts.priced(Shells(frame, histogram_edges(n, frame.dimension)), ask.price)


def far_question(frame: Frame, ask: Ask) -> Counts:
    """Ask how many rows are further out than `FAR_OUT` in each column, each row for the column that it is furthest in.

    A row is nearer to a point on a column's axis, at twice that distance, than to the middle if it is beyond, and among
    such points nearest to that of its furthest column. The first count is of all other rows.
    """
    d = frame.dimension
    at = 2 * FAR_OUT * np.eye(d)
    points = ((0.0,) * d, *row_tuples(at), *row_tuples(-at))
    groups = (0, *range(1, d + 1), *range(1, d + 1))
    return Counts.priced(NearestPoint(_column_frame(frame), points, groups), ask.price)


@step(title="histogram of lengths", private=True)
def count_lengths(curator: Curator, frame: Frame, records: float, ask: Ask) -> Histogram:
    """Count rows by |w|, in bins whose edges are public.

    Args:
        curator: the run.
        frame: the map to w.
        records: number of rows without missing or infinite values.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(histogram_question(frame, records, ask), ask.label)
    partition = answer.question.partition
    assert isinstance(partition, Shells)
    return Histogram(partition.edges, tuple(answer.values["count"].tolist()), bounding_sd(answer.question, "count"))


def middle_squares(edges: np.ndarray, far: np.ndarray | None = None) -> np.ndarray:
    """Give a typical squared length between adjacent `edges`, or between each of them and that of `far`."""
    near, far = (edges[:-1], edges[1:]) if far is None else (edges, far)
    return np.asarray(0.6 * near**2 + 0.4 * far**2)


@dataclass(frozen=True)
class Loss:
    """What clipping removes from the squared lengths of rows, by their counts in bins; not per row.

    Attributes:
        squares: (...,) the amount.
        sds: (...,) its standard errors, by noise, and because rows may lie anywhere in a bin.
    """

    squares: np.ndarray
    sds: np.ndarray


def clipping_loss(histogram: Histogram, begin: int, end: int, radii: np.ndarray) -> Loss:
    """Compute what clipping removes from the rows between two edges of the histogram.

    A bin has as large a part of its rows beyond a radius as of its width in the logarithm, at typical lengths.

    Args:
        histogram: of |w|.
        begin: index of the first edge.
        end: index of the second.
        radii: (...) clip radii between these edges.
    """
    edges, counts = np.array(histogram.edges[begin : end + 1]), np.array(histogram.counts[begin + 1 : end + 1])
    start = np.clip(radii[..., None], edges[:-1], edges[1:])
    further = np.maximum(middle_squares(start, edges[1:]) - radii[..., None] ** 2, 0.0)
    removed = np.log(edges[1:] / start) / math.log(FINE) * further
    squares = np.maximum(removed @ counts, 0.0)
    apart = (np.diff(counts) > _APART * math.sqrt(2) * histogram.sd).any()
    joined = end - begin > _BINS_OF_STEP
    unsure = (_OF_ANY_SHAPE if joined else _CLIPPED_APART if apart else _ROUGHLY_CLIPPED) * squares
    return Loss(squares, np.hypot(histogram.sd * np.linalg.norm(removed, axis=-1), unsure))


def clipped_off(histogram: Histogram, where: Cut, n: float) -> Loss:
    """Compute what clipping removes from the mean squared length in each shell, (shells,) per row, by the histogram.

    Of rows in a step that is not visible the histogram tells as much as their number exceeds its noise (James-Stein).
    """
    at = [edge_at(histogram, edge) for edge in where.edges]
    visible = edge_at(histogram, float(where.inner[where.visible])) if where.visible else len(histogram.edges) - 1
    squares, sds = np.zeros((2, len(where.edges)))  # the last shell is open
    for index, (begin, end) in enumerate(pairwise(at)):
        radius = where.radii[index + 1]
        if radius >= histogram.edges[end] * _NEARLY:
            continue
        parts = [(begin, end, 1.0)]
        if begin < visible < end:
            parts = [(begin, visible, 1.0), (visible, end, _more_than_noise(histogram, visible, end))]
        losses = [(part, clipping_loss(histogram, first, last, np.array(radius))) for first, last, part in parts]
        squares[index] = sum(part * float(loss.squares) for part, loss in losses) / n
        sds[index] = math.hypot(*(part * float(loss.sds) for part, loss in losses)) / n
    return Loss(squares, sds)


def _more_than_noise(histogram: Histogram, begin: int, end: int) -> float:
    """Give the part of a count of rows between two edges that is not noise, by the factor of James and Stein."""
    rows = max(sum(histogram.counts[begin + 1 : end + 1]), histogram.sd)
    return max(1 - (end - begin) * (histogram.sd / rows) ** 2, 0.0)


def rows_by_step(histogram: Histogram, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute (rows of steps, their noise sds), (steps,) each; a step begins with bin `first` and ends at the next."""
    counts = np.array(histogram.counts)
    number = np.diff(np.append(first, len(counts)))
    return np.add.reduceat(counts, first), histogram.sd * np.sqrt(number)


def edge_at(histogram: Histogram, edge: float) -> int:
    """Give the index of an edge of the histogram."""
    return int(np.searchsorted(np.array(histogram.edges), edge * _NEARLY))


def _column_frame(frame: Frame) -> Frame:
    """Make z_j = (x_j - c_j) / s_j, with s_j the length of row j of the inverse of `frame`: one column's part of w."""
    center, matrix = frame.dense()
    return Frame(tuple(center.tolist()), None, tuple((1 / column_scales(matrix)).tolist()))


def column_scales(matrix: np.ndarray) -> np.ndarray:
    """Compute s_j, (d,), in the table's units."""
    return np.asarray(np.linalg.norm(np.linalg.inv(matrix), axis=1))


def fourth_question(frame: Frame, where: Cut, ask: Ask) -> FourthMoments:
    """Ask for fourth moments of the columns in the core and in each step.

    z = H w with rows of length 1, so |z_j| <= |w| and sum_j z_j^8 <= |w|^6 |z|^2 <= L |w|^8, L the largest eigenvalue
    of H H'. So clipping at L^(1/8) times the shell's radius does not change anything inside the shell.
    """
    colour = np.linalg.inv(frame.dense()[1])
    rows = colour / np.linalg.norm(colour, axis=1)[:, None]
    room = float(np.linalg.eigvalsh(rows @ rows.T)[-1]) ** 0.125
    radii = tuple(room * end for end in (*where.inner.tolist(), where.radii[-1]))
    own = _column_frame(frame)
    return FourthMoments.priced(Shells(frame, tuple(where.inner.tolist())), (own,) * len(radii), radii, ask.price)


@public_value
@dataclass(frozen=True)
class Fourths:
    """Released fourth moments of z, see `_column_frame`, per private row.

    Attributes:
        values: (steps + 1, d), the moments, those of the core first.
        sds: (steps + 1,) noise sds.
    """

    values: tuple[tuple[float, ...], ...]
    sds: tuple[float, ...]


@step(title="fourth moments", private=True)
def fourth_moments(curator: Curator, frame: Frame, where: Cut, records: float, ask: Ask) -> Fourths:
    """Release fourth moments of the columns, which determine the sampling errors of their variances.

    Args:
        curator: the run.
        frame: the map to w.
        where: the cut.
        records: number of rows without missing or infinite values.
        ask: label and price.

    Privacy: one `FourthMoments`, mu^2 at most ask.price.
    """
    return fourths_of(curator.release(fourth_question(frame, where, ask), ask.label), where, records)


def fourths_of(answer: Answer, where: Cut, records: float) -> Fourths:
    """Read released fourth moments, of `records` rows and the steps of a cut."""
    shape = len(where.inner) + 1, -1
    values = answer.values["fourth"].reshape(shape) / records
    sds = answer.question.noise()["fourth"].reshape(shape)[:, 0] / records
    return Fourths(row_tuples(values), tuple(sds.tolist()))
