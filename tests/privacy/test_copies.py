"""A copy of a private table gets no second budget silently: it is asked whether a table with its layout is one."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pubpriv as pp
from pubpriv.cli.main import app
from pubpriv.curator import Curator
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import SpecMismatch

ROWS = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0)[::-1], "who": np.arange(60) % 7, "note": ["x"] * 60})


@pytest.fixture
def books(tmp_path):
    """A ledger in which a clinic's table is declared, of rows or of persons as the test says."""
    ROWS.to_parquet(tmp_path / "clinic.parquet")
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        yield ledger


def register(ledger, dataset, path, person=(), **options):
    table = PrivateTable.open(path, ["a"], person=person, **({} if isinstance(path, str) else {"name": dataset}))
    ledger.register(dataset, "zcdp:1", table=table, person=person, **options)


COPIES = {
    "under another name": lambda folder: ROWS.to_parquet(folder / "copy.parquet"),
    "as CSV": lambda folder: ROWS.to_csv(folder / "copy.csv", index=False),
    "in other order": lambda folder: ROWS[::-1][["note", "who", "b", "a"]].to_parquet(folder / "copy.parquet"),
    "in two files": lambda folder: [ROWS[i::2].to_parquet(folder / f"copy-{i}.parquet") for i in range(2)],
}


@pytest.mark.parametrize("person", [(), "who"])
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_is_asked_about(books, how, person, tmp_path):
    """Where the unit is a person as well, of whose table the names of columns are public."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet", person)
    COPIES[how](tmp_path)
    copy = f"{tmp_path}/{'copy*' if how == 'in two files' else next(tmp_path.glob('copy*')).name}"
    lines = {"no_line_breaks": True} if person else {}
    with pytest.raises(SpecMismatch, match=r"is .*copy.* another copy of the table of dataset 'clinic', .*\?"):
        register(books, "second", copy, person, **lines)
    assert books.datasets() == ["clinic"]
    register(books, "second", copy, person, another_table=True, **lines)
    register(books, "second", copy, person, **lines)  # it is asked once
    assert books.datasets() == ["clinic", "second"]


def test_a_frame_of_the_same_columns_is_asked_about(books, tmp_path):
    """Rows in memory have no path by which they could be known."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet")
    with pytest.raises(SpecMismatch, match="another copy"):
        register(books, "second", ROWS)


OTHERS = {
    "one row more": pd.concat([ROWS, ROWS[:1]]),
    "one column more": ROWS.assign(c=1.0),
    "a column of another name": ROWS.rename(columns={"b": "B"}),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_tables_are_not_asked_about(books, other, tmp_path):
    """Tables of rows differ by their columns or their number of rows."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet")
    OTHERS[other].to_parquet(tmp_path / "other.parquet")
    register(books, "second", f"{tmp_path}/other.parquet")


def test_tables_of_one_dataset_share_its_budget(books, tmp_path):
    """So nothing is asked."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet")
    ROWS.to_parquet(tmp_path / "site-b.parquet")
    register(books, "clinic", f"{tmp_path}/site-b.parquet")


def test_of_persons_the_number_of_rows_is_not_kept(books, tmp_path):
    """Even if the table was opened as one of rows."""
    table = PrivateTable.open(f"{tmp_path}/clinic.parquet", ["a"])
    books.register("clinic", "zcdp:1", table=table, person="who")
    (kept,) = books.balance("clinic").tables
    assert kept["layout"].keys() == {"names", "columns"}
    assert "60" not in json.dumps(kept | {"uri": ""})


def test_the_first_run_asks_about_a_table_that_was_never_declared(books, tmp_path):
    """A dataset registered without a table is bound to the first one: nothing is held before the question."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet")
    ROWS.to_parquet(tmp_path / "copy.parquet")
    books.register("second", "zcdp:1")
    table = PrivateTable.open(f"{tmp_path}/copy.parquet", ["a"])
    with pytest.raises(SpecMismatch, match="another copy"):
        Curator(table, books, "second", "zcdp:0.1")
    assert books.balance("second").state.held.main == 0


def test_a_dataset_of_an_older_ledger_gets_its_layout_when_it_is_next_run(books, tmp_path, monkeypatch):
    """Its own copy goes on, since it has runs; a new copy of it is asked about."""
    paths = [f"{tmp_path}/{name}.parquet" for name in ("clinic", "old", "new")]
    for path in paths:
        ROWS.to_parquet(path)
    with monkeypatch.context() as older:
        older.setattr(PrivateTable, "layout", None)
        for dataset, path in zip(("clinic", "second"), paths, strict=False):
            register(books, dataset, path)
            Curator(PrivateTable.open(path, ["a"]), books, dataset, "zcdp:0.1").close()
    register(books, "third", paths[2])
    assert "layout" not in books.balance("second").tables[0]
    Curator(PrivateTable.open(paths[1], ["a"]), books, "second", "zcdp:0.1").close()
    assert books.balance("second").tables[0]["layout"]["rows"] == 60
    with pytest.raises(SpecMismatch, match="of dataset 'second'"):
        register(books, "fourth", ROWS)


def test_a_table_that_grew_is_known_by_what_it_has_now(books, tmp_path):
    """As months are added to it."""
    path = f"{tmp_path}/clinic.parquet"
    register(books, "clinic", path)
    pd.concat([ROWS, ROWS]).to_parquet(path)
    Curator(PrivateTable.open(path, ["a"]), books, "clinic", "zcdp:0.1").close()
    pd.concat([ROWS, ROWS]).to_parquet(tmp_path / "copy.parquet")
    with pytest.raises(SpecMismatch, match="another copy"):
        register(books, "second", f"{tmp_path}/copy.parquet")
    assert books.verify("clinic")


def test_the_command_says_how_to_go_on(books, tmp_path):
    """Its own option, in the message, registers the table."""
    register(books, "clinic", f"{tmp_path}/clinic.parquet")
    ROWS.to_parquet(tmp_path / "copy.parquet")
    command = ["budget", "set", "second", "zcdp:1", "--ledger", books.url]
    command += ["--private", f"{tmp_path}/copy.parquet", "--columns", "a"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code != 0
    assert "--another-table" in str(refused.exception)
    assert CliRunner().invoke(app, [*command, "--another-table"]).exit_code == 0
    assert books.datasets() == ["clinic", "second"]
