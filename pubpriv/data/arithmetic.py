"""Floating point on this machine: settings during a scan, and a digest that shows whether two machines agree."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

_SHAPES = ((1, 1, 4096), (3, 7, 4096), (20, 20, 4096), (64, 64, 4096), (200, 200, 1024))
"""(rows, inner, length) of the matrix products in the digest."""

_BUFFER = 512
"""NumPy's buffer size, in cells, shorter than a block's row. With the default of 8192 NumPy copies several rows, and a
column of factors for each, which takes three times as long as working row by row."""

_TURN = 5e-5
"""Python's switch interval during a scan, in seconds. Most calls for a block take less than the default of five
milliseconds, so a thread that returns from one would also take the next turn before a waiting thread wakes up."""


@cache
def bits() -> str:
    """Digest products, sums of squares, logarithms and exponentials of public random numbers, as scans compute them.

    Two machines whose digests differ sometimes map the same record to different integers.
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
    """A setting of the process: the first thread to enter makes it, the last to leave undoes it.

    Args:
        made: context manager that makes the setting and undoes it.
    """

    def __init__(self, made: Callable[[], AbstractContextManager[Any]]) -> None:
        self._made = made
        self._lock = threading.Lock()
        self._inside = 0
        self._setting: AbstractContextManager[Any] = nullcontext()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Keep the setting while the body runs."""
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
    """Limit BLAS to one thread while anybody in this process asks for that, as scans do."""
    return _ONE_BLAS_THREAD.inside()


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Compute in this thread only, scikit-learn included: on small problems threads only wait for each other."""
    with single_threaded_blas(), _openmp().limit(limits=1, user_api="openmp"):  # OpenMP's is per thread
        yield


def taking_turns() -> AbstractContextManager[None]:
    """Shorten Python's switch interval while any scan of this process uses several threads."""
    return _SHORT_TURNS.inside()


@contextmanager
def row_by_row() -> Iterator[None]:
    """Compute on blocks row by row in this thread, without warnings: a warning would reveal an odd cell."""
    with np.errstate(all="ignore"):
        np.setbufsize(_BUFFER)  # undone at the end of `errstate`
        yield
