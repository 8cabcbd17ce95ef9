"""What may be cut off and not be seen where rows are taken for a Gaussian's in the middle; post-processing.

Clipping is undone as if the tail were a Gaussian's. Few rows, in noise, do not tell that tail from others, so each of
`tail_laws` has a weight: a prior one, times how likely it makes the released histogram, and how likely it makes the
public rows, within bounds, for these may be of another law. So has each of `long_columns`, in each column. The mean
over these laws corrects the variances and widens their sampling errors; how far the laws differ, and how far all of
them may be wrong, is the error of clipping.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.codec import Matrix, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators._even_rows import even_chances, shuffled_columns
from pubpriv.estimators._lattice import rounded
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._learner import Fitted
from pubpriv.estimators.gaussian._long_columns import long_columns
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import Cut, Histogram
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants, variance_error
from pubpriv.estimators.gaussian.tail_laws import SCALES, TailLaw, log_mean, tail_laws

_GAUSSIAN = 0.4
"""Prior weight of the Gaussian; symmetric laws and skewed ones share the rest, half of it each."""

_LONG_COLUMN = 0.08
"""Prior weight of all laws with one long column, shared evenly among them and the columns. More of it widens
intervals of such columns further, but one in twenty Gaussian tables of 500 rows was flagged with a quarter."""

_AGAINST, _FOR = 1.0, 3.0
"""Public rows change the weight of a law against the Gaussian's by these powers of e at most, down and up."""

MISTAKEN = 0.7
"""The true tail may differ from all laws that are known by this part of what they correct: one sd."""

_DISBELIEVED, _SDS = 0.05, 1.96
"""Intervals of so many sds hold all but so much of what is believed of a column, and all together of which one is long:
that is seldom, and far off."""

_AS_LIKELY, _PROBABLE = 0.5, 0.6745
"""What is as likely as not; and the probable error, which is so, of an sd of 1."""

_RADII = 16
"""Clip radii that are tried."""

_PAID = 1.04
"""For a column that may be long the mean square error of all variances may grow to this, by noise."""

_DRAWN = 200_000
"""Cells of the rows that stand for a Gaussian's on a lattice; at most 100,000 rows."""

_Errors = dict[str, dict[str, np.ndarray]]
"""Standard errors of mean (d,) and covariance (d, d), by source."""


def public_odds(odds: tuple[float, ...] | Matrix) -> np.ndarray:
    """Return what the public rows change in the logarithms of the weights of laws, (laws,) or (d, laws)."""
    return np.asarray(np.clip(np.array(odds or (0.0,)), -_AGAINST, _FOR))


def lattice_shift(frame: Frame, shape: PublicShape, edges: np.ndarray, scale: float) -> np.ndarray:
    """Return what rounding adds to the shares (len(edges) + 1,) of Gaussian rows of that scale between `edges`.

    Values on a lattice fill some bins of lengths and leave others empty. Rows are drawn, evenly in each column, and
    counted before and after they are rounded as the public rows are.
    """
    from scipy.special import ndtri

    d, steps = frame.dimension, np.array(shape.steps)
    if not steps.any():
        return np.zeros(len(edges) + 1)
    count = max(min(_DRAWN // d, 100_000), 1000)
    drawn = shuffled_columns(scale * ndtri(even_chances(count)), d, seed=d)
    center, matrix = frame.dense()
    moved = (rounded(center + drawn @ np.linalg.inv(matrix).T, np.array(shape.origin), steps) - center) @ matrix.T
    found = [np.searchsorted(edges, np.linalg.norm(rows, axis=1)) for rows in (moved, drawn)]
    after, before = (np.bincount(bins, minlength=len(edges) + 1) for bins in found)
    return np.asarray((after - before) / count)


def believe(
    histogram: Histogram, d: int, n: float, bins: int, shift: np.ndarray, shape: PublicShape
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (laws,) of `tail_laws`, and (d, laws) of `long_columns` in each column: together 1.

    Args:
        histogram: of |w|.
        d: columns.
        n: whole rows.
        bins: how many, from the first: rows further out are measured apart.
        shift: see `lattice_shift`.
        shape: of the public rows.
    """
    laws, columns = tail_laws(d), long_columns(d)
    counts, edges = np.array(histogram.counts)[:bins], np.array(histogram.edges)

    def likelihood(law: TailLaw, shares: np.ndarray) -> float:
        expected = n * np.maximum(shares + shift, 0.0)[:, :bins]
        variances = histogram.sd**2 + expected * (1 + n / law.rows if law.rows else 1.0)
        return log_mean(-((counts - expected) ** 2 / variances + np.log(variances)).sum(axis=1) / 2)

    gaussian = likelihood(laws[0], gaussian_shares(edges, d, SCALES))
    logs = np.array([gaussian, *(likelihood(law, law.shares(edges, SCALES)) for law in laws[1:])])
    logs += np.log(prior(laws) * (1 - _LONG_COLUMN if columns else 1.0)) + public_odds(shape.odds)
    long = np.zeros((d, len(columns)))
    if columns:
        long += [likelihood(law.lengths, law.lengths.shares(edges, SCALES)) for law in columns]
        long += math.log(_LONG_COLUMN / long.size) + (public_odds(shape.column_odds) if shape.column_odds else 0.0)
    most = max(float(logs.max()), float(long.max(initial=-math.inf)))
    weights, own = np.exp(logs - most), np.exp(long - most)
    total = float(weights.sum()) + float(own.sum())
    return weights / total, own / total


def prior(laws: tuple[TailLaw, ...]) -> np.ndarray:
    """Return weights of laws before anything is known."""
    skewed = np.array([law.leaning is not None for law in laws])
    rest = (1 - _GAUSSIAN) / 2
    weights = np.where(skewed, rest / max(int(skewed.sum()), 1), rest / max(int((~skewed).sum()) - 1, 1))
    weights[0] = _GAUSSIAN
    return np.asarray(weights)


@dataclass(frozen=True)
class _Factors:
    """What a variance may be over the one that is debiased for a Gaussian's, and what is believed of that.

    Attributes:
        values: (laws,) under `tail_laws`; under `long_columns`, of the long column; and under these, of the others.
        chances: (d, laws) of each, in each column.
        columns: how many `long_columns` there are.
    """

    values: np.ndarray
    chances: np.ndarray
    columns: int

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray, long: np.ndarray) -> "_Factors":
        """Take the weights (laws,) of `tail_laws`, and (d, laws) of `long_columns` in each column."""
        d = len(long)
        chances = np.hstack([np.broadcast_to(weights, (d, len(weights))), long, long.sum(axis=0) - long])
        return cls(values, chances, long.shape[1])

    @property
    def mean(self) -> np.ndarray:
        """Give what is believed of each column, (d,)."""
        return np.asarray(self.chances @ self.values)

    @property
    def off(self) -> np.ndarray:
        """Give how far that is off under each law, (d, laws)."""
        return np.asarray(np.abs(self.values - self.mean[:, None]))

    @property
    def expected(self) -> np.ndarray:
        """Give the root mean square of how far it is off, (d,)."""
        return self._doubted(self._spread)

    @property
    def likely(self) -> np.ndarray:
        """Give the sds (d,) that what is likely calls for: of what is as likely as not, or if one column is long, all.

        Of a Gaussian's sd the probable error is such a part.
        """
        if float(self._own.sum()) > _AS_LIKELY:
            return self._doubted(np.maximum(self._spread, _reached(self.off, self.chances, _DISBELIEVED) / _SDS))
        return self._doubted(_reached(self.off, self.chances, _AS_LIKELY) / _PROBABLE)

    @property
    def sd(self) -> np.ndarray:
        """Give sds (d,) whose intervals hold nearly all that is believed: of each column, and of which one is long.

        Where lengths of rows show that one of many columns is long, it is hardly likely of any that it is this one.
        So the intervals of all columns together leave out so little, for the long one's own has to hold as well.
        """
        reached = _reached(self.off, self.chances, _DISBELIEVED)
        if self.columns:
            long = _reached(self.off[self._long], self._own, _DISBELIEVED / len(self.chances))
            reached = np.maximum(reached, long)
        return self._doubted(np.maximum(self._spread, reached / _SDS))

    @property
    def _own(self) -> np.ndarray:
        """Give the chances (d, `columns`) that a column is the long one."""
        return self.chances[self._long]

    @property
    def _long(self) -> tuple[slice, slice]:
        """Give the place of these."""
        end = self.chances.shape[1] - self.columns
        return np.s_[:, end - self.columns : end]

    @property
    def _spread(self) -> np.ndarray:
        return np.asarray(np.sqrt((self.chances * self.off**2).sum(axis=1)))

    def _doubted(self, spread: np.ndarray) -> np.ndarray:
        """Widen what laws disagree about: none of them may be the true one."""
        return np.asarray(np.hypot(spread, MISTAKEN * (self.mean - 1)))


def _scales(d: int, radius: float, end: float) -> np.ndarray:
    """Give the scales (laws,) at which rows of `tail_laws` that are clipped to `radius` look like a Gaussian's."""
    level = moment_constants(d, radius).level
    scales = np.array([law.scale_at(d, level, radius, end) for law in tail_laws(d)])
    scales[0] = 1.0
    return scales


def _debiased(scales: np.ndarray, d: int, radius: float, end: float, all_rows: bool) -> np.ndarray:
    """Give what variances are over debiased ones under each law, (laws,) as `_Factors` has them; see `Correction`."""
    held = [law.held_within(end / scale) for law, scale in zip(tail_laws(d), scales, strict=True)]
    alike = scales**2 * (1.0 if all_rows else np.array(held) / held[0])
    own, other = np.array([law.factors(d, radius, end, all_rows) for law in long_columns(d)]).reshape(-1, 2).T
    return np.concatenate([alike, own, other])


@dataclass(frozen=True)
class Correction:
    """What the laws make of moments that were debiased for a Gaussian's, (d,) each.

    Attributes:
        factor: of the variances.
        sd: of that factor, by what is not known of the tail: intervals hold nearly all that is believed.
        seldom: the part of `sd` that is not for what is likely, but for what is seldom and far off.
        excess: fourth moment of a column, over its squared variance, beyond a Gaussian's 3.
        shift: how far a mean may be off, in standard deviations: one sd.
    """

    factor: np.ndarray
    sd: np.ndarray
    seldom: np.ndarray
    excess: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, long: np.ndarray, radius: float, end: float, all_rows: bool) -> "Correction":
        """Make the belief about a core, in units of the debiasing.

        Args:
            weights: of `tail_laws`.
            long: (d, laws) of `long_columns`, in each column.
            radius: to which the core is clipped.
            end: of the core.
            all_rows: whether the rows beyond the core are to be made up for, too.
        """
        d = len(long)
        laws, columns = tail_laws(d), long_columns(d)
        scales, slope = _scales(d, radius, end), mean_constants(d, radius).slope
        factors = _Factors.of(_debiased(scales, d, radius, end, all_rows), weights, long)
        missed = [
            scale * (law.place + law.clipped_mean(radius / scale, end / scale) / slope)
            for law, scale in zip(laws, scales, strict=True)
        ]
        shifts = np.square([law.missed(d, radius, end) for law in columns])
        sd = factors.sd
        return cls(
            factors.mean,
            sd,
            np.sqrt(np.maximum(sd**2 - factors.likely**2, 0.0)),
            np.array([law.excess for law in laws]) @ weights + long @ [law.excess for law in columns],
            np.sqrt((np.square(missed) @ weights + long @ shifts) / factors.mean),
        )

    def stretched(self, covariance: np.ndarray, kept: float = 0.0) -> np.ndarray:
        """Return a covariance (d, d) of columns that is corrected but for a part of it."""
        return np.asarray(covariance * _outer_root(self.factor * (1 - kept) + kept))

    def applied(self, fitted: Fitted) -> Fitted:
        """Return the estimate with its private part corrected."""
        covariance = self.stretched(np.array(fitted.covariance), fitted.covariance_weight)
        return replace(fitted, covariance=row_tuples(covariance))

    def widened(self, errors: _Errors, fitted: Fitted) -> _Errors:
        """Return the standard errors of a corrected estimate, from those of a Gaussian's: with a part for clipping.

        Args:
            errors: by part of the estimate and source.
            fitted: the corrected estimate.
        """
        mean, covariance = errors["mean"], errors["covariance"]
        parts = {
            "mean": {"sampling": mean["sampling"] * np.sqrt(self.factor), "privacy": mean["privacy"]},
            "covariance": {
                "sampling": covariance["sampling"] * _outer_root(self.factor * np.sqrt(1 + self.excess / 2)),
                "privacy": covariance["privacy"] * _outer_root(self.factor),
            },
        }
        return self.added(parts, np.array(fitted.covariance))

    def added(self, errors: _Errors, core: np.ndarray) -> _Errors:
        """Return standard errors with what is not known of the tail of a core of that covariance (d, d)."""
        spreads = np.sqrt(np.diag(core))
        own = {"mean": self.shift * spreads, "covariance": _outer_root(self.sd) * np.outer(spreads, spreads)}
        return {
            part: {**found, "clipping": np.hypot(found.get("clipping", 0.0), own[part])}
            for part, found in errors.items()
        }


def _reached(off: np.ndarray, chances: np.ndarray, disbelieved: float) -> np.ndarray:
    """Give how far off (d,) all but a part of what may be is, at most; 0 where that part is all.

    Args:
        off: (d, laws) distances.
        chances: (d, laws) of them; together 1, or less.
        disbelieved: chance that it is further off.
    """
    order = np.argsort(off, axis=1)
    sorted_off, sorted_chances = (np.take_along_axis(each, order, axis=1) for each in (off, chances))
    below = np.cumsum(sorted_chances, axis=1)
    at = np.minimum((below < below[:, -1:] - disbelieved).sum(axis=1), off.shape[1] - 1)
    reached = np.take_along_axis(sorted_off, at[:, None], axis=1)[:, 0]
    return np.asarray(np.where(below[:, -1] > disbelieved, reached, 0.0))


def _outer_root(values: np.ndarray) -> np.ndarray:
    """Give the roots (d, d) of the products of two of `values` (d,): what factors of columns make of an entry."""
    roots = np.sqrt(values)
    return np.outer(roots, roots)


def best_radius(weights: np.ndarray, long: np.ndarray, n: float, rho: float, least: float, end: float) -> float:
    """Return the clip radius from `least` to the end of the core at which a variance is expected to be off the least.

    A column that may be long would have it far out, where all columns pay with noise: they pay little for that.
    """
    d = len(long)
    tried: list[float] = np.geomspace(least, end, _RADII).tolist()
    noisy = np.array([variance_error(n, d, rho, radius) for radius in tried])
    values = [_debiased(_scales(d, radius, end), d, radius, end, all_rows=True) for radius in tried]

    def unknown(of_laws: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
        return np.array([float((_Factors.of(own, of_laws, of_columns).expected ** 2).mean()) for own in values])

    alike = int(np.argmin(noisy + unknown(weights / weights.sum(), 0 * long)))
    errors = np.where(noisy <= _PAID * noisy[alike], noisy + unknown(weights, long), np.inf)
    return tried[int(np.argmin(errors))]


def correction(where: Cut, d: int, all_rows: bool) -> Correction:
    """Say how a core that was cut at `where` and debiased for a Gaussian's is to be corrected.

    Args:
        where: the cut.
        d: columns.
        all_rows: also for what lies beyond the core; not where that was measured.
    """
    radius, end = where.radii[0] / where.scale, where.edges[0] / where.scale
    return Correction.of(np.array(where.laws), np.array(where.long).reshape(d, -1), radius, end, all_rows)
