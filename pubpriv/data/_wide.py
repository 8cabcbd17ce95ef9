"""Sums of int64 totals without overflow, for any number of records.

A total over a block fits in 52 bits; a total over a table may not fit in 64. If the number of records is private, no
check may depend on it, so totals are summed in two halves of 32 bits and clamped once, at the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.data.questions.base import LIMIT, Question, Totals

_LOW = (1 << 32) - 1

_EMPTY = np.empty(0, dtype=np.int64)


def nothing_of(question: Question) -> "Sums":
    """Return zero totals, to which those of blocks are added."""
    listed = None in question.total_sizes.values()
    return _ListedTotals([]) if listed else WideTotals.zeros(question)


@dataclass(frozen=True, eq=False, repr=False)
class WideTotals:
    """Totals as high * 2^32 + low, int64 arrays by part: exact for up to 2^31 pieces of any int64.

    Attributes:
        high, low: halves.
    """

    high: Totals
    low: Totals

    @classmethod
    def zeros(cls, question: Question) -> "WideTotals":
        """Return zeros of the sizes that the question announces."""
        sizes = question.total_sizes.items()
        return cls(*({name: np.zeros(count or 0, dtype=np.int64) for name, count in sizes} for _ in range(2)))

    def add(self, piece: Totals) -> None:
        """Add the totals of one block.

        Raises:
            ValueError: the shapes differ from those announced; NumPy would add one number to many.
        """
        for name, low in self.low.items():
            if piece[name].shape != low.shape:
                raise ValueError("totals of other shapes than the question announced")
            np.add(low, piece[name] & _LOW, out=low)
            np.add(self.high[name], piece[name] >> 32, out=self.high[name])

    def join(self, others: Iterable[Any]) -> "WideTotals":
        """Add other sums to this one, and return it."""
        for other in others:
            for name in self.low:
                self._add_halves(name, other.high[name], other.low[name])
        return self

    def _add_halves(self, name: str, high: np.ndarray, low: np.ndarray) -> None:
        if not high.shape == low.shape == self.low[name].shape:
            raise ValueError("totals of other shapes than the question announced")
        np.add(self.high[name], high + (low >> 32), out=self.high[name])
        np.add(self.low[name], low & _LOW, out=self.low[name])

    def clamped(self, question: Question) -> Totals:
        """Return totals clamped to the range to which noise can be added (`base.LIMIT`).

        Clamping a coordinate never moves two totals further apart, so clamping before noise costs nothing. If the
        number of records is public no total reaches the ends: the door proved it before the charge.
        """
        parts = question.parts
        room = {name: (LIMIT - 1) // parts[name].factor if name in parts else LIMIT for name in self.low}
        return {name: self._clamped(name, most) for name, most in room.items()}

    def _clamped(self, name: str, most: int) -> np.ndarray:
        end = LIMIT >> 32
        high = self.high[name] + (self.low[name] >> 32)
        total = (np.clip(high, -end, end - 1) << 32) + (self.low[name] & _LOW)
        total[high >= end], total[high < -end] = LIMIT, -LIMIT
        return np.asarray(np.clip(total, -most, most))


@dataclass(frozen=True, eq=False, repr=False)
class _ListedTotals:
    """Totals of a question that has one per cell: names of the cells, and last the number of records in each.

    Attributes:
        pieces: of blocks, in the order of the table.
    """

    pieces: list[Totals]

    def add(self, piece: Totals) -> None:
        """Add the totals of one block."""
        self.pieces.append(piece)

    def join(self, others: Iterable[Any]) -> "_ListedTotals":
        """Add other totals to this one, and return it."""
        for other in others:
            self.pieces.extend(other.pieces)
        return self

    def clamped(self, question: Question) -> Totals:
        """Return each cell once, in rising order; counts of records are too small to need clamping."""
        names = list(question.total_sizes)
        listed = [np.concatenate([_EMPTY, *(piece[name] for piece in self.pieces)]) for name in names]
        order = np.lexsort(listed[-2::-1])
        *cells, counts = (values[order] for values in listed)
        first = np.flatnonzero(np.any([np.r_[True, np.diff(cell) != 0][: len(cell)] for cell in cells], axis=0))
        counts = np.add.reduceat(counts, first) if len(first) else counts
        return dict(zip(names, (*(cell[first] for cell in cells), counts), strict=True))


Sums = WideTotals | _ListedTotals
"""Totals of blocks, until the whole table is read."""
