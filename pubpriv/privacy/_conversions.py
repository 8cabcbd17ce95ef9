"""Convert between zCDP, Gaussian DP and (epsilon, delta), each rounded against the spender.

Everything is computed with 60 digits, so that the direction of rounding is certain.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.units import UNIT

_DOUBLINGS = 64
_LARGEST_MU_SQUARED = 10**6 * UNIT
"""Upper bound of the search: no (epsilon <= 700, delta <= 1 - 1e-30) needs a larger mu^2."""


def _mp() -> Any:
    import mpmath

    context = mpmath.mp.clone()
    context.dps = 60
    return context


def _real(mp: Any, value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def _delta(mp: Any, mu: Any, epsilon: Any) -> Any:
    """delta(epsilon) of a Gaussian mechanism at mu (Balle and Wang 2018, theorem 8)."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@lru_cache(maxsize=256)
def mu_squared_units(epsilon: Fraction, delta: Fraction) -> int:
    """Find the largest integer u such that mu^2 = u * 1e-12 implies (epsilon, delta)-DP.

    Raises:
        InvalidInput: delta is so close to 1 that, at 60 digits, every mu satisfies it.
    """
    mp = _mp()
    e, d = _real(mp, epsilon), _real(mp, delta)

    def fits(units: int) -> bool:
        return units == 0 or _delta(mp, mp.sqrt(mp.mpf(units) / UNIT), e) <= d

    high = 1
    while fits(high):
        high *= 2
        if high > _LARGEST_MU_SQUARED:
            raise InvalidInput("delta is so close to 1 that it protects nobody")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@lru_cache(maxsize=256)
def epsilon_gaussian(mu_squared: Fraction, delta: Fraction) -> float:
    """Find the epsilon that an all-Gaussian sum of mu^2 guarantees at delta, rounded up in the ninth digit.

    Zero if delta alone suffices; otherwise at least 2^-200, so that the search ends.
    """
    if mu_squared == 0:
        return 0.0
    mp = _mp()
    mu, d = mp.sqrt(_real(mp, mu_squared)), _real(mp, delta)
    low, high = mp.mpf(0), mp.mpf(1)
    if _delta(mp, mu, low) <= d:
        return 0.0
    for _ in range(_DOUBLINGS):
        if _delta(mp, mu, high) <= d:
            break
        high *= 2
    for _ in range(200):
        if high - low <= high * mp.mpf(10) ** -10:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(mp, mu, middle) <= d else (middle, high)
    return float(high) * (1 + 1e-12)


@lru_cache(maxsize=256)
def pure_as_rho(epsilon: Fraction) -> Fraction:
    """Find the rho of any epsilon-DP mechanism, epsilon tanh(epsilon / 2), rounded up."""
    mp = _mp()
    e = _real(mp, epsilon)
    return _up(mp, e * mp.tanh(e / 2))


@lru_cache(maxsize=256)
def pure_as_mu_squared(epsilon: Fraction) -> Fraction:
    """Find mu^2 of any epsilon-DP mechanism, (2 Phi^-1(e^eps / (1 + e^eps)))^2, rounded up."""
    mp = _mp()
    e = _real(mp, epsilon)
    p = 1 / (1 + mp.exp(e))
    low, high = mp.mpf(0), mp.mpf(2)
    for _ in range(_DOUBLINGS):
        if mp.ncdf(-high) <= p:
            break
        high *= 2
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (low, middle) if mp.ncdf(-middle) <= p else (middle, high)
    return _up(mp, 4 * high * high)


def failure_factor(epsilon: Fraction) -> Fraction:
    """Return 2 (1 + e^epsilon), which multiplies a total variation known to leading order; the 2 covers the rest."""
    return 2 * (1 + _exp_up(epsilon))


def tail_factor(epsilon: Fraction) -> Fraction:
    """Return 1 + e^epsilon, rounded up, which multiplies a total variation that is bounded exactly."""
    return 1 + _exp_up(epsilon)


@lru_cache(maxsize=256)
def normal_tail(distance: Fraction) -> Fraction:
    """Find P(N(0, 1) > distance), rounded up to 30 digits after the point."""
    mp = _mp()
    return _up(mp, mp.ncdf(-_real(mp, distance)))


def distance_of_tail(tail: Fraction) -> Fraction:
    """Find a distance, to 1e-6 and not less, beyond which N(0, 1) has at most `tail`, by bisection.

    Raises:
        InvalidInput: no distance below 2^10 has such a small tail at 30 digits.
    """
    step = 10**6
    low, high = 0, step << 10
    if normal_tail(Fraction(high, step)) > tail:
        raise InvalidInput("the chance of failing that is left is too small to be counted")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if normal_tail(Fraction(middle, step)) <= tail else (middle, high)
    return Fraction(high, step)


@lru_cache(maxsize=256)
def _exp_up(epsilon: Fraction) -> Fraction:
    """e^epsilon, not smaller: e^(1/64), rounded up, to the power of 64 epsilon, rounded up."""
    scale = 10**20
    steps, power, square = -((-epsilon * 64).__floor__()), scale, 10157477087 * 10**10
    while steps:
        if steps & 1:
            power = -(-power * square // scale)
        square = -(-square * square // scale)
        steps >>= 1
    return Fraction(power, scale)


def _up(mp: Any, value: Any) -> Fraction:
    """`value` as a fraction that is not smaller."""
    scale = 10**30
    return Fraction(int(mp.ceil(value * scale)) + 1, scale)
