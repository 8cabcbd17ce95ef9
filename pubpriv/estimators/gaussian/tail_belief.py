"""What clipping may have cut off unseen if rows look Gaussian in the middle: a posterior over tail laws; free.

Clipping is undone as if the tail were Gaussian. A few noisy rows do not distinguish that tail from others, so each of
`tail_laws` has a weight: a prior, times the likelihood of the released histogram, times that of the public rows within
bounds, because these may come from another law. So has each of `long_columns`, for each column. The mean over these
laws corrects the variances and widens their sampling errors; the differences among the laws, and an allowance for all
of them being wrong, are the error of clipping.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pubpriv.data.codec import Matrix, row_tuples
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.gaussian._learner import Fitted
from pubpriv.estimators.gaussian._long_columns import long_chances, long_columns
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import Cut, Histogram
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants, variance_error
from pubpriv.estimators.gaussian.tail_laws import TailLaw, log_mean_over_scales, tail_laws

_GAUSSIAN = 0.4
"""Prior weight of the Gaussian; symmetric laws and skewed ones share the rest, half of it each."""

_LONG_COLUMN = 0.08
"""Prior weight of all laws with one long column, shared equally among them and the columns. A larger weight would widen
intervals of such columns further, but with a quarter, one in twenty Gaussian tables of 500 rows was flagged."""

_AGAINST, _FOR = 1.0, 3.0
"""Public rows multiply a law's weight relative to the Gaussian's by powers of e within these bounds, down and up."""

MISTAKEN = 0.7
"""Allowance for a true tail unlike all known laws, as a part of their correction: one sd."""

_DISBELIEVED, _SDS = 0.05, 1.96
"""Posterior probability that intervals of this many sds may leave out, for a column, and for all columns together of
which one is long: cases that are unlikely and have large errors."""

_TOGETHER = 8
"""All columns together, but no more than so many: of twenty, prior weight alone would make each one long enough to
widen its interval, and intervals of one Gaussian table in three were two to seven times too wide."""

_RADII = 16
"""Number of clip radii that are tried."""

_PAID = 1.04
"""Factor to which noise may raise the mean square error of all variances for the sake of a column that may be long."""

_Errors = dict[str, dict[str, np.ndarray]]
"""Standard errors of mean (d,) and covariance (d, d), by source."""


def public_odds(odds: tuple[float, ...] | Matrix) -> np.ndarray:
    """Compute what the public rows add to the log weights of laws, (laws,) or (d, laws)."""
    return np.asarray(np.clip(np.array(odds or (0.0,)), -_AGAINST, _FOR))


def believe(
    histogram: Histogram,
    d: int,
    n: float,
    bins: int,
    shift: np.ndarray,
    shape: PublicShape,
    far: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the weights (laws,) of `tail_laws`, and (d, laws) of `long_columns` for each column.

    The former are the probabilities that no column is long. Lengths show that some column is, but not how many, which
    `far` may: so columns are long independently of each other, and lengths are as likely for several as for one.

    Args:
        histogram: of |w|.
        d: number of columns.
        n: number of whole rows.
        bins: number of bins to use, from the first: rows further out are measured separately.
        shift: see `lattice_shift`.
        shape: shape of the public rows.
        far: log odds (d, laws) of `long_columns`, or 0, from the rows that columns take far out.
    """
    laws, columns = tail_laws(d), long_columns(d)
    counts, edges = np.array(histogram.counts)[:bins], np.array(histogram.edges)

    def likelihood(law: TailLaw, shares_at: Callable[[np.ndarray], np.ndarray]) -> float:
        def logs_at(scales: np.ndarray) -> np.ndarray:
            expected = n * np.maximum(shares_at(scales) + shift, 0.0)[:, :bins]
            variances = histogram.sd**2 + expected * (1 + n / law.rows if law.rows else 1.0)
            return log_likelihood(counts, expected, variances)

        return log_mean_over_scales(logs_at)

    gaussian = likelihood(laws[0], partial(gaussian_shares, edges, d))
    logs = np.array([gaussian, *(likelihood(law, partial(law.shares, edges)) for law in laws[1:])])
    logs += np.log(prior(laws) * (1 - _LONG_COLUMN if columns else 1.0)) + public_odds(shape.odds)
    whole = float(np.logaddexp.reduce(logs))
    if not columns:
        return np.exp(logs - whole), np.zeros((d, 0))
    apart = _apart(d, shape, far)
    lengths = np.array([likelihood(law.lengths, partial(law.lengths.shares, edges)) for law in columns])
    none, long = long_chances(apart, lengths - whole)
    return none * np.exp(logs - whole), long


def believe_far(d: int, shape: PublicShape, far: np.ndarray | float) -> np.ndarray:
    """Compute the weights (d, laws) of `long_columns` as `believe` does, where lengths are of no known law."""
    apart = _apart(d, shape, far)
    return long_chances(apart, np.zeros(apart.shape[1]))[1]


def _apart(d: int, shape: PublicShape, far: np.ndarray | float) -> np.ndarray:
    """Give log odds (d, laws) of `long_columns` by all but the lengths."""
    count = len(long_columns(d))
    apart = np.full((d, count), math.log(_LONG_COLUMN / (d * count))) + far
    return np.asarray(apart + (public_odds(shape.column_odds) if shape.column_odds else 0.0))


def prior(laws: tuple[TailLaw, ...]) -> np.ndarray:
    """Give the prior weights of laws."""
    skewed = np.array([law.leaning is not None for law in laws])
    rest = (1 - _GAUSSIAN) / 2
    weights = np.where(skewed, rest / max(int(skewed.sum()), 1), rest / max(int((~skewed).sum()) - 1, 1))
    weights[0] = _GAUSSIAN
    return np.asarray(weights)


@dataclass(frozen=True)
class _Factors:
    """Ratios of true variances to those debiased for a Gaussian, under each law, with the laws' probabilities.

    Attributes:
        values: (laws,) ratios under `tail_laws`; under `long_columns`, of the long column; and under these, of the
            others.
        chances: (d, laws) probabilities of each, for each column.
        columns: number of `long_columns`.
    """

    values: np.ndarray
    chances: np.ndarray
    columns: int

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray, long: np.ndarray) -> "_Factors":
        """Make it from the weights (laws,) of `tail_laws`, and (d, laws) of `long_columns` for each column."""
        d = len(long)
        others = long.sum(axis=0) - long
        rest = np.maximum(1 - float(weights.sum()) - long.sum(axis=1, keepdims=True), 0.0)
        others *= rest / np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        chances = np.hstack([np.broadcast_to(weights, (d, len(weights))), long, others])
        return cls(values, chances, long.shape[1])

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of each column's ratio, (d,)."""
        return np.asarray(self.chances @ self.values)

    @property
    def off(self) -> np.ndarray:
        """Distance of the mean from each law's ratio, (d, laws)."""
        return np.asarray(np.abs(self.values - self.mean[:, None]))

    @property
    def expected(self) -> np.ndarray:
        """Root mean square of that distance, (d,), with the allowance for laws being wrong."""
        return self._doubted(self._spread)

    @property
    def sd(self) -> np.ndarray:
        """Sds (d,) whose intervals cover nearly all of the posterior: for each column, and for whichever one is long.

        If lengths of rows show that one of many columns is long, the probability of each to be that one is small. So
        the intervals of all columns together (see `_TOGETHER`) leave out no more than that probability, because the
        long one's must hold as well.
        """
        reached = _reached(self.off, self.chances, _DISBELIEVED)
        if self.columns:
            together = min(len(self.chances), _TOGETHER)
            long = _reached(self.off[self._long], self._own, _DISBELIEVED / together)
            reached = np.maximum(reached, long)
        return self._doubted(np.maximum(self._spread, reached / _SDS))

    @property
    def _own(self) -> np.ndarray:
        """Probabilities (d, `columns`) that a column is the long one."""
        return self.chances[self._long]

    @property
    def _long(self) -> tuple[slice, slice]:
        """Slice of these in `chances`."""
        end = self.chances.shape[1] - self.columns
        return np.s_[:, end - self.columns : end]

    @property
    def _spread(self) -> np.ndarray:
        return np.asarray(np.sqrt((self.chances * self.off**2).sum(axis=1)))

    def _doubted(self, spread: np.ndarray) -> np.ndarray:
        """Widen the laws' disagreement: none of them may be the true one."""
        return np.asarray(np.hypot(spread, MISTAKEN * (self.mean - 1)))


def _scales(d: int, radius: float, end: float) -> np.ndarray:
    """Find the scales (laws,) at which rows of `tail_laws` clipped to `radius` look Gaussian."""
    level = moment_constants(d, radius).level
    scales = np.array([law.scale_at(d, level, radius, end) for law in tail_laws(d)])
    scales[0] = 1.0
    return scales


def _debiased(scales: np.ndarray, d: int, radius: float, end: float, all_rows: bool) -> np.ndarray:
    """Compute the variance ratios under each law, (laws,) in the order of `_Factors`; see `Correction`."""
    held = [law.held_within(end / scale) for law, scale in zip(tail_laws(d), scales, strict=True)]
    alike = scales**2 * (1.0 if all_rows else np.array(held) / held[0])
    own, other = np.array([law.factors(d, radius, end, all_rows) for law in long_columns(d)]).reshape(-1, 2).T
    return np.concatenate([alike, own, other])


@dataclass(frozen=True)
class Correction:
    """The laws' correction of moments that were debiased for a Gaussian, (d,) each.

    Attributes:
        factor: factor on the variances.
        sd: error of that factor from the unknown tail: intervals cover nearly all of the posterior.
        excess: fourth moment of a column, over its squared variance, beyond a Gaussian's 3.
        shift: error of a mean, in standard deviations: one sd.
    """

    factor: np.ndarray
    sd: np.ndarray
    excess: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, long: np.ndarray, radius: float, end: float, all_rows: bool) -> "Correction":
        """Make the correction of a core, in units of the debiasing.

        Args:
            weights: weights of `tail_laws`.
            long: (d, laws) weights of `long_columns` for each column.
            radius: clip radius of the core.
            end: end of the core.
            all_rows: whether to correct for the rows beyond the core, too.
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
        return cls(
            factors.mean,
            factors.sd,
            np.array([law.excess for law in laws]) @ weights + long @ [law.excess for law in columns],
            np.sqrt((np.square(missed) @ weights + long @ shifts) / factors.mean),
        )

    def stretched(self, covariance: np.ndarray, kept: float = 0.0) -> np.ndarray:
        """Correct a covariance (d, d) of columns, except for a part `kept` of it."""
        return np.asarray(covariance * _outer_root(self.factor * (1 - kept) + kept))

    def applied(self, fitted: Fitted) -> Fitted:
        """Correct the private part of an estimate."""
        covariance = self.stretched(np.array(fitted.covariance), fitted.covariance_weight)
        return replace(fitted, covariance=row_tuples(covariance))

    def widened(self, errors: _Errors, fitted: Fitted) -> _Errors:
        """Compute the standard errors of a corrected estimate from those for a Gaussian, with a part for clipping.

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
        """Add the error from the unknown tail of a core with this covariance (d, d) to standard errors."""
        spreads = np.sqrt(np.diag(core))
        own = {"mean": self.shift * spreads, "covariance": _outer_root(self.sd) * np.outer(spreads, spreads)}
        return {
            part: {**found, "clipping": np.hypot(found.get("clipping", 0.0), own[part])}
            for part, found in errors.items()
        }


def _reached(off: np.ndarray, chances: np.ndarray, disbelieved: float) -> np.ndarray:
    """Find the distance (d,) that is exceeded with probability `disbelieved`; 0 if the total is not larger than that.

    Args:
        off: (d, laws) distances.
        chances: (d, laws) their probabilities; the sum is at most 1.
        disbelieved: probability of a larger distance.
    """
    order = np.argsort(off, axis=1)
    sorted_off, sorted_chances = (np.take_along_axis(each, order, axis=1) for each in (off, chances))
    below = np.cumsum(sorted_chances, axis=1)
    at = np.minimum((below < below[:, -1:] - disbelieved).sum(axis=1), off.shape[1] - 1)
    reached = np.take_along_axis(sorted_off, at[:, None], axis=1)[:, 0]
    return np.asarray(np.where(below[:, -1] > disbelieved, reached, 0.0))


def _outer_root(values: np.ndarray) -> np.ndarray:
    """Compute the roots (d, d) of the products of two of `values` (d,): columns' factors applied to an entry."""
    roots = np.sqrt(values)
    return np.outer(roots, roots)


def best_radius(weights: np.ndarray, long: np.ndarray, n: float, rho: float, least: float, end: float) -> float:
    """Find the clip radius, from `least` to the end of the core, with the least expected error of a variance.

    For a column that may be long the best radius is far out, which costs all columns noise: it may cost them little.
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
    """Compute the correction of a core that was cut at `where` and debiased for a Gaussian.

    Args:
        where: the cut.
        d: number of columns.
        all_rows: whether to correct for rows beyond the core, too; not if these were measured.
    """
    radius, end = where.radii[0] / where.scale, where.edges[0] / where.scale
    return Correction.of(np.array(where.laws), np.array(where.long).reshape(d, -1), radius, end, all_rows)
