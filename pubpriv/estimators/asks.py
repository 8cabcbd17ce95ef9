"""What a run will ask and what each question may cost: the form that the plans of all estimators share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.questions import Question, Radial
from pubpriv.data.questions.radial import GAUSSIAN, under_law
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import KINDS, Purse


@public_value
@dataclass(frozen=True)
class Ask:
    """One question to come.

    Attributes:
        label: as the ledger will show it.
        numerator, denominator: of the squared distance that it may cost: mu^2, or epsilon^2 where noise is radial.
        question: of the size, price and noise to come, about nothing: what is priced and rehearsed. The step that
            asks puts frames, radii and thresholds in, by the function that made this one.
        law: of the run's noise.
    """

    label: str
    numerator: int
    denominator: int
    question: Question | None = None
    law: str = GAUSSIAN

    @property
    def price(self) -> Fraction:
        """mu^2, or epsilon^2."""
        return Fraction(self.numerator, self.denominator)

    @property
    def rho(self) -> float:
        """mu^2 / 2 of Gaussian noise of the same sd, for formulas."""
        question = self.question
        louder = question.louder if isinstance(question, Radial) else 1.0
        return float(self.price) / 2 / louder**2

    @property
    def part(self) -> float:
        """What it takes of the run's currency, up to a factor: parts of one run add up."""
        return float(self.price) if self.law == GAUSSIAN else math.sqrt(self.price)

    def as_asked(self, question: Question) -> Question:
        """Return the question as the run asks it: under the law of its noise."""
        return under_law(self.law, question)  # type: ignore[no-any-return]


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


Worth = Callable[[float], float]
"""rho of a step, by its share of the run."""


def gaussian_only(method: str, kind: str) -> None:
    """Refuse a method that is kept as its paper has it, where the run's noise would not be Gaussian.

    Args:
        method: of an estimator.
        kind: of the run's budget.

    Raises:
        InvalidInput: Gaussian noise has no price in it.
    """
    if KINDS[kind].noise_law != GAUSSIAN:
        raise InvalidInput(
            f"method {method} adds Gaussian noise, which has no price under {kind} DP: take the default method, or a "
            "zcdp or an approx budget"
        )


def worth_of(purse: Purse, blank: "Blank", crowd: Fraction) -> Worth:
    """Return a step's rho, of Gaussian noise of the same sd, from its share of the purse, before it is split.

    Args:
        purse: of the method.
        blank: makes the question of the step, whose shape says how loud radial noise is.
        crowd: as the purse will be split.
    """
    whole = Ask("", 1, 1, law=KINDS[purse.kind].noise_law)
    quiet = 2 * replace(whole, question=whole.as_asked(blank(whole))).rho  # of a price of one
    return lambda share: quiet * purse.worth(share, float(crowd))


Blank = Callable[[Ask], Question]
"""Makes the question of an ask, about nothing."""


def split_purse(
    purse: Purse, method: str, shares: Mapping[str, tuple[Fraction, Blank]], crowd: Fraction = Fraction(1)
) -> dict[str, Ask]:
    """Return asks `method/name` by name, in the order of `shares`; the last takes what rounding leaves.

    Args:
        purse: of the method.
        method: before the name in the label.
        shares: of the purse, and what makes the question.
        crowd: see `PureDP.split`.

    Raises:
        InvalidInput: a share below one unit of the budget.
    """
    prices, law = purse.split([share for share, _ in shares.values()], crowd), KINDS[purse.kind].noise_law
    asks = {
        name: Ask(f"{method}/{name}", price.numerator, price.denominator, law=law)
        for name, price in zip(shares, prices, strict=True)
    }
    return {name: replace(ask, question=ask.as_asked(shares[name][1](ask))) for name, ask in asks.items()}
