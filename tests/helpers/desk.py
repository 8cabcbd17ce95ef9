"""A registered dataset in a folder, and a client of the pages over it, for tests of `pubpriv open`."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import pubpriv as pp
from helpers.datasets import write_dataset
from pubpriv.web.application import Pages
from pubpriv.web.catalogue import Entry, catalogue
from pubpriv.web.guard import Keys
from pubpriv.web.runs import Runs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the newest Starlette would rather have a client that nothing else here needs
    from starlette.testclient import TestClient

KEYS = Keys(8765, "the-token", "the-session")
HOME = f"http://{KEYS.hosts[0]}"
CANARY = 73921.46508


def entry(folder: Path, **more: object) -> Entry:
    """A dataset `visits` of two columns with a ledger beside it, registered; `more` are fields of its file."""
    generator = np.random.default_rng(1)
    for part, n in (("private", 4000), ("public", 60)):
        rows = pd.DataFrame(generator.standard_normal((n, 2)) * [2.0, 9.0] + [5.0, 40.0], columns=["income", "age"])
        if part == "private":
            rows.loc[7, "income"] = CANARY
        rows.to_parquet(folder / f"visits-{part}.parquet")
    release = {"name": "gaussian", "estimator": "gaussian", "allotment": "zcdp:0.1"}
    file = write_dataset(folder, "visits", folder, "zcdp:2", release, **more)
    table = pp.PrivateTable.open(folder / "visits-private.parquet", ["income", "age"])
    with pp.Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(2), table=table, unit="one patient")
    return catalogue([file], folder / "releases")["visits"]


@contextmanager
def client(entries: dict[str, Entry], folder: Path, entered: bool = True) -> Iterator[TestClient]:
    """A browser without a window or a script; commands that it started are ended at last."""
    runs = Runs(folder)
    application = Pages(entries, runs, KEYS).application()
    cookies = {KEYS.cookie: KEYS.session} if entered else {}
    browser = TestClient(application, HOME, cookies=cookies, follow_redirects=False)  # type: ignore[arg-type]
    try:
        yield browser
    finally:
        runs.stop_all()
