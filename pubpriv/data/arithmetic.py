"""This machine's floating point: how blocks are reckoned with while they are scanned, and a digest of what it gives."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

_SHAPES = ((1, 1, 4096), (3, 7, 4096), (20, 20, 4096), (64, 64, 4096), (200, 200, 1024))
"""(rows, inner, length) of products that are tried."""

_BUFFER = 512
"""Cells that NumPy gathers before it reckons; a block's rows are longer. With its own 8192 it copies several rows, and
a column of factors to each, which takes three times as long as to go row by row."""

_TURN = 5e-5
"""Seconds after which a thread that waits for its turn at Python is let in. Most calls for a block take less than the
five milliseconds that Python has: a thread that comes back from one takes the next turn, too, while the other wakes."""


@cache
def bits() -> str:
    """Digest products, sums of squares, logarithms and exponentials of public random numbers, as scans reckon them.

    Two machines whose digests differ map one record to different integers, now and then.
    """
    digest = hashlib.sha256()
    with single_threaded_blas():
        for shape in _SHAPES:
            rows, inner, length = shape
            random = np.random.default_rng(shape)
            matrix, block = random.normal(size=(rows, inner)), random.normal(size=(inner, length))
            squares = block**2
            cells = np.sqrt(squares), np.log1p(squares), np.log(squares), np.exp(-squares)
            for made in (matrix @ block, np.einsum("ij,ij->j", block, block), *cells):
                digest.update(made.tobytes())
    return digest.hexdigest()[:8]


@cache
def _blas() -> Any:
    import scipy.special  # noqa: F401 - it brings a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _openmp() -> Any:
    import sklearn.mixture  # noqa: F401 - what it loads must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _WhileAnybody:
    """A setting of the process: the first who comes in makes it, and the last who leaves lifts it.

    Args:
        made: makes it, and lifts it at its end.
    """

    def __init__(self, made: Callable[[], AbstractContextManager[Any]]) -> None:
        self._made = made
        self._lock = threading.Lock()
        self._inside = 0
        self._setting: AbstractContextManager[Any] = nullcontext()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be one for whom it holds."""
        with self._lock:
            if self._inside == 0:
                self._setting = self._made()
                self._setting.__enter__()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._setting.__exit__(None, None, None)


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(_TURN, before))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


_ONE_BLAS_THREAD = _WhileAnybody(lambda: _blas().limit(limits=1, user_api="blas"))
_SHORT_TURNS = _WhileAnybody(_short_turns)


def single_threaded_blas() -> AbstractContextManager[None]:
    """Return one BLAS thread while anybody in this process asks for that, as scans do."""
    return _ONE_BLAS_THREAD.inside()


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Reckon in this thread alone, scikit-learn included: on small problems threads only wait for each other."""
    with single_threaded_blas(), _openmp().limit(limits=1, user_api="openmp"):  # OpenMP's limit is that of one thread
        yield


def taking_turns() -> AbstractContextManager[None]:
    """Let threads that scan take short turns at Python, while any scan of this process has several."""
    return _SHORT_TURNS.inside()


@contextmanager
def row_by_row() -> Iterator[None]:
    """Reckon with blocks in this thread, row after row, and warn of no odd cells: a warning would tell of them."""
    with np.errstate(all="ignore"):
        np.setbufsize(_BUFFER)  # which ends with `errstate`
        yield
