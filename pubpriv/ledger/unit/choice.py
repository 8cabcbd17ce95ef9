"""Choose the privacy unit of a run, from the terms of its dataset and its period."""

from dataclasses import replace
from typing import Any

from pubpriv.ledger.unit.period_units import PersonsInPeriod, RowsOfPeriod
from pubpriv.ledger.unit.units import PersonUnit, RowUnit, Unit
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.runs import Run


def unit_of(table: Any, run: Run, terms: PersonTerms | None = None, most: int | str | None = None) -> Unit:
    """Return the unit of a run.

    Args:
        table: the run's table, with the period if there is one.
        run: run in which the first questions are asked.
        terms: terms of the dataset; None: its unit is a row.
        most: see `PersonUnit`.
    """
    period = getattr(table, "period", "")
    if terms is None:
        return RowsOfPeriod(table, run, period) if period else RowUnit(table)
    if not period:
        return PersonUnit(table, run, terms, most)
    # the declared number of persons is for all periods together
    return PersonsInPeriod(PersonUnit(table, run, replace(terms, persons=None), most), table, run, period)
