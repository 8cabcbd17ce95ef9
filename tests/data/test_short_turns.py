"""Settings of a process: threads that scan take short turns at Python, small problems have one thread of BLAS."""

import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from pubpriv.data.arithmetic import in_one_thread, single_threaded_blas, taking_turns
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable

BEFORE = sys.getswitchinterval()


def test_turns_are_short_while_anybody_scans():
    """Of two who scan the first may leave before the second; then turns are as long as they were."""
    first, second = taking_turns(), taking_turns()
    with first:
        short = sys.getswitchinterval()
        second.__enter__()
    assert sys.getswitchinterval() == short < BEFORE
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == BEFORE


def test_a_scan_by_threads_takes_short_turns_and_one_by_an_executor_does_not(monkeypatch):
    """What an executor runs elsewhere has its own turns."""
    seen, count = [], Counts.totals

    def totals(self, view):
        seen.append(sys.getswitchinterval())
        return count(self, view)

    monkeypatch.setattr(Counts, "totals", totals)
    table, question = ArrayTable.of(np.zeros((300, 2))), Counts.priced(Everything(), Fraction(1))
    scan(table, question)
    with ThreadPoolExecutor(1) as executor:
        scan(table, question, executor)
    assert seen[0] < BEFORE == seen[-1]


def test_turns_that_are_shorter_already_stay():
    """Somebody who set them so had a reason."""
    sys.setswitchinterval(1e-6)
    try:
        shorter = sys.getswitchinterval()
        with taking_turns():
            assert sys.getswitchinterval() == shorter
    finally:
        sys.setswitchinterval(BEFORE)


def test_blas_has_one_thread_until_the_last_has_left():
    """Whoever entered first may leave first, and scans and steps count together; then it has as many as before."""

    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        first, second = in_one_thread(), single_threaded_blas()
        with first:
            second.__enter__()
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}
