"""Pass 0: read the ids of a private table before its rows, to learn which rows belong to the same person.

A key takes 8 bytes, and sorting takes 24 more for each. So a long table is handled in parts: each part has all keys of
some of the persons, and the ids are read once for each part. The results do not depend on the number of parts.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pubpriv.data.confined import Confined
from pubpriv.data.persons import sizes_of, weights_of
from pubpriv.data.pieces import Chunk

_AT_ONCE = 1 << 24
"""About how many keys are in memory at once: half a gigabyte, which a machine that scans tables can spare."""


class Replaced(Exception):
    """The ids differ from those that the weights were computed from; never seen outside the door."""


class IdPass(Confined):
    """One reading of all ids of a table.

    Attributes:
        chunks: chunks of the table.
        rows: number of rows of each chunk, after ids were read.
        digests: digest of each chunk's keys, after ids were read.
    """

    def __init__(self, table: Any) -> None:
        self.chunks: list[Any] = table.chunks()
        self.rows: list[int] = []
        self.digests: list[bytes] = []

    def sizes(self) -> np.ndarray:
        """Return the number of rows of each person, int64 (persons,), in any order.

        Raises:
            Replaced: the ids changed while they were read.
        """
        return np.concatenate([sizes_of(part[0]) for part in self._parts()])

    def weights(self, most: int, grain: int) -> list[np.ndarray]:
        """Return the weights of the rows of each chunk; see `persons.weights_of`.

        Raises:
            Replaced: the ids changed while they were read.
        """
        weights = np.empty(0, dtype=np.uint8)
        for keys, places in self._parts():
            if not len(weights):
                weights = np.zeros(sum(self.rows), dtype=np.uint8)
            weights[places] = weights_of(keys, most, grain)
            del keys, places  # before the next part is read
        return np.split(weights, np.cumsum(self.rows)[:-1]) if self.rows else []

    def _parts(self) -> Iterator[tuple[np.ndarray, np.ndarray | slice]]:
        """Yield parts: keys of all rows of some of the persons, and the places of these rows in the table."""
        # tables in memory are one part: their rows are in memory anyway
        rows = sum(chunk.piece.rows for chunk in self.chunks if isinstance(chunk, Chunk))
        count = max(1, -(-rows // _AT_ONCE))
        for part in range(count):
            yield self._read(part, count)

    def _read(self, part: int, count: int) -> tuple[np.ndarray, np.ndarray | slice]:
        """Read all ids, and keep those whose key modulo `count` is `part`."""
        kept, places = [np.empty(0, dtype=np.uint64)], [np.empty(0, dtype=np.int64)]
        rows, digests, first = [], [], 0
        for chunk in self.chunks:
            begun, digest, read = first, hashlib.sha256(), chunk.keys()
            for keys in read:
                digest.update(keys)
                if count == 1:
                    kept.append(keys)
                else:
                    own = np.flatnonzero(keys % np.uint64(count) == part)
                    kept.append(keys[own])
                    places.append(own + first)
                first += len(keys)
            rows.append(first - begun)
            digests.append(digest.digest())
        if part and digests != self.digests:
            raise Replaced
        self.rows, self.digests = rows, digests
        return np.concatenate(kept), np.concatenate(places) if count > 1 else slice(None)
