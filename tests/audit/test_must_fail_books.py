"""Seeded bugs of books that are carried on: each is patched into the ledger and caught by a fast audit. About 10 s."""

import pytest

from pubpriv.audit import _books
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger import _opening
from pubpriv.privacy.ledger._opening import Opening
from pubpriv.privacy.ledger._period_states import PeriodsState, RunPeriod
from pubpriv.privacy.ledger.records import DatasetState

pytestmark = pytest.mark.long

KINDS = _books._KINDS
LATER = "months that came later"
NOTHING = Amount(0, 0).to_json()


def broken(monkeypatch, *kinds):
    """What a fast audit finds broken of some kinds of datasets: {kind: detail}."""
    monkeypatch.setattr(_books, "_KINDS", {kind: KINDS[kind] for kind in kinds})
    return {f.mechanism.partition(": ")[2]: f.detail for f in _books.findings(True, 0) if not f.holds}


def entries_changed(monkeypatch, change):
    """The first records of books that carry others on, changed where they are written and where they are checked."""
    right = Opening.entries
    monkeypatch.setattr(Opening, "entries", lambda self: [*change(right(self))])


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_nothing_is_found_without_a_bug(monkeypatch):
    """All findings of a fast audit."""
    assert broken(monkeypatch, *KINDS) == {}


def test_books_that_forget_what_periods_spent(monkeypatch):
    """Each period has its whole cap again; the archive, replayed by the same code, shows nothing."""
    monkeypatch.setattr(_opening, "_spent_in", lambda period, newest: {})
    found = broken(monkeypatch, *KINDS)
    assert {*found} == {*KINDS}
    for detail in found.values():
        assert "the first ledger, closed: the next one says what 2026-10 spent" in detail
        assert "shows what is carried on" not in detail
    more = "the first ledger, closed: the next one: no more is granted to 2026-11 than is left"
    assert {kind for kind, detail in found.items() if more in detail} >= {*KINDS} - {LATER}


def test_books_that_forget_one_period(monkeypatch):
    """The last one, as if its record came too late."""
    entries_changed(
        monkeypatch, lambda made: (e for e in made if e[0] != "carried_period" or e[1]["period"] != "2026-11")
    )
    assert "what 2026-11 spent" in broken(monkeypatch, "months of persons")["months of persons"]


def test_books_that_forget_what_they_carried_on_themselves(monkeypatch):
    """What a period spent in the first ledger is in the second, and lost in the third."""
    right = Opening._note
    monkeypatch.setattr(Opening, "_note", lambda self, record: record.kind == "carried_period" or right(self, record))
    detail = broken(monkeypatch, "months of rows")["months of rows"]
    assert "the second ledger, closed: the next one says what 2026-10 spent" in detail
    assert "the first ledger, closed: the next one says" not in detail


@pytest.mark.parametrize(
    ("name", "said"),
    [("common_spent", "what all rows spent"), ("spent", "what is spent"), ("period_cap", "no more is granted")],
)
def test_books_that_forget_an_amount(monkeypatch, name, said):
    """What runs without a period spent, what all runs spent, or the cap of each period, which is doubled."""

    def forgotten(made):
        for kind, body in made:
            less = NOTHING if name != "period_cap" else Amount(int(body.get(name, NOTHING)["main"]) * 2, 0).to_json()
            yield kind, body | {name: less} if kind == "carried" else body

    entries_changed(monkeypatch, forgotten)
    assert said in broken(monkeypatch, "months without a cap for all")["months without a cap for all"]


def test_a_cap_for_all_periods_that_is_forgotten(monkeypatch):
    """Nobody waived it."""
    monkeypatch.setattr(DatasetState, "remaining", property(lambda _: Amount(10**18, 10**30)))
    detail = broken(monkeypatch, LATER)[LATER]
    assert "what is left of the cap" in detail
    assert "no more is granted to" in detail


def test_a_period_that_gets_back_what_was_charged(monkeypatch):
    """A run that ends returns all that it held."""
    right = PeriodsState.closed
    refunded = lambda self, run: right(self, RunPeriod(run.name, run.hold))  # noqa: E731
    monkeypatch.setattr(PeriodsState, "closed", refunded)
    assert "what 2026-10 hold" in broken(monkeypatch, "months of rows")["months of rows"]
