"""Histograms of a release's public rows, which its page draws behind the released model.

The model file contains this outline of the public rows, so the page can be drawn without the file of public rows.
Private rows are never counted here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable

_MOST_BINS = 20
_OUTER = 100
"""One row in this many may lie outside at either end, so that a few far rows do not flatten the histogram."""


@dataclass(frozen=True)
class Histogram:
    """Counts of one column's public rows in bins of equal width.

    Attributes:
        low, high: beginning of the first bin and end of the last, in the column's own units.
        counts: number of rows in each bin.
        outside: number of rows below the first bin or above the last.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    outside: int

    @classmethod
    def of(cls, values: np.ndarray) -> "Histogram":
        """Count values (m,), m >= 1, in about 2 m^(1/3) bins; bins of whole numbers contain equally many of these."""
        ordered = np.sort(np.asarray(values, dtype=float))
        left_out = len(ordered) // _OUTER
        low, high = float(ordered[left_out]), float(ordered[len(ordered) - 1 - left_out])
        bins = min(_MOST_BINS, ceil(2 * len(ordered) ** (1 / 3)))
        if bool((ordered == np.round(ordered)).all()) and abs(low) + abs(high) < 2**50:
            width = ceil((high - low + 1) / bins)
            bins = ceil((high - low + 1) / width)
            low, high = low - 0.5, low - 0.5 + bins * width
        elif low == high:
            low, high, bins = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2, 1
        inside = ordered[(ordered >= low) & (ordered <= high)]
        place = np.clip(np.floor((inside - low) / (high - low) * bins), 0, bins - 1).astype(int)
        counts = tuple(int(count) for count in np.bincount(place, minlength=bins))
        return cls(low, high, counts, len(ordered) - len(inside))

    @classmethod
    def of_json(cls, data: Any) -> "Histogram":
        """Read a histogram that `public_part` wrote.

        Raises:
            ValueError, TypeError, KeyError: not a histogram.
        """
        counts = tuple(int(count) for count in data["counts"])
        made = cls(float(data["low"]), float(data["high"]), counts, int(data["outside"]))
        if not (np.isfinite([made.low, made.high]).all() and made.low < made.high and sum(counts) > 0 <= min(counts)):
            raise ValueError("no histogram")
        return made

    @property
    def rows(self) -> int:
        """Number of all rows, including those outside."""
        return sum(self.counts) + self.outside

    @property
    def sd(self) -> float:
        """Standard deviation of the rows inside, which lie evenly in their bins."""
        width = (self.high - self.low) / len(self.counts)
        middles = self.low + width * (np.arange(len(self.counts)) + 0.5)
        return float(np.sqrt(np.cov(middles, fweights=self.counts, ddof=0) + width**2 / 12))

    @property
    def densities(self) -> np.ndarray:
        """Return the share of all rows in each bin, divided by its width."""
        return np.array(self.counts) / (self.rows * (self.high - self.low) / len(self.counts))


def histograms_of(public: "PublicTable") -> tuple[Histogram, ...]:
    """Count each column of public rows."""
    return tuple(Histogram.of(column) for column in public.rows.T)


def public_part(public: "PublicTable") -> dict[str, Any]:
    """Make the `public` part of a model file: histograms of the public rows, no single row; empty without rows."""
    if not len(public.rows):
        return {}
    return {"histograms": [dict(vars(histogram)) for histogram in histograms_of(public)]}


def histograms_in(part: Any, d: int) -> tuple[Histogram, ...] | None:
    """Read the `public` part of a model file: one histogram per column, or () in files of older versions.

    Returns:
        Histograms; None if they do not fit d columns.
    """
    listed: Sequence[Any] = part.get("histograms", ()) if isinstance(part, Mapping) else [None]
    try:
        found = tuple(Histogram.of_json(each) for each in listed)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return found if len(found) in (0, d) else None
