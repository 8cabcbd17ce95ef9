"""What odd rows add to variances where they lie among a Gaussian's, by a histogram of lengths.

Rows further out than Gaussian ones are left out. Others of their kind may lie nearer: of rows that are fifteen times as
wide in one column, a quarter does. What these add is expected of two kinds of odd rows, wide ones and such as lie
together in one place, as far as counts of those further out agree with a kind. It is taken out, and what is not known
of it is an error. All of this is made of released numbers.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian._shells import BINS_INSIDE, FINE, Histogram
from pubpriv.estimators.gaussian.clipping import moment_constants

SCALES = np.exp(np.linspace(-0.3, 0.3, 61))
"""Scales at which a histogram is held against a Gaussian's."""

_HARMLESS = 0.02, 0.0005
"""Bins may be off by these parts of what a Gaussian has in them, and of all rows: more rows show smaller departures,
and in the end those of any table, which hardly move a variance."""

ODD_WIDTHS = np.geomspace(2.0, 32.0, 17)
"""How many times wider than the others odd rows may be, each as likely beforehand; places are as likely as widths."""

CLEAR = 3.0
"""Odd rows are seen from so many sds of their count on."""

_PLACES = FINE ** np.arange(-2, 26, 0.125)
"""How far out odd rows may lie together, in radii where Gaussian rows end."""

_MOST = 0.2
"""Odd rows are no more than this share of all."""

_ANOTHER_LAW = 0.2
"""Odd rows need not be of these kinds: what they add is known to within this part of it."""


@public_value
@dataclass(frozen=True)
class OddRows:
    """Rows that are further out than Gaussian ones, and what others of their kind add.

    Attributes:
        seen: whether there are some for sure.
        among: what others add to a variance of 1, on the mean of all columns.
        unsure: sd of that.
        one_column: what such as lie together in one place may add to the variance of one column, above that mean: how
            many they are is counted, but not on which side they lie.
    """

    seen: bool
    among: float = 0.0
    unsure: float = 0.0
    one_column: float = 0.0


def odd_rows(
    histogram: Histogram, inside: np.ndarray, d: int, records: float, radius: float, beyond: tuple[float, float]
) -> OddRows:
    """Tell what odd rows add.

    Args:
        histogram: of the lengths of standard rows.
        inside: (`BINS_INSIDE` + 1,) its counts up to where Gaussian rows end, without what lattices make of them.
        d: columns.
        records: rows that are no further out.
        radius: to which these were clipped.
        beyond: number of the others, and the sd of its noise.
    """
    odd, sd = beyond
    if odd <= CLEAR * sd:
        return OddRows(seen=False)
    edges, first = np.array(histogram.edges), len(inside)
    kinds, added = (
        np.concatenate(each) for each in zip(_wide(edges, d, radius), _together(edges, d, radius), strict=True)
    )
    prior = np.repeat([1 / len(ODD_WIDTHS), 1 / len(_PLACES)], [len(ODD_WIDTHS), len(_PLACES)])
    lie_together = np.arange(len(kinds)) >= len(ODD_WIDTHS)
    share = kinds[:, first:].sum(axis=1)
    possible = share > odd / (_MOST * records)
    kinds, added, prior, share, lie_together = (each[possible] for each in (kinds, added, prior, share, lie_together))
    if not len(kinds):
        return OddRows(seen=True)
    # their number is that which the counts further out agree with
    outside, counts = kinds[:, first:], np.array(histogram.counts)[first:]
    exact, variances = sd**2 + odd, histogram.sd**2 + odd / share[:, None] * outside
    sizes = (odd * share / exact + (outside * counts / variances).sum(axis=1)) / (
        share**2 / exact + (outside**2 / variances).sum(axis=1)
    )
    off = (counts - sizes[:, None] * outside) ** 2 / variances
    likely = (sizes * share - odd) ** 2 / exact + (off + np.log(variances)).sum(axis=1)
    likely += _off_inside(inside - sizes[:, None] * kinds[:, :first], edges, d, histogram.sd, records)
    chance = prior * np.exp((likely.min() - likely) / 2)
    chance /= chance.sum()
    among = np.maximum(sizes, 0.0) / records * added
    mean = float(chance @ among)
    spread = float(np.sqrt(chance @ (among - mean) ** 2))
    one_column = (d - 1) * float(np.sqrt(chance @ (lie_together * among) ** 2))
    return OddRows(True, mean, float(np.hypot(spread, _ANOTHER_LAW * mean)), one_column)


def _off_inside(counts: np.ndarray, edges: np.ndarray, d: int, noise: float, records: float) -> np.ndarray:
    """Give the least chi-square of counts (kinds, bins) over numbers and scales of a Gaussian's rows, (kinds,)."""
    bulk = gaussian_shares(edges, d, SCALES)[:, : counts.shape[1]]
    weights = tolerant_weights(records * bulk, noise, records)
    weighted = weights * bulk
    number = counts @ weighted.T / (weighted * bulk).sum(axis=1)
    left = (counts**2) @ weights.T - number**2 * (weighted * bulk).sum(axis=1)
    return np.asarray(left.min(axis=1))


def _wide(edges: np.ndarray, d: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Give shares (widths, bins) of rows of each width, and what one of them adds to a variance of 1, (widths,)."""
    from scipy.special import gammainc

    half = (np.array([[radius], [edges[BINS_INSIDE]]]) / ODD_WIDTHS) ** 2 / 2
    within, inside = gammainc(d / 2, half)
    held = ODD_WIDTHS**2 * gammainc(d / 2 + 1, half[0]) + radius**2 / d * (inside - within)
    return gaussian_shares(edges, d, ODD_WIDTHS), _debiased(held, inside, d, radius)


def _together(edges: np.ndarray, d: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Give the same for rows as wide as the others about each of the places; those further in are clipped."""
    from scipy.special import chndtr

    shares = chndtr(edges**2, d, (_PLACES[:, None] * edges[BINS_INSIDE]) ** 2)
    inside = shares[:, BINS_INSIDE]
    bins = np.diff(np.c_[np.zeros(len(shares)), shares, np.ones(len(shares))], axis=1)
    return bins, _debiased(radius**2 / d * inside, inside, d, radius)


def _debiased(held: np.ndarray, inside: np.ndarray, d: int, radius: float) -> np.ndarray:
    """Give what rows that bring `held` to a clipped variance, `inside` of them, add to one that is debiased."""
    law = moment_constants(d, radius)
    return np.asarray((held - inside * law.level) / law.trace)


def tolerant_weights(expected: np.ndarray, noise: float, records: float) -> np.ndarray:
    """Give what counts are weighed by where so many are expected."""
    part, all_rows = _HARMLESS
    return np.asarray(1 / (noise**2 + expected + (part * expected) ** 2 + (all_rows * records) ** 2))
