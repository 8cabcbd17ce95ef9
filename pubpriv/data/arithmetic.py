"""This machine's floating point: how blocks are reckoned with while they are scanned, and a digest of what it gives."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

_SHAPES = ((1, 1, 4096), (3, 7, 4096), (20, 20, 4096), (64, 64, 4096), (200, 200, 1024))
"""(rows, inner, length) of products that are tried."""

_BUFFER = 512
"""Cells that NumPy gathers before it reckons; a block's rows are longer. With its own 8192 it copies several rows, and
a column of factors to each, which takes three times as long as to go row by row."""


@cache
def bits() -> str:
    """Digest of products, sums of squares and logarithms of public random numbers, as scans reckon them.

    Two machines whose digests differ map one record to different integers, now and then.
    """
    digest = hashlib.sha256()
    with single_threaded_blas():
        for shape in _SHAPES:
            rows, inner, length = shape
            random = np.random.default_rng(shape)
            matrix, block = random.normal(size=(rows, inner)), random.normal(size=(inner, length))
            for made in (matrix @ block, np.einsum("ij,ij->j", block, block), np.log1p(block**2), np.sqrt(block**2)):
                digest.update(made.tobytes())
    return digest.hexdigest()[:8]


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One BLAS thread while any scan of this process runs: the limit is the process's, so the last one lifts it."""
    global _inside, _limit  # noqa: PLW0603
    with _lock:
        if _inside == 0:
            _limit = _blas().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.__exit__(None, None, None)


@contextmanager
def row_by_row() -> Iterator[None]:
    """Reckon with blocks in this thread, row after row, and warn of no odd cells: a warning would tell of them."""
    with np.errstate(all="ignore"):
        np.setbufsize(_BUFFER)  # which ends with `errstate`
        yield
