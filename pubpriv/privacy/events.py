"""What ran, as data, and what it costs in each kind of budget.

Events are stored in ledgers: their meaning never changes, they carry an explicit tag and never an import
path, and an event that is not known here is refused.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, Budget, PureDP, ZeroConcentratedDP
from pubpriv.privacy.conversions import pure_as_mu_squared, pure_as_rho
from pubpriv.privacy.units import DELTA_UNIT, ceil_units

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
    """

    squared_distance: Fraction
    noise: tuple[tuple[int, int], ...]

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
    """Any epsilon-DP mechanism under replacement of one record."""

    epsilon: Fraction

    def to_json(self) -> dict[str, Any]:
        """Exact, with a tag."""
        return {"event": "pure", "epsilon": str(self.epsilon)}


Event = GaussianEvent | PureEvent


def event_from_json(data: dict[str, Any]) -> Event:
    """What `to_json` wrote; unknown tags are refused."""
    if data.get("event") == "gaussian":
        noise = tuple((int(sd), int(size)) for sd, size in data["noise"])
        return GaussianEvent(Fraction(data["squared_distance"]), noise)
    if data.get("event") == "pure":
        return PureEvent(Fraction(data["epsilon"]))
    raise InvalidInput("the ledger holds an event that this version does not know: upgrade pubpriv")


def price(event: Event, budget: Budget) -> Amount:
    """What `event` costs in the currency of `budget`, exact and rounded up.

    Raises:
        InvalidInput: the event has no price there: a Gaussian under pure DP, or a Gaussian with a standard
            deviation below 2^20 under (epsilon, delta).
    """
    if isinstance(event, PureEvent):
        return _price_pure(event, budget)
    if isinstance(budget, PureDP):
        raise InvalidInput("Gaussian noise has no price under pure DP: use a zcdp or an approx budget")
    if isinstance(budget, ZeroConcentratedDP):
        return Amount(ceil_units(event.squared_distance / 2))
    if min(sd for sd, _ in event.noise) < SMALLEST_SD:
        raise InvalidInput("a step's budget is so large that its noise is below 2^20 grid steps: lower epsilon")
    return Amount(ceil_units(event.squared_distance), ceil_units(_failure(event, budget), DELTA_UNIT))


def _failure(event: GaussianEvent, budget: ApproximateDP) -> Fraction:
    """Twice (1 + e^epsilon) times the total variation bound: the factor two covers its next order."""
    return 2 * (1 + _exp_up(Fraction(budget.epsilon))) * event.total_variation()


def _exp_up(epsilon: Fraction) -> Fraction:
    """e^epsilon, not smaller: e < 2.7182818285 raised to epsilon rounded up to a 64th."""
    steps = -((-epsilon * 64).__floor__())
    root = Fraction(10157477086 + 1, 10**10)  # e^(1/64), rounded up
    power = Fraction(1)
    for _ in range(steps):
        power *= root
        power = Fraction(-((-power * 10**20).__floor__()), 10**20)
    return power


def _price_pure(event: PureEvent, budget: Budget) -> Amount:
    if isinstance(budget, PureDP):
        return Amount(ceil_units(event.epsilon))
    if isinstance(budget, ZeroConcentratedDP):
        return Amount(ceil_units(pure_as_rho(event.epsilon)))
    return Amount(ceil_units(pure_as_mu_squared(event.epsilon)))


def hold_for(allotment: Budget, ledger: Budget) -> Amount:
    """The whole allotment in the ledger's currency, so that whatever fits the allotment fits the hold.

    Every run charges Gaussians only, unless its allotment is pure: rho = mu^2 / 2 is then the same number in
    both currencies. Where the currencies differ each charge may be rounded up by less than one unit in each,
    which a slack of 4096 units covers for that many charges. Failure terms of a Gaussian shrink with its price,
    so a run reserves the share of the ledger's failure_delta that its mu^2 is of the cap.

    Raises:
        InvalidInput: an allotment of this kind cannot be charged to this ledger.
    """
    main = _held(allotment, ledger)
    if not isinstance(ledger, ApproximateDP):
        return Amount(main)
    cap = ledger.cap
    return Amount(main, -(-main * cap.delta // cap.main))


_SLACK = 4096


def _held(allotment: Budget, ledger: Budget) -> int:
    if allotment.kind == ledger.kind == "approx":
        return allotment.cap.main
    if allotment.kind == ledger.kind:
        return allotment.cap.main
    if isinstance(allotment, PureDP):
        return _price_pure(PureEvent(Fraction(allotment.epsilon)), ledger).main + _SLACK
    if isinstance(ledger, PureDP):
        raise InvalidInput(
            f"a {allotment.kind} allotment cannot be charged to a pure ledger: its noise is Gaussian. "
            "Register the dataset with a zcdp or an approx budget, or give the run a pure allotment"
        )
    if isinstance(allotment, ZeroConcentratedDP):
        return 2 * allotment.cap.main + _SLACK
    return -(-allotment.cap.main // 2) + _SLACK
