"""Zero-concentrated DP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import erf, exp, expm1, log, log1p, sqrt, tanh
from typing import Any, ClassVar

from pubpriv.privacy._conversions import epsilon_gaussian, failure_factor, pure_as_rho
from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.budgets.budget import REPORT_DELTA, Budget
from pubpriv.privacy.events import Event, GaussianEvent
from pubpriv.privacy.units import UNIT, Number, floor_units, to_text

_RESERVE = Fraction(1, 100)
"""Part of delta for pricing discrete Gaussians as continuous ones, as in `ApproximateDP`."""


@dataclass(frozen=True)
class ZeroConcentratedDP(Budget):
    """rho-zCDP.

    Filter: sums of rho under fully adaptive choice (Feldman and Zrnic 2021, theorem 3.1, order by order).

    Proof. Fix an order a > 1. Given what was before, answer i satisfies D_a(P_i || Q_i) <= a rho_i, that is
    E_Q[(P_i / Q_i)^a | before] <= exp((a - 1) a rho_i), and rho_i is fixed by what was before. Hence
    (likelihood ratio of the first k answers)^a exp(-(a - 1) a (rho_1 + ... + rho_k)) is a supermartingale under
    Q that starts at 1. At the end, which comes after finitely many steps, its mean is at most 1; the sum there
    is at most rho on every transcript, so E_Q[(P / Q)^a] <= exp((a - 1) a rho): D_a(P || Q) <= a rho. The cap
    does not depend on a, so this holds for all orders at once, which is rho-zCDP; exchange P and Q for the rest.

    Charged are discrete Gaussians at squared_distance / 2, which is exact for them (Canonne, Kamath and Steinke
    2020: coordinates are independent and their divergences add), and epsilon-DP steps at epsilon tanh(epsilon/2),
    the largest D_a / a of randomised response, reached as a falls to 1. There are no failure terms: an event that
    needs one is not a zCDP event.

    Example:
        >>> import pubpriv as pp
        >>> pp.ZeroConcentratedDP(0.5).guarantee()["text"]
        '0.5-zCDP, which implies (5.222, 1e-06)-DP'
    """

    kind: ClassVar[str] = "zcdp"
    currency: ClassVar[str] = "rho"
    parameters: ClassVar[tuple[str, ...]] = ("rho",)
    gaussian_units: ClassVar[int] = 1
    searched: ClassVar[tuple[float, float]] = (1e-8, 1e4)
    rho: Number

    @property
    def cap(self) -> Amount:
        """rho, rounded down."""
        return Amount(floor_units(Fraction(self.rho)))

    @property
    def report_delta(self) -> Fraction:
        """1e-6 for every zCDP budget."""
        return REPORT_DELTA

    def describe(self) -> str:
        """Return `0.5-zCDP`."""
        return f"{float(self.rho):g}-zCDP"

    def as_epsilon(self, amount: Amount) -> float:
        """Convert by Canonne, Kamath and Steinke; see `Budget.as_epsilon`."""
        return _epsilon_zcdp(Fraction(amount.main, UNIT), REPORT_DELTA)

    def guarantee(self, events: Sequence[Event] = ()) -> dict[str, Any]:
        """Return rho, the epsilon that it implies and, if there is one, a smaller epsilon for a run.

        A zCDP budget implies an epsilon at delta = 1e-6, for any charges (Canonne-Kamath-Steinke). If the charges of a
        run are known and all Gaussian, a smaller epsilon is given too: charges sum to mu^2 <= 2 rho, which is
        converted exactly (Balle-Wang) at 99% of that delta. The rest covers 2 (1 + e^epsilon) times the total
        variation between discrete and continuous noise; if it does not, the figure is left out.
        """
        rho, delta = Fraction(self.rho), float(REPORT_DELTA)
        implied = _epsilon_zcdp(rho, REPORT_DELTA)
        text = f"{self.describe()}, which implies ({implied:.4g}, {delta:g})-DP"
        numbers = {"rho": float(rho), "delta": delta, "epsilon": implied}
        exact = _all_gaussian(rho, events)
        if exact is not None:
            numbers["epsilon_all_gaussian"] = exact
            text += f"; all noise being Gaussian, ({exact:.4g}, {delta:g})-DP"
        return {"kind": self.kind, "text": text, **numbers}

    @classmethod
    def variation_bounds(cls, guarantee: Mapping[str, Any], all_gaussian: bool) -> list[float]:
        """Return bounds from the Kullback-Leibler divergence, which is at most rho.

        These are sqrt(rho / 2) (Pinsker) and sqrt(1 - e^-rho) (Bretagnolle and Huber). If all noise is Gaussian, the
        release is mu-GDP with mu^2 = 2 rho, up to delta: 2 Phi(mu / 2) - 1 + 2 delta.
        """
        rho = float(guarantee["rho"])
        bounds = [sqrt(rho / 2), sqrt(-expm1(-rho))]
        if all_gaussian and "epsilon_all_gaussian" in guarantee:
            bounds.append(erf(sqrt(2 * rho / 8)) + 2 * float(guarantee["delta"]))
        return bounds

    @classmethod
    def pure_cost(cls, epsilon: Fraction) -> Fraction:
        """Return epsilon tanh(epsilon / 2)."""
        return pure_as_rho(epsilon)

    @classmethod
    def pure_worth(cls, room: float) -> float:
        """Return the epsilon with epsilon tanh(epsilon / 2) = `room`, by bisection."""
        low, high = 0.0, 2.0 + room + sqrt(2 * room)
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if middle * tanh(middle / 2) <= room else (low, middle)
        return low

    def texts_within(self, units: int, ledger: Budget) -> list[str]:
        """Return the largest allotment that fits, exactly."""
        return [self.written(to_text(self.largest_within(units, ledger)))] if ledger.gaussian_units else []

    def size_worth(self, rho: float) -> float:
        """Return rho itself."""
        return rho


def _all_gaussian(rho: Fraction, events: Sequence[Event]) -> float | None:
    gaussians = [event for event in events if isinstance(event, GaussianEvent)]
    if not gaussians or len(gaussians) < len(events):
        return None
    epsilon = epsilon_gaussian(2 * rho, REPORT_DELTA * (1 - _RESERVE))
    apart = sum((event.total_variation() for event in gaussians), Fraction(0))
    return epsilon if failure_factor(Fraction(epsilon)) * apart <= _RESERVE * REPORT_DELTA else None


@lru_cache(maxsize=256)
def _epsilon_zcdp(rho: Fraction, delta: Fraction) -> float:
    """Find the epsilon that rho-zCDP implies at delta, rounded up.

    inf over a > 1 of a rho + (log(1/delta) + (a-1) log(1-1/a) - log a) / (a-1): Canonne, Kamath and Steinke
    2020, corollary 13. Any a gives a valid epsilon, so an inexact minimiser errs upwards.
    """
    if rho == 0:
        return 0.0
    r, tail = float(rho), -log(delta.numerator) + log(delta.denominator)

    def epsilon(t: float) -> float:
        a = 1 + exp(t)
        return a * r + (tail + (a - 1) * log1p(-1 / a) - log(a)) / (a - 1)

    grid = [-8 + 0.25 * i for i in range(120)]
    start = min(grid, key=epsilon)
    low, high = start - 0.25, start + 0.25
    for _ in range(60):  # ternary search: SciPy's minimiser takes half a second to import, with the same result
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if epsilon(left) <= epsilon(right) else (left, high)
    return max(0.0, epsilon(low)) * (1 + 1e-9)
