"""Pieces of a table with periods: rows of other periods are nobody's."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.common.periods import Span
from pubpriv.data._dates import in_span
from pubpriv.data.persons import NOBODY
from pubpriv.data.pieces import Chunk


@dataclass(frozen=True)
class DatedChunk(Chunk):
    """A chunk of which only rows of one period are somebody's; where the unit is a row, each is its own person.

    Attributes:
        dates: date column.
        span: the period.
        first: number of its first row in the table.
    """

    dates: str = ""
    span: Span | None = None
    first: int = 0

    @classmethod
    def of(cls, chunk: Chunk, dates: str, span: Span, first: int) -> "DatedChunk":
        """The same chunk, of one period."""
        return cls(chunk.path, chunk.piece, chunk.columns, chunk.person, chunk.by, dates, span, first)

    @property
    def key_columns(self) -> list[str]:
        """Ids and dates."""
        return sorted({*self.person, self.dates})

    def keys_in(self, batch: Any, start: int) -> np.ndarray:
        """Keys of the persons of the rows of a batch, that of nobody for rows of other periods."""
        assert self.span is not None  # a table with a period makes its chunks with one
        inside = in_span(batch.column(batch.schema.get_field_index(self.dates)), self.span)
        if self.person:
            return np.where(inside, super().keys_in(batch, start), NOBODY)
        first = self.first + start + 1  # no row has the key of nobody, and no two rows have one
        return np.where(inside, np.arange(first, first + batch.num_rows, dtype=np.uint64), NOBODY)
