"""Records that register a dataset, or change its terms."""

from dataclasses import dataclass

from pubpriv.privacy.budgets import Budget
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._declared import check_waived_for_one
from pubpriv.privacy.ledger.period_terms import PeriodTerms, agreed
from pubpriv.privacy.ledger.terms import ONE_PERSON, ONE_RECORD, PersonTerms, check_same_unit


@dataclass(frozen=True)
class Terms:
    """Terms that an owner asks for; see `Ledger.register`.

    Attributes:
        budget, unit: the cap, and what one record stands for.
        person: terms if the unit is a person; None: a row, or as registered.
        periods: terms of periods; None: none, or as registered.
        raised: whether the budget is meant as a higher cap.
        reason: reason for a higher cap, or for waiving it.
    """

    budget: Budget
    unit: str
    person: PersonTerms | None
    periods: PeriodTerms | None
    raised: bool
    reason: str | None


def register(book: Book, terms: Terms) -> None:
    """Register the dataset, or change its terms; nothing is recorded if they are the registered ones.

    Raises:
        SpecMismatch, InvalidInput, BudgetExceeded: see `Ledger.register`.
    """
    if book.state is None:
        _register_first(book, terms)
    else:
        _change(book, terms)


def _register_first(book: Book, terms: Terms) -> None:
    body = {"budget": terms.budget.to_json(), "unit": terms.unit, "cap": terms.budget.cap}
    if terms.person is not None:
        body |= {"unit": ONE_PERSON if terms.unit == ONE_RECORD else terms.unit, **terms.person.to_json()}
    persons = terms.person is not None
    periods = agreed(book.dataset, None, terms.periods, terms.budget, persons, terms.reason)
    if periods is not None:
        body |= {**periods.to_json(), "period_cap": periods.cap(persons), "reason": terms.reason}
    book.append("registered", body)


def _change(book: Book, terms: Terms) -> None:
    _change_unit(book, terms)
    registered = book.terms
    check_same_unit(book.dataset, PersonTerms.of(registered), terms.person)
    known = PeriodTerms.of(registered)
    periods = agreed(book.dataset, known, terms.periods, book.registered, book.person is not None, terms.reason)
    if terms.budget.to_json() != registered["budget"] or terms.unit not in (registered["unit"], ONE_RECORD):
        book.raise_cap(terms.budget, terms.unit, terms.raised, terms.reason)
    if periods != known:
        if periods is not None and not periods.lifetime:
            check_waived_for_one(book)
        book.change_terms(terms.budget, periods, terms.reason)


def _change_unit(book: Book, terms: Terms) -> None:
    """Change the words of the unit, and where no table is declared whose rows are protected, if no run was opened.

    Nothing was promised of the other unit then. What is declared of a table depends on whose rows are protected, and is
    not declared again by this.
    """
    if book.find("opened") is not None or book.find("carried") is not None:
        return
    unit, person = book.unit, book.person
    if terms.person is not None and not book.tables() and not (person and terms.person == PersonTerms(person.columns)):
        person, unit = terms.person, ONE_PERSON if unit == ONE_RECORD else unit
    unit = unit if terms.unit == ONE_RECORD else terms.unit
    if (unit, person) != (book.unit, book.person):
        book.change_terms(book.budget, book.periods, terms.reason, unit, person)
