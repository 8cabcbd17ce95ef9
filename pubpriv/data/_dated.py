"""Chunks of a table with periods: rows of other periods belong to nobody."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.common.periods import Span
from pubpriv.data._dates import in_span
from pubpriv.data.persons import NOBODY
from pubpriv.data.pieces import Chunk


@dataclass(frozen=True)
class DatedChunk(Chunk):
    """A chunk in which only rows of one period belong to a person; if the unit is a row, each row is its own person.

    Attributes:
        dates: date column.
        span: the period.
        first: index in the table of the chunk's first row.
    """

    dates: str = ""
    span: Span | None = None
    first: int = 0

    @classmethod
    def of(cls, chunk: Chunk, dates: str, span: Span, first: int) -> "DatedChunk":
        """Restrict a chunk to one period."""
        return cls(chunk.path, chunk.piece, chunk.columns, chunk.person, chunk.by, chunk.fills, dates, span, first)

    @property
    def key_columns(self) -> list[str]:
        """Id columns and the date column."""
        return sorted({*self.person, self.dates})

    def keys_in(self, batch: Any, start: int) -> np.ndarray:
        """Person keys of the rows of a batch; `NOBODY` for rows of other periods."""
        assert self.span is not None  # a table with a period gives it to its chunks
        inside = in_span(batch.column(batch.schema.get_field_index(self.dates)), self.span)
        if self.person:
            return np.where(inside, super().keys_in(batch, start), NOBODY)
        first = self.first + start + 1  # no row gets the key NOBODY, and no two rows get the same key
        return np.where(inside, np.arange(first, first + batch.num_rows, dtype=np.uint64), NOBODY)
