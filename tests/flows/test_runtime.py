"""Where flows run."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pubpriv.flows.runtime import _prefect_home, running


def test_prefect_lives_beside_the_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = Path(".pubpriv") / "prefect"
    assert _prefect_home("sqlite:///ledger.db") == tmp_path / home
    assert _prefect_home("sqlite:///books/ledger.db?timeout=5") == tmp_path / "books" / home
    assert _prefect_home(f"sqlite+pysqlite:///{tmp_path}/elsewhere/ledger.db") == tmp_path / "elsewhere" / home
    assert _prefect_home("sqlite://") == _prefect_home("sqlite:///:memory:") == tmp_path / home
    assert _prefect_home("postgresql+psycopg://user@host/ledger") == tmp_path / home


def test_a_given_api_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4200/api")
    before = dict(os.environ)
    with running(f"sqlite:///{tmp_path}/ledger.db"):
        assert os.environ["DO_NOT_TRACK"] == "1"
        assert os.environ["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"
        assert os.environ["PREFECT_HOME"] == before["PREFECT_HOME"]
    assert dict(os.environ) == before
    assert not (tmp_path / ".pubpriv").exists()


COMMAND = """
import sys
from pubpriv.flows.runtime import running
with running(sys.argv[1]):
    from pubpriv.tasks.boundary import public_task, safe_flow
    add = public_task(name="add")(lambda x: x + 1)
    @safe_flow(name="sum")
    def total(n: int) -> int:
        return sum(add(i) for i in range(n))
    print("total", total(10))
print("done")
"""


@pytest.mark.slow
def test_a_command_prints_its_own_lines_only_and_its_tasks_are_recorded(tmp_path):
    for runs in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, f"sqlite:///{tmp_path}/ledger.db"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("total 55\ndone\n", "")
        home = tmp_path / ".pubpriv" / "prefect"
        assert home.stat().st_mode & 0o777 == 0o700
        assert (home / "server.log").read_text() == ""
        with closing(sqlite3.connect(home / "prefect.db")) as database:
            states = database.execute("SELECT state_type, count(*) FROM task_run GROUP BY 1").fetchall()
        assert states == [("COMPLETED", 10 * runs)]
