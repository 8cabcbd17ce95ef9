"""Estimates of groups of rows in a release, in addition to those of all rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.described import Described
from pubpriv.released.numbers import QUANTITIES, SOURCES, Number

_MOSTLY = 0.5
"""If the weight of a group's own number is less, the number is mostly that of all groups."""


@dataclass(frozen=True)
class Group:
    """One group of rows.

    Attributes:
        name: name of the group: its value in the cells, or what its owner calls it.
        rows: released number of rows, and the sd of its noise.
        parts: its numbers, as arrays, by quantity: `mean`, `covariance`, `weight`.
        errors: standard errors of each part, by source.
        own: weight of the group's own numbers in each part, against those of all groups; 1: only its own.
        alone: standard errors that sampling would leave of the group's own numbers, by part; empty in older files.
        level: its value in the cells, if the owner calls it otherwise; empty: that is its name.
    """

    name: str
    rows: tuple[float, float]
    parts: Mapping[str, np.ndarray]
    errors: Mapping[str, Mapping[str, np.ndarray]]
    own: Mapping[str, float]
    alone: Mapping[str, np.ndarray] = field(default_factory=dict)
    level: str = ""

    @property
    def category(self) -> str:
        """Its value in the cells."""
        return self.level or self.name

    @property
    def borrowed(self) -> bool:
        """Whether its numbers are mostly those of all groups together, because it is small or its noise is large."""
        return min(self.own.values()) < _MOSTLY

    def numbers(self, columns: Sequence[str]) -> Iterator[Number]:
        """Yield each of its numbers once, with its errors."""
        count, sd = self.rows
        yield Number("rows", None, None, None, count, 0.0, sd, group=self.name)
        for quantity, values in self.parts.items():
            errors = [np.asarray(self.errors[quantity].get(source, np.zeros(values.shape))) for source in SOURCES]
            alone = np.asarray(self.alone.get(quantity, np.zeros(values.shape)))
            if quantity == "weight":
                for j, value in enumerate(values):
                    own = [float(error[j]) for error in errors]
                    number = Number.at((quantity, j + 1, None, None), float(value), own, self.name)
                    yield replace(number, alone=float(alone[j]))
                continue
            for where in combinations_with_replacement(range(len(columns)), QUANTITIES[quantity]):
                column, other = (*(columns[i] for i in where), None)[:2]
                own = [float(error[where]) for error in errors]
                number = Number.at((quantity, None, column, other), float(values[where]), own, self.name)
                yield replace(number, alone=float(alone[where]))

    def lacking(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield descriptions of everything that is missing or impossible."""
        for quantity, values in self.parts.items():
            square = quantity != "weight" and values.shape != (len(columns),) * QUANTITIES[quantity]
            all_ = [values, *self.errors.get(quantity, {}).values()]
            all_ += [self.alone[quantity]] if quantity in self.alone else []
            if square or len(all_) < 3 or any(a.shape != values.shape or not np.isfinite(a).all() for a in all_):
                yield f"the {quantity} of group {self.name} should be finite numbers, each with its errors"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {
            "name": self.name,
            **({"level": self.level} if self.level else {}),
            "rows": _rows_to_json(self.rows),
            **{quantity: values.tolist() for quantity, values in self.parts.items()},
            "standard_errors": {
                quantity: {source: values.tolist() for source, values in parts.items()}
                for quantity, parts in self.errors.items()
            },
            "own_weight": dict(self.own),
            **({"sampling_alone": {part: sds.tolist() for part, sds in self.alone.items()}} if self.alone else {}),
            "mostly_borrowed": self.borrowed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Group":
        """Read what `to_json` wrote."""
        errors = {
            quantity: {source: np.array(values, dtype=float) for source, values in parts.items()}
            for quantity, parts in data["standard_errors"].items()
        }
        parts = {quantity: np.array(data[quantity], dtype=float) for quantity in errors}
        own = {quantity: float(weight) for quantity, weight in data["own_weight"].items()}
        alone = {quantity: np.array(sds, dtype=float) for quantity, sds in data.get("sampling_alone", {}).items()}
        level = str(data.get("level", ""))
        return cls(str(data["name"]), _rows_from_json(data["rows"]), parts, errors, own, alone, level)


@dataclass(frozen=True)
class QuantileGroup(Group):
    """Quantiles and shares of one group of rows; ranks that noise would drown are left out.

    Attributes:
        described: its quantiles and shares.
    """

    described: Described = field(kw_only=True)

    @classmethod
    def of(cls, name: str, rows: tuple[float, float], described: Described) -> "QuantileGroup":
        """Make a group, which takes nothing over from others."""
        return cls(name, rows, {}, {}, {"quantile": 1.0}, described=described)

    def numbers(self, columns: Sequence[str]) -> Iterator[Number]:
        """Yield each of its numbers once, with its errors."""
        yield from super().numbers(columns)
        yield from self.described.numbers(self.name)

    def lacking(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield descriptions of everything that is impossible."""
        yield from super().lacking(columns)
        yield from (f"of group {self.name} {text}" for text in self.described.lacking())

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return super().to_json() | self.described.to_json()

    @classmethod
    def described_in(cls, data: Mapping[str, Any], columns: Sequence[str]) -> "QuantileGroup":
        """Read what `to_json` wrote of these columns."""
        group = cls.of(str(data["name"]), _rows_from_json(data["rows"]), Described.from_json(data, columns))
        return replace(group, level=str(data.get("level", "")))


@dataclass(frozen=True)
class Groups:
    """Groups of rows, by a column of the table.

    Attributes:
        by: the column, or `month(column)`.
        each: one group for each category that was asked, in order.
    """

    by: str
    each: tuple[Group, ...]

    def __getitem__(self, name: str) -> Group:
        found = {group.category: group for group in self.each} | {group.name: group for group in self.each}
        if name not in found:
            raise InvalidInput(f"there is no group {name!r} by {self.by} among {', '.join(g.name for g in self.each)}")
        return found[name]

    def numbers(self, columns: Sequence[str]) -> tuple[Number, ...]:
        """Return numbers of all groups, one group after the other."""
        return tuple(number for group in self.each for number in group.numbers(columns))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {"by": self.by, "each": [group.to_json() for group in self.each]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], columns: Sequence[str]) -> "Groups":
        """Read what `to_json` wrote of these columns."""
        if any("distributions" in each for each in data["each"]):
            return cls(str(data["by"]), tuple(QuantileGroup.described_in(each, columns) for each in data["each"]))
        return cls(str(data["by"]), tuple(map(Group.from_json, data["each"])))

    def lacking(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield descriptions of everything that is missing or impossible."""
        for group in self.each:
            yield from group.lacking(columns)


def _rows_to_json(rows: tuple[float, float]) -> dict[str, float]:
    return {"estimate": rows[0], "sd": rows[1]}


def _rows_from_json(data: Mapping[str, Any]) -> tuple[float, float]:
    return float(data["estimate"]), float(data["sd"])
