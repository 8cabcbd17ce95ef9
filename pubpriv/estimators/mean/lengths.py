"""How long the private rows are around the answer of step 1: whether the covariance fits, and where to clip.

One release of counts by length, in whitened coordinates, decides how step 2 is asked. Where the counts are those of a
Gaussian of the known covariance, clipping far inside and undoing it is best. Where they are not, nothing can be undone:
step 2 clips where noise and what is lost beyond it are least together, and what may lie beyond is part of the error.

Source: ours; figures in `benchmarks.honest`.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Shells
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.lengths import gaussian_shares, length_quantile
from pubpriv.estimators.mean.known_covariance import KnownCovariance
from pubpriv.estimators.steps import step

_INNER = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)
"""Shares of a Gaussian's rows within the inner edges."""

_RATIO, _OUTER = 1.5, 14
"""Each of the outer edges over the one before, and how many there are: 290 times the last inner one."""

_SURPRISE, _SURPRISE_OF_ASSUMED = 26.1, 15.5
"""A sum of eight squares that standard normals exceed once in a thousand times, or, where nobody gave the covariance,
once in twenty: it costs little not to take rows for Gaussian ones, and to take others for such moves their mean."""

_VISIBLE = 2.0, 2.8
"""Sds above nothing at which the shell beyond the last visible one holds rows, and one further out."""

_APART, _SURELY, _WINDOW = 3.2, 4.0, 4
"""Any other one, or up to WINDOW shells next to each other together, from sqrt(APART^2 + 2 log(harm)) sds on: a clip
there would make the mean square error so many times as large, and the chance that noise looks like rows falls as much.
A run is flagged for rows that are seen with SURELY in its place only."""

_CLEARLY = 4.2
"""Sds that noise alone does not reach: so many rows far out may hide, and so many must lack for some to be missing."""

_SLOWEST, _SLOWEST_NEAR, _NEAR = 0.33, 0.7, 2
"""Shells beyond the visible ones hold at most so many of the rows of the one before: the second for the NEAR next ones,
as where skewed rows are too few in each to be seen."""

_MOST, _LEAST, _SURE = 1.25, 0.6, 4.0
"""A mean square length of so many times that of the known covariance contradicts it, and SURE sds more; rows far out
may not be seen, so the lower bound is wide. Shells are chosen for what they seem to hold: Gaussian rows passed two sds
in one run of three hundred."""

_ROOM = 2.0
"""Rows far out may have so many times what is the least that explains how they move a column: counts of them are noisy,
and they do not all lie in one place."""

_BLUR = 0.25
"""What shells leave open of a squared length, as a part of it."""


@public_value
@dataclass(frozen=True)
class Lengths:
    """Released counts of rows by |z|, z = W (x - c).

    Attributes:
        edges: of the shells.
        counts: of rows by shell; the last one is open.
        sd: of the noise in each count.
        rows: private rows, n.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    sd: float
    rows: int

    @property
    def whole(self) -> float:
        """Rows without a missing or infinite value: n, or the sum of the counts where it is clearly less."""
        total, noise = sum(self.counts), self.sd * math.sqrt(len(self.counts))
        return float(self.rows) if total > self.rows - _CLEARLY * noise else max(total, 1.0)

    @property
    def unseen(self) -> int:
        """How many rows far out may hide in the noise."""
        return math.ceil(_CLEARLY * self.sd)

    @property
    def middles(self) -> np.ndarray:
        """Middles of the shells, the open one taken to be one ratio wide, root mean square of both edges."""
        low = np.array([0.0, *self.edges])
        high = np.append(self.edges, _RATIO * self.edges[-1])
        return np.asarray(np.sqrt((low**2 + high**2) / 2))


def edges(d: int, spread: float) -> tuple[float, ...]:
    """Edges of the shells for rows around a centre that is off by `spread` standard deviations in each column."""
    inner = np.array([length_quantile(d, share) for share in _INNER]) * math.sqrt(1 + spread**2)
    outer = inner[-1] * _RATIO ** np.arange(1, _OUTER + 1)
    return tuple(inner.tolist()) + tuple(outer.tolist())


def lengths_question(frame: Frame, spread: float, ask: Ask) -> Counts:
    """How many rows lie how far from the frame's centre."""
    return Counts.priced(Shells(frame, edges(frame.dimension, spread)), ask.price)


@step(title="lengths of rows", private=True)
def count_lengths(
    curator: Curator, known: KnownCovariance, center: tuple[float, ...], spread: float, ask: Ask
) -> Lengths:
    """Count rows by whitened distance from `center`, which is off by about `spread` standard deviations.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(lengths_question(known.frame(np.array(center)), spread, ask), ask.label)
    asked = answer.question  # on a resumed run, as it was stored
    sd = bounding_sd(asked, "count")
    return Lengths(asked.partition.edges, tuple(answer.values["count"].tolist()), sd, curator.n_rows)


@public_value
@dataclass(frozen=True)
class Clip:
    """How step 2 is asked, and what it leaves out.

    Attributes:
        gaussian: the rows are as long as a Gaussian's of the known covariance: clip as planned and undo it.
        radius: of the clip otherwise.
        lost: half of what rows beyond the radius, seen and unseen, may add to a coordinate of the mean, if they lie in
            all directions alike; or all of it where each is long in one column, all of them on one side, if that is
            more, as in few columns.
        share: of the rows beyond the radius, as counted.
        level: mean square of |z| over d; 1 where the known covariance is that of the rows and the centre theirs.
        fuzz: sd of `level` by noise and sampling.
        hidden: what rows that are too few to be seen may add to it.
        open_end: rows were seen beyond the last edge.
        cut: mean length, per row of all, that clipping takes.
        sure: part of that by rows that noise hardly explains, and those that may be hidden beyond them.
        far, held: share of the rows that were seen further out than Gaussian ones lie, and the mean length, per row of
            all, that clipping leaves them.
    """

    gaussian: bool
    radius: float
    lost: float
    share: float
    level: float
    fuzz: float
    hidden: float
    open_end: bool
    cut: float
    sure: float
    far: float
    held: float

    def spread(self, squared: float) -> float:
        """Mean square of a coordinate of z around its mean, which is off the centre by sqrt(squared) in each."""
        return max(self.level - squared, 0.0)

    def by_column(self, moves: np.ndarray, spread: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
        """Variances (d,) of columns whose mean is `spread`, and what clipping may take from their means (d,).

        Rows far out that are a share q of all, and move the mean of a column by delta, have at least delta^2 / q of its
        variance, by Cauchy and Schwarz. Of what is more than a Gaussian's, columns are taken to have ROOM times as much
        beside an even part of the rest. What is clipped off is theirs as far as rows on one side explain their moves.

        Args:
            moves: (d,) of the mean that step 2 released from the centre, in standard deviations of the columns.
            spread: as `spread` gives it.
            noise: sd of a move without such rows.
        """
        squares = np.maximum(moves**2 - noise**2, 0.0)
        total, most = max(float(squares.sum()), 1e-300), len(moves) * max(spread - 1, 0.0)
        least = total / max(self.far, 1e-12)
        variances = spread - min(least, most) / len(moves) + min(_ROOM * least, most) * squares / total
        one_sided = min(math.sqrt(total) / max(self.held, 1e-12), 1.0)
        return variances, np.maximum(self.lost, self.cut / 2 * one_sided * np.sqrt(squares / total))

    def contradicted(self, squared: float) -> bool:
        """Tell whether the rows' spread is clearly not that of the known covariance, so that errors by it are wrong.

        Lengths are known by shell only, so those of rows far from the centre say little of the spread around it.
        """
        blur = _SURE * self.fuzz + _BLUR * squared
        return not _LEAST - blur <= self.spread(squared) <= _MOST + blur


@step(title="choose the clip")
def choose_clip(found: Lengths, d: int, spread: float, noise: float, assumed: bool = False) -> Clip:
    """Decide how step 2 is asked, from released counts.

    Args:
        found: the counts.
        d: columns.
        spread: as the edges were made with.
        noise: sd of one coordinate of the mean that step 2 would release with a clip radius of 1.
        assumed: nobody gave the covariance.
    """
    counts, middles, n = np.array(found.counts), found.middles, found.whole
    expected = n * _gaussian_parts(found.edges, d, spread)
    first = len(_INNER) + 1
    surprise = float(((counts - expected) ** 2 / (found.sd**2 + expected))[:first].sum())
    tried = np.array(found.edges[1:])
    harm = np.log1p((noise * np.array([tried[0], *tried, _RATIO * tried[-1]])) ** 2 / (1 / n + (noise * tried[0]) ** 2))
    least, clear = (np.sqrt(apart**2 + 2 * harm) for apart in (_APART, _SURELY))
    outside = _last_visible((counts - expected) / np.sqrt(found.sd**2 + expected), first, least)
    last, surely = (max(_last_visible(counts / found.sd, 1, each), 1) for each in (least, clear))
    seen, rows = np.arange(len(counts)) <= last, _continued(counts, found.sd, last)
    level, fuzz = _mean_square(found, np.where(seen, counts, 0.0), expected, d, spread)
    hidden = float((rows * middles**2)[~seen].sum()) / (n * d * (1 + spread**2))
    cut = np.maximum(middles - tried[:, None], 0.0) @ rows / n
    lost = cut * max(1 / d, 1 / (2 * math.sqrt(d)))
    best = int(np.argmin((noise * tried) ** 2 + lost**2))
    further = np.maximum(middles - tried[best], 0.0)
    far = np.maximum((counts - expected)[first : last + 1], 0.0) / n
    return Clip(
        gaussian=surprise <= (_SURPRISE_OF_ASSUMED if assumed else _SURPRISE) and outside < first,
        radius=float(tried[best]),
        lost=float(lost[best]),
        share=max(float(counts[2 + best : last + 1].sum()), 0.0) / n,
        level=level,
        fuzz=fuzz,
        hidden=hidden,
        open_end=surely == len(counts) - 1,
        cut=float(cut[best]),
        sure=min(float(further @ _continued(counts, found.sd, surely)) / max(float(further @ rows), 1e-12), 1.0),
        far=float(far.sum()),
        held=float(far @ np.minimum(middles[first : last + 1], tried[best])),
    )


def _last_visible(z: np.ndarray, first: int, least: np.ndarray) -> int:
    """The last shell from `first` on that holds rows, by itself or with those before it; `first` - 1 if none does.

    Args:
        z: counts in sds.
        first: shell.
        least: sds from which a shell, or a group that ends there, holds rows wherever it is.
    """
    last = first - 1
    for end in range(first, len(z)):
        if z[end] > (_VISIBLE[end - last - 1] if end - last <= len(_VISIBLE) else least[end]):
            last = end
    for width in range(2, _WINDOW + 1):
        sums = np.convolve(z, np.ones(width))[: len(z)] / math.sqrt(width)
        together = np.flatnonzero((sums > least) & (z > 1))
        last = max([last, *together[together >= first + width - 1].tolist()])
    return last


def _mean_square(found: Lengths, seen: np.ndarray, expected: np.ndarray, d: int, spread: float) -> tuple[float, float]:
    """Mean of |z|^2 over that of a Gaussian, and how far it may be off."""
    # a Gaussian's own mean square within a shell is nearer to it than the middle is
    own = d * (1 + spread**2) * _gaussian_parts(found.edges, d + 2, spread) * found.whole / np.maximum(expected, 1e-300)
    squares = np.where(expected > 1, own, found.middles**2)
    scale = max(float(seen.sum()), 1.0) * d * (1 + spread**2)
    variances = np.where(seen > 0, seen + found.sd**2, 0.0)
    fuzz = math.sqrt(float((variances * squares**2).sum())) / scale
    return float((seen * squares).sum()) / scale, fuzz


def _continued(counts: np.ndarray, sd: float, last: int) -> np.ndarray:
    """Rows of each shell, as counted up to shell `last`; beyond it they fall on as they did there, or sink in noise."""
    rows = np.maximum(counts, 0.0)
    fall = (rows[last] + sd / 2) / max(rows[last - 1], sd)
    rows[last] = max(rows[last], sd / 2)
    for j in range(last + 1, len(rows)):
        slowest = _SLOWEST_NEAR if j <= last + _NEAR else _SLOWEST
        rows[j] = min(min(max(fall, _SLOWEST / 5), slowest) * rows[j - 1], rows[j] + sd / 2)
    return np.asarray(rows)


def _gaussian_parts(edges: tuple[float, ...], d: int, spread: float) -> np.ndarray:
    """Shares by shell of Gaussian rows in R^d with variances 1 + spread^2."""
    return np.asarray(gaussian_shares(np.array(edges), d, np.array([math.sqrt(1 + spread**2)]))[0])
