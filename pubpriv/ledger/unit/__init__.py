"""The privacy unit of a run (row or person), and what it implies for questions and for what is known of the table."""

from pubpriv.ledger.unit.admission import as_begun, check_most, check_room, check_unit, hash_of, made_again
from pubpriv.ledger.unit.choice import unit_of
from pubpriv.ledger.unit.declared_sizes import DeclaredSizes
from pubpriv.ledger.unit.period_units import FIRST, first_of_period, of_rows
from pubpriv.ledger.unit.size import Size, Sizes
from pubpriv.ledger.unit.units import Unit, auto_rows, first_questions, per_person, purse_of_rows

__all__ = [
    "FIRST",
    "DeclaredSizes",
    "Size",
    "Sizes",
    "Unit",
    "as_begun",
    "auto_rows",
    "check_most",
    "check_room",
    "check_unit",
    "first_of_period",
    "first_questions",
    "hash_of",
    "made_again",
    "of_rows",
    "per_person",
    "purse_of_rows",
    "unit_of",
]
