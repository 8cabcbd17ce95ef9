"""Events of a given price."""

from fractions import Fraction

from pubpriv.privacy.events import GaussianEvent


def gaussian(rho: Fraction | str | float) -> GaussianEvent:
    """An event that costs exactly `rho` under zCDP."""
    return GaussianEvent(2 * Fraction(rho), ((1 << 30, 1),))
