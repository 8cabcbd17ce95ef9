"""Opening ledgers, naming tables, and reading balances."""

import json
import os
import pickle
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction
from importlib.metadata import PackageNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubpriv.data.tables import PrivateTable
from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch, Unavailable
from pubpriv.privacy.budgets import Amount, ApproximateDP, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger, _stamps, schema


@pytest.fixture
def ledger(tmp_path):
    """An empty one."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as opened:
        yield opened


@pytest.mark.parametrize("url", [None, 7, b"sqlite:///x", "sqlite:///x\0y"])
def test_what_is_no_url_is_bad_input(url):
    """Nothing but a text without nulls is one."""
    with pytest.raises(InvalidInput, match="sqlite:///PATH"):
        Ledger.open(url)


def test_a_question_mark_is_part_of_the_path(tmp_path):
    """The file that is looked for is the file that is opened."""
    with Ledger.open(f"sqlite:///{tmp_path}/a?b.db") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
    assert (tmp_path / "a?b.db").exists()


def test_a_ledger_of_a_newer_version_is_refused(ledger, tmp_path):
    """A revision that is not known is not touched, and the message says what to do."""
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as raw, raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InvalidInput, match=r"newer version of pubpriv \(revision 9999\): upgrade pubpriv"):
        Ledger.open(ledger.url)


def test_other_files_are_refused_and_left_alone(tmp_path):
    """A text file, and somebody else's database: one line each, and not a byte is written."""
    (tmp_path / "text").write_text("not a database " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as raw, raw:
        raw.execute("CREATE TABLE records (name TEXT)")
    before = (tmp_path / "text").read_bytes()
    with pytest.raises(Unavailable, match="is no ledger: the file is not an SQLite database") as refused:
        Ledger.open(f"sqlite:///{tmp_path / 'text'}")
    assert "\n" not in str(refused.value)
    with pytest.raises(InvalidInput, match="the database of something else"):
        Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")
    assert (tmp_path / "text").read_bytes() == before
    with closing(sqlite3.connect(tmp_path / "other.db")) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("records",)]


def test_looking_for_a_ledger_makes_none(tmp_path):
    """Without `create`, neither file nor folder appears."""
    with pytest.raises(InvalidInput, match="no ledger at"):
        Ledger.open(f"sqlite:///{tmp_path / 'folder' / 'ledger.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a\n", "a b", "-a", "a/b", "é", None, "a" * 101])
def test_names_that_are_not_plain_are_refused(ledger, name):
    """Datasets and release ids are plain."""
    with pytest.raises(InvalidInput):
        ledger.register(name, budget=ZeroConcentratedDP(1))
    ledger.register("visits", budget=ZeroConcentratedDP(1))
    with pytest.raises(InvalidInput):
        ledger.run("visits", name).open(ZeroConcentratedDP(1))


@pytest.fixture
def spellings(tmp_path):
    """One Parquet file by many names."""
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(pa.table({"age": np.arange(10.0)}), folder / "visits.parquet")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "visits").symlink_to(folder / "visits.parquet")
    names = ["data/visits.parquet", "link/visits.parquet", "visits", "data", "link/", "link/*.parquet"]
    paths = [f"{tmp_path}/{name}" for name in names]
    relative = os.path.relpath(folder / "visits.parquet")
    return [*paths, relative, *(f"file://{path}" for path in paths), f"file://localhost{paths[0]}"]


def test_one_table_has_one_budget_by_whatever_name(ledger, spellings):
    """Links, file URIs, folders, globs and relative paths are the same table."""
    ledger.register("visits", budget=ZeroConcentratedDP(1), table=PrivateTable.open(spellings[0], ["age"]))
    ledger.register("mine", budget=ZeroConcentratedDP(1))
    for spelling in spellings:
        with pytest.raises(SpecMismatch, match="belongs to dataset 'visits'"):
            ledger.bind("mine", PrivateTable.open(spelling, ["age"]))


def test_remote_tables_keep_their_names(ledger):
    """A trailing slash makes no second table."""

    class Remote:
        uri, source_columns = "s3://bucket/visits/", ("age",)

    ledger.register("visits", budget=ZeroConcentratedDP(1), table=Remote)
    ledger.register("mine", budget=ZeroConcentratedDP(1))
    for uri in ("s3://bucket/visits", "s3://bucket/visits/2026.parquet", "s3://bucket"):
        Remote.uri = uri
        with pytest.raises(SpecMismatch):
            ledger.bind("mine", Remote)


def test_a_balance_as_json(ledger):
    """Floats in the main unit, delta beside them, and the same numbers as exact decimals."""
    ledger.register("visits", budget=ApproximateDP(1, "1e-6"), unit="one patient")
    ledger.run("visits", "r").open(ApproximateDP("0.5", "1e-6"))
    ledger.run("visits", "r").charge("a", {"type": "Counts"}, GaussianEvent(Fraction("0.003"), ((1 << 30, 1),)))
    balance = ledger.balance("visits")
    told = json.loads(json.dumps(balance.to_json()))
    names = ["cap", "spent", "held", "remaining"]
    assert set(told) == {
        *(f"{prefix}{name}" for prefix in ("", "delta_") for name in names),
        *("dataset", "unit", "kind", "exact", "open_runs", "tables", "chain_head"),
    }
    assert set(told["exact"]) == {f"{prefix}{name}" for prefix in ("", "delta_") for name in names}
    assert (told["spent"], told["exact"]["spent"], told["unit"]) == (0.003, "0.003", "one patient")
    assert told["delta_cap"] == pytest.approx(1e-8)
    assert told["open_runs"] == {"r": told["held"]}
    assert told["cap"] == pytest.approx(told["spent"] + told["held"] + told["remaining"])
    assert balance.cap == balance.spent + balance.held + balance.remaining


def test_open_runs_are_found_by_one_query_on_indexes(ledger):
    """Closed runs are not visited for their states, and no table is scanned."""
    ledger.register("visits", budget=ZeroConcentratedDP(1))
    for number in range(6):
        ledger.run("visits", f"r{number}").open(ZeroConcentratedDP("0.1"))
    for number in range(4):
        ledger.run("visits", f"r{number}").close("done")
    assert ledger.balance("visits").open_runs == {f"r{n}": Amount(10**11) for n in (4, 5)}
    with closing(sqlite3.connect(ledger.url.removeprefix("sqlite:///"))) as raw:
        plan = raw.execute(f"EXPLAIN QUERY PLAN {schema.OPEN_RUNS}", {"dataset": "visits"}).fetchall()
    assert not [step for *_, step in plan if "SCAN" in step]


def test_a_missing_installation_has_a_version_all_the_same(monkeypatch):
    """Records say `unknown` where no package is installed."""

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_stamps, "version", missing)
    _stamps.installed_version.cache_clear()
    assert _stamps.installed_version() == "unknown"
    _stamps.installed_version.cache_clear()


def test_a_refusal_survives_pickling():
    """Errors travel between processes with their amounts."""
    error = pickle.loads(pickle.dumps(BudgetExceeded("no", spent=Amount(1), remaining=Amount(2))))
    assert (str(error), error.spent, error.held, error.remaining) == ("no", Amount(1), None, Amount(2))


def test_an_answer_of_another_run_is_refused_and_leaves_no_row(ledger):
    """The key names the run: a charge in one is none in the other."""
    ledger.register("visits", budget=ZeroConcentratedDP(1))
    for release_id in "rs":
        ledger.run("visits", release_id).open(ZeroConcentratedDP("0.5"))
    standing = ledger.run("visits", "r").charge(
        "a", {"type": "Counts"}, GaussianEvent(Fraction("0.1"), ((1 << 30, 1),))
    )
    before = len(ledger.records("visits"))
    for release_id, label in (("s", "a"), ("r", "b"), ("nobody", "a")):
        with pytest.raises(InvalidInput, match="nothing was charged"):
            ledger.run("visits", release_id).publish(label, standing.attempt, {"x": [1]})
    assert len(ledger.records("visits")) == before
    ledger.verify("visits")


def test_a_ledger_that_is_being_made_is_waited_for(tmp_path):
    """SQLite turns away at once who writes ahead to a new file in which somebody writes, however long he would wait."""
    file = tmp_path / "ledger.db"
    maker = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    maker.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, maker.execute, ("ROLLBACK",))
    release.start()
    with Ledger.open(f"sqlite:///{file}") as ledger:
        assert ledger.datasets() == []
    release.join()
    maker.close()


def test_every_connection_writes_ahead_and_to_the_disk(ledger):
    """What is paid stays paid where the machine stops; no other test would notice. Triggers hold for replacements."""
    wanted = {"journal_mode": "wal", "synchronous": 2, "recursive_triggers": 1, "foreign_keys": 1}
    database = ledger._access.database
    with database.transaction(write=False) as one, database.transaction(write=False) as other:
        for connection in (one, other):
            assert {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted} == wanted


def test_a_table_that_was_opened_with_a_person_is_registered_with_it(ledger, tmp_path):
    """Without being told again; told another one, the call is refused, and nothing is registered."""
    pq.write_table(pa.table({"age": [1.0, 2.0], "nr": [1, 1], "id": [1, 2]}), tmp_path / "t.parquet")
    table = PrivateTable.open(tmp_path / "t.parquet", ["age"], person="nr")
    with pytest.raises(InvalidInput, match="opened with the person nr, and is registered with that of id"):
        ledger.register("visits", "zcdp:1", table=table, person="id")
    assert ledger.datasets() == []
    ledger.register("visits", "zcdp:1", table=table)
    assert ledger.person("visits").columns == ("nr",)
