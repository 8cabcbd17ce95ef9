"""Indicators of one level and products of columns: the same from every kind of file, private or public."""

import numpy as np
import pandas as pd
import pytest
from helpers.read_cells import cells

import pubpriv as pp
from pubpriv.data.columns import Column, parse_columns
from pubpriv.errors import InvalidInput

WARDS = ["north", "a, b", None, "south", "north"]
HOURS = [1.5, -2.0, 3.0, np.nan, 0.1]
COLUMNS = ["level(ward, north)", "product(level(ward, `a, b`), hours)", "product(hours, clip(hours, 0, 1))", "hours"]
EXPECTED = np.array(
    [
        [1, 0, np.nan, 0, 1],
        [0, -2.0, np.nan, np.nan, 0],
        [1.5, -0.0, 3.0, np.nan, 0.1 * 0.1],
        HOURS,
    ]
).T


@pytest.mark.parametrize("kind", ["parquet", "csv", "categories"])
def test_cells_are_the_same_from_every_file(kind, tmp_path):
    """A record's cell is a function of its own cells: 1 and 0, NaN where one is missing, and a product rounded once."""
    frame = pd.DataFrame({"ward": WARDS, "hours": HOURS})
    if kind == "categories":
        frame["ward"] = frame["ward"].astype("category")
    file = tmp_path / ("t.csv" if kind == "csv" else "t.parquet")
    frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    private = pp.PrivateTable.open(file, COLUMNS)
    assert private.column_names == tuple(column.name for column in parse_columns(COLUMNS))
    assert np.array_equal(cells(private), EXPECTED, equal_nan=True)
    public = pp.PublicTable.open(file, COLUMNS)
    whole = np.isfinite(EXPECTED).all(axis=1)
    assert np.array_equal(public.rows, EXPECTED[whole])


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (Column("ward", "level", level="north"), "level(ward, north)"),
        (Column("ward", "level", level="a, b"), "level(ward, `a, b`)"),
        (Column("a", "product", factors=(Column("a"), Column("a"))), "product(a, a)"),
        (
            Column("w", "product", factors=(Column("w", "level", level="x"), Column("h", "clip", between=(0.0, 1.0)))),
            "product(level(w, x), clip(h, 0, 1))",
        ),
    ],
)
def test_a_text_means_one_column(column, text):
    """It is read back as it was."""
    assert parse_columns([text]) == (column,)
    assert parse_columns([column.name]) == (column,)
    assert parse_columns([column.explicit]) == (column,)


def test_sources_are_those_of_the_factors():
    """Each once: these the table must have."""
    (column,) = parse_columns(["product(level(w, x), h, h)"])
    assert column.sources == ("w", "h")
    assert column.original == column.name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("product(a)", "two columns or more"),
        ("product(log(a), b)", "two columns or more"),
        ("product(a / b, c)", "two columns or more"),
        ("product(levels(a, x, y), c)", "two columns or more"),
        ("level(a)", "one of its texts"),
        ("level(a, b, c)", "one of its texts"),
    ],
)
def test_what_is_none_is_refused(text, why):
    """Logarithms and quotients are no factors: their last bits might depend on a cell's place."""
    with pytest.raises(InvalidInput, match=why):
        parse_columns([text])


def test_a_simulation_has_cells_already():
    """An array has no texts, and one column for each."""
    with pytest.raises(InvalidInput, match="compute it before"):
        pp.Curator.simulation(np.ones((9, 2)), "zcdp:1", 1, ("product(a, b)", "c"))
