"""Workbooks of Excel: the same rows as from Parquet, one sheet said, and no failure on a value."""

import numpy as np
import pandas as pd
import pytest
from helpers.workbooks import number, other, text, write_workbook

import pubpriv as pp
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput

NAN = np.nan


def cells_of(path, columns=("x",), rows=None):
    """Cells of all records, (d, n)."""
    table = PrivateTable.open(path, list(columns))
    blocks = np.concatenate([block.copy() for chunk in table.chunks() for block in chunk.blocks()], axis=1)
    return blocks[:, : table.n_rows if rows is None else rows]


CELLS = {
    "a number": (number("1.5"), 1.5),
    "all digits of a float": (number("0.30000000000000004"), 0.1 + 0.2),
    "a small number": (number("-2.5E-300"), -2.5e-300),
    "one beyond all floats": (number("1e400"), np.inf),
    "no number": (number("abc"), NAN),
    "one with an underscore": (number("1_0"), NAN),
    "nothing": (number(""), NAN),
    "no cell": ("<c/>", NAN),
    "a formula": ("<c><f>1+1</f><v>2</v></c>", 2),
    "a formula without a value": ("<c><f>1/0</f></c>", NAN),
    "a number as text": (text(" 7 "), 7),
    "a text": (text("n.b."), NAN),
    "an error": (other("e", "#N/A"), NAN),
    "an error of a newer version": (other("e", "#SPILL!"), NAN),
    "true": (other("b", "1"), 1),
    "false": (other("b", "0"), 0),
    "no truth": (other("b", "7"), NAN),
    "a shared text": (other("s", "0"), 12.5),
    "one in parts": (other("s", "1"), 34),
    "one that is not there": (other("s", "99"), NAN),
    "no shared text": (other("s", "x"), NAN),
    "another type": (other("zz", "3"), NAN),
    "a time in ISO 8601": (other("d", "2020-01-01T12:00:00"), 18262.5),
    "no time": (other("d", "hello"), NAN),
    "a date": (number("43831", "date"), 18262),
    "one in a format of somebody's own": (number("43831", "written date"), 18262),
    "a time of day on a date": (number("43831.5", "time"), 18262.5),
    "a duration": (number("1.5", "hours"), 1.5),
    "a long duration": (number("1e300", "hours"), 1e300),
    "the first day": (number("1", "date"), -25567),
    "the last moment": (number("2958465.9999999995", "time"), 2932896 + (86400 - 0.001) / 86400),
    "a day after that": (number("2958466", "date"), NAN),
    "a negative date": (number("-1", "date"), NAN),
    "a huge one": (number("1e300", "date"), NAN),
    "a huge negative one": (number("-1e300", "time"), NAN),
    "a style that is not there": ('<c s="99"><v>3</v></c>', 3),
    "no style": ('<c s="x"><v>3</v></c>', 3),
}


def test_each_cell_is_read_by_itself(tmp_path):
    shared = "<si><t>12.5</t></si><si><r><t>3</t></r><r><t>4</t></r><rPh><t>9</t></rPh></si>"
    rows = [[text("x")], *([cell] for cell, _ in CELLS.values()), [number("0")]]
    found = cells_of(write_workbook(tmp_path / "t.xlsx", rows, shared=shared))[0, :-1]
    expected = np.array([value for _, value in CELLS.values()], float)
    wrong = [name for name, a, b in zip(CELLS, found, expected, strict=True) if a != b and not np.isnan([a, b]).all()]
    assert not wrong


def test_a_cell_says_nothing_on_the_console(tmp_path, capfd):
    """A library that such files are read with elsewhere writes a panic to the console for a date of -1e300."""
    rows = [[text("x")], [number("-1e300", "time")], [number("1e300", "hours")], [number("1")]]
    cells_of(write_workbook(tmp_path / "t.xlsx", rows))
    assert capfd.readouterr() == ("", "")


def test_rows_and_columns_stand_where_they_say(tmp_path):
    """References may leave out cells and rows; empty rows are records between others, and none at the end."""
    path = tmp_path / "t.xlsx"
    rows = [
        [text("x"), text("y")],
        ['<c r="B2"><v>5</v></c>', '<c r="ZZZ2"><v>9</v></c>'],
        [],
        ['<c r="A4"><v>6</v></c>', "<c><v>7</v></c>", "<c><v>8</v></c>"],
        [],
        ['<c s="1"/>'],
    ]
    write_workbook(path, rows)
    assert np.array_equal(cells_of(path, ("x", "y")), [[NAN, NAN, 6], [5, NAN, 7]], equal_nan=True)
    assert np.array_equal(cells_of(path, ("y", "x")), [[5, NAN, 7], [NAN, NAN, 6]], equal_nan=True)


def test_the_calendar_from_1904_is_read(tmp_path):
    path = write_workbook(
        tmp_path / "t.xlsx", [[text("x")], [number("42369", "date")]], since='<workbookPr date1904="1"/>'
    )
    assert cells_of(path).tolist() == [[18262.0]]


def test_ids_are_what_is_written(tmp_path):
    """A number is one person however it is written; 05 is another one."""
    cells = [number("5"), number("5.0"), number("5E0"), text("5"), text("05"), number(""), number("6")]
    path = write_workbook(tmp_path / "t.xlsx", [[text("id"), text("x")], *([cell, number("1")] for cell in cells)])
    table = PrivateTable.open(path, ["x"], person="id")
    keys = np.concatenate([*table.chunks()[0].keys()])
    assert len(set(keys[:4].tolist())) == 1
    assert keys[5] == 0
    assert len(set(keys.tolist())) == 4


def test_the_same_rows_as_from_parquet(tmp_path):
    """Numbers, dates, times and groups of private rows, and public ones; as a library writes them."""
    random, n = np.random.default_rng(3), 500
    frame = pd.DataFrame(
        {
            "wage": np.where(random.random(n) < 0.1, np.nan, random.normal(20, 4, n).round(6)),
            "kids": random.poisson(2.0, n),
            "day": pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 30_000, n), "D"),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**8, n), "s"),
            "site": random.choice(["north", "süd", "=1+1"], n),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    options = {"options": {"strings_to_formulas": False}}
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="xlsxwriter", engine_kwargs=options) as writer:
        frame.to_excel(writer, index=False)
    columns, sites = ["wage", "kids", "day", "seen"], pp.ByCategory("site", ("north", "süd", "=1+1"))
    opened = [PrivateTable.open(tmp_path / f"t.{end}", columns, by=sites) for end in ("parquet", "xlsx")]
    first, second = (np.concatenate([*map(np.copy, each.chunks()[0].blocks())], axis=1)[:, :n] for each in opened)
    assert np.array_equal(first, second, equal_nan=True)
    public = [PublicTable.open(tmp_path / f"t.{end}", columns).rows for end in ("parquet", "xlsx")]
    assert np.array_equal(*public)
    assert PublicTable.open(tmp_path / "t.xlsx").columns == ("wage", "kids")


def test_one_of_several_sheets_is_named(tmp_path):
    path = write_workbook(tmp_path / "b.xlsx", [[text("x")], [number("1")]], sheets=("visits", "old & new"))
    with pytest.raises(InvalidInput, match=r"b\.xlsx has 2 sheets, visits, old & new: say which is meant, .*#visits$"):
        PrivateTable.open(path, ["x"])
    with pytest.raises(InvalidInput, match=r"no sheet 'x'; its sheets are: visits, old & new"):
        PrivateTable.open(f"{path}#x", ["x"])
    table = PrivateTable.open(f"{path}#old & new", ["x"])
    assert table.uri == f"{path}#old & new"
    assert table.n_rows == 1
    assert PublicTable.open(f"{path}#visits", ["x"]).rows.tolist() == [[1.0]]


def test_what_is_no_workbook_is_refused_with_one_text(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04" + bytes(99))
    write_workbook(tmp_path / "empty.xlsx", [[], [number("1")]])
    for name in ("t.xlsx", "empty.xlsx"):
        with pytest.raises(
            InvalidInput, match=r"is not a workbook of Excel, or it is damaged, or the first"
        ) as refused:
            PrivateTable.open(tmp_path / name, ["x"])
        assert refused.value.__context__ is None
        with pytest.raises(InvalidInput, match="cannot be read as Excel"):
            PublicTable.open(tmp_path / name, ["x"])
