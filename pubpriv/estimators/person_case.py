"""Forecast of a run whose unit is a person: what it costs and what errors to expect."""

import math
from dataclasses import dataclass, replace

from pubpriv.data.questions import Question
from pubpriv.data.questions.per_person import of_one_row
from pubpriv.data.questions.radial import under_law
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.planning import CaseOverAnother, Forecast
from pubpriv.ledger.unit import DeclaredSizes, Sizes, auto_rows, first_questions, per_person, purse_of_rows
from pubpriv.privacy.budgets import KINDS, Budget, Purse

_ONCE = DeclaredSizes((1,), (1.0,))
"""Default sizes: each person has one row."""


@dataclass(frozen=True)
class PersonCase(CaseOverAnother):
    """Another case where the unit is a person; n is the number of persons.

    A run first asks for the numbers of persons and rows, and the method has the rest of the budget. The row limit and
    the theorems are those of the case of rows: there are no more persons than rows, and theorems assume one row per
    person.

    Attributes:
        case: a case of rows.
        most: rows of a person that count in full, or `auto`.
        sizes: number of persons by their number of rows; only the proportions matter.
    """

    most: int | str = 1
    sizes: DeclaredSizes = _ONCE

    def settled(self, n: int, purse: Purse) -> tuple[int, int]:
        """Return (L, rows that count) for n persons; `auto` chooses L as a run would, without the noise."""
        sizes, most = self.sizes.of(n), self.most
        if most == "auto":
            asked = next(iter(first_questions(purse)[0].values()))
            most = auto_rows(Sizes(sizes.bins, float(_asked(purse, asked).noise()["persons"][0])), self.d, purse)
        return int(most), max(2, round(sizes.counted(int(most))))

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict a run that first asks for the numbers of rows and persons, and then asks its questions per person.

        The rows of one person are assumed to be copies of each other, so `sampling` errors are upper bounds.
        """
        (most, rows), law = self.settled(n, purse), KINDS[purse.kind].noise_law
        first, rest = first_questions(purse, most)
        asked = {label: _asked(purse, question) for label, question in first.items()}
        before = (
            Ask(label, *question.squared_distance.as_integer_ratio(), question, law)
            for label, question in asked.items()
        )
        forecast = self.case.forecast(rows, purse_of_rows(rest, most))
        asks = (*before, *(_of_persons(ask, most) for ask in forecast.plan.asks))
        clumped = math.sqrt(rows / self.sizes.of(n).effective(most))
        errors = (
            replace(each, sampling=each.sampling * clumped, non_private=each.non_private * clumped)
            for each in forecast.errors
        )
        apart = None if forecast.apart is None else forecast.apart * clumped
        return Forecast(replace(forecast.plan, asks=asks), tuple(errors), apart)

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide as the other case does, for the rows that count."""
        most, rows = self.settled(n, purse)
        return self.case.feasible(rows, purse_of_rows(first_questions(purse, most)[1], most))

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:
        """Give the other case's notes, preceded by how many rows count."""
        most, rows = self.settled(n, Purse.of(budget))
        what = "rows are persons: each counts once, however many rows it has"
        if most > 1 or self.most == "auto":
            chosen = "auto would count" if self.most == "auto" else "a run counts"
            what = (
                f"with the sizes given, {chosen} {most} rows of a person in full, {rows:,} rows in all; sampling "
                "errors are given as if the rows of a person were copies of each other"
            )
        return (what, *self.case.notes(rows, budget))


def _asked(purse: Purse, question: Question) -> Question:
    """Put a first question under the law of the run's noise."""
    return under_law(KINDS[purse.kind].noise_law, question)  # type: ignore[no-any-return]


def _of_persons(ask: Ask, most: int) -> Ask:
    """Turn an ask about rows into one about persons, each of whom may count as up to L = `most` rows."""
    price = ask.price * (1 if of_one_row(ask.question) else most**2)
    question = None if ask.question is None else per_person(ask.question, most)
    return replace(ask, numerator=price.numerator, denominator=price.denominator, question=question)
