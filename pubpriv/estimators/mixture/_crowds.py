"""Odd rows that lie together, as those do of which one column was filled in wrongly: do they lie among a component's?

All that came from one component may then lie among the rows of another, at some length from its mean. That is taken to
be as likely beforehand as for a row by itself; counts of each component in shells make it likelier, or rule it out.
Made of released numbers, so this is free.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.gaussian.tail_laws import tail_laws
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._tail_rows import DRAWN, HARDLY_A_ROW, DrawnRows, OddKinds
from pubpriv.estimators.mixture.scaling import Scaling

_EVENLY = 0.07, 0.25
"""Shares of rows that are drawn evenly over lengths vary so much of what those of others would: in one column, where
there are no directions, and in several."""

_MOST = 0.95
"""Chance of a crowd in a component before its counts are known, at most."""


@dataclass(frozen=True)
class Crowds:
    """Crowds of odd rows in components, by the kind of odd rows and by where they lie; the first place is nowhere.

    Attributes:
        chances: (k, kinds, places) that add up to 1 over places.
        bends: (kinds, places) what a crowd adds to a variance, in units of it: the mean over columns.
        turns: (kinds, places) variance of that over columns: a crowd in one direction adds more to those along it.
        leans: (kinds, places) mean square of what it adds to a mean along a column, in its sds, if its side is unknown.
        moves: (kinds, places) what it adds to it where they are known; else 0.
    """

    chances: np.ndarray
    bends: np.ndarray
    turns: np.ndarray
    leans: np.ndarray
    moves: np.ndarray

    @classmethod
    def of(
        cls,
        scaling: Scaling,
        last: Round,
        fit: Fit,
        drawn: DrawnRows,
        odd: OddKinds,
        beyond: np.ndarray,
        n: int,
        clumped: float,
    ) -> "Crowds":
        """Tell where they may be.

        Args:
            scaling: of the standard coordinates.
            last: the round.
            fit: counts about its components.
            drawn: rows that stand for odd ones.
            odd: kinds of odd rows.
            beyond: rows (regions,) of a group outside, see `TailCounts.beyond`.
            n: private rows.
            clumped: by how much more counts vary by sampling than those of independent rows.
        """
        places = np.append(0.0, drawn.places)
        clipped = np.minimum(places, last.radius)
        bends = odd.crowds[:, None] * (clipped**2 / drawn.d - 1)
        bends[:, 0] = 0.0
        hits = likely_hits(odd)
        prior = np.hstack([1 - hits.sum(axis=1, keepdims=True), hits])
        wide = _widths(scaling, last)
        gaussian = drawn.inner @ tail_laws(drawn.d)[0].shares(drawn.edges, np.ones(1))[0]
        predicted = (1 - odd.shares[:, None, None]) * gaussian + odd.near
        spread = clumped + _EVENLY[drawn.d > 1] * n / DRAWN
        found = []
        for own, shares, seen in zip(wide, predicted.transpose(1, 0, 2), np.array(fit.inner), strict=True):
            # rows of many columns may all lie further out than the shells
            expected = shares / np.maximum(shares.sum(axis=1, keepdims=True), HARDLY_A_ROW) * max(seen.sum(), 0.0)
            logs = _logs(fit, drawn.d, drawn.places, odd.crowds, bends, own, seen, expected, beyond, spread)
            found.append(posterior(prior, logs))
        squares = odd.crowds[:, None] ** 2 * clipped**2 / drawn.d
        # the squared cosine between a direction and a column has mean 1 / d
        turns = squares * clipped**2 * 2 * (drawn.d - 1) / (drawn.d * (drawn.d + 2))
        return cls(np.stack(found), bends, turns, squares, 0.0 * bends)


def likely_hits(odd: OddKinds) -> np.ndarray:
    """Give chances (kinds, places) of a crowd before counts are known: those of a row by itself, at most `_MOST`."""
    return np.asarray(odd.hits * np.minimum(1.0, _MOST / np.maximum(odd.hits.sum(axis=1, keepdims=True), 1e-12)))


def posterior(prior: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Give chances (kinds, places) that add up to 1 over places, by prior ones and logarithms of likelihoods."""
    # a place where no crowd can be may explain counts best
    most = np.where(prior > 0, logs, -np.inf).max(axis=1, keepdims=True)
    chances = prior * np.exp(np.minimum(logs - most, 0.0))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _widths(scaling: Scaling, last: Round) -> list[float]:
    """Tell how wide each component is in its frame."""
    frames = [scaling.standard(frame)[1] for frame in scaling.cells(last.start).frames]
    pairs = zip(frames, last.mixture.arrays[2], strict=True)
    return [float(np.sqrt(np.trace(whiten @ own @ whiten.T) / len(own))) for whiten, own in pairs]


def _logs(
    fit: Fit,
    d: int,
    places: np.ndarray,
    crowds: np.ndarray,
    bends: np.ndarray,
    wide: float,
    seen: np.ndarray,
    predicted: np.ndarray,
    beyond: np.ndarray,
    spread: float,
) -> np.ndarray:
    """Logarithms of how likely a component's counts (shells,) are, (kinds, places), with a crowd in each place.

    The model was made of the same rows: it has the variance that a crowd makes, so the others are narrower.

    Args:
        fit: which counted them.
        d: columns.
        places: lengths from the mean, (places - 1,).
        crowds: (kinds,) share of the component's rows.
        bends: (kinds, places) see `Crowds`.
        wide: how wide the component is in its frame.
        seen: counts.
        predicted: (kinds, shells) of a component without a crowd.
        beyond: rows (regions,) of a group outside: the last shells reach further out than rows are cut off, and how
            many of the group are next to this component is not known.
        spread: by how much more than one of Poisson's law each count varies.
    """
    from scipy.special import chndtr

    edges = np.array(fit.radii)[: len(seen)]

    def shares(scales: np.ndarray) -> np.ndarray:
        return gaussian_shares(edges, d, scales.ravel())[:, :-1].reshape(*scales.shape, -1)

    others = shares(wide / np.sqrt(1 + bends))
    below = chndtr((edges / wide) ** 2, d, places[:, None] ** 2)
    there = np.vstack([np.zeros(len(edges)), np.diff(below, axis=1, prepend=0.0)])
    size = np.where(np.arange(bends.shape[1]) > 0, crowds[:, None], 0.0)[..., None]
    expected = predicted[:, None] + max(seen.sum(), 0.0) * ((1 - size) * others + size * there - shares(np.array(wide)))
    variances, off = fit.sd**2 + np.maximum(expected, 0.0) * spread, seen - expected
    off = off - np.clip(off, 0.0, beyond[: len(edges)])
    return log_likelihood(off, np.zeros(1), variances)
