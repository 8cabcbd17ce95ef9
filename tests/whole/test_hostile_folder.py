"""A folder with files named like our modules and libraries: no process that we start there imports one of them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.prefect_database import lay

from pubpriv.flows import periods, processes
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

pytestmark = pytest.mark.long

OURS = ("benchmarks", "cli", "deployments", "flows", "pubpriv", "schemas", "tasks")
THEIRS = ("numpy", "pandas", "prefect", "pyarrow", "runpy", "socket", "typer", "uvicorn")
PROGRAM = Path(sys.executable).with_name("pubpriv")
FIT = "fit mean --private private.parquet --public public.parquet --budget zcdp:0.1 --dataset people"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tables, a ledger and the traps; `trapped` of the folder tells which were imported."""
    rows = np.random.default_rng(1).standard_normal((300, 2))
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "private.parquet")
    pd.DataFrame(rows[:4] + 0.1, columns=["a", "b"]).to_parquet(tmp_path / "public.parquet")
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget=parse_budget("zcdp:1"), unit="one person")
    trap = f"with open({str(tmp_path / 'trapped')!r}, 'a') as file:\n    print(__name__, file=file)\n"
    for name in (*OURS, *THEIRS, "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(trap)
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(trap)
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "PREFECT_API_URL", "PUBPRIV_LEDGER", "PUBPRIV_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def trapped(folder):
    """Names of traps that were imported."""
    marks = folder / "trapped"
    return set(marks.read_text().split()) if marks.exists() else set()


def program(*words):
    """The installed program, in the current folder."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_of_the_folder_come_first(folder):
    """What `python -m` does by itself: the folder's own files come first."""
    subprocess.run([sys.executable, "-m", "pubpriv.flows._ephemeral"], capture_output=True, check=False)
    assert "pubpriv" in trapped(folder)


def test_the_program_imports_nothing_of_the_folder(folder):
    """Help, and a whole run without Prefect."""
    assert "fit" in program("--help")
    program(*FIT.split(), "--ledger", "sqlite:///ledger.db", "--out", "model.json", "--plain")
    assert (folder / "model.json").exists()
    assert trapped(folder) == set()


def test_a_run_through_prefect_imports_nothing_of_the_folder(folder):
    """The server that a command starts for itself, and the flow."""
    home = folder / ".pubpriv" / "prefect"
    lay(home / "prefect.db")
    program(*FIT.split(), "--ledger", "sqlite:///ledger.db", "--out", "model.json", "--prefect")
    assert (home / "server.log").exists()
    assert (folder / "model.json").exists()
    assert trapped(folder) == set()


CHILD = "import pubpriv.flows.periods, numpy, socket; print('child of', pubpriv.flows.periods.__file__)"
GRANDCHILD = f'import subprocess, sys; subprocess.run([sys.executable, "-c", {CHILD!r}])'


def test_what_serve_starts_imports_nothing_of_the_folder(folder, monkeypatch):
    """Neither server and worker, which are started like this, nor what they start; whatever PYTHONPATH says."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "relative"]))
    log = folder / "server.log"
    for module, *arguments in (["site"], ["timeit", "-n1", "-r1", GRANDCHILD]):
        process = processes.start(module, arguments, os.environ, log)
        process.wait(60)
        processes.end(process)
    search_path = log.read_text().partition("]")[0]
    assert "site-packages" in search_path
    assert f"'{folder}'," not in search_path
    assert f"child of {periods.__file__}" in log.read_text()
    assert trapped(folder) == set()


def test_absolute_entries_of_the_search_path_are_kept():
    """An operator's drivers are found; what means the current folder is left out."""
    given = {"PYTHONPATH": os.pathsep.join(["/opt/drivers", "", "here", "/opt/more"]), "HOME": "/root"}
    path = os.pathsep.join(["/opt/drivers", "/opt/more"])
    assert processes._python_environment(given) == {"PYTHONPATH": path, "HOME": "/root", "PYTHONSAFEPATH": "1"}
    assert processes._python_environment({"PYTHONPATH": ""}) == {"PYTHONSAFEPATH": "1"}
