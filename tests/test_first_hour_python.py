"""What a person meets in the first hour from Python: budgets as text, and errors that are ours."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput

ROWS = np.random.default_rng(5).standard_normal((400, 2))
PUBLIC = np.random.default_rng(6).standard_normal((12, 2))


@pytest.fixture
def files(tmp_path):
    """A private and a public table with columns a and b, and a ledger that knows them."""
    for name, rows in (("private", ROWS), ("public", PUBLIC)):
        pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def test_budgets_are_texts_too(files):
    """Cap, allotment and a method's share as they are typed on the command line, to the same integers."""
    private = pp.PrivateTable.open(files / "private.parquet", ["a", "b"])
    with pp.Ledger.open(f"sqlite:///{files}/ledger.db") as ledger:
        ledger.register("people", budget="zcdp:2")
        ledger.register("people", budget=pp.ZeroConcentratedDP(2))  # the same: nothing happens
        with pytest.raises(InvalidInput, match="a budget is written"):
            pp.Curator(private, ledger, "people", budget="zcdp")
        assert ledger.balance("people").tables == ()  # a slip binds no table
        with pp.Curator(private, ledger, "people", budget="zcdp:0.5") as curator:
            assert curator.budget == pp.ZeroConcentratedDP(0.5)
            found = pp.estimate_mean(PUBLIC, curator, budget="zcdp:0.1")
        assert 0.09 < float(found.privacy["spent"].split()[0]) <= 0.1
        for wrong in ("0.5", 0.5, None):
            with pytest.raises(InvalidInput, match="a budget is written pure:EPSILON, zcdp:RHO"):
                pp.Curator(private, ledger, "people", budget=wrong)
        assert ledger.balance("people").state.held.main == 0


def test_names_that_are_near_are_told(files):
    """A misspelt column of public rows, and of a setting by column."""
    with pytest.raises(InvalidInput, match="did you mean 'b'"):
        pp.PublicTable.open(files / "public.parquet", ["a", "B"])
    curator = pp.Curator.simulation(ROWS, "zcdp:1", seed=1, columns=["age", "fare"])
    with pytest.raises(InvalidInput, match="did you mean 'fare'"):
        pp.estimate_gaussian(PUBLIC, curator, scale={"fares": 1.0})


def test_truths_are_ones_and_zeros_where_they_are_named(tmp_path):
    """Of a DataFrame, a Parquet file and a CSV; a table's columns without names are its numbers, as ever."""
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "smokes": [True, False, True]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert pp.PublicTable.open(source, ["smokes"]).rows[:, 0].tolist() == [1, 0, 1]
        assert pp.PublicTable.open(source).columns == ("a",)


def test_square_roots_are_asked_of_both_tables(tmp_path):
    """`sqrt(x)` maps public and private cells alike; a negative one makes its row odd."""
    frame = pd.DataFrame({"x": [4.0, 9.0, -1.0]})
    table = pp.PublicTable.open(frame, ["sqrt(x)"])
    assert (table.columns, table.rows[:, 0].tolist(), table.dropped) == (("sqrt(x)",), [2, 3], 1)
    frame.to_parquet(tmp_path / "p.parquet")
    (chunk,) = pp.PrivateTable.open(tmp_path / "p.parquet", ["sqrt(x)"]).chunks()
    with np.errstate(all="ignore"):
        mapped = next(chunk.blocks())[0, :3].tolist()
    assert mapped == pytest.approx([2, 3, np.nan], nan_ok=True)


SLIPS = {
    "public rows and curator swapped": lambda run, private: pp.estimate_mean(run(), PUBLIC),
    "no curator": lambda run, private: pp.estimate_gaussian(PUBLIC, ROWS),
    "no public rows": lambda run, private: pp.estimate_mixture(None, run()),
    "a ledger's URL for a ledger": lambda run, private: pp.Curator(private, "sqlite:///l.db", "d", "zcdp:1"),
    "a path for a table": lambda run, private: pp.Curator("private.parquet", None, "d", "zcdp:1"),
    "columns in one text": lambda run, private: pp.PublicTable.open(PUBLIC, "ab"),
    "columns of a table in one text": lambda run, private: pp.PublicTable.open(pd.DataFrame({"a": [1.0]}), "a"),
    "a number for a person": lambda run, private: pp.PrivateTable.open(private.uri, ["a"], person=5),
    "a number for a table": lambda run, private: pp.PrivateTable.open(5, ["a"]),
    "private rows without a name": lambda run, private: pp.PrivateTable.open(pd.DataFrame({"a": [1.0]}), ["a"]),
    "a private series": lambda run, private: pp.PrivateTable.open(pd.Series([1.0]), ["a"], name="s"),
    "a private array": lambda run, private: pp.PrivateTable.open(ROWS, ["a", "b"], name="s"),
    "a number for a budget": lambda run, private: pp.parse_budget(0.5),
    "scales without columns": lambda run, private: pp.estimate_gaussian(PUBLIC, run(), scale=[1, 2]),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_answered_in_our_words(files, slip):
    """Never an AttributeError or TypeError of something inside; a message that says what to give."""
    private = pp.PrivateTable.open(files / "private.parquet", ["a", "b"])
    with pytest.raises(InvalidInput):
        SLIPS[slip](lambda: pp.Curator.simulation(ROWS, "zcdp:1", seed=1), private)
