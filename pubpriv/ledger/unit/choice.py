"""Which unit a run has, by the terms of its dataset and by its period."""

from dataclasses import replace
from typing import Any

from pubpriv.ledger.unit.period_units import PersonsInPeriod, RowsOfPeriod
from pubpriv.ledger.unit.units import PersonUnit, RowUnit, Unit
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.runs import Run


def unit_of(table: Any, run: Run, terms: PersonTerms | None = None, most: int | str | None = None) -> Unit:
    """Return the unit of a run.

    Args:
        table: what it asks; one with a period names it.
        run: in which the first questions are asked.
        terms: of the dataset; None: its unit is a row.
        most: see `PersonUnit`.
    """
    period = getattr(table, "period", "")
    if terms is None:
        return RowsOfPeriod(table, run, period) if period else RowUnit(table)
    if not period:
        return PersonUnit(table, run, terms, most)
    # how many persons were declared is of all periods together
    return PersonsInPeriod(PersonUnit(table, run, replace(terms, persons=None), most), table, run, period)
