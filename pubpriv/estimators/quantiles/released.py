"""Released quantiles, and the distribution of each column, from which any other rank is read for free."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.estimators.quantiles._column import Column
from pubpriv.estimators.quantiles._reading import Quantile, read, share_up_to
from pubpriv.estimators.quantiles.plan import check_shares


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantiles:
    """Released quantiles of some columns, with 95% intervals.

    Attributes:
        columns: names of the d columns.
        at: the q ranks, as shares of the rows that have a column.
        converged: False if a quantile is to a large part a matter of guesses; `warnings` say which.
        warnings: sentences for the reader.
        privacy: the statement: unit, neighbours, guarantee, what was spent.
        provenance: dataset, release, numbers of rows, hash of the public rows.
    """

    columns: tuple[str, ...]
    at: tuple[float, ...]
    converged: bool
    warnings: tuple[str, ...]
    privacy: Mapping[str, Any]
    provenance: Mapping[str, Any]
    _found: tuple[tuple[Quantile, ...], ...] = field(repr=False)
    _known: tuple[Column, ...] = field(repr=False)
    _records: float
    _widening: float

    @property
    def values(self) -> np.ndarray:
        """The quantiles (d, q), in the data's own units; they rise with their ranks."""
        return np.array([[each.value for each in column] for column in self._found])

    @property
    def intervals(self) -> np.ndarray:
        """Ends of 95% intervals (d, q, 2), for sampling, noise and what is not known inside a cell, together."""
        return np.array([[(each.low, each.high) for each in column] for column in self._found])

    @property
    def rank_errors(self) -> dict[str, np.ndarray]:
        """Standard errors of the ranks (d, q) by source, `sampling`, `privacy` and `grid`, as shares of the rows."""
        sources = {"sampling": "sampling", "privacy": "noise", "grid": "grid"}
        return {
            name: np.array(
                [
                    [getattr(each, source) / column.known.total for each in found]
                    for found, column in zip(self._found, self._known, strict=True)
                ]
            )
            for name, source in sources.items()
        }

    @property
    def missing(self) -> np.ndarray:
        """Share of the rows without a number in each column (d,), at least 0."""
        return np.maximum([column.known.missing.rows / self._records for column in self._known], 0.0)

    @property
    def missing_errors(self) -> np.ndarray:
        """Standard errors (d,) of `missing`, from noise."""
        return np.array([column.known.missing.sd / self._records for column in self._known])

    def quantile(self, column: str, share: float) -> tuple[float, float, float]:
        """Return another quantile of a column, and the ends of its 95% interval; it costs nothing.

        Where no rank was asked nearby, cells are wide, and so is the interval.

        Raises:
            InvalidInput: no such column, or a share that is not between 0 and 1.
        """
        (found,) = read(self._of(column), check_shares((share,)), self._widening)
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
        found = share_up_to(self._of(column), at, self._widening)
        return found.value, found.low, found.high

    def distribution(self, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the distribution of a column: edges (k,), the share of the rows at or below each, and its noise's sd.

        Raises:
            InvalidInput: no such column.
        """
        known = self._of(column).known
        below = np.array(known.below) / known.total
        sds = [float(known.rank_sds(share)[i]) / known.total for i, share in enumerate(below.tolist())]
        return np.array(known.edges), below, np.array(sds)

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each quantile: column, rank, value, and the ends of its 95% interval."""
        import pandas as pd

        rows = [
            (name, each.share, each.value, each.low, each.high)
            for name, found in zip(self.columns, self._found, strict=True)
            for each in found
        ]
        return pd.DataFrame(rows, columns=["column", "rank", "value", "low", "high"])

    def summary(self) -> str:
        """Describe the release in a few lines: its guarantee, a sentence for each column, and its warnings."""
        lines = [f"privacy: {self.privacy['guarantee']['text']}"]
        for name, found in zip(self.columns, self._found, strict=True):
            middle = min(found, key=lambda each: abs(each.share - 0.5))
            lines.append(
                f"{middle.share:.0%} of {name} lie at or below {middle.value:.6g} ({middle.low:.6g} to "
                f"{middle.high:.6g})"
            )
        return "\n".join([*lines, *(f"warning: {each}" for each in self.warnings)])

    def _of(self, column: str) -> Column:
        if column not in self.columns:
            raise InvalidInput(f"no column {column!r} was released: {', '.join(self.columns)}")
        return self._known[self.columns.index(column)]

    def __repr__(self) -> str:
        return f"<Quantiles of {', '.join(self.columns)} at {', '.join(f'{share:g}' for share in self.at)}>"
