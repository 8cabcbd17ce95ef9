"""Pass 0: the ids of a private table, read before its rows, for what follows from whose rows are whose.

A key takes 8 bytes, and to put keys in order takes 24 more. So of a long table those of some persons at a time are
held, all of each, and the ids are read once for each such part. What follows is the same however many parts there are.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pubpriv.data.confined import Confined
from pubpriv.data.persons import sizes_of, weights_of
from pubpriv.data.pieces import Chunk

_AT_ONCE = 1 << 24
"""Rows whose keys are held at once, about: half a gigabyte, which a machine that scans tables has to spare."""


class Replaced(Exception):
    """The ids are not those that weights were reckoned from; nobody outside the door sees this."""


class IdPass(Confined):
    """One look at whose rows are whose.

    Attributes:
        chunks: of the table.
        rows: of each chunk, once ids were read.
        digests: of each chunk's keys, once ids were read.
    """

    def __init__(self, table: Any) -> None:
        self.chunks: list[Any] = table.chunks()
        self.rows: list[int] = []
        self.digests: list[bytes] = []

    def sizes(self) -> np.ndarray:
        """Number of rows of each person, int64 (persons,), in any order.

        Raises:
            Replaced: the ids changed while they were read.
        """
        return np.concatenate([sizes_of(part[0]) for part in self._parts()])

    def weights(self, most: int, grain: int) -> list[np.ndarray]:
        """Return weights of the rows of each chunk; see `persons.weights_of`.

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
        """(keys, places in the table) of the rows of some persons, all of each; part by part, of all rows."""
        # rows in memory are there anyway
        rows = sum(chunk.piece.rows for chunk in self.chunks if isinstance(chunk, Chunk))
        count = max(1, -(-rows // _AT_ONCE))
        for part in range(count):
            yield self._read(part, count)

    def _read(self, part: int, count: int) -> tuple[np.ndarray, np.ndarray | slice]:
        """Read all ids, and keep those whose keys leave the remainder `part` by `count`."""
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
