"""Thread pools that are kept for reuse, because starting a thread has to wait for busy ones.

A scan takes some dozen milliseconds, and starting its threads took a tenth of that.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

_idle: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)

os.register_at_fork(after_in_child=_idle.clear)  # a fork does not have the parent's threads


_T = TypeVar("_T")

_END: Any = object()


def one_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """Yield items, each of which another thread makes while the one before it is in use.

    At most two items are held, the one in use and the next. What fails in that thread is raised here in the place of
    the item. Whoever stops early waits for the next item, and no other is made.
    """
    with kept_threads(1) as thread:
        coming = thread.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, items, _END)
            yield item


@contextmanager
def kept_threads(count: int) -> Iterator[Executor]:
    """Lend `count` threads to one block of code, exclusively until it ends.

    The block must wait for the tasks that it submits. If the block fails, started tasks are finished, other tasks are
    cancelled, and the threads end.
    """
    try:
        threads = _idle[count].pop()  # one step: two blocks that check first could both find the last
    except IndexError:
        threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException:
        threads.shutdown(cancel_futures=True)
        raise
    _idle[count].append(threads)
