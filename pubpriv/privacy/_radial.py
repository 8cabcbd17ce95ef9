"""Radial noise: the exact rounding of a real vector whose density falls with its length, for pure DP.

**Law.** z in R^N has the density proportional to exp(-|(z_k / s_k)_k|), s_k positive integers; the result is round(z),
coordinate by coordinate. The length of z in units of s is Gamma(N), its direction uniform; a coordinate has the
variance s_k^2 (N + 1). N = 1 is Laplace's law.

**Privacy.** Let t, t' be integer vectors of neighbours, sum_k (t_k - t'_k)^2 / s_k^2 <= D^2. By the triangle inequality
the densities of t + z and t' + z differ by a factor e^D at most, everywhere. t is an integer vector, so
t + round(z) = round(t + z) is post-processing of t + z: D-DP, without a delta and without a correction for a grid.

The same holds where t_k depends on what was published of coordinates before k (`Bisection`). Under one table, a z gives
answers and with them t; under the neighbour, z + t - t' gives the same answers, t' being what these make it. This map
of z moves coordinate k by what the answers before k fix, so it is a bijection that keeps volumes, and it moves z by D
at most.

**Exactness.** A uniform real is an infinite string of random bits, of which only as many are drawn as are needed. Each
step of the calculation is ball arithmetic (Arb, by python-flint): a ball contains the true real, whatever the later
bits are. A coordinate is decided when its whole ball rounds to one integer; until all are decided, bits are added to
the same strings. So the result is round(z) of the true z, and no float decides anything. Ties have probability zero.
The running time depends on z alone, never on a table.
"""

import secrets
import threading
from collections.abc import Sequence
from typing import Any

_BITS = 128
"""Initial random bits of each uniform: with these a coordinate is undecided about once in 2^60 draws."""

_GUARD = 32
"""Additional bits of working precision, so that rounding in the arithmetic hardly widens the balls."""

_precision = threading.Lock()
"""Held during calculations, because Arb has one precision for the whole process."""


def rounded_radial(scales: Sequence[int]) -> list[int]:
    """Draw round(z), all coordinates with one common length, from the operating system's entropy.

    Args:
        scales: positive integers s, (N,).

    Raises:
        ValueError: a scale that is not a positive integer, or no scale.
    """
    if not scales or not all(type(scale) is int and scale > 0 for scale in scales):
        raise ValueError("radial noise needs positive integer scales")
    bits, count = _BITS, 2 * ((len(scales) + 1) // 2) + len(scales)
    uniforms = [secrets.randbits(bits) for _ in range(count)]
    while (drawn := _rounded(scales, uniforms, bits)) is None:
        uniforms = [(known << bits) | secrets.randbits(bits) for known in uniforms]
        bits *= 2
    return drawn


def _rounded(scales: Sequence[int], uniforms: list[int], bits: int) -> list[int] | None:
    """round(z) if these bits decide it, else None."""
    from flint import ctx

    with _precision:
        before, ctx.prec = ctx.prec, bits + _GUARD
        try:
            return _integers(_balls(scales, uniforms, bits))
        finally:
            ctx.prec = before


def _balls(scales: Sequence[int], uniforms: list[int], bits: int) -> list[Any]:
    """Balls that contain z: Box and Muller's direction, times a length that is minus the log of N uniforms' product."""
    from flint import arb

    size = len(scales)
    half = arb(1) / (1 << bits + 1)  # a power of two: exact
    rest = arb(0, half)  # a radius is rounded outwards
    # the real lies in [k, k + 1] / 2^bits; its middle is exact at this precision
    reals = [(2 * known + 1) * half + rest for known in uniforms]
    normals: list[Any] = []
    for first, second in zip(reals[:-size:2], reals[1:-size:2], strict=True):
        length = (-2 * first.log()).sqrt()
        sine, cosine = (2 * second).sin_cos_pi()
        normals += [length * cosine, length * sine]
    del normals[size:]
    product, squares = arb(1), arb(0)
    for real in reals[-size:]:
        product *= real
    for normal in normals:
        squares += normal * normal
    stretch = -product.log() / squares.sqrt()
    return [normal * stretch * scale for normal, scale in zip(normals, scales, strict=True)]


def _integers(balls: list[Any]) -> list[int] | None:
    """The integer that each ball rounds to; None if a ball rounds to two integers or is not finite."""
    from flint import arb

    half = arb(1) / 2
    rounded = []
    for ball in balls:
        whole = (ball + half).floor().unique_fmpz() if ball.is_finite() else None
        if whole is None:
            return None
        rounded.append(int(whole))
    return rounded
