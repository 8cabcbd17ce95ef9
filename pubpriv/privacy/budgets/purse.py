"""A method's share of a run."""

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
"""What is taken of a price's inverse, which is worked out in floats, until it fits."""


@dataclass(frozen=True)
class Purse:
    """A method's share of a run whose noise has one law, to be split over its steps.

    Attributes:
        units: integer units of the run's currency.
        kind: of the run's allotment.
        tails: the sum of `ThresholdEvent.tail` that it pays for besides.
    """

    units: int
    kind: str
    tails: Fraction = Fraction(0)

    @classmethod
    def of(cls, budget: Budget) -> "Purse":
        """Take all of a budget, for plans that are made before a run has begun."""
        return cls(budget.cap.main, budget.kind, budget.tails_within(budget.cap.delta))

    def split(self, shares: list[Fraction], crowd: Fraction = Fraction(1)) -> list[Fraction]:
        """Return squared distances (mu^2, or epsilon^2) that steps may cost: integer units, the last takes the rest.

        Args:
            shares: of steps with Gaussian noise; a pure run divides epsilon as these divide rho (`PureDP.split`).
            crowd: see there.
        """
        parts = KINDS[self.kind].split(self.units, shares, crowd)
        if min(parts) < 1:
            raise InvalidInput("the budget is too small to be split over the steps of this method")
        return [self.squared_distance(part) for part in parts]

    def squared_distance(self, units: int) -> Fraction:
        """Return what `units` pay for: mu^2 (2 rho under zCDP; paid in twos, `Budget.price_gaussian`) or epsilon^2."""
        return KINDS[self.kind].squared_distance(units)

    def part(self, squared_distance: Fraction) -> "Purse":
        """Take the part that one of the prices of a `split` pays for, to be split again."""
        tails = self.tails * squared_distance / self.squared_distance(self.units)
        return Purse(KINDS[self.kind].part(self.units, squared_distance), self.kind, tails)

    def distance(self, cells: int) -> Fraction:
        """Return how far above nothing, in sds of noise, a threshold lies that `cells` cells might pass alone.

        Over all questions of a method; a tenth of what the purse pays for is left to the discreteness of all noise.

        Raises:
            InvalidInput: the run's kind of budget, or the ledger's, pays for no failures.
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
        """mu^2 / 2 of the whole purse, or epsilon^2 / 2, for predictions."""
        return float(self.squared_distance(self.units)) / 2

    def rhos(self, shares: Sequence[float]) -> list[float]:
        """Return mu^2 / 2 or epsilon^2 / 2 of all steps with these shares, as `split` divides them, for predictions."""
        return [part / 2 for part in KINDS[self.kind].divided(2 * self.rho, shares)]

    def worth(self, share: float, crowd: float) -> float:
        """Return mu^2 / 2 or epsilon^2 / 2 of one step with this share, which is not the last one."""
        return KINDS[self.kind].divided(2 * self.rho, (share, 0.0), crowd)[0] / 2

    @property
    def strength(self) -> float:
        """sqrt(rho), or epsilon of a pure purse: what noise falls with."""
        return sqrt(2 * self.rho if self.radial else self.rho)

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of one mechanism that takes the whole purse, where no more is known of it than that it is epsilon-DP.

        Raises:
            InvalidInput: the purse pays for none.
        """
        kind = KINDS[self.kind]
        guess = Fraction(int(UNIT * kind.pure_worth(self.units / UNIT)), UNIT)
        for epsilon in (guess * factor for factor in _ROUNDING):
            if epsilon > 0 and ceil_units(kind.pure_cost(epsilon)) <= self.units:
                return epsilon
        raise InvalidInput("the budget is too small for a mechanism of pure DP")

    @property
    def radial(self) -> bool:
        """Tell whether noise is radial, and what adds up is epsilon."""
        return KINDS[self.kind].noise_law == "radial"
