"""A private table whose unit is a person, for one curator's scans: weights of rows, and checks that ids do not change.

Before the first scan the id columns are read in full (`id_pass`). Weights are computed from them, one byte per row, and
stay in the memory of this process. If an executor reads a chunk elsewhere, inside the trust boundary, the chunk's
weights are sent with it. Each scan reads the ids again with the rows and compares their digest: weights computed for
other rows would break the promise.
"""

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from pubpriv.data._of_chunk import OfChunk
from pubpriv.data.columns import parse_columns
from pubpriv.data.confined import Confined
from pubpriv.data.id_pass import IdPass, Replaced
from pubpriv.data.memory import MOST_BYTES, Kept
from pubpriv.data.persons import first_of
from pubpriv.data.pieces import longest_block
from pubpriv.data.questions.base import Question
from pubpriv.data.questions.in_period import weighing, whole
from pubpriv.data.questions.per_person import PersonSizes, first_rows
from pubpriv.data.questions.radial import without_law
from pubpriv.data.tables import ArrayTable


@dataclass(frozen=True, eq=False, repr=False)
class _Weighted(OfChunk):
    """A chunk with the weights of its rows; its representation shows neither.

    Attributes:
        chunk: chunk of the table.
        length: length of each block, which depends on d alone: if it depended on the number of rows, so would the
            place of other persons' records in a block, and the last bits of their images.
        weights: uint8 (rows,).
        digest: digest of the keys that the weights were computed from.
    """

    length: int
    weights: np.ndarray
    digest: bytes

    def blocks(self) -> Iterator[np.ndarray]:
        """Return blocks (d, length); each overwrites the one before.

        Raises:
            Replaced: after the last block, if the ids have changed.
        """
        found = hashlib.sha256()
        yield from self.chunk.keyed_blocks(self.length, found.update)
        if found.digest() != self.digest:
            raise Replaced

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class _TravellingChunk(_Weighted):
    """A weighted chunk that can be pickled, only for an executor that was given to the door."""


class _WeightedChunk(Confined, _Weighted):
    """A weighted chunk that stays in its process."""

    def travelling(self) -> _TravellingChunk:
        """Return a copy for an executor, which may read it in another process."""
        return _TravellingChunk(self.chunk, self.length, self.weights, self.digest)


class PersonTable(Confined):
    """The table that scans read if the unit is a person.

    Args:
        table: a `PrivateTable` or `ArrayTable` with ids.
        most_bytes: largest table, in bytes of decoded cells, that is kept in memory.
    """

    def __init__(self, table: Any, most_bytes: int = MOST_BYTES) -> None:
        self._table, self._most_bytes = table, most_bytes
        self._lock = Lock()
        self._digests: list[bytes] | None = None
        self._weighted: dict[tuple[int, int, int | None], _Chunks] = {}
        self._memory: dict[int, list[np.ndarray]] = {}

    @classmethod
    def of_run(cls, table: Any, run: Hashable, most_bytes: int) -> "PersonTable":
        """Return the `PersonTable` that another task in this process uses for the same run, or a new one.

        Each task of a flow enters its run by a handle, and would otherwise repeat pass 0.

        Args:
            table: a `PrivateTable`.
            run: identifies the run.
            most_bytes: see the class.
        """
        with _shared:
            return _READ.setdefault((run, table, most_bytes), cls(table, most_bytes))

    def asked(self, question: Question) -> Any:
        """Return the table that answers a question: weighted rows, or one record for each person.

        Raises:
            Replaced: the ids changed since the first question.
            TypeError: a defect; the question is about neither persons nor weighted rows.
        """
        weights = weighing(question)
        if weights is not None:
            return self._chunks(*weights, first_rows(question))
        if not isinstance(without_law(whole(question)), PersonSizes):
            raise TypeError("a question that counts rows by themselves")
        found = IdPass(self._table)
        sizes = found.sizes()
        self._check(found)
        return ArrayTable(sizes.astype(np.float64)[:, None], parse_columns(["rows"]))

    def _chunks(self, most: int, grain: int, first: int | None) -> "_Chunks":
        if (most, grain, first) not in self._weighted:
            found, d = IdPass(self._table), len(self._table.column_names)
            weights, length = found.weights(most, grain), longest_block(d)
            self._check(found)
            weights = weights if first is None else first_of(weights, first)
            parts = zip(found.chunks, weights, found.digests, strict=True)
            chunks = [_WeightedChunk(chunk, length, mine, digest) for chunk, mine, digest in parts]
            kept = sum(found.rows) * d * 8 <= self._most_bytes
            each = [Kept(chunk, self._memory, i) for i, chunk in enumerate(chunks)] if kept else chunks
            self._weighted[most, grain, first] = _Chunks(each)
        return self._weighted[most, grain, first]

    def _check(self, found: IdPass) -> None:
        """Check that the ids are those of an earlier pass 0, since rows may have been kept in memory then."""
        with self._lock:  # two tasks may begin at once, and files may change between their passes
            if self._digests not in (None, found.digests):
                raise Replaced
            self._digests = found.digests


# weak, so that memory is freed with the run's last curator in this process
_READ: WeakValueDictionary[Hashable, PersonTable] = WeakValueDictionary()
_shared = Lock()


@dataclass(frozen=True, eq=False, repr=False)
class _Chunks(Confined):
    """Weighted chunks in the form of a table, for `scan`."""

    each: list[Any]

    def chunks(self) -> list[Any]:
        """Return the weighted chunks."""
        return self.each
