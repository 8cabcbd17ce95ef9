"""Laws of rows of which one column has a long tail, and the others have none: which column, public rows show.

Laws of tails that are alike in all columns take a tail for a short one in each, where it is a long one in one. A round
measures such a column like the others, as if it were Gaussian. What it makes of the column then follows from a law: the
variance at which clipped rows are those that were seen, and the place of the mean. Public: nothing here sees a
private row.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pubpriv.estimators._lattice import lattices
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tabulated, tailed_columns
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.scaling import Scaling

_CHANCES = (*np.geomspace(1e-6, 0.01, 30), *np.linspace(0.01, 0.99, 150)[1:-1], *(1 - np.geomspace(0.01, 1e-6, 30)))
_OF_OTHERS = (*np.linspace(0.0, 0.98, 37)[1:], *(1 - np.geomspace(0.02, 1e-6, 20)[1:]))
"""Values of a column between quantiles at the first chances, and what the other columns add to a squared length,
between those at the second, stand for a law."""

_PASSES, _NEAR, _WIDEST, _STEP = 80, 0.002, 4.0, 1.2
"""A law explains what a round makes of a column if in so many passes, each of which makes a variance larger by no more
than the last factor, moments come so near to those of a Gaussian column, with a variance at most so many times as
large."""

_FLAT = 0.1
"""Least slope of a clipped variance in the true one: where all rows are clipped there is none."""

_EDGES = np.array([-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
"""Edges of bins in which values of a column in the public rows are counted, in standard deviations."""

_HARDLY = 1e-3
"""Least share of a bin that a column of the public rows is taken to have."""

_FINEST = 1e-6
"""Step of a column without a lattice, in standard deviations."""


@dataclass(frozen=True)
class LoneTail:
    """A law of rows of which one column has a long tail, in units of what a round makes of it.

    Attributes:
        law: of lengths of rows.
        factor: by which the variance of that column is larger than what the round makes of it.
        place: where its mean lies from what the round makes of it, in its standard deviations.
        sampling: relative variance of its variance by sampling, over a Gaussian's.
        odds: (bins,) logarithms of the shares of the column's values in bins, over a Gaussian's.
    """

    law: TailLaw
    factor: float
    place: float
    sampling: float
    odds: np.ndarray


@lru_cache(maxsize=16)
def lone_tails(d: int, radius: float, end: float) -> tuple[LoneTail, ...]:
    """Give the laws of one tail in R^d that may look like what a round sees; of a single column there are none.

    Args:
        d: columns.
        radius: to which rows are clipped.
        end: length from which on rows are in no component.
    """
    if d == 1:
        return ()
    from scipy.special import ndtri

    middles, weights = _between(_CHANCES)
    scan = _Scan.of(d, radius, end, weights, np.asarray(ndtri(middles)))
    found = []
    for excess, column in tailed_columns(middles):
        middle = weights @ column
        own = (column - middle) / np.sqrt(weights @ (column - middle) ** 2)
        sides = (own, -own) if abs(float(weights @ own**3)) > _NEAR else (own,)
        found += [scan.explained(excess, side) for side in sides]
    return tuple(each for each in found if each is not None)


@dataclass(frozen=True)
class _Scan:
    """How a round looks at rows of which one column has given values, and the others are Gaussian.

    Attributes:
        d: columns.
        others: (nodes,) what the other columns add to squared lengths.
        likely: (nodes,) chances of that.
        radius, end: see `lone_tails`.
        weights: (values,) chances of the values of the column.
        plain: (values,) a Gaussian column's.
    """

    d: int
    others: np.ndarray
    likely: np.ndarray
    radius: float
    end: float
    weights: np.ndarray
    plain: np.ndarray

    @classmethod
    def of(cls, d: int, radius: float, end: float, weights: np.ndarray, plain: np.ndarray) -> "_Scan":
        """Lay out what the other columns, which are Gaussian, may add to a squared length."""
        from scipy.special import gammaincinv

        middles, likely = _between(_OF_OTHERS)
        return cls(d, 2 * np.asarray(gammaincinv((d - 1) / 2, middles)), likely, radius, end, weights, plain)

    def moments(self, values: np.ndarray) -> tuple[float, float, float]:
        """Give the first, second and fourth moments of a column of such values in the clipped rows of a component."""
        squares = values[:, None] ** 2 + self.others
        within = squares <= self.end**2
        kept = np.where(within, np.minimum(1.0, self.radius / np.sqrt(squares)), 0.0)
        rows = float(self.weights @ (within @ self.likely))
        first, second, fourth = (
            float((self.weights * values**power) @ (kept**power @ self.likely)) / rows for power in (1, 2, 4)
        )
        return first, second, fourth

    def explained(self, excess: float, column: np.ndarray) -> LoneTail | None:
        """Give the law of standardised values (values,) of a column that looks like a Gaussian one; None: none does."""
        aim, width, place = self.moments(self.plain)[1], 1.0, 0.0
        for _ in range(_PASSES):
            first, second, _ = self.moments(width * column + place)
            if max(abs(first), abs(second / aim - 1)) < _NEAR:
                break
            width, place = width * math.sqrt(min(aim / second, _STEP)), place - first
        if width**2 > _WIDEST or max(abs(first), abs(second / aim - 1)) >= _NEAR:
            return None
        values = width * column + place
        lengths = np.sqrt(values[:, None] ** 2 + self.others)
        chances = self.weights[:, None] * self.likely
        law = tabulated(excess, lengths.ravel(), chances.ravel(), self.d)
        shares = (np.maximum(_shares(own, self.weights), _HARDLY) for own in (values, self.plain))
        odds = np.subtract(*(np.log(own) for own in shares))
        sampling = self._sampling(width * column, place) / self._sampling(self.plain, 0.0)
        return LoneTail(law, width**2, place / width, max(sampling, 1.0), odds)

    def _sampling(self, values: np.ndarray, place: float) -> float:
        """Give the relative variance of a variance by sampling, times the rows of a component; see `sampling_by`."""
        _, second, fourth = self.moments(values + place)
        slope = math.log(self.moments(_STEP * values + place)[1] / second) / (2 * math.log(_STEP))
        return (fourth / second**2 - 1) / max(slope, _FLAT) ** 2


def _between(chances: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Chances between adjacent ones, and what lies between, (len(chances) + 1,) each."""
    ends = np.array([0.0, *chances, 1.0])
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


def _shares(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give the shares (bins,) of values between adjacent edges."""
    return np.bincount(np.searchsorted(_EDGES, values), weights, minlength=len(_EDGES) + 1)


def seen_in_columns(scaling: Scaling, last: Round, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Count the values of each column in bins, (d, bins): from the means of components, in their sds.

    A value on a lattice stands for all that are rounded to it.

    Args:
        scaling: of the standard coordinates, which are of columns.
        last: the round, for means and sds.
        rows: (m, d) public, in the table's units.
        owners: (m,) components of the rows.
    """
    _, means, covariances = last.mixture.arrays
    sds = np.sqrt(np.einsum("kii->ki", covariances))[owners]
    values = (scaling.apply(rows) - means[owners]) / sds
    steps = np.maximum(lattices(rows) / np.array(scaling.scale) / sds, _FINEST)
    # column by column: public rows may be many
    seen = [
        np.clip((_EDGES - own[:, None]) / step[:, None] + 0.5, 0.0, 1.0).sum(axis=0)
        for own, step in zip(values.T, steps.T, strict=True)
    ]
    return np.diff(seen, axis=1, prepend=0.0, append=float(len(rows)))
