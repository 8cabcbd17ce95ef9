"""Limits of columns, such as fares that are not negative or whole visits, to which drawn values are bent.

A Gaussian does not respect such limits. A value is rounded to the nearest multiple of its column's step, and moved to
the nearest one within the bounds. That moves means and spreads away from the release, so its effect is reported.
"""

from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, isnan

import numpy as np

from pubpriv.errors import InvalidInput


@dataclass(frozen=True)
class Limits:
    """Bounds and step of a column's values.

    Attributes:
        low, high: smallest and largest value; infinite if there is no bound.
        step: values are whole multiples of it; None: any number.

    Raises:
        InvalidInput: no value satisfies the limits.
    """

    low: float = -inf
    high: float = inf
    step: float | None = None

    def __post_init__(self) -> None:
        if isnan(self.low) or isnan(self.high) or self.low > self.high:
            raise InvalidInput(f"bounds go from a lower to a higher number, not from {self.low:g} to {self.high:g}")
        if self.step is not None and not (isfinite(self.step) and self.step > 0):
            raise InvalidInput(f"a step is a positive number, not {self.step:g}")
        low, high = self._ends
        if low > high:
            raise InvalidInput(f"no multiple of {self.step:g} lies from {self.low:g} to {self.high:g}")

    @classmethod
    def of_public(cls, values: np.ndarray) -> "Limits":
        """Derive limits that all public values (m,) satisfy: a sign, and whole numbers.

        The smallest and the largest value become bounds only if there are just two values, as for yes and no: in other
        columns, unseen rows may lie beyond them.
        """
        low, high = float(values.min()), float(values.max())
        whole = bool((values == np.round(values)).all())
        step = 1.0 if whole else None
        if whole and len(np.unique(values)) == 2:
            return cls(low, high, high - low if low == 0 else step)
        return cls(0.0 if low >= 0 else -inf, 0.0 if high <= 0 else inf, step)

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return self.step is not None and self.step.is_integer()

    def bend(self, values: np.ndarray) -> np.ndarray:
        """Return values (m,) moved to the nearest allowed ones."""
        stepped = values if self.step is None else np.round(values / self.step) * self.step
        return np.clip(stepped, *self._ends)

    def describe(self) -> str:
        """Describe the limits in words: `from 0 up, in steps of 1`."""
        low, high = isfinite(self.low), isfinite(self.high)
        where = f"from {self.low:g} to {self.high:g}" if low and high else ""
        where = where or (f"from {self.low:g} up" if low else f"up to {self.high:g}" if high else "")
        return (
            ", ".join(part for part in (where, f"in steps of {self.step:g}" if self.step else "") if part) or "anywhere"
        )

    @property
    def _ends(self) -> tuple[float, float]:
        """The lowest and the highest allowed value."""
        if self.step is None:
            return self.low, self.high
        low = ceil(self.low / self.step) * self.step if isfinite(self.low) else self.low
        return low, floor(self.high / self.step) * self.step if isfinite(self.high) else self.high


class Bent:
    """The effect of bending on a column's drawn values.

    Attributes:
        column: name of the column.
        limits: its limits.
        rows: number of drawn values.
        below, above: number of values beyond a bound.
    """

    def __init__(self, column: str, limits: Limits) -> None:
        self.column, self.limits = column, limits
        self.rows = self.below = self.above = 0
        self._drawn, self._kept = np.zeros(2), np.zeros(2)

    def bend(self, values: np.ndarray) -> np.ndarray:
        """Return bent values (m,), and count them."""
        bent = self.limits.bend(values)
        self.rows += len(values)
        self.below += int((values < self.limits.low).sum())
        self.above += int((values > self.limits.high).sum())
        self._drawn += values.sum(), (values**2).sum()
        self._kept += bent.sum(), (bent**2).sum()
        return bent

    def describe(self) -> str:
        """Describe in a sentence what was moved, and the effect on mean and standard deviation."""
        (mean, sd), (new_mean, new_sd) = (self._moments(sums) for sums in (self._drawn, self._kept))
        beyond = (self.below + self.above) / max(self.rows, 1)
        return (
            f"{self.column} was bent to lie {self.limits.describe()}: {beyond:.2%} of its values lay beyond; mean "
            f"{mean:.4g} became {new_mean:.4g}, standard deviation {sd:.4g} became {new_sd:.4g}"
        )

    def _moments(self, sums: np.ndarray) -> tuple[float, float]:
        mean, square = sums / max(self.rows, 1)
        return float(mean), float(max(square - mean**2, 0.0) ** 0.5)
