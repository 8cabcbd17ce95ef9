"""Columns of any name from `budget set` to a model: options, the ledger's commands, a dataset's file."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL

import pubpriv as pp

ODD = ["log(price)", " b", "x / y", "weight, kg"]
TYPED = '`log(price)`,` b`,"x / y","weight, kg"'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Private and public rows whose columns have odd names, one of groups and one of ids among them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PUBPRIV_LEDGER", URL)
    for name, n in (("private", 1500), ("public", 40)):
        random = np.random.default_rng(n)
        frame = pd.DataFrame(random.normal([1, 2, 3, 4], 1, (n, 4)), columns=ODD)
        frame = frame.assign(price=7.0, **{"month(t)": np.resize(["u", "v"], n), "log(id)": np.arange(n)})
        frame.to_csv(f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.long
def test_columns_of_any_name_from_the_option_to_the_model(place, program):
    """Means of the columns themselves; the groups are those of the column called like months."""
    line = ("budget", "set", "d", "zcdp:4", "--private", "private.csv", "--columns", TYPED, "--by", "`month(t)`")
    assert program(*line).code == 0
    fit = ("fit", "mean", "--dataset", "d", "--public", "public.csv", "--budget", "zcdp:1", "--plain")
    told = program(*fit, "--columns", TYPED, "--by", "`month(t)`", "--out", "m.json")
    assert told.code == 0, told.err
    model = pp.load("m.json")
    assert model.mean == pytest.approx([1, 2, 3, 4], abs=0.3)
    assert [group.name for group in model.groups.each] == ["u", "v"]
    told = program(*fit, "--out", "all.json")  # without --columns: those that the ledger has, by their names
    assert told.code == 0, told.err
    assert set(pp.load("all.json").columns) == set(model.columns)
    assert program("report", "m.json", "--public", "public.csv").code == 0


def test_the_line_that_declares_more_columns_has_quotes(place, program):
    """As it is printed, a shell and then the program read the same names."""
    assert program("budget", "set", "d", "zcdp:4", "--private", "private.csv", "--columns", "price").code == 0
    fit = (
        "fit",
        "mean",
        "--dataset",
        "d",
        "--public",
        "public.csv",
        "--budget",
        "zcdp:1",
        "--plain",
        "--out",
        "m.json",
    )
    told = program(*fit, "--columns", TYPED)
    assert told.code == 2
    line = shlex.split(told.err.partition("eclare it with `pubpriv ")[2].rpartition("`")[0])
    assert program(*line).code == 0
    assert program(*fit, "--columns", TYPED).code == 0


def test_ids_and_expressions_are_refused_before_anything_is_registered(place, program):
    """An expression is no id; one that is also a name has two texts; nothing was charged or declared."""
    told = program("budget", "set", "p", "zcdp:1", "--person", "log(id)")
    assert told.code == 2
    assert "write `log(id)`" in told.err
    told = program("budget", "set", "d", "zcdp:1", "--private", "private.csv", "--columns", "log(price)")
    assert told.code == 2
    assert "log(`price`)" in told.err
    assert program("budget", "set", "p", "zcdp:1", "--person", "`log(id)`").code == 0
    assert "log(id)" in program("budget", "show", "p").out


def test_a_file_of_a_dataset_names_columns_alike(place, program):
    """An item of the list is a text."""
    data = {"dataset": "d", "unit": "row", "cap": "zcdp:2", "private": f"{place}/private.csv"}
    data |= {"public": f"{place}/public.csv", "columns": ["`log(price)`", "` b`", "weight, kg"]}
    data |= {"releases": [{"name": "m", "estimator": "mean", "allotment": "zcdp:0.5"}]}
    (place / "d.yaml").write_text(json.dumps(data))
    told = program("deploy", "--check", "--set-budget", "d.yaml")
    assert told.code == 0, told.err + told.out
    told = program("fit", "mean", "--dataset", "d.yaml", "--budget", "zcdp:0.5", "--plain", "--out", "m.json")
    assert told.code == 0, told.err
    assert pp.load("m.json").mean == pytest.approx([1, 2, 4], abs=0.3)
