"""Every command works on a console that knows few signs; what it wrote is not called a defect."""

import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.served import PUBPRIV

import pubpriv as pp
from pubpriv.cli.main import main

COLUMNS = "größe,вес"
FIT = ("--dataset", "d", "--public", "public.csv", "--columns", COLUMNS, "--budget", "zcdp:0.2", "--plain")

COMMANDS = {
    "show": ("show", "model.json"),
    "compare": ("compare", "model.json", "model.json"),
    "explain": ("explain", "model.json", "--out", "drawn.svg", "--overwrite"),
    "report": ("report", "model.json", "--out", "page.html", "--overwrite"),
    "sample": ("sample", "model.json", "--rows", "5", "--out", "rows.csv", "--overwrite"),
    "budget show": ("budget", "show", "d"),
    "budget history": ("budget", "history", "d"),
    "budget set again": ("budget", "set", "d", "zcdp:9", "--unit", "ein Zähler"),
    "verify": ("ledger", "verify"),
    "plan": ("plan", "mean", "--rows", "300", "--public", "public.csv", "--columns", COLUMNS, "--budget", "zcdp:1"),
    "doctor": ("doctor",),
    "help": ("fit", "gaussian", "--help"),
    "fit mean": ("fit", "mean", *FIT, "--out", "mean.json", "--overwrite"),
    "fit mixture": ("fit", "mixture", *FIT, "--components", "1", "--out", "mixture.json", "--overwrite"),
    "fit by group": ("fit", "mean", *FIT, "--by", "ort", "--by-values", "Köln,Łódź", "--out", "g.json", "--overwrite"),
}

REFUSED = {
    "no file": ("show", "нет.json"),
    "no command": ("größe",),
    "no column": ("fit", "mean", *FIT[:4], "--columns", "größe,длина", "--budget", "zcdp:0.2", "--out", "x.json"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A table, a ledger and a model whose names are not ASCII."""
    folder = tmp_path_factory.mktemp("console")
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(5, 1, (300, 2)), columns=COLUMNS.split(",")).assign(ort=["Köln", "Łódź"] * 150)
    table.to_parquet(folder / "private.parquet")
    table[:30].to_csv(folder / "public.csv", index=False)
    private = pp.PrivateTable.open(folder / "private.parquet", COLUMNS.split(","), by=pp.ByCategory("ort", ("Köln",)))
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("d", budget="zcdp:9", table=private, unit="ein Zähler")
        with pp.Curator(private, ledger, dataset="d", budget="zcdp:1", release_id="r") as curator:
            pp.estimate_gaussian(folder / "public.csv", curator).save(folder / "model.json")
    return folder


@pytest.fixture
def console(world, monkeypatch):
    """Run a command on a console of an encoding; its exit code, and what was printed, decoded."""
    monkeypatch.chdir(world)
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{world}/ledger.db")

    def run(encoding, *words):
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            monkeypatch.setattr(sys, name, stream)
        monkeypatch.setattr(sys, "argv", ["pubpriv", *words])
        with pytest.raises(SystemExit) as left:
            main()
        printed = []
        for stream in streams:
            stream.flush()
            printed.append(stream.buffer.getvalue().decode(encoding))
        return left.value.code, "".join(printed)

    return run


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_on_a_console_with_few_signs(command, encoding, console):
    """Exit 0 (4: written and flagged), and nothing about a defect."""
    code, told = console(encoding, *COMMANDS[command])
    assert code in (0, 4), told
    assert "defect" not in told


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252"])
@pytest.mark.parametrize("command", REFUSED)
def test_a_refusal_is_told_on_a_console_with_few_signs(command, encoding, console):
    """Bad input stays bad input."""
    code, told = console(encoding, *REFUSED[command])
    assert code == 2, told
    assert "defect" not in told


def test_signs_have_plain_forms_and_letters_escapes_that_tables_have_room_for(console):
    """Two columns stay two, errors can be read, and the border of the table is straight."""
    code, told = console("ascii", "show", "model.json")
    assert code == 0
    assert "+-" in told
    assert r"gr\xf6\xdfe" in told
    code, told = console("ascii", "fit", "mean", *FIT, "--out", "table.json", "--overwrite")
    lines = [line for line in told.splitlines() if line.startswith(("|", "+"))]
    assert len(lines) >= 5
    assert len({len(line) for line in lines}) == 1
    assert r"\u0432\u0435\u0441" in told
    assert "±" in console("cp1252", "show", "model.json")[1]  # which knows it


@pytest.mark.long
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}],
)
def test_a_process_of_an_old_locale_shows_a_release(environment, world):
    """As it is started from a shell, where Python chooses the encoding."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))
    }
    done = subprocess.run(
        [*PUBPRIV, "show", "model.json"], cwd=world, env=inherited | environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"gr" in done.stdout


def test_letters_that_the_process_cannot_read_are_said(world):
    """With ASCII only, Python has bytes in their place: neither a defect nor another name in the ledger."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    line = [*PUBPRIV, "budget", "show", "größe".encode(), "--ledger", f"sqlite:///{world}/ledger.db"]
    done = subprocess.run(line, env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"LC_ALL=C.UTF-8" in done.stderr
