"""Levels of a column: the place of a text in a list, the same from every kind of file, private or public."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import pubpriv as pp
from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.public_categories import counted_columns
from pubpriv.errors import InvalidInput

WARDS = ["north", "a, b", None, "south", "north", "west", "`x`"]
CODES = [0, 1, np.nan, 3, 0, 3, 2]
"""Of the levels below: south and west are other texts."""

LEVELS = Column("ward", "levels", levels=("north", "a, b", "`x`"))


def frame():
    return pd.DataFrame({"ward": WARDS, "n": range(len(WARDS)), "yes": [True, False, None, True, True, False, True]})


def files(folder):
    """The table as each kind of file, by name."""
    whole = frame()
    whole.to_parquet(folder / "t.parquet")
    whole.to_csv(folder / "t.csv", index=False)
    feather.write_feather(pa.Table.from_pandas(whole), folder / "t.feather")
    whole.astype({"ward": "category"}).to_parquet(folder / "categories.parquet")
    return [folder / name for name in ("t.parquet", "t.csv", "t.feather", "categories.parquet")]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (LEVELS, "levels(ward, north, `a, b`, ```x```)"),
        (Column("a b", "levels", levels=("1", "-2", "x y")), "levels(a b, 1, -2, x y)"),
        (Column("log(x)", "levels", levels=("a(b)",)), "levels(`log(x)`, `a(b)`)"),
        (Column("w", "levels", levels=("a/b", "c / d", " e")), "levels(`w`, `a/b`, `c / d`, ` e`)"),
    ],
)
def test_a_text_means_one_list(column, text):
    """Written in the shortest way, it is read back as it was; the long way means the same."""
    assert parse_columns([text]) == (column,)
    assert parse_columns([column.name]) == (column,)
    assert parse_columns([column.explicit]) == (column,)


@pytest.mark.parametrize("which", range(4))
def test_every_kind_of_file_has_the_same_numbers(which, tmp_path):
    """As a private table, as a public one, and as a frame; a public row without a level is left out."""
    file = files(tmp_path)[which]
    (chunk,) = pp.PrivateTable.open(file, [LEVELS.name, "n"]).chunks()
    (block,) = chunk.blocks()
    assert np.array_equal(block[0, : len(CODES)], CODES, equal_nan=True)
    for public in (file, frame()):
        rows = pp.PublicTable.open(public, [LEVELS, "n"]).rows
        assert rows[:, 0].tolist() == [code for code in CODES if code == code]


def test_whole_numbers_and_truth_values_have_levels(tmp_path):
    file = files(tmp_path)[0]
    made = pp.PublicTable.open(file, ["levels(n, 3, 1)", "levels(yes, false, true)"])
    assert made.rows.T.tolist() == [[2, 1, 0, 2, 2, 2], [1, 0, 1, 1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("levels(ward)", "levels\\(column, a, b\\)"),
        ("levels(ward, a, a)", "each named once"),
        ("levels(ward, a, )", "each named once"),
        ("levels(x, 1, 2)", "column 'x' .* is double: groups are read from texts"),
        ("levels(yes, 2)", "no cell of which can be '2'"),
        ("levels(w, a)", "'w' is missing"),
    ],
)
def test_what_is_no_list_of_levels_is_refused(text, why, tmp_path):
    frame().assign(x=0.5).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match=why):
        pp.PrivateTable.open(tmp_path / "t.parquet", [text])


def test_a_column_that_is_called_so_is_named_in_quotes(tmp_path):
    pd.DataFrame({"levels(a, b)": [1.0], "a": ["b"]}).to_parquet(tmp_path / "t.parquet")
    assert pp.PublicTable.open(tmp_path / "t.parquet", ["`levels(a, b)`"]).rows.tolist() == [[1.0]]
    with pytest.raises(InvalidInput, match="itself called"):
        pp.PrivateTable.open(tmp_path / "t.parquet", ["levels(a, b)"])


def test_columns_to_count_are_named_with_the_levels_of_the_public_rows(tmp_path):
    """Numbers stay as they are; a column is not used twice."""
    file = files(tmp_path)[0]
    ward = "levels(ward, ```x```, `a, b`, north, south, west)"
    assert counted_columns(file, None, ["ward"]) == ("n", ward)
    assert counted_columns(file, ["ward", "log1p(n)"], ["ward", "n"]) == ("log1p(n)", ward, "n")
    assert counted_columns(file, ["n"], ["levels(ward, north)"]) == ("n", "levels(ward, north)")
    with pytest.raises(InvalidInput, match="no column 'wards'"):
        counted_columns(file, None, ["wards"])
