"""A ledger's URL that is relative to another folder: nobody is led to make a second ledger, which would spend twice."""

import json

import pytest
from helpers.cli_world import URL, fit_arguments

COMMANDS = {
    "show": ("budget", "show", "visits"),
    "history": ("budget", "history", "visits"),
    "recover": ("budget", "recover", "r1", "--dataset", "visits"),
    "verify": ("ledger", "verify"),
    "export": ("ledger", "export", "--out", "x.jsonl"),
    "fit": tuple(fit_arguments("--plain")),
    "doctor": ("doctor",),
}


@pytest.fixture
def elsewhere(folder, monkeypatch):
    """A folder below that of the ledger, where the same relative URL names no ledger."""
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    monkeypatch.setenv("PUBPRIV_LEDGER", URL)
    return below


@pytest.mark.parametrize("command", COMMANDS)
def test_from_another_folder_no_second_ledger_is_advised_or_made(command, program, elsewhere):
    """The whole path of what is not there, what relative and absolute URLs are, and no line that makes a ledger."""
    told = program(*COMMANDS[command])
    text = told.err + told.out
    assert told.code == 2
    assert f"no ledger at {elsewhere}/ledger.db" in text
    assert "sqlite:////PATH is absolute" in text
    assert "spent twice" in text
    assert "zcdp:RHO" not in text  # no command to copy
    assert list(elsewhere.iterdir()) == []


def test_a_check_of_datasets_names_the_missing_ledger_first(program, elsewhere, folder):
    """`deploy --check` knows the line that registers, and says when not to run it."""
    text = f"""
    {{"dataset": "visits", "unit": "one patient", "cap": "zcdp:2", "private": "{folder}/private.parquet",
      "public": "{folder}/public.parquet", "columns": ["a", "b"],
      "releases": [{{"name": "m", "estimator": "mean", "allotment": "zcdp:0.1"}}]}}
    """
    (elsewhere / "visits.yaml").write_text(json.dumps(json.loads(text)))
    told = program("deploy", "--check", "visits.yaml")
    assert f"there is no ledger at sqlite:///{elsewhere}/ledger.db: correct PUBPRIV_LEDGER" in told.out + told.err


def test_a_missing_folder_is_not_made(program, folder):
    """It is probably the folder of another working directory; where it exists, the first ledger is made, and told."""
    line = ("budget", "set", "visits", "zcdp:2", "--unit", "one patient", "--ledger", "sqlite:///data/books/ledger.db")
    told = program(*line)
    assert told.code == 2
    assert f"there is no folder {folder}/data/books" in told.err
    assert not (folder / "data").exists()
    (folder / "data" / "books").mkdir(parents=True)
    told = program(*line)
    assert told.code == 0, told.err
    assert f"the ledger sqlite:///{folder}/data/books/ledger.db is new" in told.err
    assert "is new" not in program(*line[:-1], URL).err  # that one is known


def test_what_is_shown_of_a_relative_ledger_can_be_used_elsewhere(program, folder, monkeypatch):
    """The command that a refusal gives has the absolute path."""
    told = program("budget", "show", "visit", "--ledger", URL)
    assert f"sqlite:///{folder}/ledger.db" in told.err
    monkeypatch.setenv("PUBPRIV_LEDGER_WITNESS", "no-export.jsonl")
    assert f"{folder}/no-export.jsonl" in program("budget", "show", "visits", "--ledger", URL).err
