"""A method's share of a run's allotment."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from pubpriv.errors import InvalidInput
from pubpriv.privacy._conversions import distance_of_tail
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.budgets.kinds import KINDS
from pubpriv.privacy.units import UNIT, ceil_units

_ROUNDING = Fraction(1), 1 - Fraction(1, 10**9), 1 - Fraction(1, 10**5), 1 - Fraction(1, 10**3)
"""Factors that are tried on a price's inverse, which is computed in floats, until the price fits."""


def percent(part: int) -> Fraction:
    """Return so many hundredths of a budget as a share of it."""
    return Fraction(part, 100)


@dataclass(frozen=True)
class Purse:
    """A method's share of a run's allotment, to be split over its steps; all noise of a run has one law.

    Attributes:
        units: integer units of the run's currency.
        kind: kind of the run's allotment.
        tails: the sum of `ThresholdEvent.tail` that it also pays for.
    """

    units: int
    kind: str
    tails: Fraction = Fraction(0)

    @classmethod
    def of(cls, budget: Budget) -> "Purse":
        """Return a purse with a whole budget, for plans that are made before a run begins."""
        return cls(budget.cap.main, budget.kind, budget.tails_within(budget.cap.delta))

    def split(self, shares: list[Fraction], crowd: Fraction = Fraction(1)) -> list[Fraction]:
        """Return squared distances (mu^2, or epsilon^2) that steps may cost: integer units, the last takes the rest.

        Args:
            shares: shares for steps with Gaussian noise; a pure run converts them for epsilon (`PureDP.split`).
            crowd: see `PureDP.split`.
        """
        parts = KINDS[self.kind].split(self.units, shares, crowd)
        if min(parts) < 1:
            raise InvalidInput("the budget is too small to be split over the steps of this method")
        return [self.squared_distance(part) for part in parts]

    def squared_distance(self, units: int) -> Fraction:
        """Return the mu^2 (2 rho under zCDP; in even units, `Budget.price_gaussian`) or epsilon^2 for `units`."""
        return KINDS[self.kind].squared_distance(units)

    def part(self, squared_distance: Fraction) -> "Purse":
        """Return the purse of one of the squared distances of a `split`, to be split again."""
        tails = self.tails * squared_distance / self.squared_distance(self.units)
        return Purse(KINDS[self.kind].part(self.units, squared_distance), self.kind, tails)

    def distance(self, cells: int) -> Fraction:
        """Return the distance of a threshold, in sds of noise, that `cells` cells of one neighbour only might exceed.

        `cells` is for all questions of a method; a tenth of the reserve is left for the discreteness of all noise.

        Raises:
            InvalidInput: the kind of budget of the run or of the ledger has no delta for failures.
        """
        if not self.tails:
            raise InvalidInput(
                "a run without public rows needs an approx budget, for the ledger and for the run: it looks for cells "
                "that hold many rows, a threshold hides cells of a single record, and that fails with a small chance, "
                f"for which {self.kind} DP on this ledger has no delta. With public rows any kind of budget will do"
            )
        return distance_of_tail(self.tails * Fraction(9, 10) / cells)

    @property
    def rho(self) -> float:
        """mu^2 / 2 or epsilon^2 / 2 of the whole purse, for predictions."""
        return float(self.squared_distance(self.units)) / 2

    def rhos(self, shares: Sequence[float]) -> list[float]:
        """Return mu^2 / 2 or epsilon^2 / 2 of all steps with these shares, as `split` divides them, for predictions."""
        return [part / 2 for part in KINDS[self.kind].divided(2 * self.rho, shares)]

    def worth(self, share: float, crowd: float) -> float:
        """Return mu^2 / 2 or epsilon^2 / 2 of one step with this share, if it is not the last step."""
        return KINDS[self.kind].divided(2 * self.rho, (share, 0.0), crowd)[0] / 2

    @property
    def strength(self) -> float:
        """sqrt(rho), or epsilon of a pure purse: noise is inversely proportional to it."""
        return sqrt(2 * self.rho if self.radial else self.rho)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of one mechanism for the whole purse, if it is only known to be epsilon-DP.

        Raises:
            InvalidInput: the purse is too small for any.
        """
        kind = KINDS[self.kind]
        guess = Fraction(int(UNIT * kind.pure_worth(self.units / UNIT)), UNIT)
        for epsilon in (guess * factor for factor in _ROUNDING):
            if epsilon > 0 and ceil_units(kind.pure_cost(epsilon)) <= self.units:
                return epsilon
        raise InvalidInput("the budget is too small for a mechanism of pure DP")

    @property
    def radial(self) -> bool:
        """Whether noise is radial, so that epsilon adds up."""
        return KINDS[self.kind].noise_law == "radial"
