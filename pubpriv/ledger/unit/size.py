"""Number of rows that questions count, exact or released, and numbers computed from it alone (post-processing)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.data.frames import GRID
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.questions.base import LIMIT
from pubpriv.data.questions.per_person import SIZES

TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
"""Values of L that `auto` tries."""

_LARGEST = 1.5
"""Assumed rows of a person in the last, open bin, as a multiple of the bin's lower end."""

Differences = tuple[tuple[float, float], ...]
"""Possible differences, in sds, between the means of counted and of omitted rows, each with its probability."""

UNASKED: Differences = ((0.1, 1.0),)
"""Differences that `auto` assumes if the questions of `difference` were not asked."""

_SEEN = 2.0
"""Noise sds above which a bin counts as having persons (`auto`)."""

_LOUDER = 1.65
"""Noise of an estimate relative to clipped moments alone (`auto`): rounds and histograms cost budget too, and shells
are wide. Measured with Gaussian rows of 1,000 and 4,000 persons, over L and two budgets: 1.4 to 2."""

_SLOPE, _FEWEST, _ROOM = 10.0, 150.0, 1.2
"""No covariance is found if W sqrt(rho) / L is less than max(SLOPE d^1.5, FEWEST), see the plan of `estimate_gaussian`;
`auto` asks for `_ROOM` times as much, because W is an estimate."""


@dataclass(frozen=True)
class Learnt:
    """What `auto` learnt of two targets: rows as they are, and the mean in which each person counts once.

    Attributes:
        columns: names of the columns.
        apart: by how much the rows that the run does not count in full differ from those that it does, by column, in
            the data's units, and the sd of that.
        sds: sds of these differences.
        kept: share of all rows that count.
        once: share of all rows that would count if each person counted once.
    """

    columns: tuple[str, ...]
    apart: tuple[float, ...]
    sds: tuple[float, ...]
    kept: float
    once: float

    def targets(self) -> dict[str, dict[str, dict[str, float]]]:
        """Give the means of both targets minus the released ones, with their sds, by column."""
        off = {"rows": 1 - self.kept, "persons": self.once - self.kept}
        return {
            name: {target: {"difference": part * apart, "sd": abs(part) * sd} for target, part in off.items()}
            for name, apart, sd in zip(self.columns, self.apart, self.sds, strict=True)
        }


@dataclass(frozen=True)
class Size:
    """Number of rows that questions count.

    Attributes:
        rows: n, or the released number of rows that count, at most L for each person.
        sd: sd of the noise in `rows`; 0 if it is exact.
        effective: equivalent number of independent rows; at most `rows`.
        persons: released or declared number of persons, and the sd of its noise; None if the unit is a row.
        most: L; None if the unit is a row.
        period: period of the rows; None: all rows.
        all_rows: lower bound of what `rows` would be if no cell were missing, and the sd of its noise; None: unknown.
        learnt: what `auto` learnt; None: it asked nothing, or L was given.
    """

    rows: int
    sd: float = 0.0
    effective: float = 0.0
    persons: tuple[float, float] | None = None
    most: int | None = None
    period: str | None = None
    all_rows: tuple[float, float] | None = None
    learnt: Learnt | None = None

    @property
    def deficit(self) -> tuple[float, float]:
        """Share of what persons count for that is left out, with rows of missing cells, and its sd; a lower bound.

        It follows from released numbers: persons by their number of rows, and rows without a missing cell. (0, 0) where
        these do not tell, or differ by no more than their noise may.
        """
        if self.all_rows is None or self.all_rows[0] <= 0:
            return 0.0, 0.0
        total, sd = self.all_rows
        left = self.rows / total
        error = math.hypot(self.sd, left * sd) / total
        return (1 - left, error) if 1 - left > SURELY * error else (0.0, 0.0)

    @property
    def widening(self) -> float:
        """Factor for sampling errors of `rows` independent rows, because rows of one person are alike."""
        return math.sqrt(self.rows / self.effective) if self.effective else 1.0

    @property
    def one_each(self) -> int:
        """Number of rows for questions that are asked of one row of each person."""
        if self.persons is None or self.most == 1:
            return self.rows
        return max(2, round(self.persons[0]))

    def counted(self, count: float, sd: float, doubt: float, least: float) -> float:
        """Estimate the number of rows without missing or infinite values, given one more released count of them.

        If n is exact, the result is n unless the count is clearly less. If n was itself released, as a count of such
        rows, the result is the mean of both, weighted by their noise: a number that is 3% too low does more harm than
        all other noise.

        Args:
            count: released count.
            sd: sd of its noise.
            doubt: number of sds below n from which on the count is clearly less.
            least: lower bound of the result.
        """
        if self.sd == 0:
            return float(self.rows) if count > self.rows - doubt * sd else max(count, least)
        if count < self.rows - doubt * math.hypot(self.sd, sd):  # clearly less
            return max(count, least)
        share = self.sd**2 / (self.sd**2 + sd**2)
        return max(share * count + (1 - share) * self.rows, least)

    def widened(self, errors: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return standard errors, {number: {"sampling": array, ...}}, with sampling errors times `widening`."""
        return {
            name: {source: sd * self.widening if source == "sampling" else sd for source, sd in parts.items()}
            for name, parts in errors.items()
        }

    def provenance(self) -> dict[str, Any]:
        """Return the part of a model file about the number of rows."""
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
            **({} if self.learnt is None else {"auto": self.learnt.targets()}),
        }


def effective_rows(rows: int, persons: float, bins: tuple[float, ...], most: int) -> float:
    """Return a lower estimate of n_L^2 / sum_p min(n_p, L)^2, in which rows of one person count as copies."""
    ends = (*SIZES, most)
    squares = sum(max(count, 0.0) * min(end, most) ** 2 for count, end in zip(bins, ends, strict=True)) if bins else 0.0
    return min(float(rows), rows**2 / max(squares, persons if most == 1 else 0.0, 1.0))


def grain_for(rows: float, most: int = MOST_WEIGHT) -> int:
    """Return the largest power of two up to `most`, as a grain with which sums of squares of 2 * rows rows fit."""
    grain = most
    while grain > 1 and 2 * rows * grain * GRID**2 >= LIMIT:
        grain //= 2
    return grain


@dataclass(frozen=True)
class Sizes:
    """Released numbers of persons by number of rows; all methods are post-processing.

    Persons that may be only noise are not counted, because a few with many rows would outweigh all others.

    Attributes:
        bins: the bins of `PersonSizes`.
        sd: approximate sd of the noise in each bin.
    """

    bins: tuple[float, ...]
    sd: float

    @cached_property
    def _each(self) -> list[tuple[float, float]]:
        """(persons, rows of each person) by bin."""
        lows = (1, *(end + 1 for end in SIZES))
        rows = [(low + high) / 2 for low, high in zip(lows, SIZES, strict=False)] + [_LARGEST * lows[-1]]
        return [(count if count > _SEEN * self.sd else 0.0, n) for count, n in zip(self.bins, rows, strict=True)]

    def counted(self, most: float = math.inf) -> float:
        """Return the number of rows that count, with L = `most`."""
        return sum(count * min(n, most) for count, n in self._each) or 1.0

    def all_rows(self, most: int) -> tuple[float, float]:
        """Return a lower bound of the number of rows that count with L = `most`, whole or not, and the sd of its noise.

        It is exact but for the bin in which L lies: there, persons may have as few rows as the bin's lower end.
        """
        least = np.minimum([1, *(end + 1 for end in SIZES)], most)
        return float(np.array(self.bins) @ least), self.sd * float(np.linalg.norm(least))

    def effective(self, most: int) -> float:
        """Return a lower bound of the equivalent number of independent rows: rows of one person count as copies."""
        return self.counted(most) ** 2 / (sum(count * min(n, most) ** 2 for count, n in self._each) or 1.0)

    def rows_that_pay(self, d: int, rho: float, differences: Differences = UNASKED) -> int:
        """Choose the L with the smallest mean logarithm of the error, so that it exceeds the best by the least factor.

        The error combines noise, sampling, and the rows that are omitted of persons with more than L rows. Noise is the
        relative noise of a covariance and a mean by clipped moments. Sampling assumes that the rows of a person are
        half alike. More than one row counts only if a covariance is found. Source: ours; nothing is proven about it.

        Args:
            d: number of columns.
            rho: mu^2 / 2 of the run.
            differences: possible differences.
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
