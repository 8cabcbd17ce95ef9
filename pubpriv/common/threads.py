"""Thread pools that are kept for reuse, because starting a thread has to wait for busy ones.

A scan takes some dozen milliseconds, and starting its threads took a tenth of that.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

_idle: defaultdict[int, list[ThreadPoolExecutor]] = defaultdict(list)

os.register_at_fork(after_in_child=_idle.clear)  # a fork does not have the parent's threads


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
