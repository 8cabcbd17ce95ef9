"""Brent's search for a minimum in an interval: `scipy.optimize.fminbound` bit for bit.

One search is all that a fit asks of `scipy.optimize`, which takes longer to load than the fit takes to run.
"""

import math
from collections.abc import Callable

_GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))
_ROOT = math.sqrt(2.2e-16)
_TOLERANCE = 1e-5
_MOST = 500
"""Evaluations."""

_Point = tuple[float, float]
"""x and the function's value there."""


def bounded_minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Where `function` is least between `low` and `high`, to about 1e-5 (Brent 1973, chapter 5)."""
    x = low + _GOLDEN * (high - low)
    best = second = third = (x, function(x))
    step = before = 0.0
    for _ in range(_MOST - 1):
        middle, near = 0.5 * (low + high), _ROOT * abs(best[0]) + _TOLERANCE / 3.0
        if abs(best[0] - middle) <= 2.0 * near - 0.5 * (high - low):
            break
        parabolic = _parabolic(best, second, third, before, (low, high), near) if abs(before) > near else None
        if parabolic is not None:
            before, step = step, parabolic
        else:
            before = (low if best[0] >= middle else high) - best[0]
            step = _GOLDEN * before
        x = best[0] + (max(step, near) if step >= 0.0 else min(step, -near))
        new = x, function(x)
        if new[1] <= best[1]:
            low, high = (best[0], high) if x >= best[0] else (low, best[0])
            best, second, third = new, best, second
            continue
        low, high = (x, high) if x < best[0] else (low, x)
        if new[1] <= second[1] or second[0] == best[0]:
            second, third = new, second
        elif new[1] <= third[1] or third[0] in (best[0], second[0]):
            third = new
    return best[0]


def _parabolic(
    best: _Point, second: _Point, third: _Point, before: float, ends: tuple[float, float], near: float
) -> float | None:
    """The step to the vertex of the parabola through three points; None where it is too long or leaves the interval."""
    low, high = ends
    x = best[0]
    r = (x - second[0]) * (best[1] - third[1])
    q = (x - third[0]) * (best[1] - second[1])
    p = (x - third[0]) * q - (x - second[0]) * r
    q = 2.0 * (q - r)
    p, q = -p if q > 0.0 else p, abs(q)
    if not (abs(p) < abs(0.5 * q * before) and q * (low - x) < p < q * (high - x)):
        return None
    step = p / q
    if x + step - low < 2.0 * near or high - (x + step) < 2.0 * near:
        step = near if 0.5 * (low + high) >= x else -near
    return step
