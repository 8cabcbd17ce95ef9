"""This machine's floating point: one thread of BLAS while blocks are scanned, and a digest of what bits it gives."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

_SHAPES = ((1, 1, 4096), (3, 7, 4096), (20, 20, 4096), (64, 64, 4096), (200, 200, 1024))
"""(rows, inner, length) of products that are tried."""


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
