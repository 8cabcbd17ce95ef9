"""(epsilon, delta)-DP, accounted as Gaussian DP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import erf, exp, log, log1p, sqrt
from typing import Any, ClassVar

from pubpriv.errors import InvalidInput
from pubpriv.privacy._conversions import (
    epsilon_gaussian,
    failure_factor,
    mu_squared_units,
    pure_as_mu_squared,
    tail_factor,
)
from pubpriv.privacy.budgets.amounts import Amount
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.events import Event, GaussianEvent, ThresholdEvent
from pubpriv.privacy.units import DELTA_UNIT, UNIT, Number, ceil_units, exact, floor_units

_SMALLEST_SD = 1 << 20
"""Smallest sd at which the discrete Gaussian may be priced as a continuous one."""

_LARGEST_EPSILON = 700
"""Up to here exp(epsilon) is a float; much smaller values already protect nobody."""


@dataclass(frozen=True)
class ApproximateDP(Budget):
    """(epsilon, delta)-DP, accounted as Gaussian DP with a reserve for failure terms.

    Cap: sum of mu^2 at most mu*^2, the largest for which a Gaussian mechanism at mu* is
    (epsilon, delta - failure_delta)-DP (Balle and Wang 2018), and sum of failure terms at most failure_delta.

    Filter, in two parts: sums of mu^2 for continuous noise (Smith and Thakurta 2022), then discreteness.

    Proof. (i) Let each answer, given what was before, be mu_i-GDP. By Blackwell's theorem it is then a random
    function, on our fixed pair of tables, of one draw that is N(0, 1) on one table and N(mu_i, 1) on the other;
    equally of the increment of B_s = W_s + h s over a time mu_i^2, W a Brownian motion and h = 0 on one table,
    1 on the other. Let answer i use the path from s_i = mu_1^2 + ... + mu_(i-1)^2 to s_i + mu_i^2: both ends are
    fixed by the transcript before it, and increments beyond s_i are independent of the path up to there. So the
    whole transcript is a random function of the path up to the time mu*^2, which no sum passes. Of that path the
    end B(mu*^2) is sufficient for h, and its two laws are those of mu*-GDP: so is the transcript.

    (ii) A discrete Gaussian is within total variation t_i of a rounded continuous one (`GaussianEvent`), whose
    answer is mu_i-GDP. Replace every answer by this twin, coupled so that each step, while all before agree,
    disagrees with probability t_i. As t_1 + t_2 + ... <= T on every transcript, on either table the transcript
    moves by at most T in total variation. For every set S then P(S) <= P'(S) + T <= e^epsilon Q'(S) +
    delta_GDP(epsilon) + T <= e^epsilon Q(S) + delta_GDP(epsilon) + (1 + e^epsilon) T, where
    delta_GDP(epsilon) <= delta - failure_delta by the choice of mu*. The ledger charges 2 (1 + e^epsilon) t_i as
    failure terms and keeps their sum within failure_delta; the factor two covers that t_i is a leading order.

    (iii) A `ThresholdEvent` is within total variation p_i of its Gaussian part, on either table, and so within
    p_i + t_i of a twin that is mu_i-GDP: noise on counts that both tables have in common is the same law on both, so
    only that on the counts that differ is made continuous. Which these are is fixed by the two tables and by what was
    before. As p_i is bounded in full, (1 + e^epsilon) p_i is charged, without a second factor of two.

    An epsilon-DP step is charged as mu-GDP at mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), the least whose
    trade-off function lies below the step's. rho-zCDP implies no mu: nothing is converted from there but Gaussians. A
    raised cap with another epsilon counts failure terms of the past at the new one (`cap_since`).

    Args:
        epsilon: positive.
        delta: in (0, 1).
        failure_delta: part of delta reserved for failure terms; default delta / 100.

    Example:
        >>> import pubpriv as pp
        >>> pp.ApproximateDP(1, 1e-6).describe()
        '(1, 1e-06)-DP'
    """

    kind: ClassVar[str] = "approx"
    currency: ClassVar[str] = "mu^2"
    parameters: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    gaussian_units: ClassVar[int] = 2
    searched: ClassVar[tuple[float, float]] = (1e-3, 100.0)
    epsilon: Number
    delta: Number
    failure_delta: Number | None = field(default=None)

    def __post_init__(self) -> None:
        epsilon, delta = exact(self.epsilon, "epsilon"), exact(self.delta, "delta")
        if delta >= 1:
            raise InvalidInput(f"delta must be below 1, not {float(delta):g}")
        failure = delta / 100 if self.failure_delta is None else exact(self.failure_delta, "failure_delta")
        if failure >= delta:
            raise InvalidInput("failure_delta must be below delta")
        if epsilon > _LARGEST_EPSILON:
            raise InvalidInput("epsilon above 700 protects nobody")
        super().__post_init__()
        for name, value in (("delta", delta), ("failure_delta", failure)):
            object.__setattr__(self, name, value)
        if self.cap.main < 1 or self.cap.delta < 1:
            raise InvalidInput(f"{self.describe()} is too small to be counted")

    @property
    def cap(self) -> Amount:
        """mu*^2 and the failure reserve, both rounded down."""
        delta, failure = Fraction(self.delta), Fraction(self.failure_delta or 0)
        return Amount(mu_squared_units(Fraction(self.epsilon), delta - failure), floor_units(failure, DELTA_UNIT))

    def describe(self) -> str:
        """Return `(4, 1e-06)-DP`."""
        return f"({float(self.epsilon):g}, {float(self.delta):g})-DP"

    @property
    def report_delta(self) -> Fraction:
        """The budget's own delta."""
        return Fraction(self.delta)

    def as_epsilon(self, amount: Amount) -> float:
        """Convert by Balle and Wang; the whole failure reserve is set aside, whether it is used or not."""
        continuous = Fraction(self.delta) - Fraction(self.failure_delta or 0)
        return epsilon_gaussian(Fraction(amount.main, UNIT), continuous)

    def guarantee(self, events: Sequence[Event] = ()) -> dict[str, Any]:  # noqa: ARG002 - nothing smaller is known
        """Return epsilon and delta."""
        numbers = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        return {"kind": self.kind, "text": self.describe(), **numbers}

    @classmethod
    def variation_bounds(cls, guarantee: Mapping[str, Any], all_gaussian: bool) -> list[float]:  # noqa: ARG003
        """Return the bound from the enforced promise: mu-GDP up to a total variation below delta.

        That leaves 2 Phi(mu / 2) - 1 + 2 delta, mu^2 being the largest that implies (epsilon, delta).
        """
        epsilon, delta = float(guarantee["epsilon"]), float(guarantee["delta"])
        units = mu_squared_units(Fraction(str(epsilon)), Fraction(str(delta)))
        return [erf(sqrt((units + 1) / UNIT / 8)) + 2 * delta]

    def price_gaussian(self, event: GaussianEvent) -> Amount:
        """Return mu^2, and the part of delta that discreteness may use.

        Raises:
            InvalidInput: a standard deviation is below 2^20.
        """
        if min(sd for sd, _ in event.noise) < _SMALLEST_SD:
            raise InvalidInput("a step's budget is so large that its noise is below 2^20 grid steps: lower epsilon")
        failure = failure_factor(Fraction(self.epsilon)) * event.total_variation()
        return super().price_gaussian(event) + Amount(0, ceil_units(failure, DELTA_UNIT))

    def price_threshold(self, event: ThresholdEvent) -> Amount:
        """Return the price of its Gaussian part, and the part of delta for its threshold; part (iii) of the proof."""
        failure = tail_factor(Fraction(self.epsilon)) * event.tail()
        return self.price_gaussian(event.gaussian) + Amount(0, ceil_units(failure, DELTA_UNIT))

    def tails_within(self, reserve: int) -> Fraction:
        """Return the reserve divided by (1 + e^epsilon)."""
        return Fraction(reserve, DELTA_UNIT) / tail_factor(Fraction(self.epsilon))

    @classmethod
    def pure_cost(cls, epsilon: Fraction) -> Fraction:
        """Return (2 Phi^-1(e^epsilon / (1 + e^epsilon)))^2."""
        return pure_as_mu_squared(epsilon)

    @classmethod
    def pure_worth(cls, room: float) -> float:
        """Return the epsilon of randomised response that is as hard to test as a Gaussian with mu^2 = `room`."""
        from statistics import NormalDist

        tail = NormalDist().cdf(-sqrt(room) / 2)
        return log1p(-tail) - log(tail) if tail > 0 else 0.0

    def cap_since(self, registered: Budget) -> Amount:
        """Return the cap of a raised budget, with its failure reserve in the units of the first registered budget.

        Failure terms are 1 + e^epsilon, or twice that, times total variations, with the epsilon of the guarantee.
        Charges keep the factor of the first epsilon for ever; when epsilon changes, the reserve is divided by the
        ratio of the factors instead, so charges made before the change are counted at the new epsilon too.
        """
        cap = self.cap
        if not isinstance(registered, ApproximateDP):
            return cap
        ratio = failure_factor(Fraction(registered.epsilon)) / failure_factor(Fraction(self.epsilon))
        return Amount(cap.main, int(cap.delta * ratio))

    def texts_within(self, units: int, ledger: Budget) -> list[str]:
        """Return allotments of the same delta; none if that delta alone already costs more."""
        if not ledger.gaussian_units:
            return []
        mu_squared, delta = Fraction(self.largest_within(units, ledger), UNIT), repr(float(self.delta))
        largest = epsilon_gaussian(mu_squared, Fraction(delta) * 99 / 100)
        if not largest:
            return []
        return [f"approx:{self.rounded_down(largest * factor)},{delta}" for factor in (1, 0.9999, 0.99)]

    def size_worth(self, rho: float) -> float:
        """Return the epsilon at the same delta, by bisection in its logarithm, to 1%."""
        low, high = log(self.searched[0]), log(_LARGEST_EPSILON)
        while high - low > 0.01:
            middle = (low + high) / 2
            cap = ApproximateDP(exp(middle), self.delta).cap
            low, high = (low, middle) if float(self.squared_distance(cap.main)) / 2 >= rho else (middle, high)
        return exp(high)
