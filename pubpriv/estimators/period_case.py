"""What a run is predicted to cost and to show that asks rows of one period."""

from dataclasses import dataclass, replace
from typing import Any

from pubpriv.data.questions import InPeriod, Question
from pubpriv.data.questions.radial import under_law, without_law
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.person_case import PersonCase
from pubpriv.estimators.planning import CaseOverAnother, Forecast
from pubpriv.ledger.unit import FIRST, first_of_period, of_rows
from pubpriv.privacy.budgets import KINDS, Budget, Purse


@dataclass(frozen=True)
class PeriodCase(CaseOverAnother):
    """Another case on the rows of one period; n is how many rows, or persons, that has.

    Attributes:
        case: of rows, or of persons.
        period: its name.
    """

    period: str

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict a run that asks first how many rows there are, and whose questions are of rows of the period.

        A count of one region and a bisection have twice the variance that the other case reckons with.
        """
        first, rest = self._first(purse)
        forecast = self.case.forecast(n, rest)
        asks = (*first, *(self._in_period(ask) for ask in forecast.plan.asks))
        return replace(forecast, plan=replace(forecast.plan, asks=asks))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the other case does with what the first question leaves."""
        return self.case.feasible(n, self._first(purse)[1])

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Say what the other case says, and whose rows are asked."""
        what = f"rows are those of {self.period} alone, and how many there are is private: the run asks it"
        return (what, *self.case.notes(n, budget))

    def _first(self, purse: Purse) -> tuple[tuple[Ask, ...], Purse]:
        """What is asked before the other case, which has the rest: a run of persons counts them itself."""
        if isinstance(self.case, PersonCase):
            return (), purse
        question, rest = first_of_period(purse)
        law = KINDS[purse.kind].noise_law
        dated: Question = under_law(law, of_rows(question, self.period))
        return (Ask(FIRST, *dated.squared_distance.as_integer_ratio(), dated, law),), rest

    def _in_period(self, ask: Ask) -> Ask:
        if ask.question is None:
            return ask
        asked: Any = ask.question
        if isinstance(self.case, PersonCase):
            return replace(ask, question=InPeriod(asked, self.period))
        question: Question = ask.as_asked(of_rows(without_law(asked), self.period))
        return replace(ask, question=question)
