"""What somebody wrote into the books without the door: a charge of another question, at another price or none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from helpers.stores import raw

import pubpriv as pp
from pubpriv.data import looks
from pubpriv.data.codec import to_json
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, Counts
from pubpriv.data.regions import Everything
from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.ledger import event_of
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent, PureEvent
from pubpriv.privacy.ledger import Ledger as Books
from pubpriv.privacy.ledger import bundle, schema
from pubpriv.privacy.ledger.facts import facts_of
from pubpriv.privacy.ledger.records import (
    apply,
    charge_key,
    state_text,
    states_of,
)
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.ledger.views import RunView

ONE = ZeroConcentratedDP(1)
CHEAP = GaussianEvent(Fraction(2, 10**12), ((1 << 40, 1),))
SUMS = ClippedSums(Everything(), (Frame((0.0,)),), (300.0,), 1)
"""The sums of all records with noise of one grid step: next to no privacy."""
COUNTS = Counts.priced(Everything(), Fraction(1, 10))


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.table({"a": np.arange(7.0)}), tmp_path / "private.parquet")
    return pp.PrivateTable.open(tmp_path / "private.parquet", ["a"])


@pytest.fixture
def ledger(tmp_path, table):
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as opened:
        opened.register("visits", budget=ONE, table=table)
        yield opened


@pytest.fixture
def curator(ledger, table):
    return pp.Curator(table, ledger, "visits", ZeroConcentratedDP("0.5"), "r")


def must_not_look(*_, **__):
    raise AssertionError("rows were opened")


def plant(ledger, label, question, event):
    """Append, as the ledger's own method does, a charge of `question` as `event`."""
    with Books.open(ledger.url) as books:
        books.run("visits", "r").charge(label, to_json(question), event)


def append(ledger, kind, body, release_id=None, key=None, moved=None):
    """Append a record by statement: its chain holds, its state is that of the record before, or `moved` says it."""
    head = ledger.records("visits")[-1]
    text = head.state if moved is None else state_text(*moved)
    record = replace(
        head, seq=head.seq + 1, kind=kind, release_id=release_id, key=key, body=canonical(body), state=text,
        previous_hash=head.digest(),
    )  # fmt: skip
    with raw(ledger.url) as connection:
        connection.execute(sa.insert(schema.records).values(**record.columns(), hash=record.digest()))


def charge_body(label, question, event, **changed):
    paid = ONE.price(event).to_json()
    told = {"label": label, "question": to_json(question), "event": event.to_json(), "attempt": "a"}
    return told | {"lease_until": "2026-11-22T00:00:00+00:00", "price_run": paid, "price_ledger": paid} | changed


def charged(ledger, label, body):
    """Append a charge that moves what its prices say."""
    last = states_of(ledger.records("visits")[-1].state)
    moved = apply("charged", facts_of("charged", body), *last)
    append(ledger, "charged", body, "r", charge_key("visits", "r", label), moved)


def test_a_cheap_event_beside_an_expensive_question_is_not_answered(ledger, curator, monkeypatch):
    """The next release under its label is refused before a row is read, and says what to do."""
    plant(ledger, "planted", SUMS, CHEAP)
    monkeypatch.setattr(looks, "scan_together", must_not_look)
    with pytest.raises(LedgerViolation, match="not charged as the question costs") as refused:
        curator.release(COUNTS, "planted")
    assert refused.value.exit_code == 6
    assert "ledger verify" in str(refused.value)
    assert not any(record.kind == "published" for record in ledger.records("visits"))


def test_an_answered_one_is_not_replayed(ledger, curator):
    """Not even if the answer is there."""
    plant(ledger, "planted", SUMS, CHEAP)
    with Books.open(ledger.url) as books:
        books.run("visits", "r").publish("planted", "a", {"sum": [1]})
    with pytest.raises(LedgerViolation, match="not charged as the question costs"):
        curator.release(COUNTS, "planted")


def test_a_pure_event_is_no_price_of_a_gaussian_question(ledger, curator):
    """Each kind of event has a price in zCDP; only one of them is the question's."""
    plant(ledger, "planted", SUMS, PureEvent(Fraction(1, 10**6)))
    with pytest.raises(LedgerViolation, match="not charged as the question costs"):
        curator.release(COUNTS, "planted")


@pytest.mark.parametrize("noise_scale", ["12", 1.5, 0, True, -5, None, [1]])
def test_a_stored_question_without_a_price_is_refused(ledger, curator, monkeypatch, noise_scale):
    """Whatever stands in its place: no row is read, and no other error than the ledger's or bad input comes out."""
    question = to_json(COUNTS) | {"noise_scale": noise_scale}
    with Books.open(ledger.url) as books:
        books.run("visits", "r").charge("planted", question, CHEAP)
    monkeypatch.setattr(looks, "scan_together", must_not_look)
    with pytest.raises((LedgerViolation, InvalidInput)):
        curator.release(COUNTS, "planted")


def test_a_stored_question_has_its_room_checked(ledger, curator, monkeypatch):
    """A question whose noise does not fit in 64 bits is refused, although what is asked now has room."""
    wide = Counts(Everything(), 1 << 61)
    plant(ledger, "wide", wide, event_of(wide))
    monkeypatch.setattr(looks, "scan_together", must_not_look)
    with pytest.raises(InvalidInput, match="64 bits"):
        curator.release(COUNTS, "wide")


def test_a_charge_that_moved_nothing_is_not_answered(ledger, curator, monkeypatch):
    """Appended by statement, at its right price, under a balance that stayed what it was."""
    event = event_of(COUNTS)
    append(ledger, "charged", charge_body("free", COUNTS, event), "r", charge_key("visits", "r", "free"),
           states_of(ledger.records("visits")[-1].state))  # fmt: skip
    monkeypatch.setattr(looks, "scan_together", must_not_look)
    with pytest.raises(LedgerViolation, match="not one that this ledger made"):
        curator.release(COUNTS, "free")


GAUSSIAN = event_of(COUNTS).to_json()
WRONG = {
    "a cheaper price for the run": {"price_run": {"main": "1", "delta": "0"}},
    "a cheaper price for the ledger": {"price_ledger": {"main": "1", "delta": "0"}},
    "another label": {"label": "other"},
    "an event with an exponent": {"event": GAUSSIAN | {"squared_distance": "1e400000000"}},
    "an event over zero": {"event": GAUSSIAN | {"squared_distance": "1/0"}},
    "no event": {"event": None},
    "an event of floats": {"event": GAUSSIAN | {"noise": [["9.5", 1]]}},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_charge_at_other_prices_is_found_when_it_is_read_and_by_verify(ledger, curator, monkeypatch, name):
    """Appended by statement with a balance that follows from what it says: neither answered nor verified."""
    charged(ledger, "planted", charge_body("planted", COUNTS, event_of(COUNTS)) | WRONG[name])
    monkeypatch.setattr(looks, "scan_together", must_not_look)
    with pytest.raises(LedgerViolation, match="record 3"):
        curator.release(COUNTS, "planted")
    with pytest.raises(LedgerViolation, match="record 3"):
        ledger.verify("visits")


def test_verify_makes_events_again(ledger, curator, tmp_path):
    """Of the database, of an export, and by `restore`, which takes nothing of it."""
    curator.release(COUNTS, "right")
    assert (ledger.verify("visits").recomputed, ledger.verify("visits").unknown) == (1, {})
    plant(ledger, "planted", SUMS, CHEAP)
    with pytest.raises(LedgerViolation, match=r"record 5 .* not charged as its question costs"):
        ledger.verify("visits")
    path = tmp_path / "export.jsonl"
    ledger.export(path)
    with pytest.raises(LedgerViolation, match="not charged as its question costs"):
        bundle.verify(path, pp.Ledger.asked)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/other.db") as other:
        with pytest.raises(LedgerViolation, match="not charged as its question costs"):
            other.restore(path)
        assert other.datasets() == []


def test_what_cannot_be_made_again_is_said_to_be_unchecked(ledger, curator):
    """A type of another version, and a known type with other fields: counted by type, and never as checked."""
    curator.release(COUNTS, "right")
    with Books.open(ledger.url) as books:
        for label, question in (("a", {"type": "Median"}), ("b", {"type": "Counts", "radius": 1}), ("c", {})):
            books.run("visits", "r").charge(label, question, CHEAP)
        alone = books.verify("visits")
    found = ledger.verify("visits")
    assert (found.charges, found.recomputed, found.unknown) == (4, 1, {"Median": 1, "Counts": 1, "None": 1})
    assert (alone.recomputed, sum(alone.unknown.values())) == (0, 4)


def test_the_public_ledger_charges_a_question_what_it_costs(ledger, curator):
    """A slip is refused before it is written; a mechanism of another kind can be charged by whoever ran it."""
    with pytest.raises(InvalidInput, match="not what its question costs"):
        ledger.run("visits", "r").charge("slip", to_json(SUMS), CHEAP)
    ledger.run("visits", "r").charge("elsewhere", {"type": "exponential mechanism"}, PureEvent(Fraction(1, 10)))
    assert len(ledger.run("visits", "r").bill().charges) == 1


ANSWERS = {
    "too few": {"count": []},
    "too many": {"count": [1, 2]},
    "another part": {"sum": [1]},
    "a part more": {"count": [1], "sum": [1]},
    "floats": {"count": [1.5]},
    "booleans": {"count": [True]},
    "text": {"count": "1"},
    "past 64 bits": {"count": [1 << 63]},
    "a list": [[1]],
    "nothing": None,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_stored_answer_fits_its_question(ledger, curator, name):
    """An answer that was appended by statement with other sizes, or of other things, is no answer; nor to `verify`."""
    curator.release(COUNTS, "first")
    body = charge_body("counts", COUNTS, event_of(COUNTS))
    charged(ledger, "counts", body)
    append(ledger, "published", {"attempt": "a", "answer": ANSWERS[name]}, "r", charge_key("visits", "r", "counts"))
    with pytest.raises(LedgerViolation, match="counts"):
        curator.release(COUNTS, "counts")
    with pytest.raises(LedgerViolation, match="record 6"):
        ledger.verify("visits")


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - {"another part"}))  # whose name the books do not know
def test_an_answer_that_does_not_fit_is_not_published(ledger, curator, name):
    """Refused, and nothing stands under the charge."""
    with Books.open(ledger.url) as books:
        standing = books.run("visits", "r").charge("counts", to_json(COUNTS), event_of(COUNTS))
        with pytest.raises(InvalidInput, match="nothing is published"):
            books.run("visits", "r").publish("counts", standing.attempt, ANSWERS[name])
        assert books.run("visits", "r").find("counts").answer is None


def test_a_simulation_prices_what_it_kept_again():
    """The rules are the same where the books are in memory."""
    curator = pp.Curator.simulation(np.zeros((5, 1)), ONE, seed=1)
    curator._run.charge("planted", to_json(SUMS), CHEAP)
    with pytest.raises(LedgerViolation, match="not charged as the question costs"):
        curator.release(COUNTS, "planted")


def test_a_run_that_was_never_opened_is_refused_by_its_records(ledger):
    """A note of a run that is in no other record: an error of the ledger, and no defect of ours."""
    append(ledger, "noted", {"label": "a", "value": 1}, "ghost")
    with pytest.raises(LedgerViolation, match="never opened"):
        RunView.all_of(ledger.records("visits"))
