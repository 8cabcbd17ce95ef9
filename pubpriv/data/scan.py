"""Exact integer totals of a question over a table, block by block, on any executor.

Blocks have one public length inside a row group and BLAS runs one thread inside a block, so a record's
integers depend on that record and its place alone; totals are sums of integers. Hence they are the same bits
for any number of threads, any order of blocks, and any distribution of the row groups over files.
"""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from os import cpu_count
from typing import Any

import numpy as np

from pubpriv.data.progress import Count
from pubpriv.data.questions.base import Question, Totals
from pubpriv.data.regions import View


def scan(table: Any, question: Question, executor: Executor | None = None) -> Totals:
    """Sum `question` over all records of `table`, to int64 totals.

    This is private data, summed but not yet noised: only the curator may call it, between a charge and its
    noise (benchmarks and tests call it on tables of their own).

    Args:
        table: a `PrivateTable` or `ArrayTable`.
        question: what to sum.
        executor: any `concurrent.futures.Executor`; default: threads, one per processor.
    """
    chunks = table.chunks()
    with _single_threaded_blas(), Count.watched(lambda: [chunk.n_blocks for chunk in chunks]) as count:
        if executor is not None:
            return _sum(question, _counted(executor.map(partial(_scan_chunk, question), chunks), count))
        with ThreadPoolExecutor(max_workers=min(max(len(chunks), 1), cpu_count() or 1)) as threads:
            return _sum(question, threads.map(partial(_scan_chunk, question, count=count), chunks, range(len(chunks))))


def _scan_chunk(question: Question, chunk: Any, number: int = 0, count: Count | None = None) -> Totals:
    """Totals of one chunk; runs in a thread or on another machine.

    Args:
        question: what to sum.
        chunk: of the table.
        number: of the chunk in `count`.
        count: of the blocks read, where somebody watches.
    """
    # odd cells must leave no warning behind: a warning would depend on values
    with _single_threaded_blas(), np.errstate(all="ignore"):
        blocks = chunk.blocks() if count is None else count.of(number, chunk.blocks())
        return _sum(question, map(question.totals, View.of_each(blocks)))


def _counted(pieces: Iterable[Totals], count: Count | None) -> Iterator[Totals]:
    """Totals that come from elsewhere, one chunk after another."""
    for number, piece in enumerate(pieces):
        if count is not None:
            count.whole(number)
        yield piece


def _sum(question: Question, pieces: Iterable[Totals]) -> Totals:
    """The sum of pieces of the announced shapes; zeros where there are no records."""
    if None in question.total_sizes.values():
        listed = list(pieces)
        return {name: np.concatenate([_EMPTY, *(piece[name] for piece in listed)]) for name in question.total_sizes}
    total = {name: np.zeros(count or 0, dtype=np.int64) for name, count in question.total_sizes.items()}
    for piece in pieces:
        for name, known in total.items():
            if piece[name].shape != known.shape:  # one number would be added to many
                raise ValueError("totals of other shapes than the question announced")
            np.add(known, piece[name], out=known)
    return total


_EMPTY = np.empty(0, dtype=np.int64)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
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
