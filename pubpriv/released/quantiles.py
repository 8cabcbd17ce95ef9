"""Released quantiles, and the distribution of each column, from which any other rank is read for free."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.reading import Quantile, Share, check_shares, read, share_up_to
from pubpriv.released.estimate import Estimate, finite
from pubpriv.released.numbers import MISSING, Z95, Number, counted

_SOURCES = ("sampling", "privacy", "grid")


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


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilesEstimate(Estimate):
    """Released quantiles of columns, with 95% intervals, shares of some values, and each column's distribution.

    Attributes:
        at: the q ranks, as shares of the rows that have a column.
        found: by column that is ranked, and rank.
        shares: of missing cells, and of values with many rows, by column.
        distributions: of each column.
        unranked: names of the columns whose values were counted, not ranked.
        widening: factor of sampling errors where rows are not independent; see `Size.widening`.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).lognormal(10, 1, (4000, 1))
        >>> found = pp.estimate_quantiles(rows[:50], pp.Curator.simulation(rows, "zcdp:0.5", seed=2))
        >>> value, low, high = found.quantile("x0", 0.6)
        >>> bool(low < value < high)
        True
    """

    kind: ClassVar[str] = "quantiles"
    quantities: ClassVar[Mapping[str, str]] = {"quantiles": "quantile"}

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
    def estimand(self) -> str:
        """What was estimated, in words."""
        if not self.unranked:
            return "quantiles of each column, of the rows that have a number in it"
        return f"{'quantiles and ' * bool(self.ranked)}shares of values of columns, of the rows that have one"

    @property
    def subject(self) -> str:
        """What was released, in a few words."""
        ranked = f"{counted(len(self.at), 'quantile')} of {counted(len(self.ranked), 'column')}" if self.ranked else ""
        shares = f"the shares of values of {counted(len(self.unranked), 'column')}" if self.unranked else ""
        return " and ".join(filter(None, (ranked, shares)))

    @property
    def quantiles(self) -> np.ndarray:
        """The quantiles (d, q) of the columns that are ranked, in their own units; they rise with their ranks."""
        return np.array([[each.value for each in column] for column in self.found]).reshape(
            len(self.found), len(self.at)
        )

    @property
    def intervals(self) -> np.ndarray:
        """Ends of 95% intervals (d, q, 2), for sampling, noise and what is not known inside a cell, together."""
        ends = [[(each.low, each.high) for each in column] for column in self.found]
        return np.array(ends).reshape(len(self.found), len(self.at), 2)

    @property
    def rank_errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the ranks (d, q) by source, `sampling`, `privacy` and `grid`, as shares of the rows."""
        totals = [[self._of(name).known.total] for name in self.ranked]
        errors = [[(q.sampling, q.noise, q.grid) for q in column] for column in self.found]
        array = np.array(errors).reshape(len(self.found), len(self.at), len(_SOURCES))
        return {source: array[..., i] / np.array(totals).reshape(-1, 1) for i, source in enumerate(_SOURCES)}

    @property
    def missing(self) -> np.ndarray:
        """Share of the rows without a number in each column (d,)."""
        return np.array([each.share.value for each in self.shares if each.level == MISSING])

    def quantile(self, column: str, share: float) -> tuple[float, float, float]:
        """Return another quantile of a column, and the ends of its 95% interval; it costs nothing.

        Where no rank was asked nearby, cells are wide, and so is the interval.

        Raises:
            InvalidInput: no such column, or a share that is not between 0 and 1.
        """
        (found,) = read(self._of(column), check_shares((share,)), self.widening)
        return found.value, found.low, found.high

    def share(self, column: str, level: str) -> tuple[float, float, float]:
        """Return the released share of a level of a column, and the ends of its 95% interval.

        Args:
            column: its name; of `levels(region, north, south)` also `region`.
            level: as in `to_frame`: a value, `missing`, `> 10`.

        Raises:
            InvalidInput: no such share was released.
        """
        named = {(name, n.level): n for n in self.numbers() if n.level for name in (n.column, n.source)}
        if (column, level) not in named:
            raise InvalidInput(f"no share of {level} in {column} was released: to_frame() lists those that were")
        number = named[column, level]
        return (number.value, *number.interval)

    def share_up_to(self, column: str, value: float) -> tuple[float, float, float]:
        """Return the share of the rows at or below a value, and the ends of its 95% interval; it costs nothing.

        The share above it is one minus this, with the ends exchanged. So it is the share of a yes/no column, at 0.

        Raises:
            InvalidInput: no such column, or a value that is no finite number.
        """
        try:
            at = float(value)
        except (TypeError, ValueError):
            at = math.nan
        if not math.isfinite(at):
            raise InvalidInput(f"give a finite number of column {column}, not {value!r}")
        found = share_up_to(self._of(column), at, self.widening)
        return found.value, found.low, found.high

    def apart(self, other: "QuantilesEstimate", column: str, rank: float) -> tuple[float, float]:
        """Return how far a quantile is from that of another release, in standard errors of ranks.

        The share of the other's rows at or below the quantile is compared with its rank: it is no distance at all
        where a value that many rows have holds the rank.

        Args:
            other: a release of the same columns, with this rank.
            column: name of a column.
            rank: one of `at`.

        Returns:
            In units of noise alone, and of all errors of both releases.
        """
        off, mine = other.distributions[other.columns.index(column)], self._quantile(column, rank)
        ends = math.nextafter(mine.value, -math.inf), mine.value
        low, high = (share_up_to(off, end, other.widening).value for end in ends)
        apart = max(low - rank, 0.0) + min(high - rank, 0.0)
        pairs = [(each._quantile(column, rank), each._of(column).known.total) for each in (self, other)]
        noise = math.hypot(*(q.noise / total for q, total in pairs))
        error = math.hypot(noise, *(part / total for q, total in pairs for part in (q.sampling, q.grid)))
        return -apart / noise, -apart / error

    def distribution(self, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distribution of a column: edges (k,), the share of the rows at or below each, and its noise's sd.

        Raises:
            InvalidInput: no such column.
        """
        known = self._of(column).known
        below = np.array(known.below) / known.total
        sds = [float(known.rank_sds(share)[i]) / known.total for i, share in enumerate(below.tolist())]
        return np.array(known.edges), below, np.array(sds)

    def shape_of(self, part: str) -> tuple[int, ...]:
        """Return the shape of the quantiles: columns that are ranked, then ranks."""
        del part
        return len(self.ranked), len(self.at)

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | {
            "at": list(self.at),
            "intervals": self.intervals.tolist(),
            "rank_errors": {source: errors.tolist() for source, errors in self.rank_errors.items()},
            "shares": [{"column": each.column, "level": each.level, **vars(each.share)} for each in self.shares],
            "distributions": [each.to_json() for each in self.distributions],
            **({"unranked": list(self.unranked)} if self.unranked else {}),
            "widening": self.widening,
        }

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read quantiles, shares and distributions."""
        distributions = tuple(map(Distribution.from_json, data["distributions"]))
        at, unranked = tuple(map(float, data["at"])), tuple(map(str, data.get("unranked", ())))
        pairs = zip(data["columns"], distributions, strict=True)
        totals = np.array([column.known.total for name, column in pairs if name not in unranked]).reshape(-1, 1)
        shape = len(totals), len(at)
        ranks = (np.array(data["rank_errors"][source], dtype=float).reshape(shape) * totals for source in _SOURCES)
        parts = [data["quantiles"], *ranks]
        value, *own = (np.array(part, dtype=float).reshape(*shape, 1) for part in parts)
        ends = np.array(data["intervals"], dtype=float).reshape(*shape, 2)
        cells = np.concatenate([value, ends, *own], axis=2).tolist()
        found = tuple(tuple(Quantile(share, *q) for share, q in zip(at, column, strict=True)) for column in cells)
        names = ("value", "low", "high", "sampling", "noise")
        shares = (
            LevelShare(str(each["column"]), str(each["level"]), Share(*(float(each[name]) for name in names)))
            for each in data["shares"]
        )
        return {
            "at": at,
            "found": found,
            "shares": tuple(shares),
            "distributions": distributions,
            "unranked": unranked,
            "widening": float(data["widening"]),
        }

    def _lacking_numbers(self) -> Iterator[str]:
        if self.ranked:
            yield from super()._lacking_numbers()
        low, high = np.moveaxis(self.intervals, 2, 0)
        if (
            not finite(self.intervals, (*self.quantiles.shape, 2))
            or not ((low <= self.quantiles) & (self.quantiles <= high)).all()
        ):
            yield "each quantile should lie in its interval"
        if not {*self.unranked} <= {*self.columns} or not {each.column for each in self.shares} <= {*self.columns}:
            yield "its distributions and shares are not those of its columns"
        if any(not 0 <= each.share.low <= each.share.value <= each.share.high <= 1 for each in self.shares):
            yield "each share should lie in its interval, between 0 and 1"

    def _rows(self) -> Iterator[Number]:
        stacked = dict[str, np.ndarray]()
        if self.ranked:
            cells = np.stack(self._stacked("quantiles", self.quantiles), axis=-1)[0]
            stacked = dict(zip(self.ranked, cells, strict=True))
        for name in self.columns:
            for i, (value, *errors) in enumerate(stacked[name].tolist() if name in stacked else ()):
                q, number = self._found(name)[i], Number.at(("quantile", None, name, None), value, errors)
                yield replace(number, rank=q.share, low=q.low, high=q.high)
            for level, s in [(each.level, each.share) for each in self.shares if each.column == name]:
                number = Number("share", None, name, None, s.value, s.sampling, s.noise)
                yield replace(number, level=level, low=s.low, high=s.high)

    def _found(self, column: str) -> tuple[Quantile, ...]:
        return self.found[self.ranked.index(column)]

    def _quantile(self, column: str, rank: float) -> Quantile:
        return self._found(column)[self.at.index(rank)]

    def _of(self, column: str) -> Distribution:
        if column not in self.columns:
            raise InvalidInput(f"no column {column!r} was released: {', '.join(self.columns)}")
        return self.distributions[self.columns.index(column)]


def errors_of(found: tuple[tuple[Quantile, ...], ...]) -> dict[str, list[list[float]]]:
    """Divide half of each interval, in standard errors, over its sources, by the squares of the errors of its rank."""
    if not found:
        return {source: [] for source in _SOURCES}
    halves = np.array([[(q.high - q.low) / 2 / Z95 for q in column] for column in found])
    parts = np.array([[(q.sampling, q.noise, q.grid) for q in column] for column in found])
    whole = halves / np.sqrt((parts**2).sum(axis=2))
    return {source: (whole * parts[..., i]).tolist() for i, source in enumerate(_SOURCES)}
