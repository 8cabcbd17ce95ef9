"""Terms of a dataset about its privacy unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.privacy.ledger._names import check_text

ONE_RECORD, ONE_PERSON = "one record", "one person"
"""Default units, for datasets registered without a text."""


@dataclass(frozen=True)
class PersonTerms:
    """All rows of a person are protected together.

    Attributes:
        columns: id columns of the dataset's tables; their values together identify a person.
        persons: number of persons as declared by the owner, and therefore public; None: not declared.

    Raises:
        InvalidInput: no columns, or not a positive number.
    """

    columns: tuple[str, ...]
    persons: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, tuple) or not self.columns or len({*self.columns}) < len(self.columns):
            raise InvalidInput("a person is known by one or more columns, each named once: --person patient_id")
        for name in self.columns:
            check_text(name, "name of an id column")
        if self.persons is not None and (type(self.persons) is not int or self.persons < 1):
            raise InvalidInput("the number of persons is a positive whole number: --persons 5000")

    @classmethod
    def asked(cls, columns: tuple[str, ...], persons: int | None) -> "PersonTerms | None":
        """Return the terms that somebody asks for; None: nothing is said about persons.

        Raises:
            InvalidInput: a number of persons without id columns, or no such terms.
        """
        if persons is not None and not columns:
            raise InvalidInput("--persons says how many persons there are: name their id columns too, with --person")
        return cls(columns, persons) if columns else None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "PersonTerms | None":
        """Read the terms from a record that registers a dataset or raises its cap; None: its unit is a row."""
        return cls(tuple(body["person"]), body["persons"]) if "person" in body else None

    def to_json(self) -> dict[str, Any]:
        """Return the terms as stored in a record."""
        return {"person": list(self.columns), "persons": self.persons}

    def described(self) -> str:
        """Describe the unit within a sentence: `one person, known by patient_id`."""
        return f"one person, known by {', '.join(self.columns)}"


def check_same_unit(dataset: str, known: PersonTerms | None, asked: PersonTerms | None) -> None:
    """Refuse to change the privacy unit of a registered dataset.

    Args:
        dataset: name of the dataset.
        known: registered terms.
        asked: requested terms; None: no request about persons.

    Raises:
        SpecMismatch: another unit, or another number of persons.
    """
    if asked is None or asked == known or (known and asked == PersonTerms(known.columns)):
        return
    was = "one row of its table" if known is None else known.described()
    if known is not None and known.columns == asked.columns:
        raise SpecMismatch(
            f"dataset {dataset!r} declares {known.persons or 'no number of'} persons, not {asked.persons}: what is "
            "declared never changes"
        )
    raise SpecMismatch(
        f"the privacy unit of dataset {dataset!r} is {was}, not {asked.described()}: a unit never changes, for what "
        "was spent was spent on the other one. Take another dataset in another ledger, and count what this one spent "
        "on top"
    )


def person_columns_of(terms: PersonTerms | None) -> tuple[str, ...]:
    """Return the id columns; () if the unit is a row."""
    return () if terms is None else terms.columns
