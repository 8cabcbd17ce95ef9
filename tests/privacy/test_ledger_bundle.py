"""Exports: checked without the database, recognised as newer than a restored ledger, and able to bring it back."""

import json
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import ApproximateDP, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger, bundle
from pubpriv.privacy.ledger.witness import VARIABLE

QUESTION = {"type": "Counts"}


def charge(ledger, label, release_id="r"):
    """A charge with its answer."""
    event = GaussianEvent(Fraction(1, 50), ((1 << 30, 1),))
    standing = ledger.run("visits", release_id).charge(label, QUESTION, event)
    return standing.answer or ledger.run("visits", release_id).publish(label, standing.attempt, {"x": [len(label)]})


@pytest.fixture
def ledger(ledger_url):
    """Two datasets, and a run with two answers."""
    with Ledger.open(ledger_url) as opened:
        opened.register("visits", budget=ZeroConcentratedDP(1))
        opened.register("labs", budget=ApproximateDP(1, "1e-6"))
        opened.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        for label in ("a", "b"):
            charge(opened, label)
        yield opened


def test_a_bundle_is_checked_without_the_database(ledger, tmp_path):
    """It says what the ledger says, and only its owner can read it."""
    path = tmp_path / "visits.jsonl"
    ends = ledger.export(path)
    found = bundle.verify(path)
    assert found == {name: ledger.verify(name) for name in ("labs", "visits")}
    assert bundle.ends(path) == ends
    assert (found["visits"].charges, found["visits"].answers, found["visits"].records) == (2, 2, 6)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [other for other in tmp_path.iterdir() if other.name.startswith(".")]


def test_one_dataset_can_be_exported_by_itself(ledger, tmp_path):
    """Others are not in the file; an unknown one is bad input and leaves no file."""
    assert list(ledger.export(tmp_path / "one.jsonl", ["labs"])) == ["labs"]
    assert "visits" not in (tmp_path / "one.jsonl").read_text()
    with pytest.raises(InvalidInput, match="it knows labs, visits"):
        ledger.export(tmp_path / "none.jsonl", ["nobody"])
    assert not (tmp_path / "none.jsonl").exists()


def drop(lines, number):
    del lines[number]


def swap(lines, one, other):
    lines[one], lines[other] = lines[other], lines[one]


def replace(lines, number, old, new):
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)


CHANGES = {
    "a changed amount": lambda lines: replace(lines, 4, r"\"main\":\"1", r"\"main\":\"2"),
    "a deleted record": lambda lines: drop(lines, 5),
    "two records in another order": lambda lines: swap(lines, 5, 6),
    "a record twice": lambda lines: lines.insert(5, lines[5]),
    "a swapped answer": lambda lines: replace(lines, 5, "[1]", "[9]"),
    "another user": lambda lines: replace(lines, 4, '"user":"', '"user":"x'),
    "no last record": lambda lines: drop(lines, -2),
    "no last line": lambda lines: drop(lines, -1),
    "half a last line": lambda lines: replace(lines, -1, "}}}", "}"),
    "a line that is none": lambda lines: lines.insert(3, "{}"),
    "more after the end": lambda lines: lines.append(lines[-2]),
    "another head": lambda lines: replace(lines, -1, '"head":"', '"head":"0'),
    "a dataset less": lambda lines: drop(lines, 1),
    "a dataset in pieces": lambda lines: swap(lines, 1, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_bundle_is_found(ledger, tmp_path, name):
    """Whatever was done to the file, checking it says so."""
    path = tmp_path / "visits.jsonl"
    ledger.export(path)
    lines = path.read_text().splitlines()
    CHANGES[name](lines)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerViolation):
        bundle.verify(path)


def test_what_is_no_bundle_is_bad_input(tmp_path):
    """A missing file, another file, and a bundle of a newer version: what to do."""
    (tmp_path / "other").write_text("something\nelse\n")
    (tmp_path / "newer").write_text(json.dumps({"format": bundle._FORMAT, "version": 99}) + "\n")
    for name, why in (("none", "cannot be read"), ("other", "ledger export"), ("newer", "upgrade")):
        with pytest.raises(InvalidInput, match=why):
            bundle.verify(tmp_path / name)


def older(url: str, ledger: Ledger, path: Path):
    """A ledger with the records that `path` has, as a backup of that day would bring it back."""
    ledger.export(path)
    with Ledger.open(url) as copy:
        copy.restore(path)


@pytest.fixture
def restored(ledger, new_ledger_url, tmp_path):
    """(URL of an older copy, an export that is newer than it)."""
    url = new_ledger_url()
    older(url, ledger, tmp_path / "older.jsonl")
    charge(ledger, "c")
    ledger.export(tmp_path / "newer.jsonl")
    return url, tmp_path / "newer.jsonl"


def test_a_restored_older_ledger_opens_for_reading_only(restored, monkeypatch):
    """It tells what is missing and what to do, replays what it has, and charges nothing."""
    url, witness = restored
    with Ledger.open(url) as ledger:
        assert not ledger.read_only
    monkeypatch.setenv(VARIABLE, str(witness))
    with Ledger.open(url) as ledger:
        assert list(ledger.read_only) == ["visits"]
        assert "2 records that are in the export are missing" in ledger.read_only["visits"]
        before = ledger.balance("visits")
        assert ledger.run("visits", "r").find("a").answer == {"x": [1]}
        assert charge(ledger, "a") == {"x": [1]}
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        writes = [
            lambda: charge(ledger, "d"),
            lambda: ledger.run("visits", "s").open(ZeroConcentratedDP("0.1")),
            lambda: ledger.run("visits", "r").close("done"),
            lambda: ledger.register("visits", ZeroConcentratedDP(2), raise_=True, reason="more"),
        ]
        for write in writes:
            with pytest.raises(LedgerViolation, match="ledger restore"):
                write()
        assert ledger.balance("visits") == before
        ledger.run("labs", "r").open(ApproximateDP("0.5", "1e-6"))  # of which nothing is missing


def test_a_lost_ledger_that_was_made_anew_is_recognised(restored, new_ledger_url):
    """An empty ledger in the place of the old one has nothing of what the witness has."""
    with Ledger.open(new_ledger_url(), witness=restored[1]) as ledger:
        assert set(ledger.read_only) == {"labs", "visits"}
        with pytest.raises(LedgerViolation, match="ledger restore"):
            ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.register("other", budget=ZeroConcentratedDP(1))  # a name of which the witness knows nothing


def test_a_ledger_catches_up_with_its_export(restored, ledger):
    """Afterwards it says what the original says, goes on from there, and the witness is content."""
    url, witness = restored
    with Ledger.open(url, witness=witness) as copy:
        assert copy.restore(witness) == {"labs": 0, "visits": 2}
        assert not copy.read_only
        assert copy.records("visits") == ledger.records("visits")
        assert copy.restore(witness) == {"labs": 0, "visits": 0}
        charge(copy, "d")
        copy.verify("visits")
    with Ledger.open(url, witness=witness) as copy:
        assert not copy.read_only


def test_two_histories_are_not_joined(restored):
    """A copy that was charged before it was recognised cannot catch up, and stays open for reading only."""
    url, witness = restored
    with Ledger.open(url) as copy:
        for label in ("x", "y"):
            charge(copy, label)
    with Ledger.open(url, witness=witness) as copy:
        assert "another one than in the export" in copy.read_only["visits"]
        before = copy.records("visits")
        with pytest.raises(LedgerViolation, match="different ways"):
            copy.restore(witness)
        assert copy.records("visits") == before
        assert copy.read_only


def test_a_shorter_different_history_is_not_joined(restored):
    """One record that differs is enough, although the export goes further."""
    url, witness = restored
    with Ledger.open(url) as copy:
        copy.run("visits", "r").close("done")
        with pytest.raises(LedgerViolation, match="different ways"):
            copy.restore(witness)


def test_an_export_does_not_replace_a_newer_one(restored):
    """The night's export of a restored ledger leaves the witness of its loss alone."""
    url, witness = restored
    before = witness.read_bytes()
    with Ledger.open(url) as copy, pytest.raises(LedgerViolation, match="not replaced"):
        copy.export(witness)
    assert witness.read_bytes() == before
    witness.with_name("text").write_text("notes\n")
    with Ledger.open(url) as copy, pytest.raises(InvalidInput, match="no export"):
        copy.export(witness.with_name("text"))


def test_an_export_of_fewer_datasets_does_not_replace_one_of_more(ledger, tmp_path):
    """The witness of `visits` is not lost to an export of `labs`."""
    ledger.export(tmp_path / "all.jsonl")
    with pytest.raises(InvalidInput, match="also has the datasets visits"):
        ledger.export(tmp_path / "all.jsonl", ["labs"])
    assert set(bundle.ends(tmp_path / "all.jsonl")) == {"labs", "visits"}


def test_a_bundle_moves_a_ledger_to_another_database(ledger, tmp_path, postgres):
    """From one kind of database to the other, record for record."""
    ledger.export(tmp_path / "all.jsonl")
    other = f"sqlite:///{tmp_path / 'other.db'}" if ledger.url.startswith("postgres") else postgres.new_url()
    with Ledger.open(other) as copy:
        assert copy.restore(tmp_path / "all.jsonl") == {"labs": 1, "visits": 6}
        assert copy.records("visits") == ledger.records("visits")
        assert copy.verify("visits") == ledger.verify("visits")
