"""What ran, as data, and what it costs in each kind of budget.

Events are stored in ledgers: their meaning never changes, they carry an explicit tag and never an import
path, and an event that is not known here is refused.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, Budget, PureDP, ZeroConcentratedDP
from pubpriv.privacy.conversions import pure_as_mu_squared, pure_as_rho
from pubpriv.privacy.units import DELTA_UNIT, LARGEST, ceil_units, stored_fraction, stored_integer

SMALLEST_SD = 1 << 20
"""Below this the discrete Gaussian may not be priced as a continuous one."""


@dataclass(frozen=True)
class GaussianEvent:
    """Independent discrete Gaussians on the integers, added to an integer vector.

    Attributes:
        squared_distance: sup over neighbours (one record replaced, n public) of sum_k Delta_k^2 / sd_k^2. The
            mechanism is rho-zCDP at half of it (Canonne, Kamath and Steinke 2020), and mu-GDP with mu^2 equal
            to it but for the discretisation below.
        noise: (integer sd, number of coordinates) of each part.

    Raises:
        InvalidInput: a distance that is not a positive fraction, no noise, or noise without a spread.
    """

    squared_distance: Fraction
    noise: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not (_is_exact(self.squared_distance) and self.squared_distance > 0):
            raise InvalidInput("the squared distance of a Gaussian event must be a positive fraction")
        numbers = [number for part in self.noise for number in part]
        if not numbers or not all(type(number) is int and number > 0 for number in numbers):
            raise InvalidInput("a Gaussian event needs noise: positive standard deviations and coordinates")

    def to_json(self) -> dict[str, Any]:
        """Exact, with a tag."""
        return {
            "event": "gaussian",
            "squared_distance": str(self.squared_distance),
            "noise": [[str(sd), size] for sd, size in self.noise],
        }

    def total_variation(self) -> Fraction:
        """Bound on the distance to a post-processed continuous Gaussian mechanism, rounded up.

        Rounding N(0, sd^2) to the integers is such a post-processing, and its KL divergence from the discrete
        Gaussian is at most 1 / (576 sd^4) per coordinate to leading order; KL adds, and TV <= sqrt(KL / 2).
        """
        divergence = sum((Fraction(size, 576 * sd**4) for sd, size in self.noise), Fraction(0))
        scale = 10**60
        return Fraction(isqrt(int(divergence / 2 * scale**2)) + 1, scale)


@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-DP mechanism under replacement of one record; epsilon must be positive."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not (_is_exact(self.epsilon) and 0 < self.epsilon <= LARGEST):
            raise InvalidInput(f"the epsilon of an event must be a positive fraction (at most {LARGEST:,})")

    def to_json(self) -> dict[str, Any]:
        """Exact, with a tag."""
        return {"event": "pure", "epsilon": str(self.epsilon)}


def _is_exact(value: object) -> bool:
    """Not a float: one would be stored as its decimal and priced as its binary, which are two amounts."""
    return isinstance(value, Fraction) or type(value) is int


Event = GaussianEvent | PureEvent


def event_from_json(data: dict[str, Any]) -> Event:
    """What `to_json` wrote.

    Raises:
        InvalidInput: a tag that this version does not know, or no event.
        ValueError, KeyError, TypeError: something that `to_json` did not write.
    """
    if data.get("event") == "gaussian":
        noise = tuple((stored_integer(sd), size) for sd, size in data["noise"])
        return GaussianEvent(stored_fraction(data["squared_distance"]), noise)
    if data.get("event") == "pure":
        return PureEvent(stored_fraction(data["epsilon"]))
    raise InvalidInput("the ledger holds an event that this version does not know: upgrade pubpriv")


def price(event: Event, budget: Budget) -> Amount:
    """What `event` costs in the currency of `budget`, exact and rounded up; never nothing.

    A Gaussian costs twice as many units of mu^2 as it costs units of rho: mu^2 is rounded up to an *even*
    number of units, so that both currencies round at the same points and `hold_for` needs no reserve.

    Raises:
        InvalidInput: the event has no price there: a Gaussian under pure DP, or a Gaussian with a standard
            deviation below 2^20 under (epsilon, delta).
    """
    if isinstance(event, PureEvent):
        return _price_pure(event.epsilon, budget)
    if isinstance(budget, PureDP):
        raise InvalidInput("Gaussian noise has no price under pure DP: use a zcdp or an approx budget")
    rho = ceil_units(event.squared_distance / 2)
    if isinstance(budget, ZeroConcentratedDP):
        return Amount(rho)
    if min(sd for sd, _ in event.noise) < SMALLEST_SD:
        raise InvalidInput("a step's budget is so large that its noise is below 2^20 grid steps: lower epsilon")
    return Amount(2 * rho, ceil_units(failure_factor(Fraction(budget.epsilon)) * event.total_variation(), DELTA_UNIT))


def failure_factor(epsilon: Fraction) -> Fraction:
    """Twice (1 + e^epsilon), which multiplies a total variation: the factor two covers its next order."""
    return 2 * (1 + _exp_up(epsilon))


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


def _price_pure(epsilon: Fraction, budget: Budget) -> Amount:
    if isinstance(budget, PureDP):
        return Amount(ceil_units(epsilon))
    if isinstance(budget, ZeroConcentratedDP):
        return Amount(ceil_units(pure_as_rho(epsilon)))
    return Amount(ceil_units(pure_as_mu_squared(epsilon)))


def cap_in(registered: Budget, budget: Budget) -> Amount:
    """The cap of a raised `budget`, its failure reserve told in the terms of the budget first registered.

    Failure terms are 2 (1 + e^epsilon) times total variations, with the epsilon of the guarantee. Charges
    keep the factor of the first epsilon for ever; when epsilon changes, the reserve is divided by the ratio
    of the factors instead, so charges made before the change are counted at the new epsilon too.
    """
    cap = budget.cap
    if not (isinstance(registered, ApproximateDP) and isinstance(budget, ApproximateDP)):
        return cap
    ratio = failure_factor(Fraction(registered.epsilon)) / failure_factor(Fraction(budget.epsilon))
    return Amount(cap.main, int(cap.delta * ratio))


def hold_for(allotment: Budget, ledger: Budget, cap: Amount | None = None, room: Amount | None = None) -> Amount:
    """The whole allotment in the ledger's currency, so that whatever fits the allotment fits the hold.

    Runs charge Gaussians only, unless their allotment is pure. A Gaussian costs r units of rho and 2 r units
    of mu^2, r an integer (`price`), so for charges r_1, r_2, ... within an allotment A:

    - zcdp on approx: sum r_i <= A, hence sum 2 r_i <= 2 A, which is the hold.
    - approx on zcdp: sum 2 r_i <= A, hence sum r_i <= A / 2, an integer, at most floor(A / 2).

    There is no slack, so a run may take the whole of a ledger of the other kind. Failure terms of a Gaussian
    shrink with its price, so a run reserves the part of the cap's failure reserve that its mu^2 is of the
    cap's mu^2, rounded down: parts of a whole, rounded down, never sum to more than the whole.

    A pure charge of e costs f(e), f superadditive with f(0) = 0, so sum f(e_i) <= f(sum e_i); but each is
    rounded up by less than two units, so 4096 units are held beside f(A) where `room` has them. Pure charges
    that round past the hold are refused before they are made.

    Args:
        allotment: of the run.
        ledger: the dataset's budget.
        cap: of the dataset; default: that of `ledger`.
        room: what is left of it; default: all of it.

    Raises:
        InvalidInput: an allotment of this kind cannot be charged to this ledger, or rounds down to nothing.
    """
    cap = ledger.cap if cap is None else cap
    if isinstance(allotment, PureDP):
        main = _price_pure(Fraction(allotment.epsilon), ledger).main
        spare = (cap if room is None else room).main - main
        return Amount(main + (0 if ledger.kind == "pure" else max(0, min(_SLACK, spare))))
    if isinstance(ledger, PureDP):
        raise InvalidInput(
            f"a {allotment.kind} allotment cannot be charged to a pure ledger: its noise is Gaussian. "
            "Register the dataset with a zcdp or an approx budget, or give the run a pure allotment"
        )
    units = allotment.cap.main
    if allotment.kind != ledger.kind:
        units = 2 * units if ledger.kind == "approx" else units // 2
    if units < 1:
        raise InvalidInput(f"{allotment.describe()} is too small to be counted in {ledger.currency}")
    return Amount(units, units * cap.delta // cap.main)


_SLACK = 4096
