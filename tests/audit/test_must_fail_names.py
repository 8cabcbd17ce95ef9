"""One file that goes under two names, and a ledger that believes what is written in it: each seeded, each caught.

The product's own functions are replaced by what they did before, and the audit's stories run over them. About 5 s.
"""

import numpy as np
import pytest

from pubpriv import curator as the_door
from pubpriv.audit import _names, _tampering
from pubpriv.audit._worlds import world
from pubpriv.audit.finding import promised
from pubpriv.common import tables
from pubpriv.curator import Curator
from pubpriv.data import stores
from pubpriv.data.questions import Counts
from pubpriv.data.regions import NearestPoint
from pubpriv.ledger import questions as shipped
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger as Books
from pubpriv.privacy.ledger import _access, _declared, _succession, records, schema
from pubpriv.privacy.ledger._access import Access
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._opening import Opening
from pubpriv.privacy.ledger.migrations import triggers
from pubpriv.privacy.runs import RecordedRun

STORIES = _names._PROMISES | _tampering._PROMISES
BUDGETS, BY_HAND, PUBLIC, HANDLES, TWICE, LOGS = _names._PROMISES
PLANTED, ANSWERED, MISFIT, EDITED, TRIGGERS, CLOSED = _tampering._PROMISES
ROWS = np.random.default_rng(0).normal(0.0, 3.0, (40, 2))


def broken(promise):
    """What the story of one promise claims and does not hold."""
    story = STORIES[promise]
    with world(ROWS, ZeroConcentratedDP(1)) as place:
        found = promised("audit", "a story", story(place))
    return "" if found.holds else found.detail


def test_nothing_is_caught_where_nothing_is_broken():
    """Every story, on the product as it is."""
    assert {promise: broken(promise) for promise in STORIES} == dict.fromkeys(STORIES, "")


# -- names ----------------------------------------------------------------------------------------------------


def test_names_that_are_compared_as_they_are_written(monkeypatch):
    """A link, a folder of links and a hard link are other names, and other files."""
    monkeypatch.setattr(tables, "_behind", lambda name: (set(), set()))
    detail = broken(BUDGETS)
    assert "a folder of links: no second budget" in detail
    assert "a hard link: no second budget" in detail
    assert "a glob of links: not read as public" in broken(PUBLIC)


def test_a_table_that_two_datasets_may_have(monkeypatch):
    """Nobody asks to whom it belongs."""
    monkeypatch.setattr(_declared, "refuse_foreign", lambda book, uri: None)
    detail = broken(BUDGETS)
    for what in ("its folder", "a link", "a glob with *", "a URL", "a glob with a set of one bracket"):
        assert f"{what}: no second budget" in detail
    assert "a way around, by hand" in broken(BY_HAND)


def test_a_private_table_that_is_public_in_another_run(monkeypatch):
    """Nobody asks the ledger whose rows the public ones are."""
    monkeypatch.setattr(RecordedRun, "refuse_private", lambda self, public: None)
    detail = broken(PUBLIC)
    assert "another dataset's table: not read as public" in detail
    assert "its folder: not read as public" in detail
    assert "nothing was charged" in detail


def test_public_rows_that_do_not_know_where_they_are_from(monkeypatch):
    """Paths are compared; a table that was opened before is only rows."""
    right = the_door.source_of
    monkeypatch.setattr(the_door, "source_of", lambda public: right(public) if isinstance(public, str) else None)
    assert "rows that were read before" in broken(PUBLIC)


def test_a_handle_that_is_believed(monkeypatch):
    """The table of one dataset, the budget of another."""
    monkeypatch.setattr(Books, "check_declared", lambda *_, **__: True)
    detail = broken(HANDLES)
    assert "a table under another dataset's run: refused" in detail
    assert "columns that are not declared: refused" in detail


def test_a_file_that_is_read_by_each_of_its_names(monkeypatch):
    """Every row of it counts twice."""
    number = iter(range(10**6))
    monkeypatch.setattr(tables, "_identity", lambda path: (0, next(number)))
    detail = broken(TWICE)
    assert "a file and a link to it" in detail
    assert "a file and a hard link to it" in detail


@pytest.mark.filterwarnings("ignore:not read of")
def test_files_that_a_log_has_given_up(monkeypatch):
    """Nobody looks for the log."""
    for module in (tables, stores):
        monkeypatch.setattr(module, "refuse_logged", lambda *_: None)
    detail = broken(LOGS)
    for what in ("the table", "a folder above it", "a folder below it", "a file of it", "a glob"):
        for whose in ("private", "public"):
            assert f"{what}, {whose}, beside _delta_log: not read" in detail


# -- the ledger -----------------------------------------------------------------------------------------------


def test_a_stored_question_that_is_not_priced_again(monkeypatch):
    """Whatever stands there is asked, under the charge beside it."""
    monkeypatch.setattr(the_door, "question_of", lambda charge, label: the_door.public_value_of(charge.question))
    detail = broken(PLANTED)
    assert "a cheap event: not answered" in detail
    assert "nothing is published" in detail
    assert "not replayed" in broken(ANSWERED)


def test_a_stored_question_that_is_not_checked_again(monkeypatch):
    """It fails for some records, after its rows were read."""
    for name in ("checked", "rehearse"):
        monkeypatch.setattr(the_door, name, lambda question, columns: question)
    for kind in (Counts, NearestPoint):
        monkeypatch.setattr(kind, "__post_init__", lambda self: None)
    assert broken(MISFIT)


def test_a_verify_that_believes_events(monkeypatch):
    """Chain, balances and prices are right; the question is another one."""
    monkeypatch.setattr(shipped.Ledger, "asked", staticmethod(lambda question: None))
    assert broken(PLANTED) == "does not hold: verify finds it"


def test_a_balance_that_is_read_as_it_is_written(monkeypatch):
    """Its digest is not worked out again."""
    monkeypatch.setattr(schema, "whole", lambda row: schema.record_of(row)[0])
    detail = broken(EDITED)
    assert "its hash kept: no second budget" in detail


def test_a_witness_that_is_compared_with_the_text_of_a_hash(monkeypatch):
    """And a balance that is read as it is written."""
    monkeypatch.setattr(schema, "whole", lambda row: schema.record_of(row)[0])
    monkeypatch.setattr(Access, "lacks", lambda self, ends: {})
    monkeypatch.setattr(_access, "follow_from", lambda *_: None)
    assert "its hash made anew, with a witness: no second budget" in broken(EDITED)


def test_triggers_that_nobody_misses(monkeypatch):
    """Records can be changed, and the next ones are added all the same."""
    monkeypatch.setattr(triggers, "missing", lambda connection: [])
    assert "no run is opened" in broken(TRIGGERS)


def test_books_that_forget_what_they_carry_on(monkeypatch):
    """An id that is not known any more; nothing spent; and an archive that is believed to say so."""
    with monkeypatch.context() as forgetful:
        forgetful.setattr(Book, "refuse_old", lambda self, release_id: None)
        assert "carried on: a release is not asked again" in broken(CLOSED)
    right, nothing = Opening.entries, {"spent": {"main": "0", "delta": "0"}}
    monkeypatch.setattr(
        Opening, "entries", lambda self: [(k, b | nothing if "spent" in b else b) for k, b in right(self)]
    )
    assert "carried on: no second budget" in broken(CLOSED)
    monkeypatch.undo()
    monkeypatch.setattr(_succession, "_compare", lambda *_: 0)
    assert "books with all of the budget: shown by the archive" in broken(CLOSED)


def test_closed_books_that_stay_open(monkeypatch):
    """The record is written and nobody heeds it: then the trigger refuses, in other words; without it, nobody does."""
    monkeypatch.setattr(records, "_check_books", lambda kind, dataset: None)
    assert "Unavailable came instead" in broken(CLOSED)
    monkeypatch.setattr(triggers, "fourth_revision", lambda dialect: [])
    monkeypatch.setattr(triggers, "missing", lambda connection: [])
    assert "closed: no run is opened" in broken(CLOSED)


def test_a_planted_charge_that_is_drawn_for_and_then_refused(monkeypatch):
    """Too late: the rows were read."""
    right = Curator.release

    def release(self, question, label):
        self._noise.draw(label, "sum", 1, 2)
        return right(self, question, label)

    monkeypatch.setattr(Curator, "release", release)
    assert "nothing is drawn" in broken(PLANTED)
