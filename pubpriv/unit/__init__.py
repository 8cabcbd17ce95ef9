"""Whose privacy a run protects, and what follows for its questions and for what it may know of the table."""

from pubpriv.unit.admission import as_begun, check_room, check_unit, hash_of, made_again
from pubpriv.unit.size import Size
from pubpriv.unit.units import Unit, first_questions, unit_of

__all__ = [
    "Size",
    "Unit",
    "as_begun",
    "check_room",
    "check_unit",
    "first_questions",
    "hash_of",
    "made_again",
    "unit_of",
]
