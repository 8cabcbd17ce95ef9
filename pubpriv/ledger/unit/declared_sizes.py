"""How many persons have how many rows, as somebody declares it for a plan: from public rows, or from experience."""

from dataclasses import dataclass

from pubpriv.data.questions.per_person import SIZES
from pubpriv.errors import InvalidInput

_HOW = "say how many persons have how many rows, for example --sizes 1:3000,4:1500,20:500"


@dataclass(frozen=True)
class DeclaredSizes:
    """Persons by their number of rows.

    Attributes:
        rows: of a person.
        persons: with so many rows each.
    """

    rows: tuple[int, ...]
    persons: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> "DeclaredSizes":
        """Read `1:3000,4:1500,20:500`.

        Raises:
            InvalidInput: it is no such list.
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
        """Number of all persons."""
        return sum(self.persons)

    def of(self, persons: float) -> "DeclaredSizes":
        """Return so many persons, with the same shares."""
        return DeclaredSizes(self.rows, tuple(count * persons / self.total for count in self.persons))

    def counted(self, most: int) -> float:
        """Sum of min(n_p, L)."""
        return sum(count * min(n, most) for n, count in zip(self.rows, self.persons, strict=True))

    def effective(self, most: int) -> float:
        """Return as many independent rows would tell as much, at least: those of one person are taken to be copies."""
        squares = sum(count * min(n, most) ** 2 for n, count in zip(self.rows, self.persons, strict=True))
        return self.counted(most) ** 2 / squares

    @property
    def bins(self) -> tuple[float, ...]:
        """Persons by the bins of `PersonSizes`."""
        ends, each = (*SIZES, max(*self.rows, *SIZES)), list(zip(self.rows, self.persons, strict=True))
        starts = (0, *SIZES)
        return tuple(
            float(sum(count for n, count in each if start < n <= end)) for start, end in zip(starts, ends, strict=True)
        )
