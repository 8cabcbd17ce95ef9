"""Where step 2 of a mean clips, decided from released counts of rows by length, and what that leaves out.

Where the counts are those of a Gaussian of the known covariance, clipping far inside and undoing it is best: `plan`
says where. Where they are not, nothing can be undone: step 2 clips at the edge where noise, which grows with the
radius, and what rows beyond it may add to the mean are least together. The counts also say how large the rows are
against the known covariance, and how many lie far out; `any_law` makes errors and warnings of that.

Source: ours; figures in `benchmarks.honest`.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators.mean._lengths import Lengths
from pubpriv.estimators.mean._outer_shells import continued, last_visible, thresholds
from pubpriv.estimators.steps import step

_SURPRISE, _SURPRISE_OF_ASSUMED = 26.1, 15.5
"""A sum of eight squares that standard normals exceed once in a thousand times, or, where nobody gave the covariance,
once in twenty: it costs little not to take rows for Gaussian ones, and to take others for such moves their mean."""

_MOST, _LEAST, _SURE = 1.25, 0.6, 4.0
"""A mean square length of so many times that of the known covariance contradicts it, and SURE sds more; rows far out
may not be seen, so the lower bound is wide. Shells are chosen for what they seem to hold: Gaussian rows passed two sds
in one run of three hundred."""

_BLUR = 0.25
"""What shells leave open of a squared length, as a part of it."""


@public_value
@dataclass(frozen=True)
class _Spread:
    """How large the rows are against the known covariance.

    Attributes:
        level: mean square of |z| over d; 1 where the known covariance is that of the rows and the centre theirs.
        fuzz: sd of `level` by noise and sampling.
        hidden: what rows that are too few to be seen may add to it.
    """

    level: float
    fuzz: float
    hidden: float

    def around_mean(self, squared: float) -> float:
        """Mean square of a coordinate of z around its mean, which is off the centre by sqrt(squared) in each."""
        return max(self.level - squared, 0.0)

    def wider(self, squared: float) -> float:
        """Mean square around the mean where it is more than 1, by as much as noise leaves of that (James-Stein)."""
        more = self.around_mean(squared) - 1
        return 1 + more - self.fuzz**2 / more if more > self.fuzz else 1.0

    def contradicts(self, squared: float, assumed: bool) -> bool:
        """Tell whether the rows' spread is clearly not that of the known covariance, so that errors by it are wrong.

        Lengths are known by shell only, so those of rows far from the centre say little of the spread around it. If
        nobody gave the covariance (`assumed`), a smaller one is no contradiction: errors are then larger than they
        need to be.
        """
        blur, found = _SURE * self.fuzz + _BLUR * squared, self.around_mean(squared)
        return found > _MOST + blur or (found < _LEAST - blur and not assumed)


@public_value
@dataclass(frozen=True)
class _Loss:
    """What the clip leaves out of the mean.

    Attributes:
        share: of the rows beyond the radius, as counted.
        length: mean length, per row of all, that clipping takes, of rows seen and unseen.
        coordinate: half of what these may add to a coordinate of the mean, if they lie in all directions alike; or all
            of it where each is long in one column, all of them on one side, if that is more, as in few columns.
        open_end: rows were seen beyond the last edge.
        sure: nothing; ledgers of older versions have a part of `length` here.
    """

    share: float
    length: float
    coordinate: float
    open_end: bool
    sure: float = 0.0


@public_value
@dataclass(frozen=True)
class _FarOut:
    """Rows that were seen further out than Gaussian ones lie.

    Attributes:
        share: of all rows.
        kept: mean length, per row of all, that clipping leaves them.
    """

    share: float
    kept: float


@public_value
@dataclass(frozen=True)
class Clip:
    """How step 2 is asked, and what the counts say of its answer.

    Attributes:
        gaussian: the rows are as long as a Gaussian's of the known covariance: clip as planned and undo it.
        radius: of the clip otherwise.
        spread: how large the rows are.
        loss: what lies beyond the radius.
        far_out: what lies where no Gaussian row would.
    """

    gaussian: bool
    radius: float
    spread: _Spread
    loss: _Loss
    far_out: _FarOut


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
    counts, middles, n, outer = np.array(found.counts), found.middles, found.whole, found.outer
    expected = n * found.gaussian_shares(d, spread)
    excess = (counts - expected) / np.sqrt(found.sd**2 + expected)
    least, clear = thresholds(found, noise)
    gaussian = float((excess[:outer] ** 2).sum()) <= (_SURPRISE_OF_ASSUMED if assumed else _SURPRISE)
    last, surely = (max(last_visible(counts / found.sd, 1, each), 1) for each in (least, clear))
    rows = continued(counts, found.sd, last)
    tried = np.array(found.edges[1:])
    beyond = np.maximum(middles - tried[:, None], 0.0)  # length that a clip at each edge takes of a row in each shell
    lengths = beyond @ rows / n
    coordinates = lengths * max(1 / d, 1 / (2 * math.sqrt(d)))
    best = int(np.argmin((noise * tried) ** 2 + coordinates**2))
    far = np.maximum((counts - expected)[outer : last + 1], 0.0) / n
    return Clip(
        gaussian=gaussian and last_visible(excess, outer, least) < outer,
        radius=float(tried[best]),
        spread=_spread(found, rows, last, d, spread),
        loss=_Loss(
            share=max(float(counts[2 + best : last + 1].sum()), 0.0) / n,
            length=float(lengths[best]),
            coordinate=float(coordinates[best]),
            open_end=surely == len(counts) - 1,
        ),
        far_out=_FarOut(float(far.sum()), float(far @ np.minimum(middles[outer : last + 1], tried[best]))),
    )


def _spread(found: Lengths, rows: np.ndarray, last: int, d: int, spread: float) -> _Spread:
    """Mean of |z|^2 over that of a Gaussian, of the shells up to `last`; what others may hold is hidden."""
    expected, seen = found.whole * found.gaussian_shares(d, spread), np.arange(len(rows)) <= last
    counts = np.where(seen, found.counts, 0.0)
    # a Gaussian's own mean square within a shell is nearer to it than the middle is
    own = d * (1 + spread**2) * found.gaussian_shares(d + 2, spread) * found.whole / np.maximum(expected, 1e-300)
    squares = np.where(expected > 1, own, found.middles**2)
    scale = max(float(counts.sum()), 1.0) * d * (1 + spread**2)
    variances = np.where(counts > 0, counts + found.sd**2, 0.0)
    fuzz = math.sqrt(float((variances * squares**2).sum())) / scale
    hidden = float((rows * found.middles**2)[~seen].sum()) / (found.whole * d * (1 + spread**2))
    return _Spread(float((counts * squares).sum()) / scale, fuzz, hidden)
