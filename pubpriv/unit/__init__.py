"""Whose privacy a run protects, and what follows for its questions and for what it may know of the table."""

from pubpriv.unit.admission import as_begun, check_unit, made_again
from pubpriv.unit.choice import unit_of
from pubpriv.unit.size import Size
from pubpriv.unit.units import Unit, first_questions

__all__ = ["Size", "Unit", "as_begun", "check_unit", "first_questions", "made_again", "unit_of"]
