"""The program in this process, and a folder with tables and a ledger to run it in."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.cli_world import URL, Told, fit_arguments, run_program, two_groups

from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger


@pytest.fixture
def program(monkeypatch, capsys) -> Callable[..., Told]:
    """Run `pubpriv` with arguments, as its entry point is run."""
    return partial(run_program, monkeypatch, capsys)


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    two_groups(2000, seed=1).to_parquet(folder / "private.parquet")
    two_groups(12, seed=2).to_parquet(folder / "public.parquet")
    with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:2"), unit="one patient")
    return folder


@pytest.fixture
def folder(template, tmp_path, monkeypatch) -> Path:
    """The working directory: `private.parquet`, `public.parquet`, and `ledger.db` with dataset `visits`, zcdp:2."""
    for file in template.iterdir():
        shutil.copy(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    return tmp_path


@pytest.fixture
def fit(folder, program) -> Callable[..., Told]:
    """Run `fit mixture --plain` on the folder's tables."""
    return lambda *flags, **changed: program(*fit_arguments("--plain", *flags, **changed))


@pytest.fixture
def balance(program) -> Callable[..., dict]:
    """`budget show --json` of a dataset."""
    return lambda dataset="visits": json.loads(program("budget", "show", dataset, "--ledger", URL, "--json").out)
