"""A public sample of records: one in so many, chosen by a fixed hash of a record's own cells.

Early questions of a run find scales and shapes to within a tenth, for which some ten thousand rows are as good as all.
Whether a record is in the sample depends on that record alone: not on its place, so that tables that are sorted, or
clustered, are sampled like shuffled ones; and not on a secret, since the sample is not hidden.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pubpriv.data._of_chunk import OfChunk
from pubpriv.data.confined import Confined
from pubpriv.data.pieces import longest_block

_ODD, _FIRST, _SECOND = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
"""Constants of SplitMix64 (Steele, Lea and Flood 2014): the golden ratio in 64 bits, and factors that spread bits."""

_HALF = np.uint64(32)


def sampled(records: np.ndarray, every: int) -> np.ndarray:
    """Return which records (d, length) are in the sample of one in `every`, (length,).

    Equal records are in it together, and zeros of both signs are equal. The hash is a sum of products with one odd
    number for each column, as integers modulo 2^64, whose bits are then spread.
    """
    bits = (records + 0.0).view(np.uint64)
    bits ^= bits >> _HALF  # numbers with few digits have zeros in their lower half, and a product has them too
    bits *= _multipliers(len(records))[:, None]
    return np.asarray(_spread(bits.sum(axis=0)) % np.uint64(every) == 0)


@cache
def _multipliers(count: int) -> np.ndarray:
    """Odd numbers of 64 bits, the first ones of SplitMix64."""
    return np.asarray(_spread(np.arange(1, count + 1, dtype=np.uint64) * _ODD) | np.uint64(1))


def _spread(state: np.ndarray) -> np.ndarray:
    """Mix all bits of each number, the finalizer of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return np.asarray(state ^ (state >> np.uint64(31)))


class _Packed:
    """Blocks (d, length) of the records in a sample, filled from blocks of all records.

    Args:
        every: one record in so many is in the sample.
        coded: whether the last row of each block contains category codes.
    """

    def __init__(self, every: int, coded: bool) -> None:
        self._every, self._coded = every, coded
        self._out, self._filled = np.empty((0, 0)), 0

    def add(self, block: np.ndarray) -> Iterator[np.ndarray]:
        """Take the records of one more block; yield each block that they fill, which the next one overwrites."""
        records = block[:-1] if self._coded else block
        if not len(self._out):
            self._out = np.empty((len(block), longest_block(len(records))))
        length = self._out.shape[1]
        places = np.flatnonzero(sampled(records, self._every))
        for some in np.split(places, np.arange(length - self._filled, len(places), length)):
            self._out[:, self._filled : self._filled + len(some)] = block[:, some]
            self._filled += len(some)
            if self._filled == length:
                yield self._out
                self._filled = 0

    def rest(self) -> Iterator[np.ndarray]:
        """Yield the last block, padded with NaN, if there is one."""
        if self._filled:
            self._out[:, self._filled :] = np.nan
            yield self._out


@dataclass(frozen=True, eq=False, repr=False)
class SampledChunk(OfChunk):
    """A chunk of which only the records in the sample are seen.

    Attributes:
        chunk: the chunk.
        every: one record in so many is in the sample.
    """

    every: int

    @property
    def n_records(self) -> None:
        """Unknown before the chunk is read; no question of a sample depends on it."""
        return None

    @property
    def n_blocks(self) -> int:
        """Number of blocks of the chunk, over `every`: public, other than the number of records in the sample."""
        return 1 + int(self.chunk.n_blocks) // self.every

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (d, length) of the records, in order, the last padded with NaN; each overwrites the former."""
        packed = _Packed(self.every, self.by is not None)
        for block in self.chunk.blocks():
            yield from packed.add(block)
        yield from packed.rest()


@dataclass(frozen=True, eq=False, repr=False)
class GatheringChunk(Confined, OfChunk):
    """A chunk that is read whole, for questions about all rows, and meanwhile keeps the records in a sample.

    Attributes:
        chunk: the chunk.
        every: one record in so many is in the sample.
        memory: where blocks of the sample are put when the chunk was read to its end, under `number`.
        number: of the chunk.
    """

    every: int
    memory: dict[int, list[np.ndarray]]
    number: int

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.chunk.n_records)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.chunk.n_blocks)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks of the chunk."""
        taking = self.travelling()
        yield from taking.blocks()
        self.keep(taking.taken)

    def travelling(self) -> "TakingChunk":
        """Return the chunk as it is sent to another process, which sends the records in the sample back."""
        return TakingChunk(self.chunk, self.every)

    def keep(self, taken: list[np.ndarray]) -> None:
        """Keep the records in the sample, once the chunk was read to its end."""
        for block in taken:
            block.flags.writeable = False
        self.memory[self.number] = taken


@dataclass(frozen=True, eq=False, repr=False)
class TakingChunk(OfChunk):
    """A chunk that is read whole, and from which the records in a sample are taken meanwhile.

    Attributes:
        chunk: the chunk.
        every: one record in so many is in the sample.
        taken: blocks of the records in the sample, all of them once the chunk was read to its end.
    """

    every: int
    taken: list[np.ndarray] = field(default_factory=list)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.chunk.n_records)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks of the chunk."""
        packed, taken = _Packed(self.every, self.by is not None), list[np.ndarray]()
        for block in self.chunk.blocks():
            taken.extend(full.copy() for full in packed.add(block))
            yield block
        self.taken[:] = [*taken, *packed.rest()]  # at once: another attempt in this process may do the same
