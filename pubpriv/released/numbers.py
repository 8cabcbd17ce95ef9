"""The long table of a release: each released number as a row, the same for every kind of estimate.

`Estimate.numbers()` makes it; the page, the output tree, `compare`, the console and Prefect's tables read it, and
none of them looks into an estimate by itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt

QUANTITIES = {"weight": 0, "mean": 1, "covariance": 2, "rows": 0}
"""What a released number may be, and how many columns it is of; only groups have a number of rows."""

SOURCES = ("sampling", "privacy", "clipping", "shrinkage")
"""What a standard error may be made of; a release that does not name the last ones has the first two."""

OPTIONAL = SOURCES[2:]


_Place = tuple[str, int | None, str | None, str | None]
"""Place of a number: quantity, component, column and other column."""


@dataclass(frozen=True, slots=True)
class Number:
    """A released number with its standard errors, in the data's own units.

    Attributes:
        quantity: `weight`, `mean` or `covariance`; `sd` for the square root of a variance (`deviation`).
        component: 1 to k; None where there are no components.
        column: of the data; None for a weight.
        other_column: the second column of a covariance, for a variance the same one again; else None.
        value: the estimate.
        sampling: its standard error by sampling.
        privacy: its standard error by privacy noise.
        clipping: what clipping may have moved it by, as a standard error; 0 where that is not known.
        shrinkage: what drawing a group to all groups may have moved it by, as a standard error; 0 elsewhere.
        group: of which rows; None: of all.
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

    @classmethod
    def at(cls, place: _Place, value: float, errors: Sequence[float], group: str | None = None) -> "Number":
        """Make one of its errors by all `SOURCES`, in their order."""
        sampling, privacy, clipping, shrinkage = errors
        return cls(*place, value, sampling, privacy, clipping, shrinkage, group)

    @property
    def error(self) -> float:
        """The standard error of all sources together: they are independent."""
        return hypot(self.sampling, self.privacy, self.clipping, self.shrinkage)

    @property
    def is_variance(self) -> bool:
        """Tell whether it is the covariance of a column with itself."""
        return self.quantity == "covariance" and self.column == self.other_column

    def deviation(self) -> "Number":
        """Return the sd that a variance gives, with its errors to first order; for a variance of zero, their roots."""
        sd = sqrt(self.value)
        errors = self.sampling, self.privacy, self.clipping, self.shrinkage
        sampling, privacy, clipping, shrinkage = (error / (2 * sd) if sd else sqrt(error) for error in errors)
        deviation = replace(self, quantity="sd", other_column=None, value=sd)
        return replace(deviation, sampling=sampling, privacy=privacy, clipping=clipping, shrinkage=shrinkage)


def counted(number: int, noun: str) -> str:
    """Return `1 column`, `2 columns`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sources_of(numbers: Iterable[Number]) -> tuple[str, ...]:
    """Name the sources of error that numbers have: `SOURCES`, without those of `OPTIONAL` that none has."""
    known = tuple(numbers)
    absent = {source for source in OPTIONAL if not any(getattr(number, source) for number in known)}
    return tuple(source for source in SOURCES if source not in absent)


def of_quantity(numbers: Iterable[Number], quantity: str) -> list[Number]:
    """Pick the numbers of one quantity, in their order; `sd` gives standard deviations of columns, from variances."""
    if quantity == "sd":
        return [number.deviation() for number in numbers if number.is_variance]
    return [number for number in numbers if number.quantity == quantity]


def of_columns(numbers: Iterable[Number]) -> list[Number]:
    """Pick the numbers that say where columns lie: means, or what another kind of release has in their place."""
    return [number for number in numbers if QUANTITIES.get(number.quantity) == 1]


def of_all(numbers: Iterable[Number]) -> list[Number]:
    """Pick the numbers of all rows together, without those of groups."""
    return [number for number in numbers if number.group is None]


def by_component(numbers: Iterable[Number]) -> dict[int | None, list[Number]]:
    """Return the numbers of each component, in their order; under None where there are no components."""
    parts: dict[int | None, list[Number]] = {}
    for number in numbers:
        parts.setdefault(number.component, []).append(number)
    return parts
