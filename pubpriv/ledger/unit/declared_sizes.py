"""Declared numbers of persons by number of rows, for a plan: from public rows, or from experience."""

from dataclasses import dataclass

from pubpriv.data.questions.per_person import SIZES
from pubpriv.errors import InvalidInput

_HOW = "say how many persons have how many rows, for example --sizes 1:3000,4:1500,20:500"


@dataclass(frozen=True)
class DeclaredSizes:
    """Persons by their number of rows.

    Attributes:
        rows: numbers of rows of a person.
        persons: number of persons for each of `rows`.
    """

    rows: tuple[int, ...]
    persons: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> "DeclaredSizes":
        """Read `1:3000,4:1500,20:500`.

        Raises:
            InvalidInput: the text is not such a list.
        """
        try:
            pairs = [part.split(":") for part in text.split(",")]
            rows, persons = zip(*((int(n), int(count)) for n, count in pairs), strict=True)
        except ValueError:
            raise InvalidInput(f"{text!r} is no list of sizes: {_HOW}") from None
        if min(rows) < 1 or min(persons) < 0 or sum(persons) < 2 or len({*rows}) < len(rows):
            raise InvalidInput(f"in {text!r} a size is below 1 or there twice, or there are no two persons: {_HOW}")
        return cls(rows, persons)

    @property
    def total(self) -> float:
        """Total number of persons."""
        return sum(self.persons)

    def of(self, persons: float) -> "DeclaredSizes":
        """Return this number of persons, with the same shares of sizes."""
        return DeclaredSizes(self.rows, tuple(count * persons / self.total for count in self.persons))

    def counted(self, most: int) -> float:
        """Return the sum of min(n_p, L)."""
        return sum(count * min(n, most) for n, count in zip(self.rows, self.persons, strict=True))

    def effective(self, most: int) -> float:
        """Return a lower bound of the equivalent number of independent rows: rows of one person count as copies."""
        squares = sum(count * min(n, most) ** 2 for n, count in zip(self.rows, self.persons, strict=True))
        return self.counted(most) ** 2 / squares

    @property
    def bins(self) -> tuple[float, ...]:
        """Return the number of persons in each bin of `PersonSizes`."""
        ends, each = (*SIZES, max(*self.rows, *SIZES)), list(zip(self.rows, self.persons, strict=True))
        starts = (0, *SIZES)
        return tuple(
            float(sum(count for n, count in each if start < n <= end)) for start, end in zip(starts, ends, strict=True)
        )
