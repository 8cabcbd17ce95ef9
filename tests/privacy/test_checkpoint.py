"""Signed checkpoints: what follows one is checked as in a whole verification, from which none hides anything."""

import json
from dataclasses import asdict

import pytest
import sqlalchemy as sa
from helpers.events import gaussian
from helpers.stores import drop_guards, raw

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger, checkpoint, schema
from pubpriv.privacy.ledger._replay import replay
from pubpriv.privacy.ledger.records import charge_key
from pubpriv.privacy.ledger.summary import Checkpoint

QUESTION = {"type": "Counts"}
KEY = b"0" * 32


@pytest.fixture
def books(tmp_path):
    """Two closed runs and an open one, with charges that are answered, tried again, and not answered."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        for release_id in ("r", "s", "t"):
            run = ledger.run("visits", release_id)
            run.open(ZeroConcentratedDP("0.25"))
            run.start("mean", "{}", "hash", None)
            run.keep({"step": 1})
            standing = run.charge("mean/a", QUESTION, gaussian("0.1"))
            run.keep({"step": 1})
            run.publish("mean/a", standing.attempt, {"x": [1]})
            run.charge("mean/b", QUESTION, gaussian("0.05"))
            run.charge("mean/b", QUESTION, gaussian("0.05"))
            if release_id != "t":
                run.close("done")
        yield ledger


def rows_of(ledger):
    return [(record, record.digest()) for record in ledger.records("visits")]


def test_going_on_from_any_record_comes_to_the_same(books):
    """Wherever a replay stopped, and through JSON: the same summary and the same memory as from the beginning."""
    rows = rows_of(books)
    whole = replay("visits", rows)
    for stop in range(1, len(rows) + 1):
        kept = json.loads(json.dumps(asdict(Checkpoint.of(replay("visits", rows[:stop])))))
        later = replay("visits", rows[stop - 1 :], since=Checkpoint(**kept))
        assert later.trusted == stop
        assert (later.records, later.charges, later.answers, later.head) == (
            *(whole.records, whole.charges, whole.answers),
            whole.head,
        )
        assert (later.state, later.unknown, later.memory) == (whole.state, whole.unknown, whole.memory)
    assert books.verify("visits", since=Checkpoint.of(whole)).records == len(rows)


HOSTILE = {
    "a closed run goes on": ("attempted", "r", "mean/b", "not charged"),
    "a closed run is opened again": ("opened", "r", None, "opened before"),
    "a charge is made again": ("charged", "t", "mean/a", "charged before"),
    "a second answer": ("published", "t", "mean/a", "second answer"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_written_after_a_checkpoint_is_held_against_what_was_before(books, what):
    """Records that were right once stand again after the checkpoint, with balance and chain as they would be."""
    from dataclasses import replace

    kind, release_id, label, words = HOSTILE[what]
    rows = rows_of(books)
    since = Checkpoint.of(replay("visits", rows))
    key = label and charge_key("visits", release_id, label)
    old = next(r for r, _ in rows if (r.kind, r.release_id) == (kind, release_id) and key in (None, r.key))
    again = replace(old, seq=len(rows), previous_hash=rows[-1][1], state=rows[-1][0].state)
    with pytest.raises(LedgerViolation, match=words):
        replay("visits", [rows[-1], (again, again.digest())], since=since)


def test_a_checkpoint_hides_nothing_from_a_full_verification(books, tmp_path):
    """A record changed before it: read in full it is found, whatever the checkpoint says, and later ones always are."""
    since = Checkpoint.of(books.verify("visits"))
    books.run("visits", "t").charge("mean/c", QUESTION, gaussian("0.02"))
    count = len(books.records("visits"))
    table = schema.records
    with raw(books.url) as connection:
        drop_guards(connection)
    for seq, trusted_is_enough in ((5, False), (count - 1, True), (since.records - 1, True)):
        with raw(books.url) as connection:
            mine = (table.c.dataset == "visits") & (table.c.seq == seq)
            user = connection.execute(sa.select(table.c.user).where(mine)).scalar_one()
            connection.execute(sa.update(table).where(mine).values(user="mallory"))
        with pytest.raises(LedgerViolation):
            books.verify("visits")
        if trusted_is_enough:
            with pytest.raises(LedgerViolation):
                books.verify("visits", since=since)
        else:
            assert books.verify("visits", since=since).trusted == since.records
        with raw(books.url) as connection:
            connection.execute(sa.update(table).where(mine).values(user=user))
    books.verify("visits")


def test_a_checkpoint_that_somebody_else_wrote_is_refused(books, tmp_path):
    """Changed, signed with another key, or no checkpoint: nothing in it is trusted; none at all is none."""
    file = tmp_path / "checkpoint.json"
    assert checkpoint.load(file, KEY) == {}
    since = Checkpoint.of(books.verify("visits"))
    checkpoint.save(file, KEY, {"visits": since})
    assert checkpoint.load(file, KEY) == {"visits": since}
    text = file.read_text()
    for wrong in (text.replace(f'"records":{since.records}', '"records":1'), "{}", "[]", "no JSON"):
        file.write_text(wrong)
        with pytest.raises(LedgerViolation, match="not signed with this key, or was changed"):
            checkpoint.load(file, KEY)
    file.write_text(text)
    with pytest.raises(LedgerViolation, match="not signed with this key"):
        checkpoint.load(file, b"1" * 32)
    made = checkpoint.read_key(tmp_path / "key")
    assert checkpoint.read_key(tmp_path / "key") == made
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    (tmp_path / "short").write_text("abc")
    with pytest.raises(InvalidInput, match="it is too short"):
        checkpoint.read_key(tmp_path / "short")


def test_the_command_goes_on_from_its_checkpoint(books, tmp_path, monkeypatch, capsys):
    """The second call reads the new records only and says so; a ledger that lost some is found out in both ways."""
    from helpers.cli_world import run_program

    words = ("ledger", "verify", "--ledger", books.url, "--checkpoint", tmp_path / "c.json", "--key", tmp_path / "key")
    first, again, full = (
        run_program(monkeypatch, capsys, *words, *more) for more in ((), ("--json",), ("--json", "--full"))
    )
    assert (first.code, again.code, full.code) == (0, 0, 0)
    told = [json.loads(each.out)["visits"] for each in (again, full)]
    assert [each.pop("trusted") for each in told] == [told[0]["records"], 0]
    assert told[0] == told[1]
    with raw(books.url) as connection:
        drop_guards(connection)
        connection.execute(sa.delete(schema.records).where(schema.records.c.seq == told[0]["records"] - 1))
    for more in ((), ("--full",)):
        assert run_program(monkeypatch, capsys, *words, *more).code == 6
