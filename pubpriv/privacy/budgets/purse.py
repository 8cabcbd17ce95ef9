"""A method's share of an all-Gaussian run."""

from dataclasses import dataclass
from fractions import Fraction

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets.budget import Budget
from pubpriv.privacy.budgets.kinds import KINDS
from pubpriv.privacy.conversions import distance_of_tail


@dataclass(frozen=True)
class Purse:
    """A method's share of an all-Gaussian run, to be split over its steps.

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
        part = squared_distance / self.squared_distance(self.units)
        return Purse(int(self.units * part), self.kind, self.tails * part)

    def distance(self, cells: int) -> Fraction:
        """How far above nothing, in sds of the noise, a threshold lies that as many as `cells` cells might pass alone.

        Over all questions of a method; a tenth of what the purse pays for is left to the discreteness of all noise.

        Raises:
            InvalidInput: the run's kind of budget, or the ledger's, pays for no failures.
        """
        if not self.tails:
            raise InvalidInput(
                "to work without public rows takes an approx budget, for the ledger and for the run: where nobody says "
                "where the rows lie, a threshold has to keep cells in which there is one record, and that fails now "
                f"and then, which {self.kind} DP on this ledger cannot pay for. Give public rows instead: they take "
                "any budget that Gaussian noise does"
            )
        return distance_of_tail(self.tails * Fraction(9, 10) / cells)

    @property
    def rho(self) -> float:
        """mu^2 / 2 of the whole purse, for predictions."""
        return float(self.squared_distance(self.units)) / 2
