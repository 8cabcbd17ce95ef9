"""Forecast of a run on the rows of one period: what it costs and what errors to expect."""

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
    """Another case, restricted to the rows of one period; n is the number of rows, or persons, in that period.

    Attributes:
        case: a case of rows, or of persons.
        period: name of the period.
    """

    period: str

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict a run that first asks for the number of rows, and then asks its questions about the period's rows.

        A count of one region and a bisection have twice the variance that the other case assumes.
        """
        first, rest = self._first(purse)
        forecast = self.case.forecast(n, rest)
        asks = (*first, *(self._in_period(ask) for ask in forecast.plan.asks))
        return replace(forecast, plan=replace(forecast.plan, asks=asks))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the other case does with the budget that the first question leaves."""
        return self.case.feasible(n, self._first(purse)[1])

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Give the other case's notes, preceded by which rows are used."""
        what = f"only rows of {self.period} are used, and their number is private: the run asks for it"
        return (what, *self.case.notes(n, budget))

    def _first(self, purse: Purse) -> tuple[tuple[Ask, ...], Purse]:
        """Split off the first question; the other case has the rest. A run of persons counts its persons itself."""
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
