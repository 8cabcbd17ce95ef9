"""Draw noise before it is needed: it depends only on public scales and sizes, and takes longer than a scan.

Noise is drawn while the process does something else, and stays in memory until its question is charged and scanned.
Each draw is used at most once, and only for exactly its scale and size; unused draws are thrown away.
"""

import os
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from typing import NoReturn

import numpy as np

from pubpriv.privacy.noise import SPLIT, NoiseSource, Scale

_FEW = SPLIT - 1

_SCANNING, _WAITING = "scanning", "waiting"


class DrawnAhead:
    """A source of noise that can draw expected noise ahead. It cannot be pickled or copied: noise is used only once.

    Args:
        source: source whose draws are independent and do not depend on label or part.
    """

    def __init__(self, source: NoiseSource) -> None:
        self.private = source.private
        self._source = source
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._at_work: Counter[str] = Counter()
        self._waiting: defaultdict[tuple[Scale, int], deque[Future[np.ndarray]]] = defaultdict(deque)
        self._thread: ThreadPoolExecutor | None = ThreadPoolExecutor(1)

    def expect(self, wanted: Iterable[tuple[str, Scale, int]]) -> None:
        """Begin to draw (part, sd, size), in this order; after `stop`, do nothing.

        Earlier expected draws that are wanted again are kept; the others are thrown away.
        """
        with self._lock:
            if self._thread is None:
                return
            before, self._waiting = self._waiting, defaultdict(deque)
            for _, sd, size in wanted:
                known = before[sd, size]
                draw = known.popleft() if known else self._thread.submit(self._alone, sd, size)
                self._waiting[sd, size].append(draw)
            for unwanted in chain.from_iterable(before.values()):
                unwanted.cancel()

    def _alone(self, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,), drawn a few at a time, because many at once would use two threads."""
        # a radial vector is one draw
        sizes = [size] if isinstance(sd, tuple) else [min(_FEW, size - at) for at in range(0, max(size, 1), _FEW)]
        return np.concatenate([self._in_turn(sd, few) for few in sizes])

    def _in_turn(self, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,), drawn while no scan is running, or when somebody waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._at_work[_WAITING] or not self._at_work[_SCANNING])
        return self._source.draw("", "", sd, size)

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """Pause drawing ahead during a scan, which uses all processors; noise that is waited for is still drawn."""
        # a fork draws nothing ahead, and the thread that held the lock does not exist there
        with self._counted(_SCANNING) if os.getpid() == self._process else nullcontext():
            yield

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        with self._changed:
            self._at_work[name] += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._at_work[name] -= 1
                self._changed.notify_all()

    def stop(self) -> None:
        """Stop drawing ahead, and throw away unused draws."""
        with self._lock:
            self._waiting.clear()
            if self._thread is not None:
                self._thread.shutdown(wait=False, cancel_futures=True)
                self._thread = None

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """Return int64 (size,), drawn ahead or now, and never used before."""
        if os.getpid() != self._process:  # a fork has copies of the waiting draws, so it draws its own
            return self._source.draw(label, part, sd, size)
        with self._lock:
            waiting = self._waiting.get((sd, size))
            begun = waiting.popleft() if waiting else None
        if begun is None or begun.cancel():
            return self._source.draw(label, part, sd, size)
        with self._counted(_WAITING):
            return begun.result()

    def __reduce__(self) -> NoReturn:
        """Refuse to copy: copied noise would be used twice."""
        raise TypeError("noise that was drawn ahead is not pickled or copied")


def expect_draws(noise: NoiseSource, wanted: Iterable[tuple[str, Scale, int]]) -> None:
    """Announce draws (part, sd, size) to a source that draws ahead; other sources ignore this."""
    if isinstance(noise, DrawnAhead):
        noise.expect(wanted)


def giving_way(noise: NoiseSource, executor: object) -> AbstractContextManager[None]:
    """Pause drawing ahead while threads of this process scan; no pause if an executor scans elsewhere."""
    return noise.giving_way() if isinstance(noise, DrawnAhead) and executor is None else nullcontext()


def stop_drawing(noise: NoiseSource) -> None:
    """Stop a source that draws ahead, and throw away its unused draws."""
    if isinstance(noise, DrawnAhead):
        noise.stop()
