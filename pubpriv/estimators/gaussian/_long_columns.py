"""Laws of rows with one long column among Gaussian ones; public.

`tail_laws` are alike in all columns. A single long column hardly moves lengths of rows, and the clip, which is where
rows of Gaussian columns end, takes what the column has beyond; so each law says what lengths there are, and what
clipping at a length takes of the long column and of the others. Which column it is the public rows say, within bounds.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

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
"""Values of the long column, and lengths of the other columns together, that stand for a law; these are so far from
their typical one at most."""

_FURTHEST, _WIDEST = 80.0, 6.0
"""Where values of a t end, and those of the logarithm of a lognormal, in its standard deviations."""

_OFF = np.linspace(-0.4, 0.4, 9)
"""Means of a column of few rows, and logarithms of its scale, that are tried: all are equally likely."""

_MOST_ROWS = 500
"""Public rows that are held against the laws, evenly over the table; more would change a weight no further."""

_LEAST = 0.2
"""What clipping leaves of a variance, at least."""


@dataclass(frozen=True)
class _Column:
    """A law of one number, of mean 0 and variance 1.

    Attributes:
        excess: fourth moment beyond a Gaussian's 3.
        values, weights: (nodes,) that stand for it.
        freedom: of Student's t; 0: of a lognormal.
        log: standard deviation of the logarithm of a lognormal.
    """

    excess: float
    values: np.ndarray
    weights: np.ndarray
    freedom: float
    log: float

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Give the logarithm of the density at each of `z`, but for a constant that all laws have."""
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
        excess: of the long column.
        lengths: the law of |w|.
        tables: (5, lengths) means over the rows that are no longer than each of `LENGTHS`: of the long column its
            square, its square over the squared length, and itself over the length; of another column the first two.
        sums: (lengths,) means of the long column itself.
    """

    excess: float
    lengths: TailLaw
    tables: np.ndarray
    sums: np.ndarray

    def factors(self, d: int, radius: float, end: float, all_rows: bool) -> tuple[float, float]:
        """Give what variances of the long column and of others are over those that are debiased for a Gaussian's.

        Args:
            d: columns.
            radius: to which rows are clipped.
            end: of the rows that are asked.
            all_rows: whether the rows beyond are to be made up for, too.
        """
        near, far = (np.array([np.interp(at, LENGTHS, table) for table in self.tables]) for at in (radius, end))
        law = moment_constants(d, radius)
        own, other = (float(near[i] + radius**2 * (far[i + 1] - near[i + 1])) for i in (0, 3))
        level = (own + (d - 1) * other) / d
        found = [1 + (level - law.level) / law.trace + (each - level) / law.shape for each in (own, other)]
        true = (1.0, 1.0) if all_rows else (float(far[0]), float(far[3]))
        return true[0] / max(found[0], _LEAST), true[1] / max(found[1], _LEAST)

    def missed(self, d: int, radius: float, end: float) -> float:
        """Say by how much the debiased mean of the long column is off, in standard deviations."""
        near = float(np.interp(radius, LENGTHS, self.sums))
        beyond = float(np.interp(end, LENGTHS, self.tables[2]) - np.interp(radius, LENGTHS, self.tables[2]))
        return (near + radius * beyond) / mean_constants(d, radius).slope


@cache
def _columns() -> tuple[_Column, ...]:
    """Give the laws of the long column."""
    return (*(_t(excess) for excess in HEAVY[1:]), *(_lognormal(sd) for sd in LOGS))  # the first is hardly long


def _standard(values: np.ndarray, weights: np.ndarray, freedom: float, log: float) -> _Column:
    """Make a law of these values, brought to mean 0 and variance 1."""
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
    """Give all laws of rows in R^d with one long column; none where there is no other column."""
    return tuple(_among(d, column) for column in _columns()) if d > 1 else ()


def _among(d: int, column: _Column) -> LongColumn:
    """Put a long column beside d - 1 Gaussian ones."""
    typical = math.sqrt(d - 1)
    lengths = np.linspace(max(typical - _FAR, 0.0), typical + _FAR, 2 * _RESTS + 1)[1::2]
    logs = (d - 2) * np.log(lengths) - lengths**2 / 2  # density of the length of d - 1 Gaussian columns
    chances = np.exp(logs - logs.max())
    own, rest = (each.ravel() for each in np.broadcast_arrays(column.values[:, None], lengths**2))
    weights, squares = np.outer(column.weights, chances / chances.sum()).ravel(), own**2 + rest
    order = np.argsort(squares)
    own, rest, weights, squares = own[order], rest[order] / (d - 1), weights[order], np.maximum(squares[order], 1e-12)
    ends = np.searchsorted(squares, LENGTHS**2, side="right")
    tables = [own**2, own**2 / squares, own / np.sqrt(squares), rest, rest / squares]
    law = TailLaw(
        column.excess / d, 0.0, len(own), sums_before(ends, weights), sums_before(ends, weights * squares) / d
    )
    tabled = np.array([sums_before(ends, weights * each) for each in tables])
    return LongColumn(column.excess, law, tabled, sums_before(ends, weights * own))


def column_odds(rows: np.ndarray) -> np.ndarray:
    """Give logarithms (d, laws) of how much likelier each law makes a column of public rows (m, d) than a Gaussian's.

    A long column may lean to either side. Columns that are constant are as likely by each.
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
