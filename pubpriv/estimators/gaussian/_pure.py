"""What the learner does otherwise under pure DP, where every further question takes its part of epsilon itself.

Splitting epsilon into parts costs more than splitting rho: the noise of a step grows as 1 / part, not as its root. So
there are three to six rounds and not seven, which forgive public rows whose scale is wrong by a factor of a thousand,
and the line of feasibility is another. Source: ours, in the role of lemma A.24 (3) of the paper, which takes
exponential time; figures in `benchmarks.pure`.
"""

import math
from fractions import Fraction

_ROUNDS = (Fraction(10, 100), Fraction(12, 100), Fraction(13, 100))
"""Parts of epsilon that the rounds take at most; the final release takes what is left."""

_FIRST = Fraction(10, 100)
"""Part of each round before those: one where they take two thirds of that or less, three from a third on. d + 1 public
rows leave a lot to stretch, and a round stretches by its part only."""

_LEAST, _AMPLE = Fraction(1, 10), 1.5
"""They take less with rows to spare, down to `_LEAST` of that: from `_AMPLE` times the line of feasibility on a round's
noise stays what it is there."""

_SEARCH, _MOST_SEARCH = 60.0, Fraction(3, 10)
"""The search of a radius takes this over n of epsilon, at most so much of its round."""

_SLOPE, _LEAST_STRENGTH = 12.0, 1500.0
"""A run is feasible from n epsilon >= SLOPE d^3 + LEAST_STRENGTH; measured with d + 1 public rows."""

REACH, TOLERANCE = 1e3, 0.12
"""A radius is looked for within this factor of its typical value, both ways; width of a cell, in the logarithm."""

BLUR = math.expm1(2 * TOLERANCE)
"""How far the variance of w may be off because a radius is the far end of such a cell."""

WIDENING = {3: (1.3, 1.0, 0.8), 4: (1.3, 1.3, 1.0, 0.8), 6: (1.3, 1.3, 1.3, 1.0, 0.8, 0.8)}
"""Clip radius over the private median of |w|, by the number of rounds."""


def needed(d: int) -> float:
    """Least n epsilon at which the learner is known to converge, mostly: 12 d^3 + 1500."""
    return _SLOPE * d**3 + _LEAST_STRENGTH


def round_parts(n: int, d: int, epsilon: float) -> list[tuple[Fraction, Fraction]]:
    """Give the parts of epsilon for the radius and for the moments of each round.

    Args:
        n: private rows.
        d: columns that are whitened.
        epsilon: of the run.
    """
    spare = Fraction(_AMPLE * needed(d) / (n * epsilon)).limit_denominator(1000)
    scale = min(Fraction(1), max(_LEAST, spare))
    search = Fraction(_SEARCH / (n * epsilon)).limit_denominator(10**6)
    parts = []
    before = 0 if scale > Fraction(2, 3) else 1 if scale > Fraction(1, 3) else 3
    for most in (_FIRST,) * before + _ROUNDS:
        radius = min(scale * most * _MOST_SEARCH, max(search, scale * most / 20))
        parts.append((radius, scale * most - radius))
    return parts


def share_of(part: Fraction) -> Fraction:
    """Give the share that a pure run turns into this part of epsilon (`PureDP.split`)."""
    return Fraction(round(1e12 * float(part) ** 1.5), 10**12)
