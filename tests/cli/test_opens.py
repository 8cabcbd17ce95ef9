"""Each file is opened once a command: what was admitted, listed and opened is passed on to the run."""

from collections import Counter

import fsspec
import numpy as np
import pandas as pd
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from helpers.cli_world import URL

from pubpriv.data import looks

PRIVATE, PUBLIC = "memory://clinic/private", "memory://clinic/public.parquet"
FIT = ("--plain", "--public", PUBLIC, "--budget", "zcdp:0.5", "--dataset", "visits", "--ledger", URL, "--out", "m.json")


@pytest.fixture
def used(folder, monkeypatch):
    """How often two private files and a public one are opened and listed, and how often rows are read."""
    store = fsspec.filesystem("memory")
    for number, (name, n) in enumerate((("private/1", 1500), ("private/2", 500), ("public", 12))):
        rows = 5 + 2 * np.random.default_rng(number).standard_normal((n, 3))
        with store.open(f"/clinic/{name}.parquet", "wb") as file:
            pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(file)
    used = Counter()
    opened, found, passed = MemoryFileSystem._open, MemoryFileSystem.find, looks.scan_together

    def counted_open(self, path, *rest, **more):
        used[path.rpartition("/")[2]] += 1
        return opened(self, path, *rest, **more)

    def counted_find(self, *rest, **more):
        used["listings"] += 1
        return found(self, *rest, **more)

    def counted_pass(*rest):
        used["passes"] += 1
        return passed(*rest)

    monkeypatch.setattr(MemoryFileSystem, "_open", counted_open)
    monkeypatch.setattr(MemoryFileSystem, "find", counted_find)
    monkeypatch.setattr(looks, "scan_together", counted_pass)
    yield used
    store.rm("/clinic", recursive=True)


def test_a_fit_opens_each_file_once_and_looks_at_it_before_each_pass(program, used):
    """A private file once when it is admitted, once when it is bound, and once when its rows are read."""
    assert program("fit", "gaussian", "--private", PRIVATE, *FIT, "--release-id", "r1").code == 0
    assert used["public.parquet"] == 1
    assert used["passes"] > 5
    assert used["1.parquet"] == used["2.parquet"] == 3 + used["passes"]
    assert used["listings"] == 4 + used["passes"]  # as it is admitted, said, bound, and begun by the curator


def test_a_replay_opens_each_file_once(program, used):
    assert program("fit", "gaussian", "--private", PRIVATE, *FIT, "--release-id", "r1").code == 0
    used.clear()
    assert program("fit", "gaussian", "--private", PRIVATE, *FIT, "--release-id", "r1").code == 0
    assert used == {"public.parquet": 1, "1.parquet": 1, "2.parquet": 1, "listings": 2}
