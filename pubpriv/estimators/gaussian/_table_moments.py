"""Mean and covariance from a release in shells, with three parts of their standard errors; all of it post-processing.

Second moments of the core and of each shell that counts add up. A shell's trace is known better than its shape, so the
shape leans to that of all before it, as far as its noise makes it (James-Stein), but for columns that stand out. What
lies beyond the last shell has the trace that `tail` expects, and a shape that goes on as it changed from the core to
there. Where that shape says that few columns are long, these tell best whether a further shell holds rows.

| part of the error | of a variance |
|---|---|
| sampling | sqrt((E z^4 - (E z^2)^2) / n), fourth moments as released, held within what the second moments allow |
| privacy | of all shells that count, exact but for the leaning |
| clipping | the standard deviation of what lies beyond, see `tail` |
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._known_tails import Lengths, known_tail
from pubpriv.estimators.gaussian._shell_shapes import (
    added_to,
    aimed_traces,
    beside,
    column_axes,
    common_part,
    further_shape,
    leant,
    shape_variances,
    standing_out,
    unlike,
)
from pubpriv.estimators.gaussian._shells import (
    FINE,
    RATIO,
    Cut,
    Fourths,
    Histogram,
    clipped_off,
    column_scales,
    cut_off,
    middle_squares,
)
from pubpriv.estimators.gaussian._tail import Shells, Tail, read_tail
from pubpriv.estimators.gaussian.tail_belief import PublicShape
from pubpriv.estimators.matrices import entry_variances

_UNEVEN = 0.8
"""What a column has of all that lies beyond the last shell may differ from what is expected by this part, one sd, where
columns have unlike tails."""

_SHAPED = 5.0
"""A shell has a shape of its own where its trace is so many times the noise."""

_MOST_CLIPPED = float(cut_off(np.ones(1), np.full(1, FINE))[0])
"""What clipping takes of the squared lengths in a shell, over what it leaves, at most."""

_FOURTH = 0.6
"""Where in its range the fourth moment of a far shell is taken to lie, if noise hides it: on the safe side."""

_BEFORE = 4
"""Shells within the core that the histogram tells of."""


@dataclass(frozen=True)
class ShellMoments:
    """A release in shells, per whole row; the core first.

    Attributes:
        records: whole rows.
        rows: (shells + 1,) counts, not per row.
        means: (shells + 1, d) sums of w.
        seconds: (shells + 1, d, d) second moments of w.
        rows_sd: noise sd of a count.
        mean_sds, second_sds: (shells + 1,) of a coordinate, and of a diagonal entry.
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
    """A release in shells whose core was read: what tells of the rows beyond.

    Attributes:
        moments: the release.
        histogram: of |w|.
        where: the cut of the release.
        core: (d, d) second moment of the core about `center`, as it is taken to be.
        center: (d,) middle of the core, in w.
        frame: the map to w.
        public: what the public rows say of the shape of all rows.
    """

    moments: ShellMoments
    histogram: Histogram
    where: Cut
    core: np.ndarray
    center: np.ndarray
    frame: Frame
    public: PublicShape


@dataclass(frozen=True)
class Outside:
    """What shells and tail add to the core, in coordinates w, per whole row.

    Attributes:
        tail: which shells count.
        mean: (d,).
        second: (d, d) about the middle of the core.
        mean_variance: (d, d) of the noise of `mean`, and of what was taken for noise.
        shape_variance: of the noise in the shape of `second`, along the columns and across.
        axes: (d, d) orthogonal; rows are the directions of the columns in w.
        noise: (parts, d, d) sds that the noise in traces makes, and in the directions that stand out.
        lost_mean: (d,) sd of the part of `mean` that is beyond the last shell.
        shape: (d, d) of trace 1, of what lies beyond the last shell.
        uneven: relative sd of what each column has of that.
        shares: (last, d, d) what each shell that counts adds to `second`.
        rows_sd: (shells,) noise sd of the rows in a shell.
    """

    tail: Tail
    mean: np.ndarray
    second: np.ndarray
    mean_variance: np.ndarray
    shape_variance: tuple[np.ndarray, float]
    axes: np.ndarray
    noise: np.ndarray
    lost_mean: np.ndarray
    shape: np.ndarray
    uneven: float
    shares: np.ndarray
    rows_sd: np.ndarray

    @property
    def lost(self) -> np.ndarray:
        """(d, d) sd of the part of `second` that is beyond the last shell."""
        whole, sd = self.tail.beyond + self.tail.beyond_sd, self.tail.beyond_sd
        return np.asarray(self.shape * math.hypot(sd, self.uneven * whole))

    @property
    def further(self) -> np.ndarray:
        """(d, d) the part of `second` that is expected beyond the last shell."""
        return np.asarray(self.shape * self.tail.beyond)


def read_outside(known: CoreRead) -> Outside:
    """Read what lies beyond the core.

    Shapes are those of second moments about the middle of the core: where columns are independent, a row with one odd
    cell has its other cells there, so that what lies beyond has no correlations about it even where columns are skewed.
    """
    seconds, sds = known.moments.seconds[1:], known.moments.second_sds[1:]
    axes = column_axes(known.core, known.frame.dense()[1], known.public.unlike == "axes")
    sizes = np.einsum("ij,kjl,il->ki", axes, seconds, axes)
    clear = standing_out(sizes, sds)
    traces, trace_sds = sizes.sum(axis=1), sds * math.sqrt(len(axes))
    shaped = clear.any(axis=1) | (traces > _SHAPED * trace_sds)
    left = np.where(shaped, aimed_traces(sizes, sds, clear)[0], 0.0)
    outside = _read(known, axes, traces, trace_sds, left)
    for _ in sds:
        last, expected = outside.tail.last, np.einsum("ij,jk,ik->i", axes, outside.shape, axes)
        aimed, aimed_sds = aimed_traces(sizes, sds, np.where(clear.any(axis=1, keepdims=True), clear, expected))
        traces, trace_sds = np.append(traces[:last], aimed[last:]), np.append(trace_sds[:last], aimed_sds[last:])
        outside = _read(known, axes, traces, trace_sds, left)
        if outside.tail.last == last:
            break
    return outside


def _read(known: CoreRead, axes: np.ndarray, traces: np.ndarray, trace_sds: np.ndarray, left: np.ndarray) -> Outside:
    """Read what lies beyond the core, as `read_outside` does, by these traces of shells with noise of these sds.

    Of shells whose shape is known clipping `left` so much; of others 0.
    """
    moments, histogram, where, core, center = known.moments, known.histogram, known.where, known.core, known.center
    n, d = moments.records, len(axes)
    middle = middle_squares(np.array([*where.edges, where.edges[-1] * RATIO]))
    middle[-1] = where.radii[-1] ** 2 / RATIO
    rows, rows_sd = _rows(moments, histogram, where, traces / middle * n, trace_sds / middle * n)
    lost, lost_sds = clipped_off(histogram, where, n)  # which says nothing of whether there are rows
    longer, unsure = _whole_again(lost, lost_sds, left)
    seconds, second_sds = moments.seconds[1:] * longer[:, None, None], moments.second_sds[1:] * longer
    traces, trace_sds = traces + lost, np.hypot(trace_sds, lost_sds)
    shells = Shells(traces, trace_sds, rows, rows_sd, middle)
    sizes = np.maximum(np.einsum("ij,jk,ik->i", axes, core, axes), 0.0)
    common = common_part(sizes, np.einsum("ij,jk,ik->i", axes, seconds[0], axes), float(second_sds[0]))
    others = float(sizes.sum()) * (1 - 1 / d)
    tail = read_tail(shells, _before(histogram, where, n, common, others), where.gaussian, n)
    if not where.gaussian:
        seen = slice(0, tail.last + 1)
        place, square = moments.means[seen].sum(axis=0), moments.seconds[seen].sum(axis=0)
        so_far = place, square - np.outer(place, place)
        tail = known_tail(tail, shells, _lengths(histogram, where, shells, n), known.frame, known.public, so_far)
    # cutting at a length makes columns of the core dependent, the other way than beyond: only their sizes are taken
    inside = (axes.T * sizes) @ axes / max(float(sizes.sum()), 1e-12)
    # of a row of the core; a row that one odd cell takes to a shell has its other cells so
    usual = (axes.T * sizes) @ axes / min(max(float(moments.rows[0]) / n, 0.5), 1.0)
    own, total, shares, trace_noise = inside, np.zeros((d, d)), [], []
    mean, mean_variance, on, off = np.zeros(d), np.zeros((d, d)), np.zeros(d), 0.0
    for k in range(tail.last):
        length, sd = float(tail.lengths[k]), float(second_sds[k])
        held = length / float(middle[k]) * n
        riding = min(max(float(rows[k]), 0.0) / n, length / max(float(np.trace(usual)), 1e-300)) * usual
        shape = (riding + (length - float(np.trace(riding))) * own) / max(length, 1e-300)
        chance = math.sqrt(held) * float(middle[k]) / n
        # by Cauchy and Schwarz a sum over so many rows is no larger, along any direction, than they and their square
        so_far = sizes + np.einsum("ij,jk,ik->i", axes, total, axes) + float(moments.second_sds[0])
        raw = leant(seconds[k], length, shape, sd, chance, axes, so_far)
        # no rows are known of where there is no length, however loud the noise
        part = (length + float(tail.sds[k])) ** 2 / (length * float(middle[k])) if length > 0 else 0.0
        mean_sd = math.sqrt(longer[k]) * float(moments.mean_sds[k + 1])
        weight = raw.weight_of_mean(part, moments.means[k + 1], mean_sd, sd, axes)
        moved = weight @ moments.means[k + 1] * math.sqrt(longer[k])
        part_of = max(float(moments.rows[k + 1]), 0.0) / n
        cross = np.outer(moved, center) + np.outer(center, moved) - part_of * np.outer(center, center)
        trace = max(length - float(np.trace(cross)), 0.0)
        found = leant(seconds[k] - cross, trace, shape, sd, chance, axes, so_far)
        shares.append(found.second)
        total = total + found.second
        on, off = on + found.on * sd**2, off + found.off * sd**2
        trace_noise += [float(tail.sds[k]) * found.shape, float(unsure[k]) * found.clear]
        trace_noise += [sd * top for top in found.tops]
        mean, shorter = mean + moved, float(unsure[k]) / 2 * moved
        mean_variance = mean_variance + mean_sd**2 * weight + np.outer(shorter, shorter)
        if held > 0 and trace > 0:
            own = added_to(own, beside(found.second, riding, axes), held, axes)
    shape = further_shape(own, inside, tail.last, axes)
    lean = mean / max(float(tail.lengths.sum()), 1e-300)
    return Outside(
        tail=tail,
        mean=mean + lean * tail.beyond / RATIO,
        second=total + shape * tail.beyond,
        mean_variance=mean_variance,
        shape_variance=(on, off),
        axes=axes,
        noise=np.array(trace_noise).reshape(-1, d, d),
        lost_mean=np.abs(lean) * tail.beyond_sd / RATIO,
        shape=shape,
        uneven=_UNEVEN * unlike(np.einsum("ij,jk,ik->i", axes, shape, axes), sizes),
        shares=np.array(shares).reshape(tail.last, d, d),
        rows_sd=rows_sd,
    )


def _whole_again(lost: np.ndarray, sds: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(factors (shells,) of second moments that make up for clipping, their sds): what it takes is like the rest.

    1 where the shape may be noise: there the shape that the shell leans to has what is clipped off.

    Args:
        lost: (shells,) what clipping takes of the squared lengths.
        sds: (shells,) how far that may be off.
        left: (shells,) squared lengths as released; 0 where the shape may be noise.
    """
    shaped = left > 0
    over = np.where(shaped, left, 1.0)  # what is clipped off has the shape of the rest
    return 1 + np.where(shaped, np.minimum(lost / over, _MOST_CLIPPED), 0.0), np.where(shaped, sds / over, 0.0)


def _rows(
    moments: ShellMoments, histogram: Histogram, where: Cut, by_trace: np.ndarray, by_trace_sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(rows in each shell, sds of their noise) from traces, counts of the release and bins of the histogram."""
    bins, number = _binned(histogram, where)
    sds = np.array([by_trace_sd, np.full(len(bins), moments.rows_sd), histogram.sd * np.sqrt(number)])
    weights = sds**-2
    values = np.array([by_trace, moments.rows[1:], bins])
    return (weights * values).sum(axis=0) / weights.sum(axis=0), np.sqrt(1 / weights.sum(axis=0))


def _binned(histogram: Histogram, where: Cut) -> tuple[np.ndarray, np.ndarray]:
    """(rows of the histogram in each shell, how many bins that are)."""
    counts, edges = np.array(histogram.counts), np.array(histogram.edges)
    first = np.searchsorted(edges, np.array(where.edges) * 0.999) + 1
    ends = np.append(first[1:], len(counts))
    return np.array([counts[a:b].sum() for a, b in zip(first, ends, strict=True)]), ends - first


def _lengths(histogram: Histogram, where: Cut, shells: Shells, n: float) -> Lengths:
    """Counts by length: the histogram's in the core, and beyond it all that was released."""
    at = int(np.searchsorted(np.array(histogram.edges), where.edges[0] * 0.999))
    return Lengths(
        np.array([*histogram.edges[:at], *where.edges]),
        np.array([*histogram.counts[: at + 1], *shells.rows]),
        np.array([*[histogram.sd] * (at + 1), *shells.rows_sd]),
        at + 1,
        n,
    )


def _before(histogram: Histogram, where: Cut, n: float, common: float, others: float) -> tuple[np.ndarray, np.ndarray]:
    """(mean squared lengths, per row, in the shells within the first edge, their sds), by the histogram.

    Of the columns whose tail goes on beyond: they have at least the `common` part of what is not what the `others` have
    of any row's squared length, and at most all of it.
    """
    counts, edges = np.array(histogram.counts), np.array(histogram.edges)
    at = int(np.searchsorted(edges, where.edges[0] * 0.999))
    middle = middle_squares(edges)
    lengths = counts[1:-1] * middle / n  # bin i + 1 lies between the edges i and i + 1
    ends = range(at - 2 * _BEFORE, at, 2)
    found = np.array([float(lengths[max(end, 0) : max(end + 2, 0)].sum()) for end in ends])
    noise = np.array([math.sqrt(float((middle[max(end, 0) : max(end + 2, 0)] ** 2).sum())) for end in ends])
    found = np.maximum(found, 0.0)
    squares = middle_squares(edges[[max(end, 0) for end in ends]], edges[[end + 2 for end in ends]])
    least = common * np.maximum(1 - others / squares, 0.0)
    return found * (1 + least) / 2, np.hypot(histogram.sd * noise / n, found * (1 - least) / 2)


def fourth_of_columns(
    outside: Outside, core: np.ndarray, fourths: Fourths, where: Cut, matrix: np.ndarray
) -> np.ndarray:
    """E z^4 (d,) of the columns, z in the units of `column_scales`; per shell within what its second moment allows.

    With rows w of a shell, near <= |w| <= far, and second moments s_j of z: E z^4 is at most far^2 s_j, since
    |z_j| <= |w|, and at least near^2 s_j^2 / trace, by Cauchy and Schwarz, since there are at most trace / near^2 rows.
    What is expected beyond the last shell lies no nearer than that ends.
    """
    colour = np.linalg.inv(matrix) / column_scales(matrix)[:, None]
    ends = np.array([*where.edges, where.radii[-1]])
    total = np.zeros(len(core))
    for k, second in enumerate([core, *outside.shares]):
        own = np.maximum(np.einsum("ij,jk,ik->i", colour, second, colour), 0.0)
        most = float(ends[k]) ** 2 * own
        if k:
            least = np.minimum(float(ends[k - 1]) ** 2 * own**2 / max(float(np.trace(second)), 1e-300), most)
            guess = least + _FOURTH * (most - least)
        else:
            least = np.minimum(own**2, most)
            guess = np.minimum(3 * own**2, most)
        spread = np.maximum((most - least) / 4, 1e-12)
        weight = spread**2 / (spread**2 + fourths.sds[k] ** 2)
        total = total + np.clip(guess + weight * (np.array(fourths.values[k]) - guess), least, most)
    further = np.maximum(np.einsum("ij,jk,ik->i", colour, outside.further, colour), 0.0)
    return np.asarray(total + float(ends[outside.tail.last]) ** 2 * further)


def error_parts(
    covariance: np.ndarray,
    fourth: np.ndarray,
    outside: Outside,
    core_sds: tuple[float, float],
    n: float,
    matrix: np.ndarray,
) -> dict[str, dict[str, np.ndarray]]:
    """Standard errors of an estimate that is a sum over shells, in the table's units.

    Args:
        covariance: (d, d), in the table's units.
        fourth: (d,), of z.
        outside: beyond the core.
        core_sds: noise of a coordinate of the core's mean and of a diagonal entry of its second moment.
        n: whole rows.
        matrix: of the frame.
    """
    colour, scales = np.linalg.inv(matrix), column_scales(matrix)
    own = np.diag(covariance)
    variance = np.maximum(fourth - (own / scales**2) ** 2, 0.05 * (own / scales**2) ** 2) * scales**4 / n
    ratio = np.sqrt(variance * n / (2 * own**2))
    # short tails of two columns make their product no surer than a Gaussian's, but as far as they are one column
    shared = covariance**2 / np.outer(own, own)
    factor = np.outer(ratio, ratio)
    factor = np.where(factor < 1, 1 + shared * (factor - 1), factor)
    sampling = np.sqrt((np.outer(own, own) + covariance**2) / n * factor)
    privacy = entry_variances(colour @ colour.T, core_sds[1] ** 2, core_sds[1] ** 2)
    privacy = privacy + shape_variances(colour @ outside.axes.T, *outside.shape_variance)
    privacy = privacy + ((colour @ outside.noise @ colour.T) ** 2).sum(axis=0)
    around = core_sds[0] ** 2 * np.eye(len(own)) + outside.mean_variance
    return {
        "mean": {
            "sampling": np.sqrt(own / n),
            "privacy": np.sqrt(np.einsum("ij,jk,ik->i", colour, around, colour)),
            "clipping": np.abs(colour @ outside.lost_mean),
        },
        "covariance": {
            "sampling": sampling,
            "privacy": np.sqrt(privacy),
            "clipping": lost_entries(outside, colour),
        },
    }


def lost_entries(outside: Outside, colour: np.ndarray) -> np.ndarray:
    """Give the standard errors (d, d) of a covariance, in the table's units, by what may lie beyond the last shell."""
    lost = colour @ outside.lost @ colour.T
    return np.asarray(np.sqrt((np.outer(np.diag(lost), np.diag(lost)) + lost**2) / 2))
