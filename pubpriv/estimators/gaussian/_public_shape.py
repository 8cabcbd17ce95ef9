"""What the public rows show of the shape of all rows: lattices of columns, which laws they speak for, and unlike tails.

Public: nothing here sees a private row.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattices
from pubpriv.estimators._lengths import length_quantiles
from pubpriv.estimators.gaussian._departures import kurtosis_scores, skewness_scores
from pubpriv.estimators.gaussian._long_columns import column_odds
from pubpriv.estimators.gaussian._preconditioner import precondition
from pubpriv.estimators.gaussian.count_laws import count_odds
from pubpriv.estimators.gaussian.tail_laws import SCALES, log_mean, tail_laws
from pubpriv.estimators.steps import step

_BINS = np.geomspace(0.1, 30.0, 50)
"""Bins in which lengths of public rows are counted."""

_SMOOTH = 1e-6
"""Least share of a law in such a bin."""

_HEAP, _HEAPED = 0.1, 2
"""A column counts from its least public value if so large a share, and so many, of the public rows have it."""

_SELDOM, _FEWEST_TESTED = 0.1, 20
"""Public rows show columns with unlike tails in so many of the tables where all are Gaussian; fewer rows show none."""

_FACTOR = 1.25
"""A principal axis is a factor's if it is so many times as wide as chance makes one: long columns make one wider."""

Unlike = Literal["", "columns", "axes"]
"""What has unlike tails: some of the columns, or of the principal axes, have longer ones than a Gaussian's, but most
have not; empty: neither."""


@public_value
@dataclass(frozen=True)
class PublicShape:
    """What the public rows say of the shape of all rows.

    Attributes:
        odds: logarithms of how much likelier each of `tail_laws` makes them than the Gaussian does; empty: unknown.
        origin: the least value of each column.
        steps: of the columns, 0 where the values are on no lattice.
        counting: whether values of a column on a lattice heap at their least one, as small counts do.
        unlike: what clearly have unlike tails.
        column_odds: (d,) of the columns, as `_long_columns.column_odds` gives them; empty: unknown.
        count_odds: logarithm of how much likelier small counts make them than a Gaussian that is rounded, where all
            columns count; else 0.
    """

    odds: tuple[float, ...] = ()
    origin: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    counting: tuple[bool, ...] = ()
    unlike: Unlike = ""
    column_odds: tuple[tuple[float, ...], ...] = ()
    count_odds: float = 0.0

    @property
    def counts(self) -> bool:
        """Tell whether all columns count: where others do not, they may have any tail."""
        return bool(self.counting) and all(self.counting)


@step(title="lattices of the public rows")
def public_lattices(public: PublicTable) -> PublicShape:
    """Find the lattices of the columns of the public rows, and hold these against no law."""
    rows = public.rows
    steps, least = tuple(lattices(rows).tolist()), rows.min(axis=0)
    heaped = (rows == least).sum(axis=0) >= max(_HEAP * len(rows), _HEAPED)
    counting = tuple((heaped & (np.array(steps) > 0)).tolist())
    odds = count_odds(rows, least, np.array(steps)) if all(counting) else 0.0
    return PublicShape((), tuple(least.tolist()), steps, counting, count_odds=odds)


@step(title="shape of the public rows")
def public_shape(public: PublicTable, may_be_gaussian: bool) -> PublicShape:
    """Hold the public rows against each of `tail_laws`, and find lattices and unlike tails of their columns.

    Lengths of whitened public rows are brought to those that as many Gaussian rows have without whitening.

    Args:
        public: the rows.
        may_be_gaussian: False where they are held against no law, since not all columns can be whitened.
    """
    from scipy.special import betainc

    rows = public.rows
    m, d = rows.shape
    found = replace(public_lattices(public), unlike=unlike_tails(rows))
    if m < d + 2 or not may_be_gaussian:
        return found
    center, whitening, _ = precondition(public).arrays
    squares = (((rows - center) @ whitening.T) ** 2).sum(axis=1)
    ranks = betainc(d / 2, (m - 1 - d) / 2, np.minimum(squares * m / (m - 1) ** 2, 1.0))
    lengths = length_quantiles(d, np.clip(ranks, 1e-12, 1 - 1e-12))
    counts = np.bincount(np.searchsorted(_BINS, lengths), minlength=len(_BINS) + 1)
    odds = np.array([_likelihood(counts, law.shares(_BINS, SCALES)) for law in tail_laws(d)])
    return replace(found, odds=tuple((odds - odds[0]).tolist()), column_odds=row_tuples(column_odds(rows)))


def unlike_tails(rows: np.ndarray) -> Unlike:
    """Say of what rows (m, d) show that some are long or skewed while most are not.

    Lengths of rows hardly show such a column among many, and `tail_laws` are alike in all columns. Principal axes that
    are wider than chance makes them (Marchenko and Pastur 1967) are tested beside columns, since a factor that is long
    makes all columns long.
    """
    m, d = rows.shape
    if m < max(_FEWEST_TESTED, d + 2) or d == 1:
        return ""
    spreads = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(spreads > 0, spreads, 1.0)
    squared_widths, axes = np.linalg.eigh(standard.T @ standard)
    factors = squared_widths > (_FACTOR * (math.sqrt(m) + math.sqrt(d))) ** 2
    if 0 < _long_columns(standard) <= d / 2:
        return "columns"
    return "axes" if 0 < _long_columns(standard @ axes[:, factors]) <= d / 2 else ""


def _long_columns(columns: np.ndarray) -> int:
    """Count columns (m, d) of mean 0 that are skewed, or have longer tails than Gaussian ones have by chance."""
    from scipy.special import ndtri

    tests = 4 * max(columns.shape[1], 1)  # of columns and of axes, two each
    columns = columns[:, columns.std(axis=0) > 0]
    surely = -float(ndtri(_SELDOM / tests))
    either_way = -float(ndtri(_SELDOM / tests / 2))
    long = kurtosis_scores(columns) > surely
    return int((long | (np.abs(skewness_scores(columns)) > either_way)).sum())


def _likelihood(counts: np.ndarray, shares: np.ndarray) -> float:
    """Logarithm of the mean likelihood, over scales, of counts without noise; shares (scales, bins)."""
    return log_mean(np.log(np.maximum(shares, _SMOOTH)) @ counts)
