"""A private table whose unit is a person, for one curator's scans: which rows weigh how much, and that it stays so.

Before its first scan only the id columns are read, in full (`id_pass`): from them come the weights, a byte a row, in
the memory of this process alone; those of a chunk go with it where an executor reads it elsewhere, inside the trust
boundary. Each scan reads the ids again beside the rows and compares a digest of them: weights that were reckoned for
other rows would break what is promised.
"""

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from pubpriv.data.categories import ByCategory
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
class _Weighted:
    """A chunk with the weights of its rows, shown without either.

    Attributes:
        chunk: of the table.
        length: of each block, which depends on d alone: were it to follow the number of rows, so would, in its last
            bits, where a record of somebody else falls.
        weights: uint8 (rows,).
        digest: of the keys that they were reckoned from.
    """

    chunk: Any
    length: int
    weights: np.ndarray
    digest: bytes

    @property
    def by(self) -> ByCategory | None:
        """The groups of its rows."""
        by: ByCategory | None = self.chunk.by
        return by

    def blocks(self) -> Iterator[np.ndarray]:
        """Return blocks (d, length); each overwrites the one before.

        Raises:
            Replaced: after the last one, if the ids are others by now.
        """
        found = hashlib.sha256()
        yield from self.chunk.keyed_blocks(self.length, found.update)
        if found.digest() != self.digest:
            raise Replaced

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class _TravellingChunk(_Weighted):
    """A weighted chunk that is pickled: for an executor that was given to the door, and for nobody else."""


class _WeightedChunk(Confined, _Weighted):
    """A weighted chunk that stays in its process."""

    def travelling(self) -> _TravellingChunk:
        """Return the same for an executor, which may read it elsewhere."""
        return _TravellingChunk(self.chunk, self.length, self.weights, self.digest)


class PersonTable(Confined):
    """What scans read where the unit is a person.

    Args:
        table: a `PrivateTable` or an `ArrayTable` that says whose rows are whose.
        most_bytes: of decoded cells that are remembered; a larger table is read again for each question.
    """

    def __init__(self, table: Any, most_bytes: int = MOST_BYTES) -> None:
        self._table, self._most_bytes = table, most_bytes
        self._lock = Lock()
        self._digests: list[bytes] | None = None
        self._weighted: dict[tuple[int, int, int | None], list[Any]] = {}
        self._memory: dict[int, list[np.ndarray]] = {}

    @classmethod
    def of_run(cls, table: Any, run: Hashable, most_bytes: int) -> "PersonTable":
        """Return what others in this process read for the same run, while one of them holds it; else a new one.

        Each task of a flow enters its run by a handle, and would do pass 0 again.

        Args:
            table: a `PrivateTable`.
            run: names it.
            most_bytes: see the class.
        """
        with _shared:
            return _READ.setdefault((run, table, most_bytes), cls(table, most_bytes))

    def asked(self, question: Question) -> Any:
        """Return the table that a question is asked of: weighted rows, or one record for each person.

        Raises:
            Replaced: the ids are not what they were at the first question.
            TypeError: a defect; it is asked neither of persons nor of weighted rows.
        """
        weights = weighing(question)
        if weights is not None:
            return _Chunks(self._chunks(*weights, first_rows(question)))
        if not isinstance(without_law(whole(question)), PersonSizes):
            raise TypeError("a question that counts rows by themselves")
        found = IdPass(self._table)
        sizes = found.sizes()
        self._check(found)
        return ArrayTable(sizes.astype(np.float64)[:, None], parse_columns(["rows"]))

    def _chunks(self, most: int, grain: int, first: int | None) -> list[Any]:
        if (most, grain, first) not in self._weighted:
            found, d = IdPass(self._table), len(self._table.column_names)
            weights, length = found.weights(most, grain), longest_block(d)
            self._check(found)
            weights = weights if first is None else first_of(weights, first)
            parts = zip(found.chunks, weights, found.digests, strict=True)
            chunks = [_WeightedChunk(chunk, length, mine, digest) for chunk, mine, digest in parts]
            if sum(found.rows) * d * 8 <= self._most_bytes:
                self._weighted[most, grain, first] = [Kept(chunk, self._memory, i) for i, chunk in enumerate(chunks)]
            else:
                self._weighted[most, grain, first] = chunks
        return self._weighted[most, grain, first]

    def _check(self, found: IdPass) -> None:
        """Where pass 0 was done before, the ids must be the same, as rows may be remembered from then."""
        with self._lock:  # two tasks may ask first at once, and files may change between their looks
            if self._digests not in (None, found.digests):
                raise Replaced
            self._digests = found.digests


# weak, so that what was read goes when the run's last curator of this process does
_READ: WeakValueDictionary[Hashable, PersonTable] = WeakValueDictionary()
_shared = Lock()


@dataclass(frozen=True, eq=False, repr=False)
class _Chunks(Confined):
    """Weighted chunks, as `scan` takes a table."""

    each: list[Any]

    def chunks(self) -> list[Any]:
        """Return the chunks to a scan, as a table does."""
        return self.each
