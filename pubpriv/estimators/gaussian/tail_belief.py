"""What may be cut off and not be seen where rows are taken for a Gaussian's in the middle; post-processing.

Clipping is undone as if the tail were a Gaussian's. Few rows, in noise, do not tell that tail from others, so each of
`tail_laws` has a weight: a prior one, times how likely it makes the released histogram, and how likely it makes the
public rows, within bounds, for these may be of another law. So has each of `long_columns`, in each column. The mean
over these laws corrects the variances and widens their sampling errors; how far the laws differ, and how far all of
them may be wrong, is the error of clipping.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lattice import lattices, rounded
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._departures import kurtosis_scores, skewness_scores
from pubpriv.estimators.gaussian._learner import Fitted
from pubpriv.estimators.gaussian._long_columns import column_odds, long_columns
from pubpriv.estimators.gaussian._preconditioner import precondition
from pubpriv.estimators.gaussian._shells import Cut, Histogram
from pubpriv.estimators.gaussian.clipping import mean_constants, moment_constants, variance_error
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tail_laws
from pubpriv.estimators.steps import step

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
"""Intervals of so many sds hold all but so much of what is believed: one long column of many is seldom, and far off."""

SCALES = np.exp(np.linspace(-0.6, 0.5, 56))
"""Scales at which a law is held against a histogram; all are equally likely."""

_RADII = 16
"""Clip radii that are tried."""

_PAID = 1.04
"""For a column that may be long the mean square error of all variances may grow to this, by noise."""

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

_DRAWN = 200_000
"""Cells of the rows that stand for a Gaussian's on a lattice; at most 100,000 rows."""

_Errors = dict[str, dict[str, np.ndarray]]
"""Standard errors of mean (d,) and covariance (d, d), by source."""


@public_value
@dataclass(frozen=True)
class PublicShape:
    """What the public rows say of the shape of all rows.

    Attributes:
        odds: logarithms of how much likelier each of `tail_laws` makes them than the Gaussian does; empty: unknown.
        origin: the least value of each column.
        steps: of the columns, 0 where the values are on no lattice.
        counting: whether values of a column on a lattice heap at their least one, as small counts do.
        unlike: `columns` or `axes` where some of them clearly have longer tails than a Gaussian's, but most have not.
        column_odds: (d,) of the columns, as `_long_columns.column_odds` gives them; empty: unknown.
    """

    odds: tuple[float, ...] = ()
    origin: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    counting: tuple[bool, ...] = ()
    unlike: str = ""
    column_odds: tuple[tuple[float, ...], ...] = ()

    @property
    def counts(self) -> bool:
        """Tell whether all columns count: where others do not, they may have any tail."""
        return bool(self.counting) and all(self.counting)


@step(title="shape of the public rows")
def public_shape(public: PublicTable, may_be_gaussian: bool) -> PublicShape:
    """Hold the public rows against each of `tail_laws`, and find the lattices of their columns.

    Lengths of whitened public rows are brought to those that as many Gaussian rows have without whitening.

    Args:
        public: the rows.
        may_be_gaussian: False where they are held against no law, since not all columns can be whitened.
    """
    from scipy.special import betainc, gammaincinv

    rows = public.rows
    m, d = rows.shape
    steps, least = tuple(lattices(rows).tolist()), rows.min(axis=0)
    heaped = (rows == least).sum(axis=0) >= max(_HEAP * m, _HEAPED)
    counting = tuple((heaped & (np.array(steps) > 0)).tolist())
    blank = PublicShape((), tuple(least.tolist()), steps, counting, unlike_tails(rows))
    if m < d + 2 or not may_be_gaussian:
        return blank
    center, whitening, _ = precondition(public).arrays
    squares = (((rows - center) @ whitening.T) ** 2).sum(axis=1)
    ranks = betainc(d / 2, (m - 1 - d) / 2, np.minimum(squares * m / (m - 1) ** 2, 1.0))
    lengths = np.sqrt(2 * gammaincinv(d / 2, np.clip(ranks, 1e-12, 1 - 1e-12)))
    counts = np.bincount(np.searchsorted(_BINS, lengths), minlength=len(_BINS) + 1)
    odds = np.array([_likelihood(counts, law.shares(_BINS, SCALES)) for law in tail_laws(d)])
    columns = tuple(map(tuple, column_odds(rows).tolist()))
    return replace(blank, odds=tuple((odds - odds[0]).tolist()), column_odds=columns)


def unlike_tails(rows: np.ndarray) -> str:
    """Say of what rows (m, d) show that some are long or skewed while most are not: `columns`, `axes`, or nothing.

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
    tested = {"columns": standard, "axes": standard @ axes[:, factors]}
    return next((name for name, each in tested.items() if 0 < _long_columns(each) <= d / 2), "")


def _long_columns(columns: np.ndarray) -> int:
    """Count columns (m, d) of mean 0 that are skewed, or have longer tails than Gaussian ones have by chance."""
    from scipy.special import ndtri

    tests = 4 * max(columns.shape[1], 1)  # of columns and of axes, two each
    columns = columns[:, columns.std(axis=0) > 0]
    surely = -float(ndtri(_SELDOM / tests))
    either_way = -float(ndtri(_SELDOM / tests / 2))
    long = kurtosis_scores(columns) > surely
    return int((long | (np.abs(skewness_scores(columns)) > either_way)).sum())


def public_odds(odds: tuple[Any, ...]) -> np.ndarray:
    """Give what the public rows change in the logarithms of the weights of laws."""
    return np.asarray(np.clip(np.array(odds or (0.0,)), -_AGAINST, _FOR))


def _likelihood(counts: np.ndarray, shares: np.ndarray) -> float:
    """Logarithm of the mean likelihood, over scales, of counts without noise; shares (scales, bins)."""
    return _log_mean(np.log(np.maximum(shares, _SMOOTH)) @ counts)


def _log_mean(logs: np.ndarray) -> float:
    """Logarithm of the mean of exp(logs)."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean()))


def lattice_shift(frame: Frame, shape: PublicShape, edges: np.ndarray, scale: float) -> np.ndarray:
    """Give what rounding adds to the shares (len(edges) + 1,) of Gaussian rows of that scale between adjacent `edges`.

    Values on a lattice fill some bins of lengths and leave others empty. Rows are drawn, evenly in each column, and
    counted before and after they are rounded as the public rows are.
    """
    from scipy.special import ndtri

    d, steps = frame.dimension, np.array(shape.steps)
    if not steps.any():
        return np.zeros(len(edges) + 1)
    count = max(min(_DRAWN // d, 100_000), 1000)
    generator, column = np.random.default_rng(d), scale * ndtri((np.arange(count) + 0.5) / count)
    drawn = np.stack([generator.permutation(column) for _ in range(d)], axis=1)
    center, matrix = frame.dense()
    moved = (rounded(center + drawn @ np.linalg.inv(matrix).T, np.array(shape.origin), steps) - center) @ matrix.T
    found = [np.searchsorted(edges, np.linalg.norm(rows, axis=1)) for rows in (moved, drawn)]
    after, before = (np.bincount(bins, minlength=len(edges) + 1) for bins in found)
    return np.asarray((after - before) / count)


def believe(
    histogram: Histogram, d: int, n: float, bins: int, shift: np.ndarray, shape: PublicShape
) -> tuple[np.ndarray, np.ndarray]:
    """Give the weights (laws,) of `tail_laws`, and (d, laws) of `long_columns` in each column: together 1.

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
        return _log_mean(-((counts - expected) ** 2 / variances + np.log(variances)).sum(axis=1) / 2)

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
    """Weights of laws before anything is known."""
    skewed = np.array([law.leaning is not None for law in laws])
    rest = (1 - _GAUSSIAN) / 2
    weights = np.where(skewed, rest / max(int(skewed.sum()), 1), rest / max(int((~skewed).sum()) - 1, 1))
    weights[0] = _GAUSSIAN
    return np.asarray(weights)


@dataclass(frozen=True)
class Correction:
    """What the laws make of moments that were debiased for a Gaussian's, (d,) each.

    Attributes:
        factor: of the variances.
        sd: of that factor, by what is not known of the tail: intervals hold nearly all that is believed.
        expected: root mean square of how far that factor is off.
        excess: fourth moment of a column, over its squared variance, beyond a Gaussian's 3.
        shift: how far a mean may be off, in standard deviations: one sd.
    """

    factor: np.ndarray
    sd: np.ndarray
    expected: np.ndarray
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
        factors, missed, shifts = _off(d, radius, end, all_rows)
        others = long.sum(axis=0) - long
        chances = np.hstack([np.broadcast_to(weights, (d, len(weights))), long, others])
        factor = chances @ factors
        off = np.abs(factors - factor[:, None])
        expected = np.sqrt((chances * off**2).sum(axis=1))
        spread = np.maximum(expected, _reached(off, chances) / _SDS)
        return cls(
            factor,
            np.hypot(spread, MISTAKEN * (factor - 1)),
            np.hypot(expected, MISTAKEN * (factor - 1)),
            np.array([law.excess for law in laws]) @ weights + long @ [law.excess for law in columns],
            np.sqrt((missed @ weights + long @ shifts) / factor),
        )

    def stretched(self, covariance: np.ndarray, kept: float = 0.0) -> np.ndarray:
        """Give a covariance (d, d) of columns that is corrected but for a part of it."""
        return np.asarray(covariance * _outer_root(self.factor * (1 - kept) + kept))

    def applied(self, fitted: Fitted) -> Fitted:
        """Give the estimate with its private part corrected."""
        covariance = self.stretched(np.array(fitted.covariance), fitted.covariance_weight)
        return replace(fitted, covariance=tuple(map(tuple, covariance.tolist())))

    def widened(self, errors: _Errors, fitted: Fitted) -> _Errors:
        """Give the standard errors of a corrected estimate, from those of a Gaussian's: with a part for clipping.

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
        """Give standard errors with what is not known of the tail of a core of that covariance (d, d)."""
        spreads = np.sqrt(np.diag(core))
        own = {"mean": self.shift * spreads, "covariance": _outer_root(self.sd) * np.outer(spreads, spreads)}
        return {
            part: {**found, "clipping": np.hypot(found.get("clipping", 0.0), own[part])}
            for part, found in errors.items()
        }


@lru_cache(maxsize=2 * _RADII)  # the best radius is looked for twice among the same
def _off(d: int, radius: float, end: float, all_rows: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give what each law makes of a core in R^d; see `Correction.of`.

    Returns:
        Factors of variances (laws and, of the long column and of others, columns); squares of what means are off, in
        standard deviations: of `tail_laws`, and of the long column of `long_columns`.
    """
    laws, columns = tail_laws(d), long_columns(d)
    level, slope = moment_constants(d, radius).level, mean_constants(d, radius).slope
    scales = np.array([law.scale_at(d, level, radius, end) for law in laws])
    scales[0] = 1.0
    held = [law.held_within(end / scale) for law, scale in zip(laws, scales, strict=True)]
    alike = scales**2 * (1.0 if all_rows else np.array(held) / held[0])
    missed = [
        scale * (law.place + law.clipped_mean(radius / scale, end / scale) / slope)
        for law, scale in zip(laws, scales, strict=True)
    ]
    own, other = np.array([law.factors(d, radius, end, all_rows) for law in columns]).reshape(-1, 2).T
    shifts = np.square([law.missed(d, radius, end) for law in columns])
    return np.concatenate([alike, own, other]), np.square(missed), shifts


def _reached(off: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Give how far off (d,) all but `_DISBELIEVED` of what may be is, at most: distances and chances (d, laws)."""
    order = np.argsort(off, axis=1)
    sorted_off, sorted_chances = (np.take_along_axis(each, order, axis=1) for each in (off, chances))
    at = (np.cumsum(sorted_chances, axis=1) < 1 - _DISBELIEVED).sum(axis=1)
    return np.asarray(np.take_along_axis(sorted_off, np.minimum(at, off.shape[1] - 1)[:, None], axis=1)[:, 0])


def _outer_root(values: np.ndarray) -> np.ndarray:
    """Give the roots (d, d) of the products of two of `values` (d,): what factors of columns make of an entry."""
    roots = np.sqrt(values)
    return np.outer(roots, roots)


def best_radius(weights: np.ndarray, long: np.ndarray, n: float, rho: float, least: float, end: float) -> float:
    """Give the clip radius from `least` to the end of the core at which a variance is expected to be off the least.

    A column that may be long would have it far out, where all columns pay with noise: they pay little for that.
    """
    tried = np.geomspace(least, end, _RADII)
    noisy = np.array([variance_error(n, len(long), rho, float(radius)) for radius in tried])

    def unknown(of_laws: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
        each = [Correction.of(of_laws, of_columns, float(radius), end, True) for radius in tried]
        return np.array([float((found.expected**2).mean()) for found in each])

    alike = int(np.argmin(noisy + unknown(weights / weights.sum(), 0 * long)))
    errors = np.where(noisy <= _PAID * noisy[alike], noisy + unknown(weights, long), np.inf)
    return float(tried[int(np.argmin(errors))])


def correction(where: Cut, d: int, all_rows: bool) -> Correction:
    """Say how a core that was cut at `where` and debiased for a Gaussian's is to be corrected.

    Args:
        where: the cut.
        d: columns.
        all_rows: also for what lies beyond the core; not where that was measured.
    """
    radius, end = where.radii[0] / where.scale, where.edges[0] / where.scale
    return Correction.of(np.array(where.laws), np.array(where.long).reshape(d, -1), radius, end, all_rows)
