"""The exact curve of a Gaussian mechanism, as the prices are found on it."""

from fractions import Fraction

from pubpriv.privacy._conversions import _delta, _mp, _real


def delta_of_gaussian(mu_squared: Fraction, epsilon: Fraction) -> float:
    """The delta of mu-GDP at epsilon."""
    mp = _mp()
    return float(_delta(mp, mp.sqrt(_real(mp, mu_squared)), _real(mp, epsilon)))
