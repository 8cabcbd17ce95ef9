"""Expressions are a closed list of public maps: the same of a private file, a public table and rows in memory."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.columns import parse_columns
from pubpriv.errors import InvalidInput
from pubpriv.released.sample import write_sample

FRAME = pd.DataFrame({"cost": [10.0, 0.0, -5.0, 2e4, np.nan], "visits": [4, 0, 2, 5, 1], "km/h": [1.0, 2, 3, 4, 5]})
EXPRESSIONS = {
    "cost / visits": [2.5, np.nan, -2.5, 4000, np.nan],
    "visits / km/h": [4, 0, 2 / 3, 1.25, 0.2],
    "clip(cost, 0, 1e3)": [10, 0, 0, 1000, np.nan],
    "clip(cost, -inf, 5.5)": [5.5, 0, -5, 5.5, np.nan],
    "sqrt(visits)": [2, 0, 2**0.5, 5**0.5, 1],
    "km/h": [1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("written", EXPRESSIONS)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_an_expression_maps_each_record(written, end, tmp_path):
    """Private cells as by hand; public rows that are left are the same ones. Its text names it again."""
    getattr(FRAME, f"to_{end}")(tmp_path / f"t.{end}", index=False)
    private = pp.PrivateTable.open(tmp_path / f"t.{end}", [written, "visits"])
    (chunk,) = private.chunks()
    (block,) = [block.copy() for block in chunk.blocks()]
    wanted = np.array(EXPRESSIONS[written])
    assert np.allclose(block[0, :5], wanted, equal_nan=True)
    assert np.array_equal(block[1, :5], FRAME["visits"])
    assert parse_columns(private.column_names) == private.columns
    for source in (FRAME, tmp_path / f"t.{end}"):
        table = pp.PublicTable.open(source, [written, "visits"])
        assert np.allclose(table.rows[:, 0], wanted[np.isfinite(wanted)])
        assert table.columns == private.column_names


def test_both_columns_of_a_quotient_are_declared(tmp_path):
    """The ledger declares columns of the file, and a missing one is named."""
    FRAME.to_parquet(tmp_path / "t.parquet")
    private = pp.PrivateTable.open(tmp_path / "t.parquet", ["cost / visits", "cost"])
    assert private.source_columns == ("cost", "visits")
    for opened in (pp.PrivateTable, pp.PublicTable):
        with pytest.raises(InvalidInput, match=r"'visit' is missing from the .*did you mean 'visits'"):
            opened.open(tmp_path / "t.parquet", ["cost / visit"])
    with pytest.raises(InvalidInput, match="says whose row it is"):
        pp.PrivateTable.open(tmp_path / "t.parquet", ["cost / visits"], person="visits")


@pytest.mark.parametrize("typed", ["cost/visits", "exp(cost)", "cost/per_day"])
def test_what_is_no_expression_is_answered_with_the_list(typed):
    """And a slash without blanks is a part of a name."""
    with pytest.raises(InvalidInput, match=r"an expression is one of .*clip\(column, low, high\), column / column"):
        pp.PublicTable.open(FRAME, [typed])


@pytest.mark.parametrize("typed", ["clip(cost, 5, 1)", "clip(cost, a, 1)", "clip(cost, nan, 1)"])
def test_a_clip_has_two_numbers(typed):
    """The lower one first."""
    with pytest.raises(InvalidInput, match="between two numbers"):
        parse_columns([typed])


def test_simulated_rows_are_one_column_each():
    """A quotient has two; a clip is applied to the array's column."""
    with pytest.raises(InvalidInput, match="divide before"):
        pp.Curator.simulation(np.ones((9, 1)), "zcdp:1", seed=1, columns=["a / b"])
    curator = pp.Curator.simulation(np.full((2000, 1), 50.0), "zcdp:5", seed=1, columns=["clip(x, 0, 3)"])
    found = pp.estimate_mean(np.array([[-1.0], [0], [1]]), curator, covariance="identity")
    assert abs(found.mean[0] - 3) < 0.2


def test_synthetic_rows_of_a_clipped_column_stay_between(tmp_path):
    """No draw is beyond what a cell could be; a quotient keeps its name in original units."""
    rows = np.random.default_rng(0).normal(0, 1, (4000, 2))
    curator = pp.Curator.simulation(rows, "zcdp:5", seed=1, columns=["clip(x, -1, 1)", "y"])
    public = pp.PublicTable.open(pd.DataFrame(rows[:40], columns=["x", "y"]), ["clip(x, -1, 1)", "y"])
    model = pp.estimate_gaussian(public, curator)
    bent = write_sample(model, 500, tmp_path / "s.csv", seed=1, original_units=True)
    drawn = pd.read_csv(tmp_path / "s.csv")
    assert list(drawn.columns) == ["x", "y"]
    assert drawn["x"].abs().max() == 1
    assert [each.column for each in bent] == ["x"]
    assert parse_columns(["a / b"])[0].original == "a / b"


def test_a_calculation_that_there_is_not_is_answered_with_those_that_there_are():
    """Names of columns with a sign between them; a misspelt name that holds one is still answered with the nearest."""
    for name in ("cost+visits", "visits^2", "cost - visits"):
        with pytest.raises(InvalidInput, match=r"an expression is one of log\(column\)"):
            pp.PublicTable.open(FRAME, [name])
    with pytest.raises(InvalidInput, match="did you mean 'km/h'"):
        pp.PublicTable.open(FRAME, ["km/hh"])
