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
        found: by column and rank.
        shares: of missing cells, and of values with many rows, by column.
        distributions: of each column.
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
    widening: float = 1.0

    @property
    def estimand(self) -> str:
        """What was estimated, in words."""
        return "quantiles of each column, of the rows that have a number in it"

    @property
    def subject(self) -> str:
        """What was released, in a few words."""
        return f"{counted(len(self.at), 'quantile')} of {counted(len(self.columns), 'column')}"

    @property
    def quantiles(self) -> np.ndarray:
        """The quantiles (d, q), in the data's own units; they rise with their ranks."""
        return np.array([[each.value for each in column] for column in self.found])

    @property
    def intervals(self) -> np.ndarray:
        """Ends of 95% intervals (d, q, 2), for sampling, noise and what is not known inside a cell, together."""
        return np.array([[(each.low, each.high) for each in column] for column in self.found])

    @property
    def rank_errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the ranks (d, q) by source, `sampling`, `privacy` and `grid`, as shares of the rows."""
        totals = np.array([[column.known.total] for column in self.distributions])
        errors = np.array([[(q.sampling, q.noise, q.grid) for q in column] for column in self.found])
        return {source: errors[..., i] / totals for i, source in enumerate(_SOURCES)}

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
        """Return the shape of the quantiles: columns, then ranks."""
        return (*super().shape_of(part), len(self.at))

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | {
            "at": list(self.at),
            "intervals": self.intervals.tolist(),
            "rank_errors": {source: errors.tolist() for source, errors in self.rank_errors.items()},
            "shares": [{"column": each.column, "level": each.level, **vars(each.share)} for each in self.shares],
            "distributions": [each.to_json() for each in self.distributions],
            "widening": self.widening,
        }

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read quantiles, shares and distributions."""
        distributions = tuple(map(Distribution.from_json, data["distributions"]))
        at, errors = tuple(map(float, data["at"])), data["rank_errors"]
        own = [
            np.array(errors[source], dtype=float) * [[column.known.total] for column in distributions]
            for source in _SOURCES
        ]
        numbers = np.array(data["quantiles"], dtype=float)[..., None], np.array(data["intervals"], dtype=float)
        cells = np.concatenate([*numbers, *(each[..., None] for each in own)], axis=2).tolist()
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
            "widening": float(data["widening"]),
        }

    def _lacking_numbers(self) -> Iterator[str]:
        yield from super()._lacking_numbers()
        low, high = np.moveaxis(self.intervals, 2, 0)
        if (
            not finite(self.intervals, (*self.quantiles.shape, 2))
            or not ((low <= self.quantiles) & (self.quantiles <= high)).all()
        ):
            yield "each quantile should lie in its interval"
        if len(self.distributions) != len(self.columns) or not {each.column for each in self.shares} <= {*self.columns}:
            yield "its distributions and shares are not those of its columns"
        if any(not 0 <= each.share.low <= each.share.value <= each.share.high <= 1 for each in self.shares):
            yield "each share should lie in its interval, between 0 and 1"

    def _rows(self) -> Iterator[Number]:
        stacked = np.stack(self._stacked("quantiles", self.quantiles), axis=-1)[0].tolist()
        for name, found, cells in zip(self.columns, self.found, stacked, strict=True):
            for q, (value, *errors) in zip(found, cells, strict=True):
                number = Number.at(("quantile", None, name, None), value, errors)
                yield replace(number, rank=q.share, low=q.low, high=q.high)
            for level, s in [(each.level, each.share) for each in self.shares if each.column == name]:
                number = Number("share", None, name, None, s.value, s.sampling, s.noise)
                yield replace(number, level=level, low=s.low, high=s.high)

    def _quantile(self, column: str, rank: float) -> Quantile:
        return self.found[self.columns.index(column)][self.at.index(rank)]

    def _of(self, column: str) -> Distribution:
        if column not in self.columns:
            raise InvalidInput(f"no column {column!r} was released: {', '.join(self.columns)}")
        return self.distributions[self.columns.index(column)]


def errors_of(found: tuple[tuple[Quantile, ...], ...]) -> dict[str, list[list[float]]]:
    """Divide half of each interval, in standard errors, over its sources, by the squares of the errors of its rank."""
    halves = np.array([[(q.high - q.low) / 2 / Z95 for q in column] for column in found])
    parts = np.array([[(q.sampling, q.noise, q.grid) for q in column] for column in found])
    whole = halves / np.sqrt((parts**2).sum(axis=2))
    return {source: (whole * parts[..., i]).tolist() for i, source in enumerate(_SOURCES)}
