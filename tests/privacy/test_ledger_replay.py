"""Verify: whatever was changed in the books is found, and the record is named."""

import hashlib
import json

import pytest
import sqlalchemy as sa
from helpers.events import gaussian
from helpers.stores import drop_guards, raw

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import ApproximateDP, ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger, schema
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.texts import body_text, canonical

QUESTION = {"type": "Counts"}
COLUMNS = [
    "dataset",
    "seq",
    "kind",
    "release_id",
    "key",
    "body",
    "state",
    "previous_hash",
    "at",
    "user",
    "host",
    "version",
]


def two_runs(url):
    """Make a ledger with runs of two kinds: a charge with an answer, one without, and a closed run."""
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        ledger.run("visits", "r").start("mean", "{}", "hash", None)
        for label in ("mean/a", "mean/b"):
            standing = ledger.run("visits", "r").charge(label, QUESTION, gaussian("0.1"))
        ledger.run("visits", "r").publish("mean/b", standing.attempt, {"x": [1]})
        ledger.run("visits", "r").charge("mean/a", QUESTION, gaussian("0.1"))
        ledger.run("visits", "s").open(ApproximateDP("0.5", "1e-6"))
        ledger.run("visits", "s").charge("a", QUESTION, gaussian("0.001"))
        ledger.run("visits", "s").close("done")
        ledger.verify("visits", expected_head=ledger.balance("visits").chain_head)


@pytest.fixture
def url(store):
    """A ledger of its own like that of `two_runs`."""
    return store.copied(two_runs)


def rewrite(url, change):
    """Change rows and chain them anew, as somebody who knows the code could."""
    table = schema.records
    with raw(url) as connection:
        drop_guards(connection)
        rows = connection.execute(sa.select(table).order_by(table.c.seq)).mappings().all()
        changed = change([{name: row[name] for name in COLUMNS} for row in rows])
        connection.execute(sa.delete(table))
        previous = ""
        for seq, row in enumerate(changed):
            row |= {"seq": seq, "previous_hash": previous}
            previous = hashlib.sha256(canonical(row).encode()).hexdigest()
            connection.execute(sa.insert(table).values(**row, hash=previous))


def edit(of, /, **values):
    """Changes fields of the first record of a kind; callables take the old value."""

    def change(rows):
        row = next(row for row in rows if row["kind"] == of)
        for name, value in values.items():
            row[name] = value(row[name]) if callable(value) else value
        return rows

    return change


def in_body(**values):
    """Changes entries of a body."""
    return lambda body: canonical(json.loads(body) | values)


def again(kind):
    """Writes the first record of a kind a second time."""
    return lambda rows: [*rows, dict(next(row for row in rows if row["kind"] == kind))]


def without(kind):
    """Leaves out the records of a kind."""
    return lambda rows: [row for row in rows if row["kind"] != kind]


CHEAP = {"main": "1", "delta": "0"}
DEAR = {"main": "900000000000", "delta": "0"}
TWICE = str(gaussian("0.2").squared_distance)
CHANGES = {
    "a cheaper price": edit("charged", body=in_body(price_run=CHEAP)),
    "a cheaper price for the ledger": edit("charged", body=in_body(price_ledger=CHEAP)),
    "a larger event": edit(
        "charged",
        body=in_body(event={"event": "gaussian", "squared_distance": TWICE, "noise": [["1073741824", 1]]}),
    ),
    "a price past the share": edit("charged", body=in_body(price_run=DEAR, price_ledger=DEAR)),
    "an event that is none": edit("charged", body=in_body(event={"event": "os.system"})),
    "another label": edit("charged", body=in_body(label="mean/c")),
    "another key": edit("charged", key="0" * 64),
    "a smaller hold": edit("opened", body=in_body(hold=CHEAP)),
    "a larger cap": edit("registered", body=in_body(cap=DEAR | {"main": "9000000000000"})),
    "a body that is not JSON": edit("charged", body="{"),
    "a body that is a list": edit("charged", body="[]"),
    "a state that is not JSON": edit("closed", state="{"),
    "a body without its amounts": edit("charged", body="{}"),
    "an unknown kind": edit("attempted", kind="refunded"),
    "an answer without a charge": edit("published", key="0" * 64),
    "an answer in another run": edit("published", release_id="s"),
    "two answers": again("published"),
    "two charges": again("charged"),
    "opened twice": again("opened"),
    "registered twice": again("registered"),
    "closed twice": again("closed"),
    "started twice": again("started"),
    "a charge of no run": edit("charged", release_id="nobody"),
    "no registration": without("registered"),
    "no opening": without("opened"),
    "no charges": without("charged"),
    "a charge after the end": lambda rows: [*rows, dict(rows[-2])],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_rewritten_chain_is_found(url, name):
    """Even with hashes made anew, contents that do not follow are named by their record."""
    rewrite(url, CHANGES[name])
    with Ledger.open(url) as ledger, pytest.raises(LedgerViolation, match=r"^record \d+ of dataset 'visits'"):
        ledger.verify("visits")


def test_the_fixture_itself_survives_being_rewritten(url):
    """The rewriting alone changes nothing, so the violations above are those that were put in."""
    rewrite(url, lambda rows: rows)
    with Ledger.open(url) as ledger:
        ledger.verify("visits")


def test_missing_last_records_are_found_by_a_head_kept_elsewhere(url):
    """The books without their end are consistent; a model file's chain head says that they are not whole."""
    with Ledger.open(url) as ledger:
        head = ledger.balance("visits").chain_head
        earlier = ledger.records("visits")[3].digest()
    rewrite(url, lambda rows: rows[:-3])
    with Ledger.open(url) as ledger:
        ledger.verify("visits")
        ledger.verify("visits", expected_head=earlier)
        with pytest.raises(LedgerViolation, match="records are missing at the end"):
            ledger.verify("visits", expected_head=head)


def test_a_dataset_without_records_is_a_violation(url):
    """The name stands, its books are gone."""
    rewrite(url, lambda rows: [])
    with Ledger.open(url) as ledger, pytest.raises(LedgerViolation, match="has no record of it"):
        ledger.verify("visits")


def test_a_chain_hashes_the_same_bytes_whatever_a_record_says():
    """What is quick about long bodies gives the digest of the canonical text, odd characters included."""
    for text in (*map(chr, range(0x180)), "\u2028", "\U0001f600", "\ud800", '"\\n"'):
        record = Record("visits", 1, "noted", None, None, f'{{"label":"{text}"}}', "{}", "", "", text, "", "")
        columns = {name: value for name, value in record.columns().items() if name != "period"}
        assert record.digest() == hashlib.sha256(canonical(columns).encode()).hexdigest(), ascii(text)


def test_numbers_are_written_so_that_they_read_back_to_the_same_bits():
    """Floats of every size, integers beyond 64 bits, and what is no number; one that is not finite is refused."""
    rows = [[0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e16, 1e-5, 1e22, 3.0], [1 << 70, -1], ["a", None, True], []]
    found = json.loads(body_text({"rows": rows, "one": 1e300, "few": rows[0]}))
    assert repr(found) == repr({"few": rows[0], "one": 1e300, "rows": rows})
    for odd in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            body_text({"rows": [[1.0, odd]]})
