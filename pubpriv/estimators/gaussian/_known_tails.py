"""What lies beyond the last shell that counts, where small counts explain all lengths; post-processing.

Of rows that are no Gaussian's the shells tell little: their noise hides rows that may matter, and a tail that nothing
is known of may go on for ever. But columns that are mostly zero, one or two are as a rule counts of something rare. So
each of `count_laws`, and of `tail_laws` at each scale, has a prior weight and the likelihood of the released counts by
length. Where the best of them explains these, the posterior says what lies beyond, and shells count up to where what is
not known of the rest, and the noise of those that count, are least together. Where none does, nothing is changed.
"""

import math
from dataclasses import dataclass, fields

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._tail import UNSURE, Shells, Tail, known_to, last_shell, shell_lengths
from pubpriv.estimators.gaussian.count_laws import drawn_counts
from pubpriv.estimators.gaussian.tail_belief import MISTAKEN, prior, public_odds
from pubpriv.estimators.gaussian.tail_laws import SCALES, tail_laws

_UNLIKE = 3.5
"""A law explains the counts up to so many standard deviations of chi-square."""


@dataclass(frozen=True)
class Lengths:
    """Released counts by |w|: bins of the histogram in the core, then the shells.

    Attributes:
        edges: (bins - 1,) radii.
        counts, sds: (bins,) and the noise in them.
        inside: how many bins lie in the core.
        rows: n, whole rows.
    """

    edges: np.ndarray
    counts: np.ndarray
    sds: np.ndarray
    inside: int
    rows: float


@dataclass(frozen=True)
class _Laws:
    """Laws of lengths, each at a scale.

    Attributes:
        logs: (laws,) logarithms of prior weights.
        shares: (laws, bins) of their rows.
        beyond: (laws, bins - 1) mean squared length beyond each edge, per row of all.
        doubt: (laws,) how much wider the spread of a count is than chance makes it, since rows stand for the law.
    """

    logs: np.ndarray
    shares: np.ndarray
    beyond: np.ndarray
    doubt: np.ndarray


def known_tail(
    tail: Tail, shells: Shells, found: Lengths, frame: Frame, shape: PublicShape, moments: tuple[np.ndarray, np.ndarray]
) -> Tail:
    """Give the tail that the laws expect, where they explain the counts; else the one that is given.

    Args:
        tail: as `read_tail` reads it.
        shells: released numbers.
        found: counts by length.
        frame: the map to w.
        shape: of the public rows.
        moments: mean (d,) and covariance (d, d) of w, as far as the shells tell.
    """
    if not shape.counts:
        return tail
    laws = _laws(found, frame, shape, moments)
    expected = found.rows * laws.shares
    unsure = np.where(np.arange(len(found.counts)) < found.inside, 0.0, UNSURE * expected)
    variances = found.sds**2 + expected * laws.doubt[:, None] + unsure**2
    distances = ((found.counts - expected) ** 2 / variances).sum(axis=1)
    best, freedom = int(np.argmin(distances)), len(found.counts) - 1
    left = ((found.counts - expected[best]) / np.sqrt(variances[best]))[found.inside :]
    unlike = distances[best] > freedom + _UNLIKE * math.sqrt(2 * freedom)
    if unlike or last_shell(left, True, known_to(shells, found.rows)):
        return tail
    logs = laws.logs - (distances + np.log(variances).sum(axis=1)) / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    beyond = laws.beyond[:, found.inside - 1 :]
    mean = weights @ beyond
    unknown = np.maximum(weights @ beyond**2 - mean**2, 0.0) + (MISTAKEN * mean) ** 2
    lengths, sds = shell_lengths(shells, found.rows)
    last = int(np.argmin(unknown + np.append(0.0, np.cumsum(sds**2))[: len(mean)]))
    return Tail(
        last,
        np.maximum(lengths[:last], 0.0),
        sds[:last],
        float(mean[last]),
        math.sqrt(float(unknown[last])),
        endless=False,
        hidden=tail.hidden,
        boundless=tail.boundless,
        length_sd=math.sqrt(float(unknown[last]) / float(shells.middle[min(last, len(shells.middle) - 1)])),
    )


def _laws(found: Lengths, frame: Frame, shape: PublicShape, moments: tuple[np.ndarray, np.ndarray]) -> _Laws:
    """`tail_laws` at all scales, and `count_laws`."""
    d, edges = frame.dimension, found.edges
    laws = tail_laws(d)
    starts = np.log(prior(laws)) + public_odds(shape.odds) - math.log(len(SCALES))
    parts = [
        _Laws(
            np.full(len(SCALES), start),
            law.shares(edges, SCALES),
            d * SCALES[:, None] ** 2 * law.held_beyond(edges / SCALES[:, None]),
            np.full(len(SCALES), 1 + found.rows / law.rows if law.rows else 1.0),
        )
        for law, start in zip(laws, starts, strict=True)
    ]
    drawn = list(drawn_counts(frame, np.array(shape.origin), np.array(shape.steps), *moments))
    parts += [_of_rows(rows, edges, found.rows, len(drawn)) for rows in drawn]
    return _Laws(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(_Laws)))


def _of_rows(lengths: np.ndarray, edges: np.ndarray, n: float, laws: int) -> _Laws:
    """One law of so many, of rows of these lengths."""
    bins, count = np.searchsorted(edges, lengths), len(lengths)
    shares = np.bincount(bins, minlength=len(edges) + 1) / count
    held = np.bincount(bins, weights=lengths**2, minlength=len(edges) + 1) / count
    beyond = held[::-1].cumsum()[::-1][1:]
    return _Laws(np.array([-math.log(laws)]), shares[None], beyond[None], np.array([1 + n / count]))
