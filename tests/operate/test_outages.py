"""Databases that go away while a run is at work, and come back: the release ends by itself, and is paid once."""

import json
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import pytest
from helpers.bare_server import bare_server, own_database
from helpers.frail import carried_through, deploy, working
from helpers.served import Served
from helpers.stores import running_postgres

pytestmark = [pytest.mark.operate, pytest.mark.timeout(900)]

LOCKED = 30
"""Seconds; as long as a careless `VACUUM`, or a copy of the file, may take."""


def test_the_servers_sqlite_file_is_locked(served: Served, tmp_path):
    """Somebody holds Prefect's file for himself for half a minute: nobody can write to it, and runs wait."""
    with bare_server(served, tmp_path / "home") as own:
        frail = deploy(own, tmp_path / "tables", "locked", "locked")
        with working(own, frail.pool, tmp_path / "log"):
            frail.trigger("r1")
            frail.await_answers("r1", 1)
            with closing(sqlite3.connect(own_database(tmp_path / "home"), timeout=60)) as somebody:
                somebody.execute("BEGIN EXCLUSIVE")
                time.sleep(LOCKED)
                before = frail.answers("r1")
            carried_through(frail, before)


def test_the_servers_postgresql_is_killed(served: Served, tmp_path):
    """kill -9 of Prefect's PostgreSQL in mid-run; twenty seconds later it is there again."""
    with running_postgres() as database:
        url = database.new_url().replace("postgresql://", "postgresql+asyncpg://")
        with bare_server(served, tmp_path / "home", url) as own:
            frail = deploy(own, tmp_path / "tables", "bereft", "bereft")
            with working(own, frail.pool, tmp_path / "log"):
                frail.trigger("r1")
                frail.await_answers("r1", 1)
                database.stop(signal.SIGKILL)
                before = frail.answers("r1")
                time.sleep(20)
                database.start()
                carried_through(frail, before)


def test_the_ledgers_postgresql_is_killed_in_mid_release(served: Served, tmp_path):
    """kill -9 of the ledger's PostgreSQL between two answers: the run waits and goes on in its own process.

    Its log says so in a line of JSON, by the names under which a run is found again.
    """
    log = tmp_path / "log"
    with running_postgres() as database:
        own = replace(served, ledger=database.new_url())
        frail = deploy(own, tmp_path / "tables", "bookless", "bookless")
        with working(own, frail.pool, log, PREFECT_LOGGING_HANDLERS_CONSOLE_FORMATTER="json"):
            run = frail.trigger("r1")
            frail.await_answers("r1", 1)
            before = frail.answers("r1")
            database.stop(signal.SIGKILL)
            time.sleep(10)
            database.start()
            assert own.await_run(run).state_name == "Completed", log.read_text()[-3000:]
            carried_through(frail, before)
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    told = [line for line in lines if "It is tried again in" in str(line.get("msg"))]
    assert {(line["flow_run_id"], line["flow_run_name"]) for line in told} == {(str(run), "bookless-r1")}
