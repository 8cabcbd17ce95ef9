"""One file that goes under two names, and a ledger that believes what is written in it: each seeded, each caught.

The product's own functions are replaced by what they did before, and the audit's stories run over them. About 5 s.
"""

import numpy as np

from pubpriv import curator as the_door
from pubpriv import ledger as shipped
from pubpriv import places
from pubpriv.audit import books, names
from pubpriv.audit.finding import promised
from pubpriv.audit.worlds import world
from pubpriv.curator import Curator
from pubpriv.privacy.ledger import Ledger as Books
from pubpriv.privacy.ledger import declared, schema
from pubpriv.privacy.ledger.access import Access
from pubpriv.privacy.ledger.book import Book
from pubpriv.privacy.ledger.migrations import triggers
from pubpriv.privacy.runs import RecordedRun

ROWS = np.random.default_rng(0).normal(0.0, 3.0, (40, 2))


def broken(story):
    """What one story claims and does not hold."""
    with world(ROWS, names.ONE) as place:
        found = promised("audit", "a story", story(place))
    return "" if found.holds else found.detail


def test_nothing_is_caught_where_nothing_is_broken():
    """Every story, on the product as it is."""
    stories = [*names.STORIES.values(), *books.STORIES.values()]
    assert [broken(story) for story in stories] == [""] * len(stories)


# -- names ----------------------------------------------------------------------------------------------------


def test_names_that_are_compared_as_they_are_written(monkeypatch):
    """A link, a folder of links and a hard link are other names, and other files."""
    monkeypatch.setattr(places, "_behind", lambda name: (set(), set()))
    detail = broken(names.second_budgets)
    assert "a folder of links: no second budget" in detail
    assert "a hard link: no second budget" in detail
    assert "a glob of links: not read as public" in broken(names.published)


def test_a_table_that_two_datasets_may_have(monkeypatch):
    """Nobody asks to whom it belongs."""
    monkeypatch.setattr(declared, "refuse_foreign", lambda book, uri: None)
    detail = broken(names.second_budgets)
    for what in ("its folder", "a link", "a glob with *", "a URL", "a glob with a set of one bracket"):
        assert f"{what}: no second budget" in detail
    assert "a way around, by hand" in broken(names.by_hand)


def test_a_private_table_that_is_public_in_another_run(monkeypatch):
    """Nobody asks the ledger whose rows the public ones are."""
    monkeypatch.setattr(RecordedRun, "refuse_private", lambda self, public: None)
    detail = broken(names.published)
    assert "another dataset's table: not read as public" in detail
    assert "its folder: not read as public" in detail
    assert "nothing was charged" in detail


def test_public_rows_that_do_not_know_where_they_are_from(monkeypatch):
    """Paths are compared; a table that was opened before is only rows."""
    right = the_door.source_of
    monkeypatch.setattr(the_door, "source_of", lambda public: right(public) if isinstance(public, str) else None)
    assert "rows that were read before" in broken(names.published)


def test_a_handle_that_is_believed(monkeypatch):
    """The table of one dataset, the budget of another."""
    monkeypatch.setattr(Books, "check_declared", lambda *_: None)
    detail = broken(names.handles)
    assert "a table under another dataset's run: refused" in detail
    assert "columns that are not declared: refused" in detail


def test_a_file_that_is_read_by_each_of_its_names(monkeypatch):
    """Every row of it counts twice."""
    number = iter(range(10**6))
    monkeypatch.setattr(places, "_identity", lambda path: (0, next(number)))
    detail = broken(names.counted_twice)
    assert "a file and a link to it" in detail
    assert "a file and a hard link to it" in detail


# -- the ledger -----------------------------------------------------------------------------------------------


def test_a_stored_question_that_is_not_priced_again(monkeypatch):
    """Whatever stands there is asked, under the charge beside it."""
    monkeypatch.setattr(the_door, "question_of", lambda charge, label: the_door.public_value_of(charge.question))
    detail = broken(books.planted)
    assert "a cheap event: not answered" in detail
    assert "nothing is published" in detail
    assert "not replayed" in broken(books.answered)


def test_a_stored_question_that_is_not_checked_again(monkeypatch):
    """It fails for some records, after its rows were read."""
    for name in ("checked", "rehearse"):
        monkeypatch.setattr(the_door, name, lambda question, columns: question)
    for kind in (books.Counts, books.NearestPoint):
        monkeypatch.setattr(kind, "__post_init__", lambda self: None)
    assert broken(books.malformed)


def test_a_verify_that_believes_events(monkeypatch):
    """Chain, balances and prices are right; the question is another one."""
    monkeypatch.setattr(shipped.Ledger, "asked", staticmethod(lambda question: None))
    assert broken(books.planted) == "does not stand: verify finds it"


def test_a_balance_that_is_read_as_it_is_written(monkeypatch):
    """Its digest is not worked out again."""
    monkeypatch.setattr(schema, "whole", lambda row: schema.record_of(row)[0])
    detail = broken(books.rewritten)
    assert "its hash kept: no second budget" in detail


def test_a_witness_that_is_compared_with_the_text_of_a_hash(monkeypatch):
    """And a balance that is read as it is written."""
    monkeypatch.setattr(schema, "whole", lambda row: schema.record_of(row)[0])
    monkeypatch.setattr(Access, "lacks", lambda self, ends: {})
    monkeypatch.setattr(Book, "follow_from", lambda *_: None)
    assert "its hash made anew, with a witness: no second budget" in broken(books.rewritten)


def test_triggers_that_nobody_misses(monkeypatch):
    """Records can be changed, and the next ones are added all the same."""
    monkeypatch.setattr(triggers, "missing", lambda connection: [])
    assert "no run is opened" in broken(books.unguarded)


def test_a_planted_charge_that_is_drawn_for_and_then_refused(monkeypatch):
    """Too late: the rows were read."""
    right = Curator.release

    def release(self, question, label):
        self._noise.draw(label, "sum", 1, 2)
        return right(self, question, label)

    monkeypatch.setattr(Curator, "release", release)
    assert "nothing is drawn" in broken(books.planted)
