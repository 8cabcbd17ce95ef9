"""Columns as they can be: no negative fares, whole visits. A Gaussian knows neither, so drawn values are bent to it.

A value is rounded to the nearest multiple of its column's step, and set to the nearest one within the bounds. That
moves means and spreads away from the release, so what was bent, and by how much, is reported.
"""

from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, isnan

import numpy as np

from pubpriv.errors import InvalidInput


@dataclass(frozen=True)
class Limits:
    """Where values of a column may lie.

    Attributes:
        low, high: none is below or above; infinite where there is no bound.
        step: values are whole multiples of it; None: any number.

    Raises:
        InvalidInput: no value would be left.
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
        """Take from public values (m,) what holds for every one of them: a sign, and whole numbers.

        The smallest and the largest are bounds only where there are just two values, as of yes and no: of others, rows
        that nobody has seen lie beyond.
        """
        low, high = float(values.min()), float(values.max())
        whole = bool((values == np.round(values)).all())
        step = 1.0 if whole else None
        if whole and len(np.unique(values)) == 2:
            return cls(low, high, high - low if low == 0 else step)
        return cls(0.0 if low >= 0 else -inf, 0.0 if high <= 0 else inf, step)

    @property
    def whole(self) -> bool:
        """Tell whether every value is a whole number."""
        return self.step is not None and self.step.is_integer()

    def bend(self, values: np.ndarray) -> np.ndarray:
        """Return values (m,) moved to the nearest that may be."""
        stepped = values if self.step is None else np.round(values / self.step) * self.step
        return np.clip(stepped, *self._ends)

    def describe(self) -> str:
        """Say it in words: `from 0 up, in steps of 1`."""
        low, high = isfinite(self.low), isfinite(self.high)
        where = f"from {self.low:g} to {self.high:g}" if low and high else ""
        where = where or (f"from {self.low:g} up" if low else f"up to {self.high:g}" if high else "")
        return (
            ", ".join(part for part in (where, f"in steps of {self.step:g}" if self.step else "") if part) or "anywhere"
        )

    @property
    def _ends(self) -> tuple[float, float]:
        """The lowest and the highest value that may be."""
        if self.step is None:
            return self.low, self.high
        low = ceil(self.low / self.step) * self.step if isfinite(self.low) else self.low
        return low, floor(self.high / self.step) * self.step if isfinite(self.high) else self.high


class Bent:
    """What became of a column's drawn values.

    Attributes:
        column: its name.
        limits: that they were bent to.
        rows: how many were drawn.
        below, above: how many lay beyond a bound.
    """

    def __init__(self, column: str, limits: Limits) -> None:
        self.column, self.limits = column, limits
        self.rows = self.below = self.above = 0
        self._drawn, self._kept = np.zeros(2), np.zeros(2)

    def bend(self, values: np.ndarray) -> np.ndarray:
        """Return values (m,) bent, and keep count."""
        bent = self.limits.bend(values)
        self.rows += len(values)
        self.below += int((values < self.limits.low).sum())
        self.above += int((values > self.limits.high).sum())
        self._drawn += values.sum(), (values**2).sum()
        self._kept += bent.sum(), (bent**2).sum()
        return bent

    def describe(self) -> str:
        """Say in a sentence what was moved, and what that did to mean and standard deviation."""
        (mean, sd), (new_mean, new_sd) = (self._moments(sums) for sums in (self._drawn, self._kept))
        beyond = (self.below + self.above) / max(self.rows, 1)
        return (
            f"{self.column} was bent to lie {self.limits.describe()}: {beyond:.2%} of its values lay beyond; mean "
            f"{mean:.4g} became {new_mean:.4g}, standard deviation {sd:.4g} became {new_sd:.4g}"
        )

    def _moments(self, sums: np.ndarray) -> tuple[float, float]:
        mean, square = sums / max(self.rows, 1)
        return float(mean), float(max(square - mean**2, 0.0) ** 0.5)
