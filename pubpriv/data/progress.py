"""How far a scan is, for whoever watches: the fraction of blocks read, which is public and depends on no value.

A scan counts its blocks; a thread beside it looks at the count once a second and informs a watcher. So watching costs
a scan one addition per block, and a slow watcher delays nobody.
"""

import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

_Watcher = Callable[[float, bool], None]
"""Called with the fraction of the blocks that were read, in [0, 1], and whether the scan has ended."""

watcher: ContextVar[_Watcher | None] = ContextVar("scan_watcher", default=None)
"""Who watches the scans of this context; nobody, as a rule."""

_FIRST_SECONDS = 5.0
"""A scan that takes no longer is not worth a word."""

_EVERY_SECONDS = 1.0


class Count:
    """Blocks read, by chunk: each chunk is read by one thread, so no count is written by two."""

    def __init__(self, blocks: list[int]) -> None:
        self._blocks = blocks
        self._read = [0] * len(blocks)

    def of(self, chunk: int, blocks: Iterable[_T]) -> Iterator[_T]:
        """Return the chunk's blocks, counted as they are read."""
        for block in blocks:
            yield block
            self._read[chunk] += 1

    def whole(self, chunk: int) -> None:
        """Count a chunk as done that was read elsewhere."""
        self._read[chunk] = self._blocks[chunk]

    @property
    def fraction(self) -> float:
        """Share of all blocks that is done."""
        return min(1.0, sum(self._read) / max(1, sum(self._blocks)))

    @classmethod
    @contextmanager
    def watched(cls, blocks: Callable[[], list[int]]) -> Iterator["Count | None"]:
        """Count for the scan in the body, and report to this context's watcher meanwhile; None if nobody watches.

        Args:
            blocks: number of blocks of each chunk; asked for only if somebody watches.
        """
        tell = watcher.get()
        if tell is None:
            yield None
            return
        count, done = cls(blocks()), threading.Event()
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(_tell, tell, count, done), daemon=True, name="scan progress"
        )
        thread.start()
        try:
            yield count
        finally:
            done.set()
            thread.join(_EVERY_SECONDS)


def _tell(tell: _Watcher, count: Count, done: threading.Event) -> None:
    """Tell now and then, first after a while, and once more at the end; a watcher that fails is left in peace."""
    if done.wait(_FIRST_SECONDS):
        return
    while True:
        ended = done.is_set()
        try:
            tell(count.fraction, ended)
        except Exception:
            return
        if ended:
            return
        done.wait(_EVERY_SECONDS)
