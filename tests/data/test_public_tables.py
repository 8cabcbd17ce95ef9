"""Public rows come from files, frames and arrays, all finite, and anyone may see what is wrong with them."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput

FRAME = pd.DataFrame({"a": [1.0, 2.5, -3.0], "b": [4, 5, 6], "name": ["x", "y", "z"], "flag": [True, False, True]})


def _sources(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return {
        "parquet": tmp_path / "t.parquet",
        "parquet, as text": str(tmp_path / "t.parquet"),
        "csv": tmp_path / "t.csv",
        "frame": FRAME,
        "table": PublicTable.open(FRAME),
    }


def test_all_sources_give_one_table(tmp_path):
    """Numeric columns in their order, the same rows and the same hash, from every kind of source."""
    tables = [PublicTable.open(source) for source in _sources(tmp_path).values()]
    assert {table.columns for table in tables} == {("a", "b")}
    assert len({table.sha256 for table in tables}) == 1
    assert np.array_equal(tables[0].rows, [[1, 4], [2.5, 5], [-3, 6]])
    assert not tables[0].rows.flags.writeable


def test_arrays_have_named_columns():
    """x0, x1, ... unless names are given; lists of rows and integers are arrays too."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert PublicTable.open(rows).columns == ("x0", "x1")
    assert PublicTable.open(rows, ["u", "v"]).columns == ("u", "v")
    assert PublicTable.open([[1, 2], [3, 4]]).sha256 == PublicTable.open(rows).sha256
    assert PublicTable.open(rows, ["u", "v"]).sha256 != PublicTable.open(rows).sha256


def test_a_table_does_not_follow_the_array_it_came_from():
    """Changing the caller's array afterwards changes neither rows nor hash."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    table = PublicTable.open(rows)
    rows[0, 0] = 9.0
    assert table.rows[0, 0] == 1.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(3), "numeric"),
        (np.zeros((2, 2, 2)), "numeric"),
        (np.array([["a"]]), "numeric"),
        (np.array([[True]]), "numeric"),
        (np.array([[None]]), "numeric"),
        ([[1, 2], [3]], "numeric"),
        (np.zeros((3, 2), complex), "numeric"),
        (np.zeros((0, 2)), "no row"),
        (np.zeros((2, 0)), "no "),
        (np.full((2, 2), np.nan), "no row"),
        (None, "numeric"),
        (7, "numeric"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(rows, message):
    """Shapes, types and emptiness, in one line."""
    with pytest.raises(InvalidInput, match=message) as caught:
        PublicTable.open(rows)
    assert "\n" not in str(caught.value)


def test_the_number_of_names_is_the_number_of_columns():
    """An array of two columns has two names."""
    with pytest.raises(InvalidInput, match="2 columns, but 1"):
        PublicTable.open(np.zeros((2, 2)), ["a"])


BAD_FILES = {
    "no.csv": None,
    "no.parquet": None,
    "text.parquet": b"a,b\n1,2\n",
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "ragged.csv": b"a,b\n1,2\n1,2,3\n",
    "quotes.csv": b'a,b\n"1,2\n',
    "bytes.csv": b"a\n\xff\xfe\xff\n",
    "words.csv": b"a,b\nx,y\n",
    "twice.csv": b"a,b,a\n1,2,3\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_clear_line(name, tmp_path):
    """Missing, unreadable, empty, without numbers, or with one name for two columns."""
    path = tmp_path / name
    if BAD_FILES[name] is not None:
        path.write_bytes(BAD_FILES[name])
    with pytest.raises(InvalidInput) as caught:
        PublicTable.open(path)
    assert "public table" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "c"], "'c' is missing"),
        (["name"], "not a number"),
        (["log(name)"], "not a number"),
        (["a", "a"], "named twice"),
        ([], "no columns"),
        ([" "], "empty"),
    ],
)
def test_columns_that_cannot_be_used_are_named(columns, message):
    """Missing, not numeric, named twice, not named at all."""
    with pytest.raises(InvalidInput, match=message):
        PublicTable.open(FRAME, columns)


def test_a_file_whose_cells_semicolons_separate_is_told_from_one_that_lacks_a_column(tmp_path):
    """As spreadsheets write it where the comma is decimal: public and private files are refused with that reason."""
    (tmp_path / "t.csv").write_text("a;b\n1;2\n3;4\n")
    for opened in (PublicTable, PrivateTable):
        with pytest.raises(InvalidInput, match=r"'b' is missing from .*separated by ';': commas separate"):
            opened.open(tmp_path / "t.csv", ["b"])


MESSY = {
    "trailing.csv": (b"a,b\n1,10,\n2,20,\n", "trailing.csv have more cells than its header: name each column"),
    "latin.csv": ("größe,b\n1,2\n".encode("latin-1"), "is no text in UTF-8: save it in that encoding"),
    "tabs.csv": (b"a\tb\n1\t2\n", "its cells seem to be separated by tabs"),
    "empty.csv": (b"a,b\n1,\n2,\n", "a finite value: of 'b' none is, so name other columns"),
    "packed.csv.bz2": (b"BZh9", "cannot be read as a table; by its name it is compressed: of such files"),
    "comment.csv": (b"# exported 2026\na,b\n1,2\n", "more cells than its header; its first line begins with #: take"),
    "comments.csv": (b"# exported, 2026\na,b\n1,2\n", "'a' is missing from .*; its first line begins with #: take"),
    "german.csv": (b"a;b\n50,1;5,2\n", "separated by ';': commas separate the cells of a CSV file, and points the dec"),
    "sheet.ods": (b"PK\x03\x04", "by its name it is a spreadsheet: save it as .xlsx"),
    "tabs.tsv": (b"a\tb\n1\t2\n", "text with tabs between its cells: write commas, and let its name end with .csv"),
}


@pytest.mark.parametrize("name", MESSY)
def test_what_is_wrong_with_a_messy_file_is_said(name, tmp_path):
    """Commas that end lines would move each cell one column on; encodings, separators, comments, other formats."""
    (tmp_path / name).write_bytes(MESSY[name][0])
    with pytest.raises(InvalidInput, match=MESSY[name][1]):
        PublicTable.open(tmp_path / name, ["a", "b"])


def test_files_that_do_not_fit_together_are_no_reason_to_speak_of_names(tmp_path):
    """A folder of Parquet files is taken for what it is."""
    for number, cells in enumerate(([1], ["x"])):
        pd.DataFrame({"a": cells}).to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidInput, match=r"'a' is \w+ in .*1\.parquet, and a number in other files") as caught:
        PublicTable.open(tmp_path, ["a"])
    assert "names of tables" not in str(caught.value)


def test_columns_of_a_frame_without_a_type_are_numbers_where_all_their_cells_are():
    """As databases hand them over; names are texts."""
    cells = [[1, 2.5], [None, Decimal("3.5")], [np.int64(4), 4]]
    assert PublicTable.open(pd.DataFrame(cells, columns=["a", "b"], dtype=object)).rows.tolist() == [[1, 2.5], [4, 4]]
    with pytest.raises(InvalidInput, match="not a number"):
        PublicTable.open(pd.DataFrame([[1], ["four"]], columns=["a"], dtype=object), ["a"])
    with pytest.raises(InvalidInput, match="a column is named by a text, not by 0"):
        PublicTable.open(pd.DataFrame([[1.0]]), [0])


def test_a_column_that_is_there_twice_is_named(tmp_path):
    """In a frame and in a Parquet file."""
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])):
        for columns in (None, ["a"]):
            with pytest.raises(InvalidInput, match="more than once"):
                PublicTable.open(source, columns)


def test_decimals_and_nullable_columns_are_numbers(tmp_path):
    """Decimal, nullable integers and small types become float64; a null drops its row, and is counted."""
    table = pa.table(
        {
            "d": pa.array([Decimal("1.5"), None, Decimal("-2.25"), Decimal("1e20")], pa.decimal128(38, 4)),
            "i": pa.array([1, 2, None, 4], pa.int8()),
            "f": pa.array([0.5, 1.5, 2.5, 3.5], pa.float32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = PublicTable.open(tmp_path / "t.parquet")
    assert found.columns == ("d", "i", "f")
    assert found.rows.tolist() == [[1.5, 1.0, 0.5], [1e20, 4.0, 3.5]]
    assert found.dropped == 2
    nullable = pd.DataFrame({"i": pd.array([1, None, 3], dtype="Int64")})
    assert PublicTable.open(nullable).rows.tolist() == [[1.0], [3.0]]


def test_rows_with_odd_cells_are_dropped_and_counted(tmp_path):
    """NaN, infinities, and what a map makes of negative numbers."""
    rows = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, np.inf], [-5.0, 1.0], [3.0, 2.0]])
    assert PublicTable.open(rows).dropped == 2
    mapped = PublicTable.open(pd.DataFrame(rows, columns=["a", "b"]), ["log1p(a)", "b", "a"])
    assert mapped.dropped == 3
    assert np.array_equal(mapped.rows, [[np.log1p(1), 0, 1], [np.log1p(3), 2, 3]])


def test_expressions_are_maps_of_columns_in_any_order():
    """Maps of one column, in any order; a table's own expression columns are not mapped again."""
    table = PublicTable.open(FRAME, ["log(b)", "a"])
    assert np.array_equal(table.rows[:, 0], np.log([4, 5, 6]))
    assert PublicTable.open(table, ["log(b)", "a"]) is table
    chosen = table.select(["log(b)"])
    assert chosen.columns == ("log(b)",)
    assert np.array_equal(chosen.rows[:, 0], table.rows[:, 0])
    assert PublicTable.open(np.array([[2.0]]), ["log(b)"]).rows.tolist() == [[np.log(2.0)]]


def test_the_hash_tells_tables_apart():
    """Columns, shape and every bit of the rows enter it."""
    rows = np.arange(6.0).reshape(3, 2)
    hashes = {
        PublicTable.open(r, c).sha256
        for r, c in [
            (rows, ["a", "b"]),
            (rows, ["a", "c"]),
            (rows.reshape(2, 3), ["a", "b", "c"]),
            (rows[::-1], ["a", "b"]),
            (np.nextafter(rows, 9), ["a", "b"]),
        ]
    }
    assert len(hashes) == 5


def test_a_column_that_many_rows_lack_is_named_with_what_it_costs():
    """The one that half of the rows lack, and not the one that two lack, nor both together."""
    rows = np.random.default_rng(1).normal(size=(100, 3))
    rows[:57, 1], rows[55:60, 2] = np.nan, np.inf
    table = PublicTable.open(rows, ["a", "pressure", "c"])
    (lacking,) = table.lacking
    assert (table.dropped, lacking.column, lacking.rows, lacking.alone, lacking.of) == (60, "pressure", 57, 55, 100)
    assert "57 of 100 public rows lack pressure, 55 of them nothing else" in table.notes[0]
    assert table.select(["a", "c"]).lacking == ()
    assert table.without(np.arange(40) < 3).lacking == table.lacking
    assert PublicTable.open(np.ones((9, 1))).notes == ()


def test_what_was_meant_is_said_before_anybody_stops_reading():
    """Of 56 columns the one that was meant is named, not all of them; of a few all are; without a hint all are."""
    names = [*(f"column_{i}" for i in range(55)), "loan_amount"]
    for columns, asked, says in (
        (names, "loan_amont", "from the public table, did you mean 'loan_amount'?"),
        (names[-2:], "loan_amont", "whose columns are: column_54, loan_amount, did you mean 'loan_amount'?"),
        (names, "zebra", f"whose columns are: {', '.join(names)}"),
    ):
        frame = pd.DataFrame(np.zeros((3, len(columns))), columns=columns)
        with pytest.raises(InvalidInput) as refused:
            PublicTable.open(frame, [asked])
        assert says in str(refused.value)
