"""Threads are lent to one block at a time, are there for the next, and end where a block fails."""

import gc
import os
import threading
import time

import pytest

from pubpriv.common.threads import kept_threads, one_ahead


def _name() -> str:
    return threading.current_thread().name


def test_threads_stay_for_the_next_block():
    with kept_threads(1) as threads:
        first = threads.submit(_name).result()
    with kept_threads(1) as threads:
        assert threads.submit(_name).result() == first


def test_a_block_inside_another_has_threads_of_its_own():
    with kept_threads(1) as outer, kept_threads(1) as inner:
        assert outer.submit(_name).result() != inner.submit(_name).result()
        # a block that waits for another's thread would wait for ever
        assert outer.submit(lambda: inner.submit(_name).result(9)).result(9)


def test_threads_of_a_block_that_failed_end():
    """What it began is waited for, what it did not begin is not done, and nobody meets either."""
    lent, done, begun, go = [], [], threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        go.wait(9)
        done.append("first")

    def interrupted() -> None:
        with kept_threads(1) as threads:
            lent.append(threads)
            threads.submit(first)
            threads.submit(done.append, "second")
            begun.wait(9)
            threading.Timer(0.05, go.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["first"]
    with pytest.raises(RuntimeError):
        lent[0].submit(_name)


def test_one_item_is_made_while_the_one_before_it_is_in_use():
    """In another thread, in order, and never a second one."""
    made, threads = [], set()

    def items():
        for number in range(5):
            made.append(number)
            threads.add(_name())
            yield number

    for number in one_ahead(items()):
        deadline = time.monotonic() + 9
        while len(made) < min(number + 2, 5):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(0.01)  # a second one would be made now
        assert made == [*range(min(number + 2, 5))]
    assert len(threads) == 1
    assert _name() not in threads


def test_what_fails_ahead_is_raised_in_its_place():
    def items():
        yield 1
        yield 2
        raise OSError("gone")

    ahead = one_ahead(items())
    assert (next(ahead), next(ahead)) == (1, 2)
    with pytest.raises(OSError, match="gone"):
        next(ahead)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_nothing_is_made_after_somebody_stopped(stop):
    """By an error of their own, or Ctrl-C: the item at hand is finished, its maker closed, and the thread ends."""
    made, closed, before = [], threading.Event(), threading.active_count()

    def items():
        try:
            for number in range(100):
                made.append(number)
                yield number
        finally:
            closed.set()

    def using():
        for number in one_ahead(items()):
            if number == 3:
                raise stop

    with pytest.raises(stop):
        using()
    gc.collect()
    assert closed.wait(9)
    assert len(made) <= 5
    assert threading.active_count() <= before + 1


def test_a_fork_has_threads_of_its_own():
    """Those of its parent are not there: work that is given to them is never done."""
    with kept_threads(1) as threads:
        threads.submit(_name).result()
    child = os.fork()
    if child == 0:
        try:
            with kept_threads(1) as threads:
                threads.submit(_name).result(2)
            os._exit(0)
        finally:  # whatever happened: a second run of the tests must not go on from here
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
