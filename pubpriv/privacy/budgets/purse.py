"""A method's share of an all-Gaussian run."""

from dataclasses import dataclass
from fractions import Fraction

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.budgets.kinds import KINDS


@dataclass(frozen=True)
class Purse:
    """A method's share of an all-Gaussian run, to be split over its steps.

    Attributes:
        units: integer units of the run's currency.
        kind: of the run's allotment.
    """

    units: int
    kind: str

    @classmethod
    def of(cls, budget: Budget) -> "Purse":
        """Take all of a budget, for plans that are made before a run has begun."""
        return cls(budget.cap.main, budget.kind)

    def split(self, shares: list[Fraction]) -> list[Fraction]:
        """Squared distances (mu^2) that the steps may cost: integer units each, the last takes the rest."""
        step = KINDS[self.kind].gaussian_step()
        parts = [int(self.units * share) // step * step for share in shares[:-1]]
        parts.append(self.units // step * step - sum(parts))
        if min(parts) < 1:
            raise InvalidInput("the budget is too small to be split over the steps of this method")
        return [self.squared_distance(part) for part in parts]

    def squared_distance(self, units: int) -> Fraction:
        """mu^2 that `units` pay for: 2 rho under zCDP; units of mu^2 are paid in twos (`Budget.price_gaussian`)."""
        return KINDS[self.kind].squared_distance(units)

    def part(self, squared_distance: Fraction) -> "Purse":
        """Take the part that one of the prices of a `split` pays for, to be split again."""
        return Purse(int(self.units * squared_distance / self.squared_distance(self.units)), self.kind)

    @property
    def rho(self) -> float:
        """mu^2 / 2 of the whole purse, for predictions."""
        return float(self.squared_distance(self.units)) / 2
