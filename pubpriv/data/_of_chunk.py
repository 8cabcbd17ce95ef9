"""What all views of a chunk of a table take over from it."""

from dataclasses import dataclass
from typing import Any

from pubpriv.data.categories import ByCategory
from pubpriv.data.columns import Column


@dataclass(frozen=True, eq=False, repr=False)
class OfChunk:
    """A view of a chunk.

    Attributes:
        chunk: the chunk.
    """

    chunk: Any

    @property
    def by(self) -> ByCategory | None:
        """Groups of its rows; None: there are none."""
        by: ByCategory | None = self.chunk.by
        return by

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the estimate."""
        columns: tuple[Column, ...] = self.chunk.columns
        return columns
