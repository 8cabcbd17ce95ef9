"""Keep the decoded blocks of a small table: reading takes most of a scan's time, and a run scans a table often.

Blocks stay in the memory of the process that scans, as long as a curator references them. The objects that contain
them cannot be pickled, shown or iterated. A table of more than `MOST_BYTES` is read again every time, but for the rows
of a sample (`data.samples`). Otherwise all questions of a run are answered from the rows that it read first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.data._norms import KeptNorms, NormsOf
from pubpriv.data._of_chunk import OfChunk
from pubpriv.data.confined import Confined
from pubpriv.data.samples import GatheringChunk, SampledChunk
from pubpriv.data.tables import PrivateTable

MOST_BYTES = 1 << 26
"""Memory limit for decoded cells, computed from rows times columns, so that it is public which tables are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Confined, OfChunk):
    """A chunk that remembers its blocks."""

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
    def n_records(self) -> int | None:
        """Number of records; None: of a sample, in which it is not known."""
        n_records: int | None = self.chunk.n_records
        return n_records

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
    """A private table for one curator's scans: the first scan decodes the rows, later ones use them from memory.

    Args:
        table: lists its chunks.
        every: one record in so many is kept, those of a sample; None: all are.
    """

    def __init__(self, table: Any, every: int | None = None) -> None:
        self._table, self._every = table, every
        self._held: tuple[list[Any], dict[int, list[np.ndarray]], NormsOf] = [], {}, {}

    def chunks(self) -> list[Kept]:
        """Return the table's chunks, with its check of the row count until all chunks are in memory.

        A scan uses rows from memory or rows that it reads, never some of each: if files were replaced meanwhile, a
        record could be among both and count twice. Once all chunks are in memory no file is checked here; the door
        checks before each charge.
        """
        chunks, memory, _ = self._held
        if not chunks or len(memory) < len(chunks):
            listed = self._table.chunks()
            of_sample = [] if self._every is None else [SampledChunk(chunk, self._every) for chunk in listed]
            self._held = of_sample or listed, {}, {}
        chunks, memory, norms = self._held  # read once: another thread may change it
        return [Kept(chunk, memory, number, norms) for number, chunk in enumerate(chunks)]

    @property
    def whole(self) -> Any:
        """The table, of which nothing is remembered."""
        return self._table.whole if isinstance(self._table, _Remembered) else self._table

    @property
    def gathered(self) -> bool:
        """Whether a sample is in memory, all of it."""
        return self._every is not None and 0 < len(self._held[0]) == len(self._held[1])

    def gathering(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the table's chunks in a form that keeps the sample while a scan reads them for other questions.

        Args:
            chunks: all chunks of the table, listed now.
        """
        every, memory = self._every or 1, dict[int, list[np.ndarray]]()
        self._held = [SampledChunk(chunk, every) for chunk in chunks], memory, {}
        return [GatheringChunk(chunk, every, memory, number) for number, chunk in enumerate(chunks)]


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


def remembering(table: Any, listed: Any = None, every: int | None = None) -> Any:
    """Wrap a table so that its blocks are kept, if it is a private one and these are few.

    Args:
        table: the table.
        listed: lists its chunks, and is returned if nothing is kept; None: the table itself.
        every: one record in so many is kept, those of a sample, of a simulated table, too; None: all are.
    """
    listed = table if listed is None else listed
    rows = (table.n_rows or 0) // (every or 1)
    few = rows * len(table.column_names) * 8 <= MOST_BYTES
    return _Remembered(listed, every) if few and (every or isinstance(table, PrivateTable)) else listed
