"""Skewed components of one column: what sorting and clipping took from their rows, and gave to others.

Rows of a slightly skewed law lie further out on one side than Gaussian ones do. Some are clipped, and where components
are eight standard deviations apart, one row in two thousand is nearer to the next one and counts for that. Of 100,000
rows this moves means and variances by more than their errors. Lengths of rows, which have no side, hardly show it. So
counts to either side of each component are held against skewed laws. Rows that stand for each law are sorted and
clipped as the last round did, and what that changes is put back. Released numbers go in, so this is free.

In several columns components lie apart along a direction in which most of this evens out.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._outside import MISTAKEN, Tails
from pubpriv.estimators.mixture._skewed_laws import SkewedLaws, skewed_laws
from pubpriv.estimators.mixture._sorted_rows import ColumnSorting, SortedRows
from pubpriv.estimators.mixture.scaling import Scaling

_CERTAIN = 0.95
"""Components are skewed where one is with this chance, and ..."""

_EXPLAINED, _DIVERGENCE = 0.5, 0.002
"""... where skewed laws leave less than the first part of what Gaussians leave unexplained, of counts and of rows
outside of all components, and no larger divergence per row than the second number."""

_ROWS = 100.0
"""Each component has so many times as many rows as a count has noise; ..."""

_SLIGHT = 0.2
"""... and no mean moves by more than this part of a standard deviation, nor a variance by more than this part of it."""

_HIDDEN = 3.0
"""So many sds of noise may hide rows outside."""

_NARROWEST = 0.5
"""Least part that is true of a variance that was measured."""

_PASSES = 2
"""Rows that a component has of others are first those of Gaussians, then those of what the others seem to be."""


def read_skewness(scaling: Scaling, public: np.ndarray, last: Round, fit: Fit, clumped: float) -> Tails | None:
    """Tell what skewed laws make of means and variances; None: components are not skewed, or of other laws.

    Args:
        scaling: of the standard coordinates.
        public: rows (m, 1), on whose lattice rows are drawn.
        last: the round that is released.
        fit: counts about its components, to either side.
        clumped: by how much more counts vary by sampling than those of independent rows.
    """
    if np.sum(fit.sides, axis=1).min() < _ROWS * fit.sd:
        return None
    laws, sorting = skewed_laws(), ColumnSorting(scaling, public, last)
    (mean, sd), each = sorting.measured, np.arange(len(last.counts))
    moves = sorting.moves(laws.values, laws.weights)
    # the true components are those of which the round makes what it measured
    off, bent = np.moveaxis(moves[:, each, each], -1, 0)
    true = mean - off * sd, sd * np.sqrt(np.maximum(1 - bent, _NARROWEST))
    rows = sorting.of_rows(laws.values, laws.weights, *true)
    belief = _Belief.of(laws, rows, last, fit, clumped)
    change, unsure = belief.of_moves(moves)
    if not belief.skewed(last, rows, fit) or np.abs(change).max() > _SLIGHT:
        return None
    kurtosis = np.maximum(laws.excess @ belief.chances, 0.0) * clumped / np.array(last.counts)
    among = np.array(last.outside.among) if last.outside is not None and last.outside.among else 0.0
    return Tails(
        row_tuples(((1 + among) / (1 + change[:, 1]))[:, None]),
        row_tuples(-change[:, :1]),
        row_tuples(np.sqrt(unsure[:, 1] ** 2 + kurtosis)[:, None]),
        row_tuples(unsure[:, :1]),
        float(belief.chances[0].min()),
        0.0,
        (0.0,),
        True,
    )


@dataclass(frozen=True)
class _Belief:
    """Chances (laws, k) of each law, of each component; and what the first, and all, leave unexplained of counts."""

    chances: np.ndarray
    gaussian: float
    unexplained: float

    @classmethod
    def of(cls, laws: SkewedLaws, rows: SortedRows, last: Round, fit: Fit, clumped: float) -> "_Belief":
        """Hold laws against counts to either side; at the ends lie rows that are outside."""
        weights, seen = last.mixture.arrays[0], np.array(fit.sides)[:, 1:-1]
        regions, each = rows.regions[..., 1:-1] * weights[:, None, None], np.arange(len(weights))
        chances = np.zeros((len(laws.prior), len(weights)))
        chances[0] = 1.0
        for _ in range(_PASSES):
            of_others = np.einsum("li,lior->ior", chances, regions)
            of_others[each, each] = 0.0
            expected = regions[:, each, each] + of_others.sum(axis=0)
            expected *= (seen.sum(axis=-1) / expected.sum(axis=-1))[..., None]
            variances = fit.sd**2 + expected * clumped
            squares = ((seen - expected) ** 2 / variances).sum(axis=-1)
            logs = -(squares + np.log(variances).sum(axis=-1)) / 2 + np.log(laws.prior)[:, None]
            chances = np.exp(logs - logs.max(axis=0))
            chances /= chances.sum(axis=0)
        left = [float(each.sum()) - seen.size for each in (squares[0], chances * squares)]
        return cls(chances, *np.maximum(left, 1.0))

    def skewed(self, last: Round, rows: SortedRows, fit: Fit) -> bool:
        """Tell whether a component is skewed, and these laws explain what was counted."""
        if self.chances[0].min() > 1 - _CERTAIN:
            return False
        outside, explained = last.outside, True
        if outside is not None and outside.seen:
            share = float(last.mixture.arrays[0] @ (self.chances * rows.outside).sum(axis=0))
            most = max((1 - _EXPLAINED) * outside.count, _HIDDEN * outside.noise)
            explained = abs(outside.count - share * last.rows) < most
        return explained and self.unexplained < min(_EXPLAINED * self.gaussian, _DIVERGENCE * fit.rows)

    def of_moves(self, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give by how much means and variances were moved (k, 2), and how unsure that is, of moves by law."""
        by_source = np.einsum("li,lioc->ioc", self.chances, moves)
        squares = np.einsum("li,lioc->ioc", self.chances, moves**2)
        change = by_source.sum(axis=0)
        variances = np.maximum(squares - by_source**2, 0.0).sum(axis=0)
        return change, np.sqrt(variances + (MISTAKEN * change) ** 2)
