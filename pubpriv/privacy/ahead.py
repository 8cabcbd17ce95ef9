"""Noise that is drawn before it is needed: it depends on public scales and sizes alone, and takes longer than a scan.

It is drawn while a process does something else, and waits in its memory until its question was charged and scanned.
Each draw is handed out once at most, and only where exactly that scale and size are asked for; the rest is thrown away.
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
    """A source of noise that may know what it will be asked for. It is not pickled or copied: noise is used once.

    Args:
        source: of noise that does not depend on the label or the part, and of which no two draws depend on each other.
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
        """Begin to draw (part, sd, size), in this order, and nothing else; nothing after `stop`.

        What is wanted now and was expected before is not drawn again, and the rest of that is thrown away.
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
        """int64 (size,), a few at a time: many at once would be drawn in two threads, and others are at work."""
        # one vector is drawn whole
        sizes = [size] if isinstance(sd, tuple) else [min(_FEW, size - at) for at in range(0, max(size, 1), _FEW)]
        return np.concatenate([self._in_turn(sd, few) for few in sizes])

    def _in_turn(self, sd: Scale, size: int) -> np.ndarray:
        """int64 (size,), drawn when no scan is at work, or when somebody waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._at_work[_WAITING] or not self._at_work[_SCANNING])
        return self._source.draw("", "", sd, size)

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """Draw only what is waited for: a scan has all processors, and what is drawn between two costs nobody time."""
        # in a fork nothing is drawn ahead, and whoever held the lock is not there
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
        """Draw nothing more ahead, and throw away what nobody asked for."""
        with self._lock:
            self._waiting.clear()
            if self._thread is not None:
                self._thread.shutdown(wait=False, cancel_futures=True)
                self._thread = None

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """Return int64 (size,), drawn ahead or now, and never handed out before."""
        if os.getpid() != self._process:  # a fork has copies of what waits here, so it draws its own
            return self._source.draw(label, part, sd, size)
        with self._lock:
            waiting = self._waiting.get((sd, size))
            begun = waiting.popleft() if waiting else None
        if begun is None or begun.cancel():
            return self._source.draw(label, part, sd, size)
        with self._counted(_WAITING):
            return begun.result()

    def __reduce__(self) -> NoReturn:
        """Noise that was copied would be used twice."""
        raise TypeError("noise that was drawn ahead is not pickled or copied")


def expect_draws(noise: NoiseSource, wanted: Iterable[tuple[str, Scale, int]]) -> None:
    """Tell a source that draws ahead what it will be asked for: (part, sd, size); any other need not know."""
    if isinstance(noise, DrawnAhead):
        noise.expect(wanted)


def giving_way(noise: NoiseSource, executor: object) -> AbstractContextManager[None]:
    """Let a source that draws ahead draw only what is waited for, while threads scan here and no executor elsewhere."""
    return noise.giving_way() if isinstance(noise, DrawnAhead) and executor is None else nullcontext()


def stop_drawing(noise: NoiseSource) -> None:
    """Let a source that draws ahead throw away what nobody asked for."""
    if isinstance(noise, DrawnAhead):
        noise.stop()
