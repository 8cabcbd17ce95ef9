"""Whether rows are a Gaussian's but for a few odd ones, by a histogram of their lengths.

The numbers of the target `gaussian` describe the Gaussian behind the rows. Where there is none they describe nothing,
and their errors hold nothing, so the run is flagged. Rows further out than Gaussian ones are left out of the estimate,
and are not looked at here; a few wide ones among the rest are allowed for. Where all columns of the public rows heap at
their least value, as small counts do, laws of counts are held against the lengths and these rows, too: noise may hide
that a Gaussian's lengths are not theirs, but hardly that those of counts are nearer.
"""

import math

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._learner import Fitted, Measured
from pubpriv.estimators.gaussian._odd_rows import ODD_WIDTHS, SCALES, odd_rows, tolerant_weights
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._results import MOST_ODD, BulkFit
from pubpriv.estimators.gaussian._rounding import lattice_shift, rounding_kept
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, Histogram, count_lengths
from pubpriv.estimators.gaussian.count_laws import drawn_counts
from pubpriv.estimators.steps import Execution, step

_LIKELIER = 3.0
"""Rows are small counts if these are likelier by more than this power of e, as public rows may say by themselves."""


def fit_to_gaussian(run: Execution, fitted: Fitted, measured: Measured, shape: PublicShape, ask: Ask) -> BulkFit:
    """Count rows by length where the estimate makes them standard, and tell how well these fit a Gaussian's.

    Args:
        run: of the estimate.
        fitted: the estimate.
        measured: the release that it was made of.
        shape: of the public rows, which show the lattices of the columns.
        ask: for the histogram.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    whitening = np.linalg.inv(np.linalg.cholesky(np.array(fitted.covariance)))
    frame = Frame.of(np.array(fitted.mean), whitening)
    return run(_judge_bulk, run(count_lengths, frame, measured.records, ask), frame, fitted, measured, shape)


@step(title="shape of the bulk")
def _judge_bulk(histogram: Histogram, frame: Frame, fitted: Fitted, measured: Measured, shape: PublicShape) -> BulkFit:
    """Give the probability of so bad a fit if the rows are a Gaussian's but for `MOST_ODD` that are wider, and counts.

    The bins up to where Gaussian rows end are held against a Gaussian of any scale near 1, with a wider one beside it.

    Args:
        histogram: of |w|.
        frame: the map to w.
        fitted: the estimate.
        measured: the release that it was made of.
        shape: of the public rows.
    """
    from scipy.special import gammaincc

    edges, bins, records = np.array(histogram.edges), BINS_INSIDE + 1, measured.records
    released = np.array(histogram.counts)[:bins]
    counts = released - records * lattice_shift(frame, shape, edges, 1.0)[:bins]
    distance = _distance(counts, edges, histogram.sd, frame.dimension, records)
    chance = float(gammaincc((bins - 2) / 2, distance / 2))
    odd = odd_rows(histogram, counts, frame.dimension, records, measured.radius, measured.beyond)
    filled = records * gaussian_shares(edges, frame.dimension, np.ones(1))[0, :bins] > 1
    inside = float(released[filled].sum()), histogram.sd * math.sqrt(filled.sum())
    kept = rounding_kept(measured.frame, np.array(fitted.covariance), shape, measured.radius)
    if not shape.counts:
        return BulkFit(chance, inside, odd, kept)
    nearer = distance - _distance_of_counts(released, histogram, frame, records, shape)
    return BulkFit(chance, inside, odd, kept, nearer / 2 + min(shape.count_odds, _LIKELIER) > _LIKELIER)


def _distance_of_counts(
    released: np.ndarray, histogram: Histogram, frame: Frame, records: float, shape: PublicShape
) -> float:
    """Least chi-square of released counts (bins,) of the first bins, over laws of small counts."""
    edges, bins, d = np.array(histogram.edges), len(released), frame.dimension
    found = []
    for lengths in drawn_counts(frame, np.array(shape.origin), np.array(shape.steps), np.zeros(d), np.eye(d)):
        expected = records / len(lengths) * np.bincount(np.searchsorted(edges, lengths), minlength=bins)[:bins]
        found.append(float((tolerant_weights(expected, histogram.sd, records) * (released - expected) ** 2).sum()))
    return min(found)


def _distance(counts: np.ndarray, edges: np.ndarray, noise: float, d: int, records: float) -> float:
    """Least chi-square of counts of the first bins, over scales, widths of odd rows, and numbers of both."""
    bins = len(counts)
    bulk = gaussian_shares(edges, d, SCALES)[:, None, :bins]
    odd = gaussian_shares(edges, d, np.outer(SCALES, ODD_WIDTHS).ravel())[:, :bins].reshape(-1, len(ODD_WIDTHS), bins)
    weights = tolerant_weights(records * bulk, noise, records)

    def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray((weights * left * right).sum(axis=2))

    squares, mixed = product(bulk, bulk), product(bulk, odd)
    own, other = product(bulk, counts), product(odd, counts)
    wide = (squares * other - mixed * own) / np.maximum(squares * product(odd, odd) - mixed**2, 1e-300)
    wide = np.clip(wide, 0.0, MOST_ODD * records)
    near = np.maximum(own - wide * mixed, 0.0) / squares
    off = counts - near[:, :, None] * bulk - wide[:, :, None] * odd
    return float(product(off, off).min())
