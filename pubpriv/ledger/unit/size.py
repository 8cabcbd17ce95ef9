"""How many rows questions count, exact or as released, and what follows from that alone: post-processing."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pubpriv.data.frames import GRID
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.questions.base import LIMIT
from pubpriv.data.questions.per_person import SIZES

TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""Rows of a person that `auto` tries to count in full."""

_LARGEST = 1.5
"""Rows of a person beyond the last bin, as a multiple of where it begins."""

Differences = tuple[tuple[float, float], ...]
"""Standard deviations by which the means of rows that count and of those left out may differ, each with its chance."""

UNASKED: Differences = ((0.1, 1.0),)
"""What is taken where nobody asked (`auto`)."""

_SEEN = 2.0
"""Sds of the noise above which persons are seen in a bin (`auto`)."""

_LOUDER = 1.65
"""Noise of an estimate over that of clipped moments alone (`auto`): rounds and histograms are paid, and shells are
wide. Measured, of Gaussian rows of 1,000 and 4,000 persons, over L and two budgets: 1.4 to 2."""

_SLOPE, _FEWEST, _ROOM = 10.0, 150.0, 1.2
"""A covariance is not found at all where W sqrt(rho) / L is less than max(SLOPE d^1.5, FEWEST), see the plan of
`estimate_gaussian`; `auto` leaves room, for W is an estimate."""


@dataclass(frozen=True)
class Size:
    """How many rows questions count.

    Attributes:
        rows: n, or as released: the rows that count, a person's being L at most.
        sd: of the noise in it; 0 where it is exact.
        effective: as many independent rows would tell as much; no more than `rows`.
        persons: as released or declared, and the sd of its noise; None where the unit is a row.
        most: L; None where the unit is a row.
        period: whose rows they are; None: all.
    """

    rows: int
    sd: float = 0.0
    effective: float = 0.0
    persons: tuple[float, float] | None = None
    most: int | None = None
    period: str | None = None

    @property
    def widening(self) -> float:
        """What sampling errors of so many independent rows are multiplied by: the rows of one person are alike."""
        return math.sqrt(self.rows / self.effective) if self.effective else 1.0

    @property
    def one_each(self) -> int:
        """How many rows questions count that are asked of one row of each person."""
        if self.persons is None or self.most == 1:
            return self.rows
        return max(2, round(self.persons[0]))

    def counted(self, count: float, sd: float, doubt: float, least: float) -> float:
        """Return how many rows have no missing or infinite value, by one more released count of them.

        Where n is exact: n, unless the count is clearly less. Where it was released itself, of such rows alone, the
        mean of both by their noise: a number that is too low by 3% does more harm than all other noise.

        Args:
            count: released.
            sd: of its noise.
            doubt: so many sds below n are clearly less.
            least: the count is not taken to be lower.
        """
        if self.sd == 0:
            return float(self.rows) if count > self.rows - doubt * sd else max(count, least)
        if count < self.rows - doubt * math.hypot(self.sd, sd):  # clearly fewer
            return max(count, least)
        share = self.sd**2 / (self.sd**2 + sd**2)
        return max(share * count + (1 - share) * self.rows, least)

    def widened(self, errors: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return standard errors, {number: {"sampling": array, ...}}, those of sampling for rows that are alike."""
        return {
            name: {source: sd * self.widening if source == "sampling" else sd for source, sd in parts.items()}
            for name, parts in errors.items()
        }

    def provenance(self) -> dict[str, Any]:
        """Return what a model file says of it."""
        period = {} if self.period is None else {"period": self.period}
        if self.persons is None and self.period is None:
            return {"n_private": self.rows}
        if self.persons is None:
            return {**period, "counted_rows": {"estimate": self.rows, "sd": self.sd}}
        estimate, sd = self.persons
        return {
            **period,
            "persons": {"estimate": round(estimate), "sd": sd},
            "counted_rows": {"estimate": self.rows, "sd": self.sd},
            "rows_per_person": self.most,
            "target": "each person counts once" if self.most == 1 else f"each row, and {self.most} of a person at most",
        }


def effective_rows(rows: int, persons: float, bins: tuple[float, ...], most: int) -> float:
    """Return n_L^2 / sum_p min(n_p, L)^2, at least about: rows of one person are taken to be copies of each other."""
    ends = (*SIZES, most)
    squares = sum(max(count, 0.0) * min(end, most) ** 2 for count, end in zip(bins, ends, strict=True)) if bins else 0.0
    return min(float(rows), rows**2 / max(squares, persons if most == 1 else 0.0, 1.0))


def grain_for(rows: float) -> int:
    """Return the largest power of two up to 64 at which sums of squares over twice so many rows fit the totals."""
    grain = MOST_WEIGHT
    while grain > 1 and 2 * rows * grain * GRID**2 >= LIMIT:
        grain //= 2
    return grain


@dataclass(frozen=True)
class Sizes:
    """Persons by number of rows, as released; what follows is post-processing.

    Persons that noise may have made are not counted, for a few with many rows would outweigh all others.

    Attributes:
        bins: as `PersonSizes` has them.
        sd: of the noise in each, about.
    """

    bins: tuple[float, ...]
    sd: float

    @cached_property
    def _each(self) -> list[tuple[float, float]]:
        """(persons, rows of each) by bin."""
        lows = (1, *(end + 1 for end in SIZES))
        rows = [(low + high) / 2 for low, high in zip(lows, SIZES, strict=False)] + [_LARGEST * lows[-1]]
        return [(count if count > _SEEN * self.sd else 0.0, n) for count, n in zip(self.bins, rows, strict=True)]

    def counted(self, most: float = math.inf) -> float:
        """Return rows that count, with L = `most`."""
        return sum(count * min(n, most) for count, n in self._each) or 1.0

    def effective(self, most: int) -> float:
        """Return as many independent rows would tell as much, at least: those of one person are taken to be copies."""
        return self.counted(most) ** 2 / (sum(count * min(n, most) ** 2 for count, n in self._each) or 1.0)

    def rows_that_pay(self, d: int, rho: float, differences: Differences = UNASKED) -> int:
        """Choose the L whose error has the least logarithm in the mean: it exceeds the best by the smallest factor.

        The error is of noise, sampling and what is left of the rows of persons with more. Noise is that of a covariance
        and a mean by clipped moments, relative; sampling that of rows of which a person's are half alike. More than one
        row counts only where a covariance is found. Source: ours; nothing is proven of it.

        Args:
            d: columns.
            rho: mu^2 / 2 of the run.
            differences: that there may be.
        """
        reach, everything = math.sqrt(d) + 1.5, self.counted()

        def error(most: int, difference: float) -> float:
            kept = self.counted(most)
            covariance = math.sqrt((d + 1) / 2) * reach**2 / math.sqrt(0.75 * rho)
            noise = _LOUDER * math.hypot(covariance, reach / math.sqrt(0.2 * rho)) * most / kept
            sampling = (d + 2) * (1 / kept + 1 / self.effective(most)) / 2
            left_out = 2 * (difference * (1 - kept / everything)) ** 2
            return math.sqrt(noise**2 + sampling + left_out)

        def expected(most: int) -> float:
            return sum(chance * math.log(error(most, difference)) for difference, chance in differences)

        needed = _ROOM * max(_SLOPE * d**1.5, _FEWEST) / math.sqrt(rho)
        return min((most for most in TRIED if most == 1 or self.counted(most) / most >= needed), key=expected)
