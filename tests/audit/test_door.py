"""The door's promises hold on a real ledger, and a story that does not end well is no promise kept. About 5 s."""

import numpy as np
import pytest

from pubpriv.audit import _door
from pubpriv.audit._attacks import attacks
from pubpriv.audit._worlds import DATASET, WatchedNoise, world
from pubpriv.data.questions import Counts
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.units import ceil_units

COUNTS = next(attack.question for attack in attacks() if isinstance(attack.question, Counts))


@pytest.fixture(scope="module")
def place():
    """A world around forty records."""
    with world(np.random.default_rng(0).normal(size=(40, 2))) as found:
        yield found


def test_every_promise_holds_for_three_kinds_of_question():
    """Each by its name, with what was tried."""
    found = list(_door.findings(fast=True, seed=0))
    assert len(found) == 3 * len(_door._PROMISES) == len({finding.mechanism for finding in found})
    assert {finding.check for finding in found} == {"door"}
    assert [finding.detail for finding in found if not finding.holds] == []
    assert all("verifies" in finding.detail for finding in found)


@pytest.mark.slow
def test_every_promise_holds_for_every_question():
    """The full audit."""
    assert [finding for finding in _door.findings(fast=False, seed=1) if not finding.holds] == []


def test_a_claim_that_does_not_stand_is_named(place):
    """One false claim breaks its promise; the others do not mend it."""

    def story(*_):
        yield "this stands", True
        yield "this does not", False

    finding = _door._tried("a story", story, place, COUNTS)
    assert not finding.holds
    assert finding.detail == "does not hold: this does not"
    assert finding.verdict == "VIOLATION"


def test_a_story_that_breaks_off_is_no_promise_kept(place):
    """An unexpected exception is told by its type alone."""

    def story(*_):
        yield "this stands", True
        raise KeyError("a cell")

    finding = _door._tried("a story", story, place, COUNTS)
    assert not finding.holds
    assert "KeyError" in finding.detail
    assert "a cell" not in finding.detail


def test_a_broken_ledger_breaks_every_promise(place):
    """A story under which the sum of the charges differs from what is spent."""

    class Shrunk:
        ledger = place.ledger

        def __init__(self):
            self.reads = iter((place.spent + 2, place.spent + 1, place.spent + 1))

        def new_release_id(self):
            return "any"

        @property
        def spent(self):
            return next(self.reads)

    finding = _door._tried("a story", lambda *_: iter([("this stands", True)]), Shrunk(), COUNTS)
    assert not finding.holds
    assert "sum of the charges" in finding.detail
    assert "never falls" in finding.detail


def test_a_world_is_a_real_run(place):
    """Watched noise is drawn once a part; the ledger's records and spending are the run's."""
    noise = WatchedNoise()
    before = place.spent
    curator = place.enter("real", ZeroConcentratedDP(10), noise)
    answer = curator.release(COUNTS, "a")
    assert len(noise.drawn) == 1
    assert np.array_equal(place.ledger.run(DATASET, "real").find("a").answer["count"], answer.values["count"] * 2**28)
    assert place.kinds("real") == ["opened", "charged", "published"]
    assert place.spent - before == ceil_units(COUNTS.squared_distance / 2)
