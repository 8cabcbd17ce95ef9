"""The exact privacy cost of discrete Gaussian noise on the integers, by summation with 80 digits.

P is the law of the noise, with probabilities proportional to exp(-k^2 / (2 sd^2)); Q is P moved by an integer
shift. No formula of `pubpriv.privacy` is used, only its units.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.units import DELTA_UNIT, UNIT

_ORDERS = 6
"""Terms of the Euler-Maclaurin series beyond the first two; each is smaller by about sd^2."""

_SUMMED = 64
"""Up to this sd sums run over the lattice term by term."""

_WINDOW = 40
"""sds to each side: what is left out is below 1e-340."""


@cache
def precise() -> Any:
    """Load mpmath, with 80 digits of its own."""
    import mpmath

    context = mpmath.mp.clone()
    context.dps = 80
    return context


def curve(mu_squared: Any, epsilon: Fraction) -> Any:
    """Compute delta(epsilon) of mu-GDP (Balle and Wang 2018) by the complementary error function."""
    mp = precise()
    mu, e = mp.sqrt(mu_squared), mp.mpf(epsilon.numerator) / epsilon.denominator
    # P(N(0, 1) > x) is erfc(x / sqrt 2) / 2
    root = mp.sqrt(2)
    return (mp.erfc((e / mu - mu / 2) / root) - mp.exp(e) * mp.erfc((e / mu + mu / 2) / root)) / 2


def delta_at(cap: Amount, epsilon: Fraction) -> Any:
    """Bound delta at `epsilon` that a cap or a price in mu^2 and delta implies."""
    mp = precise()
    return curve(mp.mpf(cap.main) / UNIT, epsilon) + mp.mpf(cap.delta) / DELTA_UNIT


@dataclass(frozen=True)
class DiscreteGaussian:
    """P: the law of noise on the integers with this `sd`."""

    sd: int

    def delta(self, shift: int, epsilon: Fraction) -> Any:
        """Compute sum_k max(0, P(k) - e^epsilon Q(k)), Q being P moved by `shift` > 0.

        P(k) > e^epsilon Q(k) iff k < shift / 2 - epsilon sd^2 / shift, so the sum is a difference of two tails.
        """
        mp = precise()
        edge = Fraction(shift, 2) - epsilon * self.sd**2 / shift
        last = -((-edge.numerator) // edge.denominator) - 1  # the largest integer below the edge
        e = mp.mpf(epsilon.numerator) / epsilon.denominator
        return self._mass(last) - mp.exp(e) * self._mass(last - shift)

    def tail(self, margin: int) -> Any:
        """Compute P(K > margin), which by symmetry is P(K <= -margin - 1)."""
        return self._mass(-margin - 1)

    def renyi(self, shift: int, order: float) -> Any:
        """Sum the Renyi divergence of P from Q of this order, term by term."""
        mp = precise()
        a, width, spread = mp.mpf(order), _WINDOW * self.sd + int(order) * shift, 2 * mp.mpf(self.sd) ** 2
        terms = (mp.exp(-(a * k * k + (1 - a) * (k - shift) ** 2) / spread) for k in range(-width, width + 1))
        return mp.log(mp.fsum(terms) / self._total) / (a - 1)

    def variation(self) -> Any:
        """Sum the total variation distance of P from a rounded continuous Gaussian of the same sd, term by term."""
        mp = precise()
        width, scale = _WINDOW * self.sd, self.sd * mp.sqrt(2)

        above = [mp.erfc((k + mp.mpf(1) / 2) / scale) / 2 for k in range(-1, width)]  # of -1/2, 1/2, ...
        rounded = [high - low for high, low in pairwise(above)]
        whole = self._total
        # both laws are even, so the sum over k > 0 counts twice
        beside = mp.fsum(abs(self._weight(k) / whole - rounded[k]) for k in range(1, width))
        return abs(1 / whole - rounded[0]) / 2 + beside

    def _mass(self, last: int) -> Any:
        """P(K <= last)."""
        if self.sd <= _SUMMED:
            return precise().fsum(self._weight(k) for k in range(-_WINDOW * self.sd, last + 1)) / self._total
        return self._by_euler_maclaurin(last)

    def _by_euler_maclaurin(self, last: int) -> Any:
        """Compute P(K <= last) from the integral, half the last term, and the odd derivatives there.

        sum_{k <= m} f(k) = integral to m + f(m) / 2 + sum_j B_2j / (2j)! f^(2j - 1)(m), with the derivatives of
        f(x) = exp(-x^2 / (2 sd^2)) from Hermite polynomials: f^(n)(x) = (-1 / sd)^n He_n(x / sd) f(x).
        """
        mp, sd = precise(), self.sd
        x = mp.mpf(last) / sd
        integral = sd * mp.sqrt(2 * mp.pi) * mp.erfc(-x / mp.sqrt(2)) / 2
        series = mp.mpf(1) / 2
        hermite = [mp.mpf(1), x]
        for n in range(1, 2 * _ORDERS):
            if n % 2:
                series += mp.bernoulli(n + 1) / mp.factorial(n + 1) * (-mp.mpf(1) / sd) ** n * hermite[n]
            hermite.append(x * hermite[n] - n * hermite[n - 1])
        # the sum over all integers is sd sqrt(2 pi) (1 + 2 exp(-2 pi^2 sd^2) + ...), Poisson's formula
        return (integral + series * self._weight(last)) / (sd * mp.sqrt(2 * mp.pi))

    def _weight(self, k: int) -> Any:
        mp = precise()
        return mp.exp(mp.mpf(-k * k) / (2 * self.sd**2))

    @cached_property
    def _total(self) -> Any:
        return 1 + 2 * precise().fsum(self._weight(k) for k in range(1, _WINDOW * self.sd + 1))
