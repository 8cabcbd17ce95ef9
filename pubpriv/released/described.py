"""What is known of some columns of some rows: quantiles, shares of values, and each column's distribution.

A release of quantiles has one for all rows, and one for each group.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.reading import Quantile, Share, share_up_to
from pubpriv.released.numbers import Z95, Number

SOURCES = ("sampling", "privacy", "grid")
"""Sources of the error of a quantile."""


@dataclass(frozen=True)
class LevelShare:
    """The share of a level of a column.

    Attributes:
        column: its name.
        level: a value, among the rows that have the column; or `missing`, among all rows.
        share: with its interval.
    """

    column: str
    level: str
    share: Share


@dataclass(frozen=True, eq=False)
class Described:
    """Quantiles and shares of the d columns of some rows.

    Attributes:
        columns: names of the columns.
        at: the q ranks, as shares of the rows that have a column.
        found: by column that is ranked, and rank.
        shares: of missing cells, of levels, of values with many rows, and above values, by column.
        distributions: of each column.
        unranked: names of the columns whose values were counted, not ranked.
        widening: factor of sampling errors where rows are not independent; see `Size.widening`.
    """

    columns: tuple[str, ...]
    at: tuple[float, ...]
    found: tuple[tuple[Quantile, ...], ...]
    shares: tuple[LevelShare, ...]
    distributions: tuple[Distribution, ...]
    unranked: tuple[str, ...] = ()
    widening: float = 1.0

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the columns that have quantiles."""
        return tuple(name for name in self.columns if name not in self.unranked)

    @property
    def quantiles(self) -> np.ndarray:
        """The quantiles (d, q) of the columns that are ranked."""
        return np.array([[each.value for each in column] for column in self.found]).reshape(self._shape)

    @property
    def intervals(self) -> np.ndarray:
        """Ends of their 95% intervals (d, q, 2)."""
        ends = [[(each.low, each.high) for each in column] for column in self.found]
        return np.array(ends).reshape(*self._shape, 2)

    @property
    def rank_errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the ranks (d, q) by source, as shares of the rows."""
        totals = np.array([self.of(name).known.total for name in self.ranked]).reshape(-1, 1)
        return {source: self._parts[..., i] / totals for i, source in enumerate(SOURCES)}

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the quantiles (d, q) by source: half of an interval, split as those of its rank."""
        low, high = np.moveaxis(self.intervals, 2, 0)
        whole = (high - low) / 2 / Z95 / np.sqrt((self._parts**2).sum(axis=2))
        return {source: whole * self._parts[..., i] for i, source in enumerate(SOURCES)}

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.found), len(self.at)

    @property
    def _parts(self) -> np.ndarray:
        """Errors of ranks in rows, (d, q, sources)."""
        errors = [[(q.sampling, q.noise, q.grid) for q in column] for column in self.found]
        return np.array(errors, dtype=float).reshape(*self._shape, len(SOURCES))

    def of(self, column: str) -> Distribution:
        """Return the distribution of a column.

        Raises:
            InvalidInput: no such column.
        """
        if column not in self.columns:
            raise InvalidInput(f"no column {column!r} was released: {', '.join(self.columns)}")
        return self.distributions[self.columns.index(column)]

    def quantile_at(self, column: str, rank: float) -> Quantile:
        """Return a quantile that was released."""
        return self.found[self.ranked.index(column)][self.at.index(rank)]

    def apart(self, other: "Described", column: str, rank: float) -> tuple[float, float]:
        """Return how far a quantile is from that of other rows, in standard errors of ranks.

        The share of the other rows at or below the quantile is compared with its rank: it is no distance at all where a
        value that many rows have holds the rank.

        Args:
            other: of the same column, with this rank.
            column: its name.
            rank: one of `at`.

        Returns:
            In units of noise alone, and of all errors of both.
        """
        mine = self.quantile_at(column, rank)
        ends = math.nextafter(mine.value, -math.inf), mine.value
        low, high = (share_up_to(other.of(column), end, other.widening).value for end in ends)
        apart = max(low - rank, 0.0) + min(high - rank, 0.0)
        pairs = [(each.quantile_at(column, rank), each.of(column).known.total) for each in (self, other)]
        noise = math.hypot(*(q.noise / total for q, total in pairs))
        error = math.hypot(noise, *(part / total for q, total in pairs for part in (q.sampling, q.grid)))
        return -apart / noise, -apart / error

    def numbers(self, group: str | None = None) -> Iterator[Number]:
        """Yield each quantile and each share once, column by column."""
        errors = np.stack([*self.errors.values()], axis=2).tolist()
        for name in self.columns:
            place = self.ranked.index(name) if name in self.ranked else None
            for q, own in zip(self.found[place], errors[place], strict=True) if place is not None else ():
                number = Number("quantile", None, name, None, q.value, own[0], own[1], grid=own[2], group=group)
                yield replace(number, rank=q.share, low=q.low, high=q.high)
            for level, s in [(each.level, each.share) for each in self.shares if each.column == name]:
                number = Number("share", None, name, None, s.value, s.sampling, s.noise, group=group)
                yield replace(number, level=level, low=s.low, high=s.high)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {
            "at": list(self.at),
            "quantiles": self.quantiles.tolist(),
            "intervals": self.intervals.tolist(),
            "rank_errors": {source: errors.tolist() for source, errors in self.rank_errors.items()},
            "shares": [{"column": each.column, "level": each.level, **vars(each.share)} for each in self.shares],
            "distributions": [each.to_json() for each in self.distributions],
            **({"unranked": list(self.unranked)} if self.unranked else {}),
            "widening": self.widening,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], columns: Sequence[str]) -> "Described":
        """Read what `to_json` wrote.

        Raises:
            ValueError, KeyError, TypeError: numbers that are missing or impossible.
        """
        distributions = tuple(map(Distribution.from_json, data["distributions"]))
        at, unranked = tuple(map(float, data["at"])), tuple(map(str, data.get("unranked", ())))
        pairs = zip(columns, distributions, strict=True)
        totals = np.array([column.known.total for name, column in pairs if name not in unranked]).reshape(-1, 1)
        shape = len(totals), len(at)
        ranks = (np.array(data["rank_errors"][source], dtype=float).reshape(shape) * totals for source in SOURCES)
        value, *own = (np.array(part, dtype=float).reshape(*shape, 1) for part in (data["quantiles"], *ranks))
        ends = np.array(data["intervals"], dtype=float).reshape(*shape, 2)
        cells = np.concatenate([value, ends, *own], axis=2).tolist()
        found = tuple(tuple(Quantile(share, *q) for share, q in zip(at, column, strict=True)) for column in cells)
        names = ("value", "low", "high", "sampling", "noise")
        shares = tuple(
            LevelShare(str(each["column"]), str(each["level"]), Share(*(float(each[name]) for name in names)))
            for each in data["shares"]
        )
        return cls(tuple(columns), at, found, shares, distributions, unranked, float(data["widening"]))

    def lacking(self) -> Iterator[str]:
        """Yield descriptions of everything that is impossible."""
        low, high = np.moveaxis(self.intervals, 2, 0)
        if not np.isfinite(self.intervals).all() or not ((low <= self.quantiles) & (self.quantiles <= high)).all():
            yield "each quantile should lie in its interval"
        if not {*self.unranked} <= {*self.columns} or not {each.column for each in self.shares} <= {*self.columns}:
            yield "its distributions and shares are not those of its columns"
        if any(not 0 <= each.share.low <= each.share.value <= each.share.high <= 1 for each in self.shares):
            yield "each share should lie in its interval, between 0 and 1"
