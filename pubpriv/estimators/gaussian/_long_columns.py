"""Laws of rows with one long-tailed column among Gaussian ones; public.

The laws in `tail_laws` have equal tails in all columns. A single long column hardly changes lengths of rows, and
clipping where Gaussian rows end removes what the column has beyond. So each law here gives the lengths, and what
clipping at a length removes from the long column and from the others. The public rows show which column it is, with
some uncertainty.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from pubpriv.estimators._far_out import FAR_OUT
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants
from pubpriv.estimators.gaussian.tail_laws import (
    HEAVY,
    LENGTHS,
    LOGS,
    TailLaw,
    lognormal_moments,
    sums_before,
    t_freedom,
)

_NODES, _RESTS, _FAR = 240, 160, 6.0
"""Numbers of nodes for the long column, and for the length of the other columns together; and the largest distance of
the latter from its typical value."""

_FURTHEST, _WIDEST = 80.0, 6.0
"""Largest values of a t, and of a lognormal's logarithm in its standard deviations."""

_OFF = np.linspace(-0.4, 0.4, 9)
"""Trial values of the mean of a column of few rows, and of the logarithm of its scale: all are equally likely."""

_STRETCHED = np.linspace(1.0, 1.12, 5)
"""Scales of a long column in w, where its clipped rows are standard: all are equally likely."""

_MOST_ROWS = 500
"""Most public rows that are compared with the laws, evenly spaced; more would not change a weight."""

_UNDOUBTED = 300.0
"""Logarithms of odds beyond this make no difference."""

_LEAST = 0.2
"""Least share of a variance that clipping is taken to leave."""


@dataclass(frozen=True)
class _Column:
    """A law of one number, with mean 0 and variance 1.

    Attributes:
        excess: fourth moment minus a Gaussian's 3.
        values, weights: (nodes,) nodes that represent it.
        freedom: degrees of freedom of Student's t; 0: it is lognormal.
        log: standard deviation of a lognormal's logarithm.
    """

    excess: float
    values: np.ndarray
    weights: np.ndarray
    freedom: float
    log: float

    def beyond(self, ends: np.ndarray) -> np.ndarray:
        """Compute the shares beyond each of `ends` on either side."""
        below = np.cumsum(self.weights) - self.weights / 2
        return np.asarray(1 - np.interp(ends, self.values, below) + np.interp(-ends, self.values, below))

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Compute the log density at each of `z`, up to a constant that all laws share."""
        if self.freedom:
            free = self.freedom
            top = math.lgamma((free + 1) / 2) - math.lgamma(free / 2) - math.log((free - 2) / 2) / 2
            return np.asarray(top - (free + 1) / 2 * np.log1p(z**2 / (free - 2)))
        mean, spread = lognormal_moments(self.log)
        place = np.maximum(z * spread + mean, 1e-3)
        logs = np.log(place)
        return np.asarray(-((logs / self.log) ** 2) / 2 - logs + math.log(spread / self.log))


@dataclass(frozen=True)
class LongColumn:
    """A law of rows in R^d, d > 1, with one long column, the others Gaussian, all variances 1.

    Attributes:
        excess: excess of the long column.
        lengths: law of |w|.
        tables: (5, lengths) means over the rows that are no longer than each of `LENGTHS`: for the long column its
            square, its square over the squared length, and itself over the length; for another column the first two.
        sums: (lengths,) means of the long column itself over the same rows.
        far: shares of rows that the long column takes beyond `FAR_OUT`, at each scale that it may have in w.
    """

    excess: float
    lengths: TailLaw
    tables: np.ndarray
    sums: np.ndarray
    far: np.ndarray

    def factors(self, d: int, radius: float, end: float, all_rows: bool) -> tuple[float, float]:
        """Compute the ratios of true variances of the long and of another column to those debiased for a Gaussian.

        Args:
            d: number of columns.
            radius: clip radius.
            end: length beyond which rows are not measured.
            all_rows: whether to correct for the rows beyond `end`, too.
        """
        near, far = (np.array([np.interp(at, LENGTHS, table) for table in self.tables]) for at in (radius, end))
        law = moment_constants(d, radius)
        own, other = (float(near[i] + radius**2 * (far[i + 1] - near[i + 1])) for i in (0, 3))
        level = (own + (d - 1) * other) / d
        found = [1 + (level - law.level) / law.trace + (each - level) / law.shape for each in (own, other)]
        true = (1.0, 1.0) if all_rows else (float(far[0]), float(far[3]))
        return true[0] / max(found[0], _LEAST), true[1] / max(found[1], _LEAST)

    def missed(self, d: int, radius: float, end: float) -> float:
        """Compute the error of the debiased mean of the long column, in standard deviations."""
        near = float(np.interp(radius, LENGTHS, self.sums))
        beyond = float(np.interp(end, LENGTHS, self.tables[2]) - np.interp(radius, LENGTHS, self.tables[2]))
        return (near + radius * beyond) / mean_constants(d, radius).slope


@cache
def _columns() -> tuple[_Column, ...]:
    """List the laws of the long column."""
    return (*(_t(excess) for excess in HEAVY[1:]), *(_lognormal(sd) for sd in LOGS))  # the first is hardly long


def _standard(values: np.ndarray, weights: np.ndarray, freedom: float, log: float) -> _Column:
    """Make a law of these values, standardised to mean 0 and variance 1."""
    weights = weights / weights.sum()
    values = values - float(weights @ values)
    values = values / math.sqrt(float(weights @ values**2))
    return _Column(float(weights @ values**4) - 3, values, weights, freedom, log)


def _t(excess: float) -> _Column:
    steps = np.linspace(-1, 1, _NODES) * math.asinh(_FURTHEST)
    values, freedom = np.sinh(steps), t_freedom(excess)
    return _standard(values, np.cosh(steps) * (1 + values**2 / freedom) ** (-(freedom + 1) / 2), freedom, 0.0)


def _lognormal(sd: float) -> _Column:
    logs = np.linspace(-_WIDEST, _WIDEST, _NODES)
    return _standard(np.exp(sd * logs), np.exp(-(logs**2) / 2), 0.0, sd)


@cache
def long_columns(d: int) -> tuple[LongColumn, ...]:
    """List all laws of rows in R^d with one long column; none if d = 1."""
    return tuple(_among(d, column) for column in _columns()) if d > 1 else ()


def _among(d: int, column: _Column) -> LongColumn:
    """Combine a long column with d - 1 Gaussian ones."""
    typical = math.sqrt(d - 1)
    lengths = np.linspace(max(typical - _FAR, 0.0), typical + _FAR, 2 * _RESTS + 1)[1::2]
    logs = (d - 2) * np.log(lengths) - lengths**2 / 2  # density of the length of d - 1 Gaussian columns
    chances = np.exp(logs - logs.max())
    own, rest = (each.ravel() for each in np.broadcast_arrays(column.values[:, None], lengths**2))
    weights, squares = np.outer(column.weights, chances / chances.sum()).ravel(), own**2 + rest
    far = column.beyond(FAR_OUT / _STRETCHED)
    order = np.argsort(squares)
    own, rest, weights, squares = own[order], rest[order] / (d - 1), weights[order], np.maximum(squares[order], 1e-12)
    ends = np.searchsorted(squares, LENGTHS**2, side="right")
    tables = [own**2, own**2 / squares, own / np.sqrt(squares), rest, rest / squares]
    law = TailLaw(
        column.excess / d, 0.0, len(own), sums_before(ends, weights), sums_before(ends, weights * squares) / d
    )
    tabled = np.array([sums_before(ends, weights * each) for each in tables])
    return LongColumn(column.excess, law, tabled, sums_before(ends, weights * own), far)


def squares_beyond(reach: float) -> np.ndarray:
    """Compute what values of a long column further out than `reach` add to its variance of 1, by each law (laws,)."""
    return np.array([each.weights @ np.where(np.abs(each.values) > reach, each.values**2, 0.0) for each in _columns()])


def shares_beyond(ends: np.ndarray) -> np.ndarray:
    """Compute the share of values of a long column between adjacent `ends` (shells,), the last one open, by each law.

    Returns:
        Shares (laws, shells).
    """
    beyond = np.stack([each.beyond(ends) for each in _columns()])
    return np.asarray(beyond - np.append(beyond[:, 1:], np.zeros((len(beyond), 1)), axis=1))


def in_view_of(chances: np.ndarray, by_rows: np.ndarray) -> np.ndarray:
    """Revise the probabilities (d, laws) that a column is long, by rows that were counted since.

    Args:
        chances: (d, laws) before; what is missing from 1 is that the column is not long.
        by_rows: (laws,) logarithms of how much likelier each law makes these rows than no long column does.
    """
    likelier = chances * np.exp(np.clip(by_rows, -_UNDOUBTED, _UNDOUBTED))
    return np.asarray(likelier / (1 - chances.sum(axis=1) + likelier.sum(axis=1)).clip(1e-300)[:, None])


def long_chances(apart: np.ndarray, by_lengths: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute the probabilities that no column is long, and (d, laws) that a column is long by each law.

    Columns are long independently of each other, but for the lengths, which are as likely whether one or several are.

    Args:
        apart: (d, laws) log odds of each law for each column, by all but the lengths.
        by_lengths: (laws,) logarithms of how much likelier each makes the lengths than all laws without long columns.
    """
    either = np.logaddexp.reduce(apart, axis=1)  # that a column is long, by any law
    none = math.exp(-min(float(np.logaddexp(0.0, either).sum()), _UNDOUBTED))
    lengths = np.exp(np.clip(by_lengths, -_UNDOUBTED, _UNDOUBTED))
    shares = np.exp(apart - either[:, None])
    likelier = shares @ lengths
    own = np.exp(apart - np.logaddexp(0.0, either)[:, None]) * lengths
    weights = np.exp(either - np.logaddexp.reduce(either))
    overall = none + float(weights @ likelier) * (1 - none)
    return none / overall, own / (none + likelier * (1 - none))[:, None]


def column_odds(rows: np.ndarray) -> np.ndarray:
    """Compute log odds (d, laws): each law against a Gaussian, for each column of public rows (m, d).

    A long column may lean to either side. A constant column has odds of 1.
    """
    rows = rows[:: -(-len(rows) // _MOST_ROWS)]
    spreads = rows.std(axis=0)
    z = (rows - rows.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    place, log = (each.ravel()[:, None, None] for each in np.meshgrid(_OFF, _OFF))
    moved = (z - place) * np.exp(log)  # (tries, m, d)
    jacobian = len(rows) * log[:, 0]

    def likelihood(logs: np.ndarray) -> np.ndarray:
        each = logs.sum(axis=1) + jacobian
        most = each.max(axis=0)
        return np.asarray(most + np.log(np.exp(each - most).mean(axis=0)))

    gaussian = likelihood(-(moved**2) / 2)
    odds = [
        np.logaddexp(likelihood(law.log_density(moved)), likelihood(law.log_density(-moved))) - math.log(2) - gaussian
        for law in _columns()
    ]
    return np.asarray(np.where(spreads[:, None] > 0, np.stack(odds, axis=1), 0.0))
