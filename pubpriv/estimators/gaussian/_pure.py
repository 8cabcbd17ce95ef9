"""What the learner does differently under pure DP, where every additional question takes its own part of epsilon.

Splitting epsilon into parts costs more than splitting rho: the noise of a step grows as 1 / part, not as its root. So
there are three to six rounds instead of seven, which correct public rows whose scale is wrong by a factor of a
thousand, and the line of feasibility is different. Source: ours, replacing lemma A.24 (3) of the paper, which takes
exponential time; figures in `benchmarks.pure`.
"""

import math
from fractions import Fraction

from pubpriv.privacy.budgets import percent

_ROUNDS = (percent(10), percent(12), percent(13))
"""Largest parts of epsilon for the rounds; the final release takes what is left."""

_FIRST = percent(10)
"""Part of each additional round before those: one if they take two thirds of that or less, three if a third or less. d
+ 1 public rows leave a lot to stretch, and a round stretches only by its part."""

_LEAST, _AMPLE = Fraction(1, 10), 1.5
"""With more rows, rounds take less, down to `_LEAST` of those parts: beyond `_AMPLE` times the line of feasibility, a
round's noise stays what it is there."""

_SEARCH, _MOST_SEARCH = 60.0, Fraction(3, 10)
"""The search of a radius takes this over n of epsilon, and at most the second share of its round."""

_SLOPE, _LEAST_STRENGTH = 12.0, 1500.0
"""A run is feasible from n epsilon >= SLOPE d^3 + LEAST_STRENGTH; measured with d + 1 public rows."""

REACH, TOLERANCE = 1e3, 0.12
"""Factor, up and down, of a radius from its typical value in the search; width of a cell, in the logarithm."""

BLUR = math.expm1(2 * TOLERANCE)
"""How far the variance of w may be off because a radius is the far end of such a cell."""

WIDENING = {3: (1.3, 1.0, 0.8), 4: (1.3, 1.3, 1.0, 0.8), 6: (1.3, 1.3, 1.3, 1.0, 0.8, 0.8)}
"""Clip radius divided by the private median of |w|, by the number of rounds."""


def needed(d: int) -> float:
    """Give the least n epsilon at which the learner is known to converge, mostly: 12 d^3 + 1500."""
    return _SLOPE * d**3 + _LEAST_STRENGTH


def round_parts(n: int, d: int, epsilon: float) -> list[tuple[Fraction, Fraction]]:
    """Compute the parts of epsilon for the radius and for the moments of each round.

    Args:
        n: number of private rows.
        d: number of whitened columns.
        epsilon: epsilon of the run.
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
    """Compute the share that a pure run turns into this part of epsilon (`PureDP.split`)."""
    return Fraction(round(1e12 * float(part) ** 1.5), 10**12)
