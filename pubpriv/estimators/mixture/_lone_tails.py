"""Laws of rows in which one column has a long tail and the others have none; the public rows show which column.

Laws with equal tails in all columns mistake a long tail in one column for a short tail in each. A round measures the
column as if it were Gaussian. Its true variance and mean then follow from a law: they are those at which the clipped
rows have the moments that the round saw. No private row is read here.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pubpriv.estimators._far_out import FAR_OUT, furthest
from pubpriv.estimators._lattice import lattices
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tabulated, tailed_columns
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.scaling import Scaling

_SELDOM = np.geomspace(1e-6, 0.01, 30)
_CHANCES = (*_SELDOM, *np.linspace(0.01, 0.99, 150)[1:-1], *(1 - _SELDOM[::-1]))
_OF_OTHERS = (*np.linspace(0.0, 0.98, 37)[1:], *(1 - np.geomspace(0.02, 1e-6, 20)[1:]))
"""Probabilities that define the nodes which represent a law: the first for quantiles of the column, the second for
what the other columns add to a squared length."""

_PASSES, _NEAR, _WIDEST, _STEP = 80, 0.002, 4.0, 1.2
"""A law explains what a round measures if, after at most PASSES passes, the clipped moments are within NEAR of those of
a Gaussian column, with a variance at most WIDEST times as large. A pass scales a variance by at most STEP."""

_FLAT = 0.1
"""Least slope of a clipped variance as a function of the true one: if all rows are clipped, the slope is 0."""

_ENDS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_EDGES = np.array([*-_ENDS[::-1], 0.0, *_ENDS])
"""Edges of the bins in which values of a public column are counted, in standard deviations."""

_HARDLY = 1e-3
"""Least share of a public column's values that a bin is taken to have."""

_FINEST = 1e-6
"""Step of a column without a lattice, in standard deviations."""


@dataclass(frozen=True)
class LoneTail:
    """A law of rows in which one column has a long tail, relative to what a round measures of it.

    Attributes:
        law: law of the lengths of rows.
        factor: variance of that column, divided by the one that the round measures.
        place: its mean minus the one that the round measures, in its standard deviations.
        sampling: relative sampling variance of its variance, divided by a Gaussian column's.
        odds: (bins,) log of the shares of the column's values in bins, minus the log of a Gaussian column's.
        far: share of rows that the column takes far out, in the sds that the round measures, and not beyond the end.
    """

    law: TailLaw
    factor: float
    place: float
    sampling: float
    odds: np.ndarray
    far: float


@lru_cache(maxsize=16)
def lone_tails(d: int, radius: float, end: float) -> tuple[LoneTail, ...]:
    """List the laws with one tail in R^d that a round may see as Gaussian; none for a single column.

    Args:
        d: number of columns.
        radius: clip radius of rows.
        end: length beyond which rows belong to no component.
    """
    if d == 1:
        return ()
    from scipy.special import ndtri

    middles, weights = _between(_CHANCES)
    scan = _Scan.of(d, radius, end, weights, np.asarray(ndtri(middles)))
    found = []
    for column in tailed_columns(middles):
        middle = weights @ column
        own = (column - middle) / np.sqrt(weights @ (column - middle) ** 2)
        sides = (own, -own) if abs(float(weights @ own**3)) > _NEAR else (own,)
        found += [scan.explained(side) for side in sides]
    return tuple(each for each in found if each is not None)


@dataclass(frozen=True)
class _Scan:
    """What a round sees of rows in which one column has given values and the others are Gaussian.

    Attributes:
        d: number of columns.
        others: (nodes,) what the other columns add to squared lengths.
        likely: (nodes,) their probabilities.
        radius, end: see `lone_tails`.
        weights: (values,) probabilities of the column's values.
        plain: (values,) values of a Gaussian column.
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
        """Prepare the nodes for what the other, Gaussian, columns add to a squared length."""
        from scipy.special import gammaincinv

        middles, likely = _between(_OF_OTHERS)
        return cls(d, 2 * np.asarray(gammaincinv((d - 1) / 2, middles)), likely, radius, end, weights, plain)

    def moments(self, values: np.ndarray) -> tuple[float, float, float]:
        """Compute first, second and fourth moments of a column with these values in the clipped rows of a component."""
        squares = values[:, None] ** 2 + self.others
        within = squares <= self.end**2
        kept = np.where(within, np.minimum(1.0, self.radius / np.sqrt(squares)), 0.0)
        rows = float(self.weights @ (within @ self.likely))
        first, second, fourth = (
            float((self.weights * values**power) @ (kept**power @ self.likely)) / rows for power in (1, 2, 4)
        )
        return first, second, fourth

    def explained(self, column: np.ndarray) -> LoneTail | None:
        """Find the law of a column with these standardised values that a round sees as Gaussian; None: none."""
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
        law = tabulated(float(self.weights @ column**4) - 3, lengths.ravel(), chances.ravel(), self.d)
        shares = (np.maximum(_shares(own, self.weights), _HARDLY) for own in (values, self.plain))
        odds = np.subtract(*(np.log(own) for own in shares))
        sampling = self._sampling(width * column, place) / self._sampling(self.plain, 0.0)
        far = self._beyond(values, FAR_OUT) - self._beyond(values, furthest(self.d, self.end))
        return LoneTail(law, width**2, place / width, max(sampling, 1.0), odds, max(far, 0.0))

    def _beyond(self, values: np.ndarray, end: float) -> float:
        """Compute the share of the column beyond `end` on either side; nodes are few there, so between them."""
        order = np.argsort(values)
        weights = self.weights[order]
        below, above = np.interp([-end, end], values[order], np.cumsum(weights) - weights / 2)
        return float(below + 1 - above)

    def _sampling(self, values: np.ndarray, place: float) -> float:
        """Compute the relative sampling variance of a variance, times the rows of a component; see `sampling_by`."""
        _, second, fourth = self.moments(values + place)
        slope = math.log(self.moments(_STEP * values + place)[1] / second) / (2 * math.log(_STEP))
        return (fourth / second**2 - 1) / max(slope, _FLAT) ** 2


def _between(chances: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Give the midpoints between adjacent probabilities, and the differences, (len(chances) + 1,) each."""
    ends = np.array([0.0, *chances, 1.0])
    return (ends[1:] + ends[:-1]) / 2, np.diff(ends)


def _shares(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute the shares (bins,) of values between adjacent edges."""
    return np.bincount(np.searchsorted(_EDGES, values), weights, minlength=len(_EDGES) + 1)


def seen_in_columns(scaling: Scaling, last: Round, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Count the values of each column in bins, (d, bins), relative to the means of components, in their sds.

    A value on a lattice represents all values that are rounded to it.

    Args:
        scaling: the standard coordinates, here scalings of columns.
        last: the round that gives means and sds.
        rows: (m, d) public rows, in the table's units.
        owners: (m,) the rows' components.
    """
    _, means, covariances = last.mixture.arrays
    sds = np.sqrt(np.einsum("kii->ki", covariances))[owners]
    values = (scaling.apply(rows) - means[owners]) / sds
    steps = np.maximum(lattices(rows) / np.array(scaling.scale) / sds, _FINEST)
    # column by column, to save memory: there may be many public rows
    seen = [
        np.clip((_EDGES - own[:, None]) / step[:, None] + 0.5, 0.0, 1.0).sum(axis=0)
        for own, step in zip(values.T, steps.T, strict=True)
    ]
    return np.diff(seen, axis=1, prepend=0.0, append=float(len(rows)))
