"""What comes in from outside: names and texts that stand in the books for ever, and files that others wrote."""

import json
from fractions import Fraction

import pytest

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import Amount, ZeroConcentratedDP, budget_from_json
from pubpriv.privacy.events import GaussianEvent, event_from_json
from pubpriv.privacy.ledger import Ledger, bundle
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.run import _LONGEST_LABEL
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.runs import RecordedRun

EVENT = GaussianEvent(Fraction(2, 10), ((1 << 30, 1),))
QUESTION = {"type": "Median"}
ONE, HALF = ZeroConcentratedDP(1), ZeroConcentratedDP("0.5")


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as opened:
        fill(opened)
        yield opened


def fill(ledger):
    """Four records: a registration, a run, a charge and its answer."""
    ledger.register("visits", budget=ONE, unit="one patient")
    ledger.run("visits", "r").open(HALF)
    standing = ledger.run("visits", "r").charge("a", QUESTION, EVENT)
    ledger.run("visits", "r").publish("a", standing.attempt, {"x": [1]})


LINES = {
    "empty": "",
    "a line feed": "one\npatient",
    "an escape": "one \x1b[2J patient",
    "a surrogate": "one \udc80 patient",
    "text that runs backwards": "one \u202epatient",
    "ten million characters": "x" * 10_000_000,
    "no text": 5,
    "bytes": b"one patient",
    "a list": ["one patient"],
}
WRITES = {
    "unit": lambda ledger, text: ledger.register("new", ONE, unit=text),
    "reason": lambda ledger, text: ledger.register("visits", ZeroConcentratedDP(2), raise_=True, reason=text),
    "dataset": lambda ledger, text: ledger.register(text, ONE),
    "release id": lambda ledger, text: ledger.run("visits", text).open(HALF),
    "method": lambda ledger, text: ledger.run("visits", "r").start(text, "{}", "hash", None),
    "label": lambda ledger, text: ledger.run("visits", "r").charge(text, QUESTION, EVENT),
    "label of an answer": lambda ledger, text: ledger.run("visits", "r").publish(text, "a", {"x": [1]}),
    "label of a note": lambda ledger, text: ledger.run("visits", "r").keep({text if str(text) == text else (): 1}),
    "label that is looked for": lambda ledger, text: ledger.run("visits", "r").find(text),
    "reason of an end": lambda ledger, text: ledger.run("visits", "r").close(text),
}


@pytest.mark.parametrize("what", WRITES)
def test_texts_are_one_printable_line(ledger, what):
    """What would be obeyed by a console, cannot be encoded or is no text is refused with a short text of its own."""
    before = ledger.records("visits")
    for name, text in LINES.items():
        if (what, name) == ("reason", "empty"):
            continue  # which is no reason, and has its own refusal
        with pytest.raises(InvalidInput) as refused:
            WRITES[what](ledger, text)
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 400
    assert ledger.records("visits") == before
    assert ledger.datasets() == ["visits"]


def test_the_longest_label_is_a_label(ledger):
    """The limit itself is within it."""
    ledger.run("visits", "r").keep({"x" * _LONGEST_LABEL: 1})
    assert ledger.run("visits", "r").notes() == {"x" * _LONGEST_LABEL: 1}


RUNS = {
    "find": lambda ledger, dataset, run: ledger.run(dataset, run).find("a"),
    "run": lambda ledger, dataset, run: ledger.run(dataset, run).bill(),
    "notes": lambda ledger, dataset, run: ledger.run(dataset, run).notes(),
    "at work": lambda ledger, dataset, run: ledger.run(dataset, run).at_work(),
    "start": lambda ledger, dataset, run: ledger.run(dataset, run).start("mean", "{}", "hash", None),
    "charge": lambda ledger, dataset, run: ledger.run(dataset, run).charge("b", QUESTION, EVENT),
    "publish": lambda ledger, dataset, run: ledger.run(dataset, run).publish("a", "attempt", {"x": [1]}),
    "note": lambda ledger, dataset, run: ledger.run(dataset, run).keep({"step": 1}),
    "close": lambda ledger, dataset, run: ledger.run(dataset, run).close("done"),
    "books that find": lambda ledger, dataset, run: RecordedRun(ledger, ledger.run(dataset, run)).find("a"),
    "books that state": lambda ledger, dataset, run: RecordedRun(ledger, ledger.run(dataset, run)).statement(),
    "books that note": lambda ledger, dataset, run: RecordedRun(ledger, ledger.run(dataset, run)).noted("a"),
}


NO_RUNS = (
    [("visits", name) for name in ("never", "", "r\udc80", "r\n", 5, None, ["r"])]
    + [(name, "r") for name in ("labs", "nobody", 5, None, ["visits"])]
)  # fmt: skip


@pytest.mark.parametrize("what", RUNS)
def test_a_run_that_was_not_opened_is_refused(ledger, what):
    """Whatever is asked of it: bad input, in words, and nothing is written."""
    ledger.register("labs", ONE)
    before = ledger.records("visits"), ledger.records("labs")
    for dataset, run in NO_RUNS:
        with pytest.raises(InvalidInput):
            RUNS[what](ledger, dataset, run)
    assert (ledger.records("visits"), ledger.records("labs")) == before


def test_who_and_where_are_printable_whatever_the_system_says(ledger, monkeypatch):
    """A variable of the environment is not obeyed by the console that shows it, nor does it stop a charge."""
    monkeypatch.setenv("LOGNAME", "ada\x1b[2J\udcff")
    ledger.run("visits", "r").charge("b", QUESTION, EVENT)
    assert ledger.records("visits")[-1].user == "ada?[2J?"


@pytest.mark.parametrize(
    "text", ["1e400000000", "1/0", "1/-2", "0.5", " 1", "1_0", "1/2/3", "", "nan", 1.5, True, None]
)
def test_numbers_in_the_books_are_digits(text):
    """What `Fraction` and `int` would also take is refused, quickly."""
    with pytest.raises(ValueError, match=r"digits|fraction"):
        event_from_json({"event": "gaussian", "squared_distance": text, "noise": [["9", 1]]})
    with pytest.raises(ValueError, match=r"digits|fraction"):
        event_from_json({"event": "pure", "epsilon": text})
    with pytest.raises(ValueError, match=r"digits|fraction"):
        budget_from_json({"kind": "zcdp", "rho": text})
    with pytest.raises(ValueError, match="digits"):
        Amount.from_json({"main": text, "delta": "0"})


# -- exports --------------------------------------------------------------------------------------------------


def chained(rows):
    """Records chained anew with their hashes."""
    previous, lines = "", []
    for seq, row in enumerate(rows):
        record = Record(**{**row, "seq": seq, "previous_hash": previous})
        previous = record.digest()
        lines.append({"record": record.columns(), "hash": previous})
    return lines, previous


def rewritten(path, change):
    """An export whose records `change` edits, with chain and ends made anew."""
    first, *lines, _ = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [line["record"] for line in lines]
    change(rows)
    lines, head = chained(rows)
    end = {"ends": {rows[0]["dataset"]: {"records": len(rows), "head": head}}}
    path.write_text("\n".join(canonical(line) for line in [first, *lines, end]) + "\n")


def body(number, **values):
    """Changes a body."""

    def change(rows):
        rows[number]["body"] = canonical(json.loads(rows[number]["body"]) | values)

    return change


def column(number, **values):
    """Changes columns."""
    return lambda rows: rows[number].update(values)


def another_unit(rows):
    """A raised cap of the same size, with another unit."""
    rows.append(rows[0] | {"kind": "raised", "state": rows[-1]["state"]})
    rows[-1]["body"] = canonical(json.loads(rows[0]["body"]) | {"unit": "one visit", "reason": "x"})
    rows[-1]["state"] = canonical(json.loads(rows[-1]["state"]) | {"run": None})


def of_no_table(rows):
    """A declaration without its table."""
    rows.append(rows[0] | {"kind": "declared", "body": "{}"})
    rows[-1]["state"] = canonical(json.loads(rows[-2]["state"]) | {"run": None})


def all_named(rows):
    """Another dataset's name, with a terminal's escape."""
    for row in rows:
        row["dataset"] = "visits\x1b[2J"


NESTED = '{"a":' * 100_000 + "1" + "}" * 100_000
CHANGES = {
    "a dataset with an escape": all_named,
    "another unit": another_unit,
    "a declaration of nothing": of_no_table,
    "a run with a line feed": column(1, release_id="r\n"),
    "a registration of a run": column(0, release_id="r"),
    "a hold that is smaller than the allotment": body(1, hold={"main": "5", "delta": "0"}),
    "a negative price": body(2, price_run={"main": "-5", "delta": "0"}),
    "a free charge": body(2, price_run={"main": "0", "delta": "0"}),
    "an event with an exponent": body(2, event={"event": "gaussian", "squared_distance": "1e400000000",
                                                "noise": [["1073741824", 1]]}),
    "an event over zero": body(2, event={"event": "gaussian", "squared_distance": "1/0", "noise": [["9", 1]]}),
    "a budget with an exponent": body(0, budget={"kind": "zcdp", "rho": "1e400000000"}),
    "a budget of thousands of digits": body(0, budget={"kind": "zcdp", "rho": "9" * 5000}),
    "a body of nested objects": column(2, body=NESTED),
    "a state of nested objects": column(2, state=NESTED),
    "an answer of other sizes": body(3, answer={"x": [1, 2]}),
    "an answer of floats": body(3, answer={"x": [1.5]}),
    "an answer of booleans": body(3, answer={"x": [True]}),
    "an answer past 64 bits": body(3, answer={"x": [1 << 63]}),
    "no answer": body(3, answer=None),
}  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The text of a right export: a registration, a run, a charge and its answer."""
    folder = tmp_path_factory.mktemp("export")
    with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        fill(ledger)
        ledger.export(folder / "export.jsonl")
    return (folder / "export.jsonl").read_text()


@pytest.fixture
def export(exported, tmp_path):
    """A file of one's own."""
    (tmp_path / "export.jsonl").write_text(exported)
    return tmp_path / "export.jsonl"


@pytest.mark.parametrize("name", CHANGES)
def test_a_hostile_export_is_a_violation(export, name):
    """Its chain is right and its contents are not."""
    rewritten(export, CHANGES[name])
    with pytest.raises(LedgerViolation):
        bundle.verify(export)


def test_nothing_of_a_hostile_export_is_restored(export, tmp_path):
    """It is checked before anything is written."""
    rewritten(export, CHANGES["an answer of other sizes"])
    with Ledger.open(f"sqlite:///{tmp_path}/other.db") as other:
        with pytest.raises(LedgerViolation):
            other.restore(export)
        assert other.datasets() == []


def test_an_export_that_changes_while_it_is_restored_is_not_taken(export, tmp_path, monkeypatch):
    """What was checked is what is written, or nothing is."""
    right, ends = bundle.verify, bundle.ends(export)

    def verify(path, *about):
        found = right(path, *about)
        rewritten(path, body(0, unit="one visit"))
        return found

    monkeypatch.setattr(bundle, "verify", verify)
    monkeypatch.setattr(bundle, "ends", lambda path: ends)
    with Ledger.open(f"sqlite:///{tmp_path}/other.db") as other:
        with pytest.raises(LedgerViolation, match="changed while"):
            other.restore(export)
        assert other.datasets() == []


def test_an_export_that_is_only_rewritten_holds(export):
    """So the violations above are those that were put in."""
    rewritten(export, lambda rows: None)
    assert bundle.verify(export)["visits"].charges == 1


TEXTS = {
    "a number of no integer": lambda text: text.replace('"seq":1,', '"seq":1.0,'),
    "a boolean number": lambda text: text.replace('"seq":1,', '"seq":true,'),
    "a number of thousands of digits": lambda text: text.replace('"seq":1,', f'"seq":{"1" * 5000},'),
    "a name twice": lambda text: text.replace('"seq":1,', '"seq":1,"seq":1,'),
    "a field more": lambda text: text.replace('"seq":1,', '"seq":1,"note":1,'),
    "something beside a record": lambda text: text.replace('{"hash"', '{"note":1,"hash"'),
    "nested objects": lambda text: text.replace('{"hash"', NESTED + '\n{"hash"', 1),
    "ends that are no numbers": lambda text: text.replace('"records":4', '"records":4.0'),
    "ends with something beside": lambda text: text.replace('"records":4', '"records":4,"note":1'),
    "ends that are nested": lambda text: text.replace('{"ends":', '{"ends":' + NESTED + ',"x":'),
    "ends twice": lambda text: text.replace('{"ends":', '{"ends":{},"ends":'),
}


@pytest.mark.parametrize("name", TEXTS)
def test_an_export_says_everything_once_and_in_its_own_types(export, exported, name):
    """Lines that another program could read otherwise are no records."""
    export.write_text(TEXTS[name](exported))
    assert export.read_text() != exported
    with pytest.raises(LedgerViolation):
        bundle.verify(export)


def test_a_witness_of_one_endless_line_is_no_export(ledger, tmp_path):
    """It is read in growing pieces, once or twice over, and refused."""
    path = tmp_path / "witness.jsonl"
    first = canonical({"format": bundle._FORMAT, "version": bundle._VERSION, "at": "", "pubpriv": ""})
    path.write_text(first + "\n" + "x" * 30_000_000)
    with pytest.raises(LedgerViolation, match="cut off"):
        Ledger.open(ledger.url, witness=path)
