"""Plans: the questions that a run will ask and what each may cost, in the form that all estimators share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from pubpriv.data.codec import public_value
from pubpriv.data.questions import Question, Radial
from pubpriv.data.questions.radial import GAUSSIAN, under_law
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import KINDS, Purse

MOMENTS_SHARES = Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)
"""Shares of count, sum and second moments in a price, at which the sum has the noise that it has alone: the least."""


@public_value
@dataclass(frozen=True)
class Ask:
    """A question that a run will ask.

    Attributes:
        label: as the ledger will show it.
        numerator, denominator: of the squared distance that it may cost: mu^2, or epsilon^2 if the noise is radial.
        question: a placeholder with the final size, price and noise, which is priced and rehearsed. The step that asks
            fills in frames, radii and thresholds, through the same function that made the placeholder.
        law: law of the run's noise.
    """

    label: str
    numerator: int
    denominator: int
    question: Question | None = None
    law: str = GAUSSIAN

    @property
    def price(self) -> Fraction:
        """Price: mu^2 for Gaussian noise, epsilon^2 for radial noise."""
        return Fraction(self.numerator, self.denominator)

    @property
    def rho(self) -> float:
        """rho = mu^2 / 2 of Gaussian noise with the same standard deviation, for formulas."""
        question = self.question
        louder = question.louder if isinstance(question, Radial) else 1.0
        return float(self.price) / 2 / louder**2

    @property
    def part(self) -> float:
        """Cost in the run's currency, up to a common factor: the parts of one run add up."""
        return float(self.price) if self.law == GAUSSIAN else math.sqrt(self.price)

    def as_asked(self, question: Question) -> Question:
        """Wrap the question in the law of the run's noise, as the run asks it."""
        return under_law(self.law, question)  # type: ignore[no-any-return]


@public_value
@dataclass(frozen=True)
class Plan:
    """The questions of a run in order, with their shares of its budget.

    Attributes:
        asks: their prices add up to the method's share exactly.
    """

    asks: tuple[Ask, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """Questions that `Curator.rehearse` checks and a planner prices."""
        return tuple(ask.question for ask in self.asks if ask.question is not None)


Worth = Callable[[float], float]
"""Maps a step's share of the run to its rho."""


def gaussian_only(method: str, kind: str) -> None:
    """Refuse a reference method, kept as in its paper, if the budget does not allow Gaussian noise.

    Args:
        method: method of an estimator.
        kind: of the run's budget.

    Raises:
        InvalidInput: Gaussian noise has no price under this kind of budget.
    """
    if KINDS[kind].noise_law != GAUSSIAN:
        raise InvalidInput(
            f"method {method} adds Gaussian noise, which has no price under {kind} DP: take the default method, or a "
            "zcdp or an approx budget"
        )


def worth_of(purse: Purse, blank: "Blank", crowd: Fraction) -> Worth:
    """Return the function that gives a step's rho (of Gaussian noise with the same sd) from its share of the purse.

    Args:
        purse: purse of the method, before it is split.
        blank: makes the step's question, whose shape determines how much larger radial noise is.
        crowd: as in the later split; see `PureDP.split`.
    """
    whole = Ask("", 1, 1, law=KINDS[purse.kind].noise_law)
    quiet = 2 * replace(whole, question=whole.as_asked(blank(whole))).rho  # of a price of one
    return lambda share: quiet * purse.worth(share, float(crowd))


Blank = Callable[[Ask], Question]
"""Makes the placeholder question of an ask."""


def split_purse(
    purse: Purse, method: str, shares: Mapping[str, tuple[Fraction, Blank]], crowd: Fraction = Fraction(1)
) -> dict[str, Ask]:
    """Return asks labelled `method/name` by name, in the order of `shares`; the last one takes what rounding leaves.

    Args:
        purse: purse of the method.
        method: prefix of the labels.
        shares: by name, the share of the purse and what makes the question.
        crowd: see `PureDP.split`.

    Raises:
        InvalidInput: a share is below one unit of the budget.
    """
    prices, law = purse.split([share for share, _ in shares.values()], crowd), KINDS[purse.kind].noise_law
    asks = {
        name: Ask(f"{method}/{name}", price.numerator, price.denominator, law=law)
        for name, price in zip(shares, prices, strict=True)
    }
    return {name: replace(ask, question=ask.as_asked(shares[name][1](ask))) for name, ask in asks.items()}
