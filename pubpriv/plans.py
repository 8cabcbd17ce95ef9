"""What a run will ask and what each question may cost: the form that the plans of all estimators share."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.privacy.budgets import Purse


@public_value
@dataclass(frozen=True)
class Ask:
    """One question to come: its label and the squared distance (mu^2) it may cost, numerator / denominator."""

    label: str
    numerator: int
    denominator: int

    @property
    def price(self) -> Fraction:
        """mu^2."""
        return Fraction(self.numerator, self.denominator)

    @property
    def rho(self) -> float:
        """mu^2 / 2, for formulas."""
        return float(self.price) / 2


@public_value
@dataclass(frozen=True)
class Plan:
    """Questions of a run, in order, with their shares of its budget.

    Attributes:
        asks: labels and prices; they add up to the method's share exactly.
    """

    asks: tuple[Ask, ...]

    def ask(self, label: str) -> Ask:
        """The question with this label."""
        return next(ask for ask in self.asks if ask.label == label)

    def starting(self, prefix: str) -> list[Ask]:
        """Questions whose label begins so."""
        return [ask for ask in self.asks if ask.label.startswith(prefix)]


def split_purse(purse: Purse, method: str, shares: Mapping[str, Fraction]) -> tuple[Ask, ...]:
    """Asks `method/label` in the order of `shares`; the last takes what rounding leaves.

    Raises:
        InvalidInput: a share below one unit of the budget.
    """
    prices = purse.split(list(shares.values()))
    return tuple(
        Ask(f"{method}/{label}", price.numerator, price.denominator)
        for label, price in zip(shares, prices, strict=True)
    )
