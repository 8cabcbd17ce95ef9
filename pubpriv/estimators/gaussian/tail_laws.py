"""Laws of rows that look Gaussian in the middle: a few noisy rows do not distinguish them.

Each has mean 0 and variance 1 in every column. Rows of the symmetric laws are Gaussian rows times a random factor: a
lognormal one, with tails that end soon, or that of a t, with tails that do not. The skewed laws have independent
columns, gamma or lognormal. Only two things are computed from a law: the share of rows within a length, and their
squared lengths. Public: no private row is read here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from pubpriv.estimators._even_rows import even_chances, shuffled_columns
from pubpriv.estimators._lengths import length_quantile

HEAVY = 0.4, 1.0, 2.0, 4.0, 8.0, 16.0
_SKEWED = 0.6, 1.6, 4.0, 9.0
LOGS = 0.25, 0.4, 0.5, 0.65, 0.8
"""Excess kurtosis of a column under symmetric laws, and of gamma columns; and the standard deviation of the logarithm
of lognormal columns."""

_FREEDOMS, _LONGER_LOGS = (3.5, 3.0), (1.0, 1.25)
"""Degrees of freedom of a t, and standard deviations of a lognormal's logarithm, of very long columns. Rows of which
all columns are that long are recognised, and flagged; a single such column is not."""

_NODES = 21
"""Number of quadrature points for lognormal widths."""

_ROWS, _CELLS = 4000, 40_000
"""Number of rows that represent a law of skewed columns, and most cells in them."""

_SETTLES, _PASSES = 0.98, 8
"""Clipped means are computed for rows clipped to the length that this share of Gaussian rows does not exceed, in this
many passes."""

_SCALE_STEP = 0.02
SCALES = np.exp(np.linspace(-0.6, 0.5, 56))
"""Scales at which a law is compared with rows or their histogram, one such step apart; all are equally likely."""

_FINER, _PARTS = 2, 20
"""Steps are divided so many times into so many parts about the best scale: the lengths of 100,000 rows of 20 columns
determine it to one in two thousand."""

LENGTHS = np.exp(np.linspace(math.log(0.02), math.log(200.0), 900))
"""Lengths at which a law is tabulated."""


@dataclass(frozen=True)
class TailLaw:
    """A law of rows in R^d with variances 1.

    Attributes:
        excess: fourth moment of a column minus a Gaussian's 3.
        place: distance from the mean, along each column, of the point from which lengths are measured: the clipped
            mean.
        rows: number of rows that its tables are made from; None: the tables are exact.
        within: share of the rows that are no longer than each of `LENGTHS`.
        held: mean squared length of those rows, per row of all and column.
        leaning: mean, along a column, of those rows and of their directions; None: zero.
    """

    excess: float
    place: float
    rows: int | None
    within: np.ndarray
    held: np.ndarray
    leaning: tuple[np.ndarray, np.ndarray] | None = None

    def shares(self, edges: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Compute the shares (scales, len(edges) + 1) of rows of each scale between adjacent `edges`."""
        below = np.interp(edges / scales[:, None], LENGTHS, self.within)
        return np.asarray(np.diff(below, axis=1, prepend=0.0, append=1.0))

    def held_within(self, length: float) -> float:
        """Compute the mean squared length, per column and row of all, of the rows no longer than `length`."""
        return float(np.interp(length, LENGTHS, self.held))

    def held_beyond(self, lengths: np.ndarray) -> np.ndarray:
        """Compute the mean squared length, per column and row of all, of the rows longer than each of `lengths`."""
        return np.asarray(self.held[-1] - np.interp(lengths, LENGTHS, self.held))

    def scale_at(self, d: int, level: float, radius: float, end: float) -> float:
        """Find the scale at which rows up to `end`, clipped to `radius`, have second moments `level` per row of all."""
        ends = np.interp(LENGTHS * end / radius, LENGTHS, self.within)
        clipped = self.held + LENGTHS**2 / d * np.maximum(ends - self.within, 0.0)
        # at scale s it is s^2 clipped(x) with x = radius / s; of two such scales, the larger leaves hardly a row inside
        off = level / radius**2 - clipped / LENGTHS**2
        last = int(np.flatnonzero(off <= 0)[-1]) if (off <= 0).any() else int(np.argmin(off))
        near, far = float(off[last]), float(off[min(last + 1, len(off) - 1)])
        part = min(max(-near / (far - near), 0.0), 1.0) if far > near else 0.0
        return radius / float(LENGTHS[last] * (LENGTHS[1] / LENGTHS[0]) ** part)

    def clipped_mean(self, radius: float, end: float) -> float:
        """Compute the mean along a column, from `place`, of the rows up to `end`, clipped to `radius`."""
        if self.leaning is None:
            return 0.0
        sums, directions = self.leaning
        beyond = float(np.interp(end, LENGTHS, directions) - np.interp(radius, LENGTHS, directions))
        return float(np.interp(radius, LENGTHS, sums)) + radius * beyond


@cache
def tail_laws(d: int) -> tuple[TailLaw, ...]:
    """List all laws of rows in R^d; the Gaussian comes first."""
    rows = min(_ROWS, max(_CELLS // d, 1))
    evenly = even_chances(rows)
    columns = [gamma_column(excess, evenly) for excess in _SKEWED] + [lognormal_column(sd, evenly) for sd in LOGS]
    return (
        _lognormal_wide(d, 0.0),
        *(_lognormal_wide(d, excess) for excess in HEAVY),
        *(_t(d, excess) for excess in HEAVY),
        *(_independent(d, excess, column) for excess, column in columns),
    )


def _spread(d: int, excess: float) -> float:
    """Compute the fourth moment of a row's width, divided by the square of its second.

    It matches the squared lengths of rows with independent columns, whose variance exceeds a Gaussian's by d `excess`.
    """
    return 1 + excess / (d + 2)


def _lognormal_wide(d: int, excess: float) -> TailLaw:
    """Make the law of Gaussian rows times a lognormal factor each, or of Gaussian rows if the excess is zero."""
    from scipy.special import gammainc

    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    log = math.log(_spread(d, excess)) / 4
    widths = np.exp(math.sqrt(log) * nodes - log)
    weights = weights / weights.sum()
    half = (LENGTHS[:, None] / widths) ** 2 / 2
    within, held = gammainc(d / 2, half) @ weights, gammainc(d / 2 + 1, half) @ (weights * widths**2)
    return TailLaw(excess, 0.0, None, within, held)


def _t(d: int, excess: float) -> TailLaw:
    """Make a multivariate t: |z|^2 over its mean is a multiple of Fisher's F."""
    from scipy.special import betainc

    spread = _spread(d, excess)
    freedom = (4 * spread - 2) / (spread - 1)
    squares = LENGTHS**2 / (freedom - 2)
    part = squares / (1 + squares)
    return TailLaw(excess, 0.0, None, betainc(d / 2, freedom / 2, part), betainc(d / 2 + 1, freedom / 2 - 1, part))


def tabulated(excess: float, lengths: np.ndarray, chances: np.ndarray, d: int) -> TailLaw:
    """Make the law of rows of these lengths (count,) with these probabilities; `excess` as in `TailLaw`."""
    order = np.argsort(lengths)
    lengths, chances = lengths[order], chances[order]
    ends = np.searchsorted(lengths, LENGTHS, side="right")
    within, held = (sums_before(ends, part) for part in (chances, chances * lengths**2 / d))
    return TailLaw(excess, 0.0, None, within, held)


def sums_before(ends: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Compute the sums (ends,) of the `values` (count,) before each of these indices."""
    return np.asarray(np.append(0.0, np.cumsum(values))[ends])


def t_freedom(excess: float) -> float:
    """Compute the degrees of freedom of Student's t whose fourth moment has this excess."""
    return 4 + 6 / excess


def lognormal_moments(sd: float) -> tuple[float, float]:
    """Compute mean and standard deviation of exp(z) for Gaussian z with mean 0 and standard deviation `sd`."""
    w = math.exp(sd * sd)
    return math.sqrt(w), math.sqrt((w - 1) * w)


def tailed_columns(chances: np.ndarray) -> list[np.ndarray]:
    """List the quantiles at these probabilities of columns with tails, long ones and very long ones."""
    from scipy.special import stdtrit

    freedoms = (*map(t_freedom, HEAVY), *_FREEDOMS)
    return [
        *(np.asarray(stdtrit(freedom, chances)) for freedom in freedoms),
        *(gamma_column(excess, chances)[1] for excess in _SKEWED),
        *(lognormal_column(sd, chances)[1] for sd in (*LOGS, *_LONGER_LOGS)),
    ]


def log_mean_over_scales(logs_at: Callable[[np.ndarray], np.ndarray]) -> float:
    """Compute the logarithm of the mean likelihood over equally likely scales, given its logarithm at some of them.

    Where one of `SCALES` has nearly all of it, the sum is too large or too small, and is taken over finer ones.
    """
    scales, step, means = SCALES, _SCALE_STEP, []
    for _ in range(_FINER + 1):
        logs = logs_at(scales)
        means.append(float(np.logaddexp.reduce(logs)) + math.log(step / _SCALE_STEP / len(SCALES)))
        scales = scales[logs.argmax()] * np.exp(step * np.linspace(-1, 1, 2 * _PARTS + 1))
        step /= _PARTS
    return max(means)


def log_mean(logs: np.ndarray) -> float:
    """Compute the logarithm of the mean of exp(logs): of a likelihood over equally likely scales."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean()))


def gamma_column(excess: float, chances: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute (excess of the fourth moment, quantiles of a standardised gamma)."""
    from scipy.special import gammaincinv

    shape = 6 / excess
    return excess, np.asarray((gammaincinv(shape, chances) - shape) / math.sqrt(shape))


def lognormal_column(sd: float, chances: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute the same for a lognormal."""
    from scipy.special import ndtri

    mean, spread = lognormal_moments(sd)
    values, w = (np.exp(sd * ndtri(chances)) - mean) / spread, math.exp(sd * sd)
    return w**4 + 2 * w**3 + 3 * w**2 - 6, values


def _independent(d: int, excess: float, column: np.ndarray) -> TailLaw:
    """Make the law of rows with independent columns of equally likely values, about their clipped mean."""
    rows = shuffled_columns(column, d, seed=d)
    count, radius, place = len(column), length_quantile(d, _SETTLES), 0.0
    for _ in range(_PASSES):
        lengths = np.linalg.norm(rows - place, axis=1)
        kept = np.minimum(1.0, radius / np.maximum(lengths, 1e-12))
        place += float(((rows - place) * kept[:, None]).mean())
    lengths = np.linalg.norm(rows - place, axis=1)
    order = np.argsort(lengths)
    lengths, along = lengths[order], (rows - place).mean(axis=1)[order]
    ends = np.searchsorted(lengths, LENGTHS, side="right")
    leaning = sums_before(ends, along) / count, sums_before(ends, along / np.maximum(lengths, 1e-12)) / count
    return TailLaw(excess, place, count, ends / count, sums_before(ends, lengths**2) / count / d, leaning)
