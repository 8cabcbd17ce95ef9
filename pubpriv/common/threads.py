"""Threads that outlive their work, for the next that asks: a start waits for its turn beside others that reckon.

A scan takes some dozen milliseconds, and the start of its threads took a tenth of that.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

_idle: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)

os.register_at_fork(after_in_child=_idle.clear)  # a fork has no threads but its own


@contextmanager
def kept_threads(count: int) -> Iterator[Executor]:
    """Lend `count` threads to one block of code, and to nobody else until it ends.

    The block waits for what it submits. Where it fails, what has begun is waited for, the rest is cancelled, and the
    threads end.
    """
    try:
        threads = _idle[count].pop()  # in one step: two blocks that looked first could both find the last one
    except IndexError:
        threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException:
        threads.shutdown(cancel_futures=True)
        raise
    _idle[count].append(threads)
