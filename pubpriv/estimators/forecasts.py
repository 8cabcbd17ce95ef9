"""How far the answers of a run would be off, before a private row is read: the form that all estimators share.

A case is an estimator with all that is public about its input, but for the number of private rows and the budget:
those a planner varies. It uses the plan that the estimator's driver executes, and the noise of the very questions it
asks. Errors are root mean squares for rows of the law that the estimator is made for.
"""

import math
from dataclasses import dataclass
from typing import Protocol

from pubpriv.estimators.plans import Plan
from pubpriv.privacy.budgets import Budget, Purse

RELATIVE = "relative, Frobenius"
OWN_SD = "standard deviations of a column"


@dataclass(frozen=True)
class Predicted:
    """A root mean square error that is to be expected.

    Attributes:
        of: which number.
        unit: what the errors are told in.
        sampling, privacy: its two parts; their squares add up.
        non_private: error of the best estimate without privacy, from the same rows.
        public_only: error of the public rows alone; None where they cannot estimate it.
    """

    of: str
    unit: str
    sampling: float
    privacy: float
    non_private: float
    public_only: float | None

    @property
    def error(self) -> float:
        """Both parts together."""
        return math.hypot(self.sampling, self.privacy)


@dataclass(frozen=True)
class Forecast:
    """A run that nobody has made yet.

    Attributes:
        plan: of the run.
        errors: the first one is what a planner is asked to bring down.
    """

    plan: Plan
    errors: tuple[Predicted, ...]


class Case(Protocol):
    """An estimator and what is public about its input."""

    @property
    def d(self) -> int:
        """Columns."""

    @property
    def m(self) -> int:
        """Public rows."""

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """A run on n private rows with this purse."""

    def feasible(self, n: int, purse: Purse) -> bool:
        """Whether that run is likely to tell more than noise."""

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """What the forecast of that run assumes."""


@dataclass(frozen=True)
class Size:
    """Public rows that nobody has seen: m of d columns."""

    m: int
    d: int
