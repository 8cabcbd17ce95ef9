"""Keep the decoded blocks of a small table: reading takes most of a scan's time, and a run scans a table often.

Blocks stay in the memory of the process that scans, as long as a curator references them. The objects that contain
them cannot be pickled, shown or iterated. A table of more than `MOST_BYTES` is read again every time. All questions of
a run are then answered from the rows that it read first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.data._norms import KeptNorms, NormsOf
from pubpriv.data.categories import ByCategory
from pubpriv.data.confined import Confined
from pubpriv.data.pieces import Chunk
from pubpriv.data.tables import PrivateTable

MOST_BYTES = 1 << 26
"""Memory limit for decoded cells, computed from rows times columns, so that it is public which tables are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Confined):
    """A chunk that remembers its blocks."""

    chunk: Any
    memory: dict[int, list[np.ndarray]]
    number: int
    known: NormsOf | None = None

    def norms(self) -> KeptNorms | None:
        """Return kept norms of its records, which at most double the memory; None if norms are not kept."""
        return None if self.known is None else KeptNorms(self.known, self.number, len(self.chunk.columns))

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of its rows; None: each counts once."""
        weights: np.ndarray | None = self.chunk.weights
        return weights

    @property
    def by(self) -> ByCategory | None:
        """Groups of its rows; None: there are none."""
        by: ByCategory | None = self.chunk.by
        return by

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.chunk.n_records)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.chunk.n_blocks)

    def blocks(self) -> Iterator[np.ndarray]:
        """Return blocks (d, length), read-only: from memory once the chunk has been read to its end."""
        known = self.memory.get(self.number)
        if known is not None:
            yield from known
            return
        read: list[np.ndarray] = []
        room: list[np.ndarray] = []
        for block in self.chunk.blocks():
            # one long array if the number of blocks is known, since the system allocates its pages faster
            room = room or [*np.empty((getattr(self.chunk, "n_blocks", 1), *block.shape))]
            read.append(room.pop())
            np.copyto(read[-1], block)
            read[-1].flags.writeable = False
            yield read[-1]
        self.memory[self.number] = read


class _Remembered(Confined):
    """A private table for one curator's scans: the first scan decodes the rows, later ones use them from memory."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._held: tuple[list[Chunk], dict[int, list[np.ndarray]], NormsOf] = [], {}, {}

    def chunks(self) -> list[Kept]:
        """Return the table's chunks, with its check of the row count until all chunks are in memory.

        A scan uses rows from memory or rows that it reads, never some of each: if files were replaced meanwhile, a
        record could be among both and count twice. Once all chunks are in memory no file is checked here; the door
        checks before each charge.
        """
        chunks, memory, _ = self._held
        if not chunks or len(memory) < len(chunks):
            self._held = self._table.chunks(), {}, {}
        chunks, memory, norms = self._held  # read once: another thread may change it
        return [Kept(chunk, memory, number, norms) for number, chunk in enumerate(chunks)]


class ListedOnce:
    """A table whose files were looked at before a charge: the scan that follows does not look again.

    For a long CSV file the look, which counts lines, takes as long as a scan.

    Args:
        table: a `PrivateTable` or `ArrayTable`.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self._listed: list[Any] | None = None

    def check(self) -> None:
        """List the chunks for the next scan; raises as `PrivateTable.chunks` does."""
        self._listed = self._table.chunks()

    def chunks(self) -> list[Any]:
        """Return the chunks that the last check listed, once, or those of now."""
        listed, self._listed = self._listed, None
        return self._table.chunks() if listed is None else listed


def remembering(table: Any, listed: Any = None) -> Any:
    """Wrap a table so that its blocks are kept, if it is a small private one.

    Args:
        table: the table.
        listed: lists its chunks, and is returned for tables that are not small; None: the table itself.
    """
    listed = table if listed is None else listed
    small = isinstance(table, PrivateTable) and (table.n_rows or 0) * len(table.columns) * 8 <= MOST_BYTES
    return _Remembered(listed) if small else listed
