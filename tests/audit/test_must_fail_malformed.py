"""Malformed questions and noise that a door without its checks lets through, each caught by the audit. About 3 s.

The checks are taken out of the product, or replaced by what was there before them; the audit's own attacks run then.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from pubpriv import curator as the_door
from pubpriv.audit import _defects, _malformed
from pubpriv.audit._malformed import _PROMISES
from pubpriv.audit._worlds import world
from pubpriv.audit.finding import promised
from pubpriv.data import codec
from pubpriv.data import scan as scanning
from pubpriv.data.questions import Bisection, BoundedScore, ClippedSums, Counts, Radial, Selection, _bisection, base
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, NearestPoint

ROWS = np.random.default_rng(0).normal(0.0, 3.0, (40, 2))
_, MAPS, POINTS, REGIONS, THRESHOLDS, GROUPS, FILLS, NOISE, *OTHERS = _PROMISES
SELECTIONS, RADIAL, LIST, SEARCHES, FEW, OTHER, ENDS = OTHERS


@pytest.fixture(scope="module")
def place():
    """A world around forty records, ten of them nearer to (9, 9) than to any group."""
    rows = ROWS.copy()
    rows[:10] = 9.0
    with world(rows) as found:
        yield found


@pytest.fixture
def wrong(place):
    """What is not refused before its charge of one way to go wrong: {question: how it ended}."""

    def asked(name):
        return dict(claim.split(": ", 1) for claim, holds in _PROMISES[name](place) if not holds)

    return asked


def broken(place, name):
    """What one story about noise claims and does not hold."""
    found = promised("malformed", name, _PROMISES[name](place))
    return "" if found.holds else found.detail


@pytest.fixture
def unguarded(monkeypatch):
    """A door that takes a question for what it says it is, and classes that do not look at their fields."""
    for kind in (Bisection, BoundedScore, ClippedSums, Counts, Cells, NearestPoint, Refined):
        monkeypatch.setattr(kind, "__post_init__", lambda self: None)
    monkeypatch.setattr(the_door, "checked", lambda question, columns, law="gaussian": question)
    monkeypatch.setattr(the_door, "rehearse", lambda question, columns: None)
    return monkeypatch


@pytest.fixture
def unwatched(unguarded):
    """A door that takes totals and noise for what they are, too."""
    unguarded.setattr(the_door, "check_totals", lambda *_: None)
    unguarded.setattr(scanning, "nothing_of", Loose.zeros)
    unguarded.setattr(base, "_noisy", lambda totals, factor, noise: totals * factor + noise)
    unguarded.setattr(the_door, "drawn_beside", beside)
    return unguarded


class Loose:
    """Sums of pieces of whatever shapes they have."""

    def __init__(self):
        self.total = {}

    @classmethod
    def zeros(cls, _):
        return cls()

    def add(self, piece):
        self.total = {name: self.total.get(name, 0) + values for name, values in piece.items()}

    def join(self, others):
        for other in others:
            self.add(other.total)
        return self

    def clamped(self, _):
        return self.total


@contextmanager
def beside(source, label, wanted):
    """Draws ahead, and draws anew whatever was not announced."""
    with ThreadPoolExecutor(1) as thread:
        begun = {draw: thread.submit(source.draw, label, *draw) for draw in wanted}

        def draw(*ask):
            early = begun.pop(ask, None)
            return source.draw(label, *ask) if early is None else early.result()

        yield draw


@pytest.mark.slow
def test_nothing_is_caught_where_nothing_is_broken(place):
    """All that is asked below, of the product as it is."""
    assert {name: broken(place, name) for name in _PROMISES} == dict.fromkeys(_PROMISES, "")


def test_one_draw_of_noise_for_two_sums(unwatched, wrong):
    """The question has one total, and its frame makes two of it: their difference is exact."""
    assert wrong(MAPS)["one centre for two sums, forged"].endswith(", charged")


def test_a_defect_that_shows_after_the_charge(unguarded, wrong):
    """Totals are still compared with what was announced; but then the charge is gone, and a failure has been seen."""
    assert wrong(MAPS)["one centre for two sums, forged"] == "fails (PrivateStepFailed), charged"


def test_a_failure_that_depends_on_a_record(unguarded, wrong):
    """Only a record near a point without a group makes it fail."""
    assert wrong(POINTS)["a point without a group, forged"] == "fails (PrivateStepFailed), charged"
    assert "a negative group, forged" in wrong(POINTS)


def test_a_partition_inside_another_that_is_not_looked_at(monkeypatch, wrong):
    """The outer one is checked, what it holds is not."""
    monkeypatch.setattr(_defects.Refined, "check", lambda *_: None)
    monkeypatch.setattr(the_door, "rehearse", lambda question, columns: None)
    caught = wrong(MAPS)
    assert {name.partition(",")[0] for name in caught} == {"one centre inside a refined partition"}


def test_a_fill_that_is_not_looked_at(unguarded, wrong):
    """Radii for fewer cells than a record may have: only a record with another number of cells makes it fail."""
    unguarded.setattr(_defects.CompletedGram, "__post_init__", lambda self: None)
    assert "fewer radii than cells, forged" in wrong(FILLS)
    assert "less uncertainty than none, forged" in wrong(FILLS)


def test_regions_that_are_not_counted(unguarded, wrong):
    """A frame too few fails, or leaves a region out, after the charge."""
    assert {"fewer frames than regions, forged", "fewer radii than regions, forged"} <= set(wrong(REGIONS))


def test_thresholds_that_are_not_looked_at(unguarded, wrong):
    """They are searched as if they rose."""
    assert wrong(THRESHOLDS)["from high to low, forged"] == "answered, charged"


def test_noise_that_is_not_looked_at(unguarded, wrong):
    """A price that nobody can work out is no bad input that somebody was shown."""
    assert {"zero, built", "zero, forged", "zero for sums, forged", "a bound of zero, forged"} <= set(wrong(NOISE))


def test_a_subclass_that_says_it_is_cheap(unguarded, wrong):
    """Somebody registered it as a public value, as any module can."""
    unguarded.setitem(codec._TYPES, "Cheap", _defects._Cheap)
    unguarded.setitem(codec._TYPES, "Twice", _defects._Twice)
    caught = wrong(LIST)
    assert caught["a question that says it is cheap, built"] == "answered, charged"
    assert caught["a partition of another making, built"] == "answered, charged"


def test_a_failure_that_is_no_bad_input(monkeypatch, wrong):
    """A text that a person cannot act on."""

    def checked(question, columns, law="gaussian"):
        raise TypeError("list index out of range")

    monkeypatch.setattr(the_door, "checked", checked)
    assert set(wrong(NOISE).values()) == {"fails (TypeError)"}


def test_a_draw_that_is_shared(unwatched, place):
    """One number for many totals."""
    detail = broken(place, FEW)
    assert "ClippedSums fails" in detail
    assert "ClippedSums publishes nothing" in detail


def test_noise_that_was_not_announced(monkeypatch, place):
    """It is drawn when it is asked for."""
    monkeypatch.setattr(_malformed, "drawn_beside", beside)
    detail = broken(place, OTHER)
    for name in ("less noise", "fewer draws", "more draws", "another part", "a second time"):
        assert f"{name}: refused" in detail


def test_totals_that_show_beside_a_saturated_draw(monkeypatch, place):
    """Added in 64 bits, totals come out on the other side of zero, as they were."""
    monkeypatch.setattr(base, "_noisy", lambda totals, factor, noise: totals * factor + noise)
    detail = broken(place, ENDS)
    assert "Counts" in detail
    assert "LiftedGram" in detail
    assert "Bisection" not in detail


def test_a_bisection_that_shows_beside_a_saturated_draw(monkeypatch, place):
    """The same, a step at a time."""
    monkeypatch.setattr(_bisection, "_clamped", lambda value: (value + (1 << 63)) % (1 << 64) - (1 << 63))
    assert "Bisection" in broken(place, ENDS)


def test_radial_noise_around_anything(unguarded, wrong):
    """Without its checks, noise is put around other noise, or by region around a question that has none."""
    unguarded.setattr(Radial, "__post_init__", lambda self: None)
    assert {"around radial noise, forged", "by region, one or none, forged"} <= set(wrong(RADIAL))


def test_selections_that_look_at_no_field_are_seen(unguarded, place):
    """Hypotheses without a rival are the one thing that fails in no other way.

    It alone is asked: a door that takes them spends ten seconds on more hypotheses than are compared.
    """
    unguarded.setattr(Selection, "__post_init__", lambda self: None)
    lonely = "hypotheses without a rival"
    asked = {lonely: _PROMISES[SELECTIONS].args[0][lonely]}
    assert (f"{lonely}, forged: answered, charged", False) in list(_malformed._refused(asked, place))


def test_a_question_about_groups_of_another_table(wrong, monkeypatch):
    """Asked of a table without groups it would be charged, and then fail."""
    assert not wrong(GROUPS)
    monkeypatch.setattr(the_door, "check_groups_asked", lambda question, by: None)
    found = wrong(GROUPS)
    assert found["of a table without groups, built"] == "fails (PrivateStepFailed), charged"
