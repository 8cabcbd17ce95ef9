"""Blocks of a small table, decoded once: most of a scan of a table is reading it, and a run scans it often.

They are kept in the memory of the process that scans, for as long as a curator holds them, and never anywhere else:
what holds them is not pickled, shown or iterated, and a table of more than `MOST_BYTES` is read again every time. A
run then asks all its questions of the rows that it read first.
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
"""The most memory for decoded cells, as rows times columns say beforehand; which tables are kept is public."""


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Confined):
    """A chunk that remembers its blocks."""

    chunk: Any
    memory: dict[int, list[np.ndarray]]
    number: int
    known: NormsOf | None = None

    def norms(self) -> KeptNorms | None:
        """Return norms of its records, which take at most as much room again; None: they are not kept."""
        return None if self.known is None else KeptNorms(self.known, self.number, len(self.chunk.columns))

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of its rows; None: each counts once."""
        weights: np.ndarray | None = self.chunk.weights
        return weights

    @property
    def by(self) -> ByCategory | None:
        """The groups of its rows."""
        by: ByCategory | None = self.chunk.by
        return by

    @property
    def n_blocks(self) -> int:
        """How many blocks it has."""
        return int(self.chunk.n_blocks)

    def blocks(self) -> Iterator[np.ndarray]:
        """Return blocks (d, length), read-only, as the chunk gave them when it was read to its end."""
        known = self.memory.get(self.number)
        if known is not None:
            yield from known
            return
        read: list[np.ndarray] = []
        room: list[np.ndarray] = []
        for block in self.chunk.blocks():
            # in one piece, where their number is known: of a long array the system hands out many pages at once
            room = room or [*np.empty((getattr(self.chunk, "n_blocks", 1), *block.shape))]
            read.append(room.pop())
            np.copyto(read[-1], block)
            read[-1].flags.writeable = False
            yield read[-1]
        self.memory[self.number] = read


class _Remembered(Confined):
    """A private table for one curator's scans: rows are decoded in the first, and counted in every one."""

    def __init__(self, table: PrivateTable) -> None:
        self._table = table
        self._held: tuple[list[Chunk], dict[int, list[np.ndarray]], NormsOf] = [], {}, {}

    def chunks(self) -> list[Kept]:
        """Return the table's chunks; until all of them were read to their end, after its check of the row count.

        A scan counts rows that are remembered, or rows that it reads, and never some of each: where files were
        replaced meanwhile, a record could be among both, and count twice. Once all are remembered no file is looked at
        here: the door does, before each charge.
        """
        chunks, memory, _ = self._held
        if not chunks or len(memory) < len(chunks):
            self._held = self._table.chunks(), {}, {}
        chunks, memory, norms = self._held  # of one look: another thread may look meanwhile
        return [Kept(chunk, memory, number, norms) for number, chunk in enumerate(chunks)]


def remembering(table: Any) -> Any:
    """Return `table`, with its blocks remembered if it is a private table and small."""
    small = isinstance(table, PrivateTable) and (table.n_rows or 0) * len(table.columns) * 8 <= MOST_BYTES
    return _Remembered(table) if small else table
