"""Books that somebody changed: noticed when they are opened, read or written, and not only by verify."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
import sqlalchemy as sa
from helpers.stores import raw

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger, schema
from pubpriv.privacy.ledger.texts import canonical

EVENT = GaussianEvent(Fraction(2, 10), ((1 << 30, 1),))
QUESTION = {"type": "Median"}
RECORDS = schema.records


@pytest.fixture
def url(tmp_path):
    """A run of which all but a unit is spent, and an export of it."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP("0.1"))
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.1"))
        ledger.run("visits", "r").charge("a", QUESTION, EVENT)
        ledger.export(tmp_path / "witness.jsonl")
    return url


def change(url, kind, name, text, repair=False):
    """Edit the newest record of a kind, its triggers away for a moment; with `repair` its hash is made anew."""
    with raw(url) as connection:
        guards = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")).all()
        for trigger, _ in guards:
            connection.execute(sa.text(f"DROP TRIGGER {trigger}"))
        newest = sa.select(RECORDS).where(RECORDS.c.kind == kind).order_by(RECORDS.c.seq.desc())
        row = connection.execute(newest).first()
        record, stored = schema.record_of(row)
        record = replace(record, **{name: text(getattr(record, name))})
        values = record.columns() | {"hash": record.digest() if repair else stored}
        connection.execute(sa.update(RECORDS).where(RECORDS.c.seq == record.seq).values(values))
        for _, statement in guards:
            connection.exec_driver_sql(statement)


def unspent(text):
    """A balance of which nothing is spent."""
    state = json.loads(text)
    state["dataset"]["spent"]["main"] = state["dataset"]["held"]["main"] = "0"
    return canonical(state)


def test_a_balance_that_was_changed_is_not_charged(url):
    """The newest record's hash covers its balance: reading it and opening a run are both refused."""
    change(url, "charged", "state", unspent)
    with Ledger.open(url) as ledger:
        for act in (
            lambda: ledger.run("visits", "again").open(ZeroConcentratedDP("0.1")),
            lambda: ledger.register("visits", ZeroConcentratedDP(2), raise_=True, reason="more"),
            lambda: ledger.balance("visits"),
            lambda: ledger.run("visits", "r").find("a"),
        ):
            with pytest.raises(LedgerViolation, match=r"record 2 of dataset 'visits' was changed.*export"):
                act()


@pytest.mark.parametrize("kind", ["registered", "opened"])
def test_an_older_record_that_was_changed_is_not_read(url, kind):
    """A budget or an allotment that grew: whoever reads it is refused, although the newest record is whole."""
    change(url, kind, "body", lambda body: body.replace("1/10", "9/10"))
    with Ledger.open(url) as ledger, pytest.raises(LedgerViolation, match="was changed"):
        ledger.run("visits", "r").charge("b", QUESTION, EVENT)


@pytest.mark.parametrize("repair", [False, True], ids=["hash kept", "hash made anew"])
def test_a_witness_is_compared_with_what_stands_there(url, tmp_path, repair):
    """Its hash is compared with the record's own, not with the text beside it: the dataset is not written to."""
    change(url, "charged", "state", unspent, repair)
    with Ledger.open(url, witness=tmp_path / "witness.jsonl") as ledger:
        assert "another one than in the export" in ledger.read_only["visits"]
        with pytest.raises(LedgerViolation, match=r"another one|was changed"):
            ledger.run("visits", "again").open(ZeroConcentratedDP("0.1"))


def append(url, moved):
    """A record at the end of the chain with a hash of its own and a balance of `moved`."""
    with Ledger.open(url) as ledger:
        head = ledger.records("visits")[-1]
    record = replace(head, seq=head.seq + 1, kind="attempted", state=moved(head.state), previous_hash=head.digest())
    with raw(url) as connection:
        connection.execute(sa.insert(RECORDS).values(**record.columns(), hash=record.digest()))


def test_after_the_witness_every_balance_is_followed_before_anything_is_added(url, tmp_path):
    """An appended record that says nothing is spent passes every trigger; with a witness it is not built upon."""
    append(url, unspent)
    with Ledger.open(url, witness=tmp_path / "witness.jsonl") as ledger:
        for _ in range(2):
            with pytest.raises(LedgerViolation, match=r"record 3 .* does not follow"):
                ledger.run("visits", "again").open(ZeroConcentratedDP("0.1"))


def test_what_follows_from_the_witness_is_built_upon(url, tmp_path):
    """A whole life after the export: runs that were open then, that were opened since, a raised cap."""
    with Ledger.open(url) as ledger:
        ledger.register("visits", ZeroConcentratedDP(2), raise_=True, reason="more")
        ledger.run("visits", "s").open(ZeroConcentratedDP("0.5"))
        ledger.run("visits", "s").start("mean", "{}", "hash", None)
        standing = ledger.run("visits", "s").charge("mean/a", QUESTION, EVENT)
        ledger.run("visits", "s").publish("mean/a", standing.attempt, {"x": [1]})
        ledger.run("visits", "s").keep({"step": 1})
        ledger.run("visits", "r").close("done")
    with Ledger.open(url, witness=tmp_path / "witness.jsonl") as ledger:
        ledger.run("visits", "s").charge("mean/b", QUESTION, EVENT)
        assert ledger.balance("visits").spent == Amount(3 * 10**11)
        ledger.verify("visits")


def test_a_dataset_whose_records_are_gone_gets_no_second_budget(url):
    """Its name is there and its records are not: it is not registered anew."""
    with raw(url) as connection:
        statement = remake(connection, "records_no_delete", "DROP TRIGGER records_no_delete")
        connection.execute(sa.delete(RECORDS))
        connection.exec_driver_sql(statement)
    with Ledger.open(url) as ledger, pytest.raises(LedgerViolation, match="has no record of it"):
        ledger.register("visits", budget=ZeroConcentratedDP(1))


def guards_of(connection):
    if connection.dialect.name == "sqlite":
        return connection.execute(sa.text("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")).all()
    return connection.execute(
        sa.text("SELECT tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE NOT tgisinternal")
    ).all()


def test_without_a_trigger_a_ledger_is_open_for_reading_only(new_ledger_url):
    """Whichever of them is gone: what is there is read, nothing is written, and the text says what to do."""
    url = new_ledger_url()
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.check_complete()
    with raw(url) as connection:
        names = guards_of(connection)
    assert len(names) >= 6
    for name, table in names:
        drop = f"DROP TRIGGER {name}" + ("" if url.startswith("sqlite") else f" ON {table}")
        with raw(url) as connection:
            remade = remake(connection, name, drop)
        with Ledger.open(url) as ledger:
            assert ledger.balance("visits").remaining == Amount(10**12)
            assert name in ledger.read_only["visits"]
            for act in (
                lambda: ledger.run("visits", "r").open(ZeroConcentratedDP("0.1")),
                lambda: ledger.register("other", budget=ZeroConcentratedDP(1)),
                ledger.check_complete,
            ):
                with pytest.raises(LedgerViolation, match="ledger restore"):
                    act()
        with raw(url) as connection:
            connection.exec_driver_sql(remade)
    with Ledger.open(url) as ledger:
        ledger.check_complete()


def remake(connection, name, drop):
    """Drop a trigger; the statement that makes it."""
    if connection.dialect.name == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE name = :name"
    else:
        query = "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = :name"
    statement = connection.execute(sa.text(query), {"name": name}).scalar_one()
    connection.exec_driver_sql(drop)
    return statement


NOTHING_DONE = "CREATE OR REPLACE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {} $$"
CHANGED = {
    "sqlite": [
        "DROP TRIGGER records_no_update",
        "CREATE TRIGGER records_no_update BEFORE UPDATE ON records BEGIN SELECT 1; END",
    ],
    "postgresql": [NOTHING_DONE.format("BEGIN RETURN NEW; END")],
}
DISABLED = ["ALTER TABLE records DISABLE TRIGGER records_no_update"]


@pytest.mark.parametrize("how", ["changed", "disabled"])
def test_a_trigger_that_does_nothing_is_none(ledger_url, how):
    """One of the same name with another body, or one that is turned off (in PostgreSQL)."""
    kind = ledger_url.partition(":")[0]
    if (how, kind) == ("disabled", "sqlite"):
        pytest.skip("SQLite turns no single trigger off")
    Ledger.open(ledger_url).close()
    with raw(ledger_url) as connection:
        for statement in CHANGED[kind] if how == "changed" else DISABLED:
            connection.exec_driver_sql(statement)
    with Ledger.open(ledger_url) as ledger, pytest.raises(LedgerViolation, match="records_no_update"):
        ledger.register("visits", budget=ZeroConcentratedDP(1))


@pytest.mark.parametrize("repair", [False, True], ids=["hash kept", "hash made anew"])
def test_a_bill_that_was_read_before_is_read_anew(url, repair):
    """What a run remembers of its charges goes by the digest of what stands there now."""
    with Ledger.open(url) as ledger:
        run = ledger.run("visits", "r")
        label = run.bill().charges[0].label
        change(url, "charged", "body", lambda body: body.replace(f'"label":"{label}"', '"label":"other"'), repair)
        if repair:
            assert [charge.label for charge in run.bill().charges] == ["other"]
        else:
            with pytest.raises(LedgerViolation, match="was changed"):
                run.bill()


def test_an_answer_goes_to_the_charge_that_stands_there(url):
    """The run made the charge itself and remembers it; it was rewritten since, so nothing is published under it."""
    with Ledger.open(url) as ledger:
        ledger.register("visits", ZeroConcentratedDP(2), raise_=True, reason="more")
        run = ledger.run("visits", "s")
        run.open(ZeroConcentratedDP(1))
        paid = run.charge("b", QUESTION, EVENT)
        change(url, "charged", "body", lambda body: body.replace('"label":"b"', '"label":"other"'), repair=True)
        with pytest.raises(LedgerViolation, match="not one that this ledger made"):
            run.publish("b", paid.attempt, {"x": [1]})
