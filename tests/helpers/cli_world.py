"""What the tests of the command line share: what a command told, tables of two groups, a whole `fit` line."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pubpriv.cli.main import main

URL = "sqlite:///ledger.db"


@dataclass(frozen=True)
class Told:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


def run_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> Told:
    """Run `pubpriv` with arguments in this process, as its entry point is run."""
    monkeypatch.setattr(sys, "argv", ["pubpriv", *map(str, arguments)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main()
    out, err = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return Told(left.value.code, out, err)


def two_groups(n: int, seed: int, distance: float = 8.0) -> pd.DataFrame:
    """Rows of columns a and b from two unit Gaussians in shares 0.6 and 0.4; the second row is of the second."""
    generator = np.random.default_rng(seed)
    second = np.arange(n) % 5 % 3 == 1
    return pd.DataFrame(generator.standard_normal((n, 2)) + distance * second[:, None], columns=["a", "b"])


FIT = {
    "--private": "private.parquet",
    "--public": "public.parquet",
    "--components": 2,
    "--budget": "zcdp:0.5",
    "--dataset": "visits",
    "--ledger": URL,
    "--out": "model.json",
}


def fit_arguments(*flags: str, **changed: object) -> list[object]:
    """`fit mixture` with the options of `FIT`, some of them changed, added, or (with None) left out."""
    options = FIT | {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    pairs = [part for name, value in options.items() if value is not None for part in (name, value)]
    return ["fit", "mixture", *pairs, *flags]


def register_visits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[..., Told], visits: pd.DataFrame, *terms: str
) -> Told:
    """Make `folder` the current one, with `visits.parquet`, `public.csv` and a ledger of dataset `visits`.

    Args:
        folder: for all files.
        monkeypatch: changes to the folder.
        program: the command line.
        visits: private rows of columns a and b, and others.
        terms: cap and options of `budget set`.
    """
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    visits.to_parquet("visits.parquet", index=False)
    pd.DataFrame(np.random.default_rng(1).normal(size=(40, 2)), columns=["a", "b"]).to_csv("public.csv", index=False)
    table = ("--private", "visits.parquet", "--columns", "a,b")
    return program("budget", "set", "visits", *terms, "--ledger", URL, *table)


def files(folder: Path) -> set[str]:
    """All files but SQLite's side files, which come and go."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {name for name in found if not name.endswith(("-wal", "-shm"))}
