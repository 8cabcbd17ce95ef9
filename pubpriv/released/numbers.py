"""The long table of a release: each released number as a row, the same for every kind of estimate.

`Estimate.numbers()` makes it. The page, the output tree, `compare`, the console and Prefect's tables use only this
table, never the fields of an estimate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import hypot, sqrt
from typing import Any

from pubpriv.data.columns import parse_columns

QUANTITIES = {
    "weight": 0,
    "mean": 1,
    "covariance": 2,
    "rows": 0,
    "quantile": 1,
    "share": 1,
    "coefficient": 1,
    "intercept": 0,
    "R2": 0,
    "residual_sd": 0,
}
"""Quantities of released numbers, with the number of columns of each; `rows` is only for groups. A column has a
quantile for each rank, and a share for each level."""

SOURCES = ("sampling", "privacy", "clipping", "shrinkage", "grid")
"""Sources of standard errors; every release has the first two."""

OPTIONAL = SOURCES[2:]

MISSING = "missing"
"""Level of the share of the rows that have no number in a column."""

Z95 = 1.959964
"""Number of standard deviations within which a normal variable lies with probability 0.95."""


_Place = tuple[str, int | None, str | None, str | None]
"""Place of a number: quantity, component, column and other column."""

WIDE = 3.0
"""A number is wide if its error is more than this many times the sampling error, which it would have without privacy:
nine times as many rows would then not be missed. Readers get more warnings with a smaller factor, and fewer with a
larger one; on open tables about a tenth of the numbers are wide."""


class State(StrEnum):
    """What a released number is worth; a number has the worst that is true of it.

    `good`: its 95% interval is as honest as can be, and not much wider than without privacy. `wide`: as honest, and
    much wider (`WIDE`). `doubtful`: it may lie outside its interval, and a finding says why.
    """

    GOOD = "good"
    WIDE = "wide"
    DOUBTFUL = "doubtful"


def with_rest(levels: Sequence[str]) -> tuple[str, ...]:
    """Return names of the levels of a column, and of what has none of them."""
    return (*levels, "other than these" if "other" in levels else "other")


@dataclass(frozen=True, slots=True)
class Number:
    """A released number with its standard errors, in the data's own units.

    Attributes:
        quantity: one of `QUANTITIES`; `sd` for the square root of a variance (`deviation`).
        component: 1 to k; None if there are no components.
        column: column of the data; None for a weight.
        other_column: the second column of a covariance, for a variance the same column again; else None.
        value: the estimate.
        sampling: standard error from sampling.
        privacy: standard error from privacy noise.
        clipping: possible effect of clipping, as a standard error; 0 if unknown.
        shrinkage: possible effect of moving a group's number towards all groups, as a standard error; 0 elsewhere.
        group: group of rows; None: all rows.
        state: what the number is worth; None in files of older versions, which do not say.
        grid: possible effect of the unknown shape between two edges, as a standard error; 0 elsewhere.
        rank: of a quantile, as a share of the rows; None for other quantities.
        level: of a share, a value of the column or `missing`; None for other quantities.
        low, high: ends of its 95% interval; None: `Z95` standard errors on both sides.
        alone: standard error that sampling would leave of a group's number by itself; 0: it is not known, or all of
            the number is the group's own.
    """

    quantity: str
    component: int | None
    column: str | None
    other_column: str | None
    value: float
    sampling: float
    privacy: float
    clipping: float = 0.0
    shrinkage: float = 0.0
    group: str | None = None
    state: State | None = None
    grid: float = 0.0
    rank: float | None = None
    level: str | None = None
    low: float | None = None
    high: float | None = None
    alone: float = 0.0

    @classmethod
    def at(cls, place: _Place, value: float, errors: Sequence[float], group: str | None = None) -> "Number":
        """Make a number from its errors by source, in the order of `SOURCES`."""
        sampling, privacy, clipping, shrinkage, grid = errors
        return cls(*place, value, sampling, privacy, clipping, shrinkage, group, grid=grid)

    @property
    def error(self) -> float:
        """The standard error from all sources together, which are independent."""
        return hypot(*(getattr(self, source) for source in SOURCES))

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of its 95% interval."""
        if self.low is None or self.high is None:
            return self.value - Z95 * self.error, self.value + Z95 * self.error
        return self.low, self.high

    @property
    def place(self) -> tuple[str, str | None, str | None, float | None, str | None]:
        """What it is a number of, apart from component and group: quantity, columns, rank, level."""
        return self.quantity, self.column, self.other_column, self.rank, self.level

    @property
    def source(self) -> str | None:
        """Its column; that of a share of `levels(region, north, south)` is `region`."""
        if self.column is None or self.level is None:
            return self.column
        (column,) = parse_columns((self.column,))
        return column.source if column.levels is not None else self.column

    @property
    def name(self) -> str:
        """Name by which a person asks for it.

        `mean:hours`, `variance:hours@2` of component 2, `weight@1[north]`, `quantile:hours@0.5`, `share:hours@missing`.
        """
        kind = "variance" if self.is_variance else self.quantity
        columns = [name for name in (self.source, self.other_column) if name is not None][
            : 1 if self.is_variance else 2
        ]
        of = f":{','.join(columns)}" if columns else ""
        which = next((each for each in (self.component, self.rank, self.level) if each is not None), None)
        at = "" if which is None else f"@{which:g}" if isinstance(which, float) else f"@{which}"
        return f"{kind}{of}{at}{'' if self.group is None else f'[{self.group}]'}"

    @property
    def wide(self) -> bool:
        """Whether it is much less certain than without privacy."""
        return self.error > WIDE * self.unavoidable

    @property
    def unavoidable(self) -> float:
        """The standard error without privacy."""
        return max(self.sampling, self.alone)

    @property
    def is_variance(self) -> bool:
        """Whether it is the covariance of a column with itself."""
        return self.quantity == "covariance" and self.column == self.other_column

    def deviation(self) -> "Number":
        """Convert a variance to an sd, with errors to first order; if the variance is zero, with their square roots."""
        sd = sqrt(self.value)
        own: dict[str, Any] = {source: getattr(self, source) for source in SOURCES}
        own = {source: error / (2 * sd) if sd else sqrt(error) for source, error in own.items()}
        return replace(self, quantity="sd", other_column=None, value=sd, **own)


def counted(number: int, noun: str) -> str:
    """Return `1 column`, `2 columns`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sources_of(numbers: Iterable[Number]) -> tuple[str, ...]:
    """Return the sources of error of these numbers: `SOURCES`, without those of `OPTIONAL` that are all zero."""
    known = tuple(numbers)
    absent = {source for source in OPTIONAL if not any(getattr(number, source) for number in known)}
    return tuple(source for source in SOURCES if source not in absent)


def of_quantity(numbers: Iterable[Number], quantity: str) -> list[Number]:
    """Select the numbers of one quantity, in their order; `sd` converts variances to standard deviations."""
    if quantity == "sd":
        return [number.deviation() for number in numbers if number.is_variance]
    return [number for number in numbers if number.quantity == quantity]


def of_columns(numbers: Iterable[Number]) -> list[Number]:
    """Select the location of each column: means, or the quantity that another kind of release has instead."""
    return [number for number in numbers if QUANTITIES.get(number.quantity) == 1]


def of_all(numbers: Iterable[Number]) -> list[Number]:
    """Select the numbers of all rows together, without those of groups."""
    return [number for number in numbers if number.group is None]


def by_component(numbers: Iterable[Number]) -> dict[int | None, list[Number]]:
    """Return the numbers of each component, in their order; the key is None if there are no components."""
    parts: dict[int | None, list[Number]] = {}
    for number in numbers:
        parts.setdefault(number.component, []).append(number)
    return parts
