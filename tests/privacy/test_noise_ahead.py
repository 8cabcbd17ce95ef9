"""Noise that is drawn ahead is the source's own, is handed out once, and never leaves its process twice."""

import multiprocessing
import pickle
import threading
import time
from collections import defaultdict, deque
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Shells
from pubpriv.privacy.ahead import DrawnAhead

SD = 1 << 30


class Numbered:
    """A source whose draws are 1, 2, 3, ...; each waits until it may go on."""

    private = True

    def __init__(self):
        self.count, self.go, self.begun = 0, threading.Event(), threading.Event()
        self.go.set()

    def draw(self, label, part, sd, size):
        self.count += 1
        number = self.count
        self.begun.set()
        assert self.go.wait(10)
        return np.full(size, number)


def of(ahead, sd=SD, size=3):
    """One draw, by its number."""
    return int(ahead.draw("label", "part", sd, size)[0])


def test_each_draw_is_handed_out_once_and_for_its_scale_and_size_alone():
    """Two that were expected, then a fresh one; another scale or size is fresh, too."""
    source = Numbered()
    ahead = DrawnAhead(source)
    ahead.expect([("a", SD, 3), ("b", SD, 3)])
    found = [of(ahead), of(ahead, sd=2 * SD), of(ahead, size=4), of(ahead), of(ahead)]
    assert len(set(found)) == len(found) == source.count


def test_what_is_expected_again_is_not_drawn_again_and_the_rest_is_thrown_away():
    """Of two that were expected, one is still wanted, with a new one: three draws in all, each handed out once."""
    source = Numbered()
    ahead = DrawnAhead(source)
    source.go.clear()
    ahead.expect([("a", SD, 3), ("b", 2 * SD, 3), ("c", 4 * SD, 3)])
    assert source.begun.wait(10)
    ahead.expect([("a", SD, 3), ("d", 8 * SD, 3), ("c", 4 * SD, 3)])
    source.go.set()
    assert sorted(of(ahead, sd=times * SD) for times in (1, 4, 8)) == [1, 2, 3]
    assert (of(ahead, sd=2 * SD), source.count) == (4, 4)


def test_a_scan_is_given_way_to_until_its_own_noise_is_waited_for():
    """Nothing is drawn beside a scan, but what somebody waits for then; the rest follows when it is done."""
    source = Numbered()
    ahead = DrawnAhead(source)
    with ahead.giving_way():
        ahead.expect([("a", SD, 3), ("b", 2 * SD, 3)])
        assert not source.begun.wait(0.05)
        assert sorted((of(ahead), of(ahead, sd=2 * SD))) == [1, 2]
        source.begun.clear()
        ahead.expect([("c", 4 * SD, 3)])
        assert not source.begun.wait(0.05)
    assert source.begun.wait(10)
    assert (of(ahead, sd=4 * SD), source.count) == (3, 3)


def test_what_is_not_begun_is_not_waited_for():
    """A draw behind another one in the queue is made by whoever needs it."""
    source = Numbered()
    ahead = DrawnAhead(source)
    source.go.clear()
    ahead.expect([("a", SD, 3), ("b", 2 * SD, 3)])
    assert source.begun.wait(10)
    threading.Timer(0.05, source.go.set).start()
    assert of(ahead, sd=2 * SD) == 2
    assert of(ahead) == 1


def test_nothing_is_drawn_or_kept_after_the_end():
    """What nobody asked for is thrown away."""
    source = Numbered()
    ahead = DrawnAhead(source)
    ahead.expect([("a", SD, 3)])
    assert source.begun.wait(10)
    ahead.stop()
    ahead.expect([("a", SD, 3)])
    assert (of(ahead), source.count) == (2, 2)


def test_a_failure_is_told_where_the_noise_is_asked_for():
    """As if it had been drawn there."""

    class Broken(Numbered):
        def draw(self, label, part, sd, size):
            raise ValueError("sd")

    ahead = DrawnAhead(Broken())
    ahead.expect([("a", SD, 3)])
    with pytest.raises(ValueError, match="sd"):
        of(ahead)


def test_no_copy_of_it_is_made():
    """A copy would hand out the same noise again."""
    with pytest.raises(TypeError, match="noise"):
        pickle.dumps(DrawnAhead(Numbered()))


def test_a_fork_draws_its_own():
    """A child has a copy of what waits in memory, and the parent would use it too."""
    source = Numbered()
    ahead = DrawnAhead(source)
    ahead.expect([("a", SD, 3)])
    assert source.begun.wait(10)
    queue = multiprocessing.get_context("fork").Queue()
    child = multiprocessing.get_context("fork").Process(target=lambda: queue.put(of(ahead)))
    child.start()
    assert queue.get(timeout=30) == 2
    child.join(30)
    assert of(ahead) == 1


@pytest.mark.parametrize("asked_first", ["the same question", "another question"])
def test_a_copy_of_the_process_never_uses_a_draw_that_this_one_used(tmp_path, asked_first):
    """A restored image of a machine has the same pid and the same waiting draws; the ledger shows that another asked.

    The difference of two answers was exactly that of the true counts.
    """
    rows = pd.DataFrame({"x": np.r_[np.zeros(150), np.full(57, 9.0)]})
    table = pp.PrivateTable.open(rows, ["x"], name="rows")
    near, far, third = (Counts.priced(Shells(Frame((at,)), (1.0,)), Fraction(1, 1000)) for at in (0.0, 9.0, 4.0))
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("data", "zcdp:1000")
        one, two = (pp.Curator(table, ledger, "data", "zcdp:100", release_id="r") for _ in range(2))
        one.expect([near, far, third])
        time.sleep(0.5)
        waiting = one._noise._waiting
        two._noise._waiting = defaultdict(deque, {key: deque(draws) for key, draws in waiting.items()})
        first = one.release(near, "near").values["count"]
        if asked_first == "the same question":
            assert np.array_equal(two.release(near, "near").values["count"], first)
        second = two.release(far, "far").values["count"]
    assert not np.array_equal(first - second, [93, -93])
