"""Exports that continue others: together they are the ledger, each alone is refused, and the newest is the witness."""

import json
from fractions import Fraction

import pytest

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger, bundle


def charge(ledger, release_id, label):
    """A charge with its answer."""
    run = ledger.run("visits", release_id)
    standing = run.charge(label, {"type": "Counts"}, GaussianEvent(Fraction(1, 50), ((1 << 30, 1),)))
    run.publish(label, standing.attempt, {"x": [len(label)]})


@pytest.fixture
def parts(ledger_url, tmp_path):
    """A ledger, and three exports of it, each of which continues the one before; a run is open across the first two."""
    files = [tmp_path / f"{number}.jsonl" for number in range(3)]
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.run("visits", "first").open(ZeroConcentratedDP("0.25"))
        charge(ledger, "first", "a")
        ledger.export(files[0])
        charge(ledger, "first", "b")
        ledger.run("visits", "first").close("finished")
        ledger.register("labs", budget=ZeroConcentratedDP(2))
        ledger.export(files[1], after=files[0])
        ledger.run("visits", "second").open(ZeroConcentratedDP("0.25"))
        ledger.export(files[2], after=files[1])
        yield ledger, files


def test_together_they_are_what_the_ledger_is(parts):
    """The same figures as a whole export, and no record but the joints is written twice."""
    ledger, files = parts
    assert bundle.verify(files[2], after=files[:2]) == {name: ledger.verify(name) for name in ("labs", "visits")}
    numbers = [[row[0].seq for name, rows in bundle.chains(file) if name == "visits" for row in rows] for file in files]
    assert numbers == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7]]
    assert bundle.ends(files[2]) == {
        name: bundle.End(n, ledger.verify(name).head) for name, n in (("labs", 1), ("visits", 8))
    }


def test_an_empty_ledger_and_an_older_one_are_filled_by_all_of_them(parts, new_ledger_url):
    """In one call; where the first is there already, the others are appended; the last alone is refused."""
    ledger, files = parts
    for url, there in ((new_ledger_url(), 0), (new_ledger_url(), 4)):
        with Ledger.open(url) as copy:
            if there:
                copy.restore(files[0])
            with pytest.raises(InvalidInput, match="it continues another export"):
                copy.restore(files[2])
            assert copy.restore(files[2], after=files[:2]) == {"labs": 1, "visits": 8 - there}
            assert copy.verify("visits") == ledger.verify("visits")


def test_the_newest_is_the_witness(parts, new_ledger_url):
    """A ledger that was restored from the first two opens for reading only."""
    _, files = parts
    url = new_ledger_url()
    with Ledger.open(url) as copy:
        copy.restore(files[1], after=files[:1])
    with Ledger.open(url, witness=files[2]) as copy:
        assert "visits" in copy.read_only


def test_what_does_not_belong_together_is_refused(parts, tmp_path):
    """Another order, one left out, a first line that was changed, a record of the joint that was."""
    _, files = parts
    for after in ([], [files[1]], [files[1], files[0]], [files[0]], [files[0], files[0]]):
        with pytest.raises(InvalidInput, match="Name all exports, oldest first"):
            bundle.verify(files[2], after=after)
    lines = files[1].read_text().splitlines()
    first = json.loads(lines[0])
    (tmp_path / "alone.jsonl").write_text("\n".join([json.dumps({**first, "after": {}}), *lines[1:]]) + "\n")
    with pytest.raises(LedgerViolation, match="record 3 of dataset 'visits' is where record 0 should be"):
        bundle.verify(tmp_path / "alone.jsonl")
    (tmp_path / "odd.jsonl").write_text("\n".join([json.dumps({**first, "after": {"visits": 4}}), *lines[1:]]) + "\n")
    with pytest.raises(LedgerViolation, match="its first line"):
        bundle.verify(tmp_path / "odd.jsonl", after=files[:1])
    joint = [line for line in lines if '"seq":3' not in line]
    (tmp_path / "cut.jsonl").write_text("\n".join(joint) + "\n")
    with pytest.raises(LedgerViolation, match="record 3 of dataset 'visits' is gone"):
        bundle.verify(tmp_path / "cut.jsonl", after=files[:1])


def test_an_export_is_not_replaced_by_less(parts, new_ledger_url):
    """Not by what continues itself or another one; by a newer continuation of the same one it is."""
    ledger, files = parts
    for path, after, datasets in ((files[0], files[0], ()), (files[0], files[1], ()), (files[2], files[1], ("labs",))):
        with pytest.raises(InvalidInput, match="another file"):
            ledger.export(path, datasets, after)
    charge(ledger, "second", "c")
    ledger.export(files[2], after=files[1])
    assert bundle.verify(files[2], after=files[:2])["visits"].records == ledger.verify("visits").records
    with Ledger.open(new_ledger_url()) as other:
        other.register("visits", budget=ZeroConcentratedDP(1))
        with pytest.raises(LedgerViolation, match="cannot continue"):
            other.export(files[0].with_name("new.jsonl"), after=files[0])
