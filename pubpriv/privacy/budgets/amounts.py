"""Amounts of a budget: whole units of its currency, and of delta."""

from dataclasses import dataclass

from pubpriv.errors import InvalidInput
from pubpriv.privacy.units import stored_integer


@dataclass(frozen=True, order=False)
class Amount:
    """An amount of a budget: `main` in units of its currency (epsilon, rho or mu^2), `delta` in delta units.

    Raises:
        InvalidInput: not Python integers, which neither round nor overflow.
    """

    main: int
    delta: int = 0

    def __post_init__(self) -> None:
        if type(self.main) is not int or type(self.delta) is not int:
            raise InvalidInput("an amount is a whole number of units: a Python integer")

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.main + other.main, self.delta + other.delta)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.main - other.main, self.delta - other.delta)

    def fits(self, room: "Amount") -> bool:
        """Return whether both parts fit in `room`."""
        return self.main <= room.main and self.delta <= room.delta

    def to_json(self) -> dict[str, str]:
        """Return both integers as decimal text."""
        return {"main": str(self.main), "delta": str(self.delta)}

    @classmethod
    def from_json(cls, data: dict[str, str]) -> "Amount":
        """Read what `to_json` wrote.

        Raises:
            ValueError: not decimal digits.
        """
        return cls(stored_integer(data["main"]), stored_integer(data["delta"]))
