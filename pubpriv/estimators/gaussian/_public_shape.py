"""What the public rows show of the shape of all rows: lattices of columns, and which laws they speak for.

Public: nothing here sees a private row.
"""

from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattices
from pubpriv.estimators._lengths import length_quantiles
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


@public_value
@dataclass(frozen=True)
class PublicShape:
    """What the public rows say of the shape of all rows.

    Attributes:
        odds: logarithms of how much likelier each of `tail_laws` makes them than the Gaussian does; empty: unknown.
        origin: the least value of each column.
        steps: of the columns, 0 where the values are on no lattice.
        counting: whether values of a column on a lattice heap at their least one, as small counts do.
        unlike: nothing; ledgers of older versions say here whether columns or axes have unlike tails.
        column_odds: (d,) of the columns, as `_long_columns.column_odds` gives them; empty: unknown.
        count_odds: logarithm of how much likelier small counts make them than a Gaussian that is rounded, where all
            columns count; else 0.
    """

    odds: tuple[float, ...] = ()
    origin: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    counting: tuple[bool, ...] = ()
    unlike: str = ""
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
    """Hold the public rows against each of `tail_laws`, and find lattices of their columns.

    Lengths of whitened public rows are brought to those that as many Gaussian rows have without whitening.

    Args:
        public: the rows.
        may_be_gaussian: False where they are held against no law, since not all columns can be whitened.
    """
    from scipy.special import betainc

    rows = public.rows
    m, d = rows.shape
    found = public_lattices(public)
    if m < d + 2 or not may_be_gaussian:
        return found
    center, whitening, _ = precondition(public).arrays
    squares = (((rows - center) @ whitening.T) ** 2).sum(axis=1)
    ranks = betainc(d / 2, (m - 1 - d) / 2, np.minimum(squares * m / (m - 1) ** 2, 1.0))
    lengths = length_quantiles(d, np.clip(ranks, 1e-12, 1 - 1e-12))
    counts = np.bincount(np.searchsorted(_BINS, lengths), minlength=len(_BINS) + 1)
    odds = np.array([_likelihood(counts, law.shares(_BINS, SCALES)) for law in tail_laws(d)])
    return replace(found, odds=tuple((odds - odds[0]).tolist()), column_odds=row_tuples(column_odds(rows)))


def _likelihood(counts: np.ndarray, shares: np.ndarray) -> float:
    """Logarithm of the mean likelihood, over scales, of counts without noise; shares (scales, bins)."""
    return log_mean(np.log(np.maximum(shares, _SMOOTH)) @ counts)
