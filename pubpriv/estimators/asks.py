"""What a run will ask and what each question may cost: the form that the plans of all estimators share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.questions import Question
from pubpriv.privacy.budgets import Purse


@public_value
@dataclass(frozen=True)
class Ask:
    """One question to come.

    Attributes:
        label: as the ledger will show it.
        numerator, denominator: of the squared distance (mu^2) that it may cost.
        question: of the size, price and noise to come, about nothing: what is priced and rehearsed. The step that
            asks puts frames, radii and thresholds in, by the function that made this one.
    """

    label: str
    numerator: int
    denominator: int
    question: Question | None = None

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
        asks: they add up to the method's share exactly.
    """

    asks: tuple[Ask, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """What `Curator.rehearse` checks and a planner prices."""
        return tuple(ask.question for ask in self.asks if ask.question is not None)


Blank = Callable[[Ask], Question]
"""Makes the question of an ask, about nothing."""


def split_purse(purse: Purse, method: str, shares: Mapping[str, tuple[Fraction, Blank]]) -> dict[str, Ask]:
    """Asks `method/name` by name, in the order of `shares`; the last takes what rounding leaves.

    Args:
        purse: of the method.
        method: before the name in the label.
        shares: of the purse, and what makes the question.

    Raises:
        InvalidInput: a share below one unit of the budget.
    """
    prices = purse.split([share for share, _ in shares.values()])
    asks = {
        name: Ask(f"{method}/{name}", price.numerator, price.denominator)
        for name, price in zip(shares, prices, strict=True)
    }
    return {name: replace(ask, question=shares[name][1](ask)) for name, ask in asks.items()}
