"""Released quantiles, and the distribution of each column, from which any other rank is read for free."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.described import Described
from pubpriv.released.distributions.reading import check_shares, read, share_up_to
from pubpriv.released.estimate import Estimate
from pubpriv.released.groups import QuantileGroup
from pubpriv.released.margins import Margins, check_count
from pubpriv.released.numbers import MISSING, Number, counted

if TYPE_CHECKING:
    from sklearn.preprocessing import QuantileTransformer, RobustScaler

_REFERENCES = 1001
"""Ranks of a transformer: each thousandth of the rows."""

_MOST_SHARES = 4
"""Most shares of a group that are told."""


@dataclass(frozen=True, kw_only=True, repr=False)
class QuantilesEstimate(Estimate):
    """Released quantiles of columns, with 95% intervals, shares of some values, and each column's distribution.

    Attributes:
        described: all of these, of all rows.

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

    described: Described

    @property
    def at(self) -> tuple[float, ...]:
        """The q ranks, as shares of the rows that have a column."""
        return self.described.at

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the columns that have quantiles."""
        return self.described.ranked

    @property
    def unranked(self) -> tuple[str, ...]:
        """Names of the columns whose values were counted, not ranked."""
        return self.described.unranked

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
        return self.described.quantiles

    @property
    def intervals(self) -> np.ndarray:
        """Ends of 95% intervals (d, q, 2), for sampling, noise and what is not known inside a cell, together."""
        return self.described.intervals

    @property
    def rank_errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the ranks (d, q) by source, `sampling`, `privacy` and `grid`, as shares of the rows."""
        return self.described.rank_errors

    @property
    def missing(self) -> np.ndarray:
        """Share of the rows without a number in each column (d,)."""
        return np.array([each.share.value for each in self.described.shares if each.level == MISSING])

    def quantile(self, column: str, share: float) -> tuple[float, float, float]:
        """Return another quantile of a column, and the ends of its 95% interval; it costs nothing.

        Where no rank was asked nearby, cells are wide, and so is the interval.

        Raises:
            InvalidInput: no such column, or a share that is not between 0 and 1.
        """
        (found,) = read(self.described.of(column), check_shares((share,)), self.described.widening)
        return found.value, found.low, found.high

    def share(self, column: str, level: str) -> tuple[float, float, float]:
        """Return the released share of a level of a column, and the ends of its 95% interval.

        Args:
            column: its name; of `levels(region, north, south)` also `region`.
            level: as in `to_frame`: a value, `missing`, `> 10`.

        Raises:
            InvalidInput: no such share was released.
        """
        named = {(name, n.level): n for n in self.described.numbers() if n.level for name in (n.column, n.source)}
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
        found = share_up_to(self.described.of(column), at, self.described.widening)
        return found.value, found.low, found.high

    def distribution(self, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distribution of a column: edges (k,), the share of the rows at or below each, and its noise's sd.

        Raises:
            InvalidInput: no such column.
        """
        known = self.described.of(column).known
        below = np.array(known.below) / known.total
        sds = [float(known.rank_sds(share)[i]) / known.total for i, share in enumerate(below.tolist())]
        return np.array(known.edges), below, np.array(sds)

    @property
    def margins(self) -> Margins:
        """The distributions of all columns, from which rows are drawn."""
        return Margins.of(self.described)

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """Return `n` synthetic rows (n, d); they are post-processing and cost nothing.

        Each column is drawn by itself, since nothing that is released ties columns: rows have its quantiles, heaps and
        shares, and no relation of columns. A missing cell is NaN; levels of `levels(region, north)` are numbers from 0.

        Raises:
            InvalidInput: not a positive number of rows.
        """
        return self.margins.sample(check_count(n), seed)

    def to_quantile_transformer(self, output_distribution: str = "uniform") -> "QuantileTransformer":
        """Return a fitted `sklearn.preprocessing.QuantileTransformer` of the columns that are ranked; it costs nothing.

        It maps values to their ranks, or to those of a normal law, and leaves missing cells missing.

        Args:
            output_distribution: `uniform` or `normal`.
        """
        from sklearn.preprocessing import QuantileTransformer

        references = np.linspace(0.0, 1.0, _REFERENCES)
        made = QuantileTransformer(n_quantiles=_REFERENCES, output_distribution=output_distribution)
        columns = [self.described.of(name).values_at(references) for name in self.ranked]
        made.quantiles_ = np.maximum.accumulate(np.array(columns).T, axis=0)
        made.references_, made.n_quantiles_, made.n_features_in_ = references, _REFERENCES, len(columns)
        return made

    def to_robust_scaler(self) -> "RobustScaler":
        """Return a fitted `sklearn.preprocessing.RobustScaler` of the columns that are ranked; it costs nothing.

        It subtracts the median and divides by the distance of the quartiles, or by 1 if that is 0.
        """
        from sklearn.preprocessing import RobustScaler

        quartiles = np.array([[self.quantile(name, rank)[0] for rank in (0.25, 0.5, 0.75)] for name in self.ranked])
        made, spread = RobustScaler(), quartiles[:, 2] - quartiles[:, 0]
        made.center_, made.scale_ = quartiles[:, 1], np.where(spread > 0, spread, 1.0)
        made.n_features_in_ = len(quartiles)
        return made

    def of_group(self, name: str) -> Self:
        """Return one group as an estimate of its own; it costs nothing.

        Raises:
            InvalidInput: the release has no such group.
        """
        group = self._group(name)
        assert isinstance(group, QuantileGroup)  # as the run made it
        errors = {"quantiles": {source: part.tolist() for source, part in group.described.errors.items()}}
        return replace(self, groups=None, described=group.described, standard_errors=errors)

    def main_numbers_by_group(self) -> dict[str, list[Number | None]]:
        """Return a few numbers of each group, the same of all, by its name; None where it has too few rows for one.

        These are the middle quantile of each column, and the first shares of columns that are counted.
        """
        middle = min(self.at, key=lambda rank: abs(rank - 0.5), default=0.5)
        shares = [n.place for n in self.described.numbers() if n.column in self.unranked and n.level != MISSING]
        places = [("quantile", name, None, middle, None) for name in self.ranked] + shares[:_MOST_SHARES]
        groups = self.groups.each if self.groups else ()
        numbers = {group.name: {n.place: n for n in group.numbers(self.columns)} for group in groups}
        return {name: [known.get(place) for place in places] for name, known in numbers.items()}

    def shape_of(self, part: str) -> tuple[int, ...]:
        """Return the shape of the quantiles: columns that are ranked, then ranks."""
        del part
        return len(self.ranked), len(self.at)

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | self.described.to_json()

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read quantiles, shares and distributions."""
        return {"described": Described.from_json(data, data["columns"])}

    def _lacking_numbers(self) -> Iterator[str]:
        if self.ranked:
            yield from super()._lacking_numbers()
        yield from self.described.lacking()

    def _rows(self) -> Iterator[Number]:
        return self.described.numbers()
