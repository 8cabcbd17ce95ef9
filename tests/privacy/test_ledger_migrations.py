"""Ledgers of earlier revisions: brought forwards when they are opened, with every record as it was."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from helpers.stores import raw

from pubpriv.errors import RunClosed
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger, _database
from pubpriv.privacy.ledger.urls import understand

FIRST = Path(__file__).parent / "data" / "first_revision.sql"
"""Written by the first version: two datasets, a finished run, one with a charge that has no answer yet."""

REPLACE = "INSERT OR REPLACE INTO records SELECT * FROM records WHERE seq = 1"


@pytest.fixture
def old(tmp_path):
    """The URL of a ledger as the first version left it."""
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript(FIRST.read_text())
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def rows(url):
    """Every record, every column."""
    with raw(url) as connection:
        return [tuple(row) for row in connection.execute(sa.text("SELECT * FROM records ORDER BY dataset, seq"))]


def test_a_ledger_of_the_first_revision_goes_on(old):
    """Records, balances and chain are as they were; its open run is resumed and closed by this version."""
    before = rows(old)
    with Ledger.open(old) as ledger:
        assert rows(old) == [(*row, None) for row in before]  # of no period
        for dataset in ("visits", "labs"):
            ledger.verify(dataset)
        balance = ledger.balance("visits")
        assert (balance.to_json()["exact"]["spent"], balance.unit) == ("0.2", "one patient")
        assert ledger.run("visits", "2026-10").find("mean/a").answer == {"count": [12345]}
        event = GaussianEvent(Fraction(1, 5), ((1 << 30, 1),))
        standing = ledger.run("visits", "2026-11").charge("mean/a", {"type": "Other"}, event)
        assert standing.question == {"type": "Counts"}
        ledger.run("visits", "2026-11").publish("mean/a", standing.attempt, {"count": [7]})
        ledger.run("visits", "2026-11").close("finished")
        with pytest.raises(RunClosed):
            ledger.run("visits", "2026-11").charge("mean/b", {"type": "Counts"}, event)
        ledger.run("visits", "2026-12").open(ZeroConcentratedDP("0.5"))
        ledger.verify("visits", expected_head=ledger.balance("visits").chain_head)
    assert rows(old)[-len(before) :] != [(*row, None) for row in before]


def test_the_upgrade_closes_what_the_first_revision_left_open(old):
    """A program without recursive triggers could replace a row of the first revision, and cannot any more."""
    with closing(sqlite3.connect(old.removeprefix("sqlite:///"))) as connection:
        connection.execute(REPLACE)
        connection.rollback()
        Ledger.open(old).close()
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(REPLACE)


def test_several_processes_upgrade_once(old):
    """Whoever comes first does it; the others find it done."""
    with ThreadPoolExecutor(4) as threads:
        ledgers = list(threads.map(Ledger.open, [old] * 4))
    for ledger in ledgers:
        ledger.verify("visits")
        ledger.close()


def test_every_step_forwards_works_in_postgresql(postgres):
    """The first revision's tables are made there too, filled, and brought to the newest."""
    url = postgres.new_url()
    first = _database.Database(_database._postgresql_engine(understand(url)), understand(url))
    _database._migrate(first, "0001")
    old = [line for line in FIRST.read_text().splitlines() if line.startswith('INSERT INTO "')]
    with raw(url) as connection:
        for line in old:
            if "alembic_version" not in line:
                connection.exec_driver_sql(line.replace("%", "%%"))
    first.close()
    with Ledger.open(url) as ledger:
        ledger.verify("visits")
        ledger.run("visits", "2026-12").open(ZeroConcentratedDP("0.5"))
        ledger.verify("visits")
    statement = "INSERT INTO records SELECT dataset, 99, kind, release_id, key, body, state, previous_hash, hash, at, "
    statement += "\"user\", host, version FROM records WHERE seq = 1 AND dataset = 'visits'"
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), raw(url) as connection:
        connection.execute(sa.text(statement))


def test_the_known_revisions_are_those_that_exist():
    """The list that tells older from newer ledgers is the chain of migration files."""
    config = Config()
    config.set_main_option("script_location", str(Path(_database.__file__).with_name("migrations")))
    chain = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(reversed([script.revision for script in chain])) == _database._REVISIONS
