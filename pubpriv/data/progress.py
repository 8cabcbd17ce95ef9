"""Progress of a scan: the fraction of blocks read, which is public and depends on no value.

A scan counts its blocks; another thread reads the count once a second and informs a watcher. So watching costs a scan
one addition per block, and a slow watcher delays nothing.
"""

import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

_Watcher = Callable[[float, bool], None]
"""Called with the fraction of blocks read, in [0, 1], and whether the scan has ended."""

watcher: ContextVar[_Watcher | None] = ContextVar("scan_watcher", default=None)
"""Watcher of the scans of this context; usually None."""

_FIRST_SECONDS = 5.0
"""Delay before the first report: shorter scans are not reported."""

_EVERY_SECONDS = 1.0


class Count:
    """Blocks read, by chunk: one thread reads a chunk, so no two threads write the same count."""

    def __init__(self, blocks: list[int]) -> None:
        self._blocks = blocks
        self._read = [0] * len(blocks)

    def of(self, chunk: int, blocks: Iterable[_T]) -> Iterator[_T]:
        """Yield the chunk's blocks and count them."""
        for block in blocks:
            yield block
            self._read[chunk] += 1

    def whole(self, chunk: int) -> None:
        """Count all blocks of a chunk that was read elsewhere."""
        self._read[chunk] = self._blocks[chunk]

    @property
    def fraction(self) -> float:
        """Return the share of all blocks that were read."""
        return min(1.0, sum(self._read) / max(1, sum(self._blocks)))

    @classmethod
    @contextmanager
    def watched(cls, blocks: Callable[[], list[int]]) -> Iterator["Count | None"]:
        """Count blocks for the scan in the body and report to this context's watcher; None if nobody watches.

        Args:
            blocks: returns the number of blocks of each chunk; called only if somebody watches.
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
    """Report regularly after `_FIRST_SECONDS`, and at the end; a watcher that fails is not called again."""
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
