"""Runs of a table with versions: one table and one budget for all of them, and each run keeps to one."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from helpers.cli_world import URL, fit_arguments, two_groups

import pubpriv as pp
from pubpriv.errors import InvalidInput, SpecMismatch

TERMS = ("--columns", "a,b", "--ledger", URL)


@pytest.mark.parametrize(("name", "library"), [("delta:visits@0", "deltalake"), ("iceberg:visits@v1", "pyiceberg")])
def test_without_its_library_a_version_is_refused_with_what_installs_it(name, library, folder, program, monkeypatch):
    for module in (library, "pyiceberg.table", "pyiceberg.io.pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    told = program("budget", "set", "clinic", "zcdp:2", "--private", name, *TERMS)
    assert (told.code, told.lines[-1].count(f"are read with {library}: pip install 'pubpriv[lake]'")) == (2, 1)


@pytest.fixture
def visits(folder):
    """A table of two versions: 2,000 rows, then 1,000 others, of which the folder keeps all files."""
    deltalake = pytest.importorskip("deltalake", reason="SKIPPED: no deltalake (pip install 'pubpriv[lake]')")
    for seed, count in ((1, 2000), (3, 1000)):
        frame = two_groups(count, seed).assign(who=np.arange(count) % (count // 4))
        deltalake.write_deltalake(folder / "visits", pa.Table.from_pandas(frame), mode="overwrite")
    return folder / "visits"


def rows_of(file):
    return json.loads(file.read_text())["provenance"]["n_private"]


def test_a_table_is_declared_once_and_a_run_reads_the_newest_version_or_the_one_it_names(visits, folder, program):
    said = program("budget", "set", "clinic", "zcdp:9", "--private", "delta:visits@0", *TERMS)
    assert (said.code, f"the table delta:{visits}@0" in said.err + said.out) == (0, True)
    common = {"columns": "a,b", "dataset": "clinic"}
    for release, private, rows in (("new", None, 1000), ("old", "delta:visits@0", 2000)):
        told = program(*fit_arguments("--plain", "--overwrite", **common | {"private": private, "release_id": release}))
        assert (told.code, rows_of(folder / "model.json")) == (0, rows), told.err
    shown = program("budget", "show", "clinic", "--ledger", URL, "--json")
    assert [table["uri"] for table in json.loads(shown.out)["tables"]] == [f"delta:{visits}"]
    exported = program("ledger", "export", "clinic", "--ledger", URL, "--out", "books.jsonl")
    assert exported.code == 0
    text = (folder / "books.jsonl").read_text()
    assert all(f"delta:{visits}@{version}" in text for version in (0, 1))


@pytest.mark.parametrize("name", ["delta:visits", "delta:visits@1", "iceberg:visits@v1"])
def test_no_version_has_a_budget_of_its_own_or_passes_as_public_rows(name, visits, program):
    program("budget", "set", "clinic", "zcdp:2", "--private", "delta:visits@0", *TERMS)
    told = program(*fit_arguments("--plain", private=name, dataset="visits"))
    assert (told.code, "belongs to dataset 'clinic'" in told.err) == (2, True)
    told = program(*fit_arguments("--plain", public=name))
    assert (told.code, "shares files with" in told.err) == (2, True)
    told = program(*fit_arguments("--plain", out="visits/model.json", private="delta:visits@0", dataset="clinic"))
    assert (told.code, "is among the files of the private table" in told.err) == (2, True)


@pytest.mark.parametrize("person", [(), "who"])
def test_a_run_goes_on_with_the_version_that_it_began_with(person, visits, tmp_path):
    """Also if a newer one was written meanwhile, in any process; and with no other, if one is named."""
    import deltalake

    def opened(version=""):
        return pp.PrivateTable.open(f"delta:{visits}{version}", ["a", "b"], person=person)

    with pp.Ledger.open(f"sqlite:///{tmp_path}/books.db") as ledger:
        ledger.register("clinic", "zcdp:2", table=opened(), person=person)
        curator = pp.Curator(opened(), ledger, "clinic", "zcdp:1", "r")
        handle = curator.handle
        curator.begin("mean", {}, "00")
        deltalake.write_deltalake(visits, pa.Table.from_pandas(two_groups(8, 5).assign(who=range(8))), mode="append")
        for again in (pp.Curator(opened(), ledger, "clinic", "zcdp:1", "r"), handle.open()):
            assert again.handle.table.uri == f"delta:{visits}@1"
            assert again.handle.table.n_rows == (None if person else 1000)
        pp.Curator(opened("@1"), ledger, "clinic", "zcdp:1", "r")
        with pytest.raises(SpecMismatch, match=r"began with the table delta:.*@1, not with delta:.*@2: use another"):
            pp.Curator(opened("@2"), ledger, "clinic", "zcdp:1", "r")
        assert pp.Curator(opened(), ledger, "clinic", "zcdp:0.5", "s").handle.table.uri == f"delta:{visits}@2"


def test_a_version_whose_files_were_removed_is_refused_before_anything_is_spent(visits, tmp_path):
    """As a vacuum removes them."""
    table = pp.PrivateTable.open(f"delta:{visits}@0", ["a", "b"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/books.db") as ledger:
        ledger.register("clinic", "zcdp:2", table=table)
        for chunk in table.chunks():
            (visits / chunk.path).unlink()
        with pytest.raises(InvalidInput, match="no private table at"):
            pp.estimate_mean(two_groups(12, 2), pp.Curator(table, ledger, "clinic", "zcdp:1"), force=True)
        assert ledger.balance("clinic").spent.main == 0
