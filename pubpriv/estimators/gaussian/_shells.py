"""How far the rows reach: one histogram of |w|, whether it is a Gaussian's, and where the last release is cut.

The last release is one `LiftedGram` over shells of |w|. It costs what it costs over one region, since a row that
leaves one shell enters one other, and each shell has its own clip radius: its outer edge, or its middle where few rows
are beyond (`_cutting`). So far shells are noisy and near ones are not, and how many of them count is chosen after the
release, from what it says.

The core, |w| up to the first edge, is cut by the histogram. Where the histogram is a Gaussian's, of a scale that it
shows better than the rounds do, the core reaches to where such rows end, is clipped where that is best for them, and is
debiased afterwards. Elsewhere the core holds about nine rows in ten, nothing in it is clipped, and nothing is debiased.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, FourthMoments
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

RATIO = 1.5
"""Outer edge of a shell over its inner one."""

FINE = math.sqrt(RATIO)
"""The same in the histogram: two of its bins make a shell."""

ROUGHLY_CLIPPED = 1 / 3
"""Rows that are counted tell what is clipped off of them to this part of it."""

_CLIPPED_APART, _APART = 0.7, 2.0
"""... to this part where the outer half of a shell holds so many sds of the noise more than the inner one: rows that do
not fade may all lie at its end."""

BINS_INSIDE, _BINS_OUTSIDE = 10, 28
"""Bins of the histogram within and beyond the radius where Gaussian rows end."""

_ROWS_BEYOND, _ROOM = 0.1, 1.12
"""Gaussian rows end at ROOM times the radius that ROWS_BEYOND rows of n exceed: room for a scale that is a little off,
since rows beyond are measured apart and the debiasing of the core does not expect them there."""


@public_value
@dataclass(frozen=True)
class Histogram:
    """Released counts of rows by |w|.

    Attributes:
        edges: (bins - 1,) radii; the first bin begins at zero, the last one is open.
        counts: (bins,).
        sd: of the noise in each.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float


@public_value
@dataclass(frozen=True)
class Cut:
    """Where the last release is cut.

    Attributes:
        gaussian: whether the histogram is a Gaussian's, up to noise.
        scale: of the Gaussian that the histogram fits best: the last radius of the rounds is off by so much. It is 1
            where the rows are no Gaussian's.
        excess: sds by which the tail of the histogram is heavier than a Gaussian's; negative if it is lighter.
        edges: (shells,) outer edges of the core and of all shells but the last one, which is open.
        radii: (shells + 1,) clip radii.
        laws: weights of `tail_laws` where `gaussian`; else empty.
        long: (d,) weights of `long_columns` in each column, there.
    """

    gaussian: bool
    scale: float
    excess: float
    edges: tuple[float, ...]
    radii: tuple[float, ...]
    laws: tuple[float, ...] = ()
    long: tuple[tuple[float, ...], ...] = ()


def blank_cut() -> Cut:
    """Give a cut into as many shells as there can be, about nothing: for prices."""
    shells = (BINS_INSIDE + _BINS_OUTSIDE) // 2
    edges = tuple((RATIO ** np.arange(shells, dtype=float)).tolist())
    return Cut(False, 1.0, 0.0, edges, (*edges, edges[-1] * RATIO))


def gaussian_end(n: float, d: int) -> float:
    """Give the radius within which all of n standard Gaussian rows of d columns lie, with room."""
    return _ROOM * length_quantile(d, 1 - _ROWS_BEYOND / n)


def histogram_edges(n: float, d: int) -> tuple[float, ...]:
    """Give the edges of the histogram: public."""
    powers = np.arange(-BINS_INSIDE, _BINS_OUTSIDE + 1, dtype=float)
    return tuple((gaussian_end(n, d) * FINE**powers).tolist())


def histogram_question(frame: Frame, n: float, ask: Ask) -> Counts:
    """How many rows have which |w|."""
    return Counts.priced(Shells(frame, histogram_edges(n, frame.dimension)), ask.price)


@step(title="histogram of lengths", private=True)
def count_lengths(curator: Curator, frame: Frame, records: float, ask: Ask) -> Histogram:
    """Count rows by |w|, in bins whose edges are public.

    Args:
        curator: the run.
        frame: the map to w.
        records: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(histogram_question(frame, records, ask), ask.label)
    partition = answer.question.partition
    assert isinstance(partition, Shells)
    return Histogram(partition.edges, tuple(answer.values["count"].tolist()), bounding_sd(answer.question, "count"))


def middle_squares(edges: np.ndarray, far: np.ndarray | None = None) -> np.ndarray:
    """Give a typical squared length within each pair of adjacent `edges`, or from each of them to that of `far`."""
    near, far = (edges[:-1], edges[1:]) if far is None else (edges, far)
    return np.asarray(0.6 * near**2 + 0.4 * far**2)


def cut_off(radius: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Give by how much clipping at `radius` shortens a typical squared length from there to `far`."""
    return np.asarray(middle_squares(radius, far) - radius**2)


def clipped_off(histogram: Histogram, where: Cut, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Give (what clipping takes of the mean squared length in each shell, per row, its sds), by the histogram."""
    edges, radii = np.array([*where.edges, where.radii[-1]]), np.array(where.radii[1:])
    clipped = np.flatnonzero(radii < edges[1:] * 0.999)
    outer = np.searchsorted(np.array(histogram.edges), radii[clipped] * 1.001)
    each, counts = cut_off(radii[clipped], edges[1:][clipped]) / n, np.array(histogram.counts)
    beyond = np.maximum(counts[outer], 0.0)
    apart = counts[outer] - counts[outer - 1] > _APART * math.sqrt(2) * histogram.sd
    unsure = np.where(apart, _CLIPPED_APART, ROUGHLY_CLIPPED)
    lost, sds = np.zeros(len(radii)), np.zeros(len(radii))
    lost[clipped], sds[clipped] = each * beyond, each * np.hypot(histogram.sd, unsure * beyond)
    return lost, sds


def _column_frame(frame: Frame) -> Frame:
    """Give z_j = (x_j - c_j) / s_j, s_j the length of row j of the inverse of `frame`: one column's share of w."""
    center, matrix = frame.dense()
    return Frame(tuple(center.tolist()), None, tuple((1 / column_scales(matrix)).tolist()))


def column_scales(matrix: np.ndarray) -> np.ndarray:
    """Give s_j, (d,), in the table's units."""
    return np.asarray(np.linalg.norm(np.linalg.inv(matrix), axis=1))


def fourth_question(frame: Frame, where: Cut, ask: Ask) -> FourthMoments:
    """Fourth moments of the columns in the core and in each shell.

    z = H w with rows of length 1, so |z_j| <= |w| and sum_j z_j^8 <= |w|^6 |z|^2 <= L |w|^8, L the largest eigenvalue
    of H H': clipping at the length L^(1/8) times the shell's radius leaves whole what lies in the shell.
    """
    colour = np.linalg.inv(frame.dense()[1])
    rows = colour / np.linalg.norm(colour, axis=1)[:, None]
    room = float(np.linalg.eigvalsh(rows @ rows.T)[-1]) ** 0.125
    ends = [*where.edges, where.radii[-1]]
    radii = tuple(room * end for end in ends)
    own = _column_frame(frame)
    return FourthMoments.priced(Shells(frame, where.edges), (own,) * len(radii), radii, ask.price)


@public_value
@dataclass(frozen=True)
class Fourths:
    """Released fourth moments of z, see `_column_frame`, per private row.

    Attributes:
        values: (shells + 1, d).
        sds: (shells + 1,) of their noise.
    """

    values: tuple[tuple[float, ...], ...]
    sds: tuple[float, ...]


@step(title="fourth moments", private=True)
def fourth_moments(curator: Curator, frame: Frame, where: Cut, records: float, ask: Ask) -> Fourths:
    """Release fourth moments of the columns, which say how far sampling may have moved their variances.

    Args:
        curator: the run.
        frame: the map to w.
        where: the cut.
        records: rows without missing or infinite values.
        ask: label and price.

    Privacy: one `FourthMoments`, mu^2 at most ask.price.
    """
    answer = curator.release(fourth_question(frame, where, ask), ask.label)
    shape = len(where.radii), frame.dimension
    values = answer.values["fourth"].reshape(shape) / records
    sds = answer.question.noise()["fourth"].reshape(shape)[:, 0] / records
    return Fourths(row_tuples(values), tuple(sds.tolist()))
