"""What a page and a plot need of a ledger costs the same after years: the newest runs, and the rest in sum."""

import pytest

from benchmarks.ledger import fill
from pubpriv.ledger import Ledger
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger import past
from pubpriv.released.report import History


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    """A young ledger and an old one, with 120 and 480 runs of two charges."""
    folder = tmp_path_factory.mktemp("past")
    opened = [Ledger.open(fill(folder / f"{runs}.db", runs, 2)) for runs in (120, 480)]
    yield opened
    for each in opened:
        each.close()


def test_records_that_a_history_reads_do_not_grow_with_the_ledger(ledgers, monkeypatch):
    """The same number of rows is looked at in both, and no more than two for each run that is shown."""
    seen = []
    whole = past.schema.whole
    monkeypatch.setattr(past.schema, "whole", lambda row: seen.append(row) or whole(row))
    counts = []
    for ledger in ledgers:
        seen.clear()
        History.of(ledger, "visits", "run-00001")
        counts.append(len(seen))
    assert counts[0] == counts[1] < 220


def test_newest_runs_and_what_was_before_come_to_what_was_spent(ledgers):
    """To the unit, for any number of runs; in the order of their opening, as the whole history has them."""
    ledger = ledgers[0]
    bills = ledger.history("visits")
    for most in (1, 7, 100, 1000):
        found = ledger.past("visits", most)
        assert found.earlier == max(0, len(bills) - most)
        assert [run.release_id for run in found.runs] == [bill.release_id for bill in bills[-most:]]
        assert [run.charged for run in found.runs] == [bill.state.charged for bill in bills[-most:]]
        spent = sum((run.charged for run in found.runs), Amount(0))
        assert spent + found.spent_earlier == ledger.balance("visits").spent
    assert [run.closed for run in found.runs].count(False) == 1


def test_a_release_that_is_older_than_those_that_are_shown_is_known(ledgers):
    """A page of an early release is made with today's history; one of another ledger is not."""
    for release_id, known in (("run-00001", True), ("run-00479", True), ("elsewhere", False)):
        assert History.of(ledgers[1], "visits", release_id).knows(release_id) is known
