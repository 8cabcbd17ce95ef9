"""One release from every format that needs no server: the same numbers, to the last bit."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyreadstat
import pytest
from helpers.seeded import SeededNoise

import pubpriv as pp
from pubpriv import curator
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

COLUMNS, SITES = ["wage", "kids"], pp.ByCategory("site", ("north", "south"))


def _feather(frame, path):
    frame.to_feather(path)


def _duckdb(frame, path):
    with duckdb.connect(path) as database:
        database.register("rows", frame)
        database.execute("CREATE TABLE visits AS FROM rows")


WRITERS = {
    "parquet": lambda frame, path: frame.to_parquet(path),
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "feather": _feather,
    "xlsx": lambda frame, path: frame.to_excel(path, index=False, engine="xlsxwriter"),
    "duckdb": _duckdb,
    "sav": pyreadstat.write_sav,
    "dta": pyreadstat.write_dta,
    "xpt": lambda frame, path: pyreadstat.write_xport(frame, path, file_format_version=8),
}


def released(table, public, url):
    """What a run of the table tells and asks, but for the day, the chain of its ledger and the table's name."""
    with Ledger.open(url) as ledger:
        ledger.register("visits", parse_budget("zcdp:1"))
        run = pp.Curator(table, ledger, "visits", "zcdp:0.5", "first")
        told = pp.estimate_gaussian(public, run).to_json()
        asked = [record.facts() for record in ledger.records("visits") if record.kind == "charged"]
    for name in ("created", "chain_head"):
        del told["provenance"][name]
    return json.dumps(told), [(each["label"], json.dumps(each["question"])) for each in asked]


@pytest.mark.long
def test_one_release_has_the_same_bits_from_every_format(tmp_path, monkeypatch):
    """Cells that are missing, and groups, among them; noise is from a seed, and another row is seen."""
    monkeypatch.setattr(curator, "OperatingSystemNoise", SeededNoise)
    random, n = np.random.default_rng(4), 900
    wage = np.where(random.random(n) < 0.05, np.nan, random.normal(20, 4, n).round(6))
    frame = pd.DataFrame({"wage": wage, "kids": random.poisson(2.0, n), "site": random.choice(["north", "south"], n)})
    public = pd.DataFrame({"wage": random.normal(20, 4, 60), "kids": random.poisson(2.0, 60).astype(float)})
    places = {}
    for end, write in WRITERS.items():
        write(frame, str(tmp_path / f"t.{end}"))
        places[end] = f"duckdb:///{tmp_path}/t.duckdb#visits" if end == "duckdb" else str(tmp_path / f"t.{end}")
    tables = {end: pp.PrivateTable.open(place, COLUMNS, by=SITES) for end, place in places.items()}
    tables["memory"] = pp.PrivateTable.open(frame, COLUMNS, by=SITES, name="frame")
    other = frame.assign(kids=frame["kids"].where(frame.index > 0, 9))
    tables["another row"] = pp.PrivateTable.open(other, COLUMNS, by=SITES, name="other")
    told = {
        end: released(table, public, f"sqlite:///{tmp_path}/{end.replace(' ', '-')}.db")
        for end, table in tables.items()
    }
    assert [end for end in told if told[end] != told["parquet"]] == ["another row"]
