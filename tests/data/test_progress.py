"""Whoever watches a scan hears how far it is, now and then, and changes nothing."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.neighbours import QUESTIONS

from pubpriv.audit._neighbours import COLUMNS
from pubpriv.data import progress
from pubpriv.data.columns import parse_columns
from pubpriv.data.progress import Count
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable

QUESTION = QUESTIONS["moments-cells"]


class SlowTable(ArrayTable):
    """Each block takes a while."""

    def chunks(self):
        return [SlowTable(self.rows, self.columns, c.start, c.stop) for c in super().chunks()]

    def blocks(self):
        for block in super().blocks():
            time.sleep(0.02)
            yield block


@pytest.fixture
def slow():
    rows = np.random.default_rng(0).normal(0, 2, (150_000, 2))
    return SlowTable(rows, parse_columns(COLUMNS))


@pytest.fixture
def heard(monkeypatch):
    """What a watcher of this test's scans is told."""
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.05)
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.05)
    told = []
    token = progress.watcher.set(lambda fraction, ended: told.append((fraction, ended)))
    yield told
    progress.watcher.reset(token)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_watched_scan_tells_rising_fractions_and_ends_whole(slow, heard, elsewhere):
    """Threads count blocks, other executors chunks; the totals are those of an unwatched scan."""
    start = time.monotonic()
    with ThreadPoolExecutor(1) as one:
        totals = scan(slow, QUESTION, one if elsewhere else None)
    took = time.monotonic() - start
    fractions = [fraction for fraction, _ in heard]
    assert fractions == sorted(fractions)
    assert any(0 < fraction < 1 for fraction in fractions)
    assert heard[-1] == (1.0, True)
    assert [ended for _, ended in heard[:-1]] == [False] * (len(heard) - 1)
    assert len(heard) <= took / progress._EVERY_SECONDS + 2  # by the clock: not one per block
    plain = scan(ArrayTable(slow.rows, slow.columns), QUESTION)
    assert all(totals[name].tobytes() == plain[name].tobytes() for name in plain)


def test_a_short_scan_and_an_unwatched_one_say_nothing(slow, heard, monkeypatch):
    """Nothing is told of what is over before a person looks, and blocks are not even counted for nobody."""
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 60.0)
    scan(slow, QUESTION)
    assert heard == []
    progress.watcher.set(None)
    with progress.Count.watched(lambda: pytest.fail("nobody watches")) as count:
        assert count is None


def test_a_watcher_that_fails_disturbs_nobody(slow, heard, monkeypatch):
    """The scan goes on, and the watcher is not called again."""

    def fail(*_):
        heard.append("called")
        raise OSError("the server is gone")

    progress.watcher.set(fail)
    assert scan(slow, QUESTION)["count"].sum() > 0
    assert heard == ["called"]


def test_counts_are_exact():
    """A part of a chunk, and a chunk that was read elsewhere."""
    count = Count([3, 1])
    blocks = count.of(0, "abc")
    assert [next(blocks), next(blocks)] == ["a", "b"]
    assert count.fraction == 0.25  # the second is at work
    count.whole(1)
    assert list(blocks) == ["c"]
    assert count.fraction == 1.0
