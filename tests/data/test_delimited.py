"""A CSV file is lines, and a line is a record: whatever bytes are in it, it moves no other, and none fails."""

import csv
import pickle
import time
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pubpriv.data.formats import _delimited
from pubpriv.data.formats.cells import _USUAL, number_in, numbers_in
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput

PIECES = (
    b'"',
    b",",
    b"\r",
    b"1",
    b"-2.5e3",
    b"x",
    b"\0",
    b"\xff",
    b"",
    b'""',
    b"1,2,3",
    b'"4, 5",6,7',
    b'8,"a ""b""",9',
)
LINES = st.lists(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=6).map(b"".join), max_size=12).map(
    lambda lines: [line.replace(b"\n", b"") for line in lines]
)


def cells_of(table, column="a"):
    """Cells of a column as they are read, over all pieces."""
    read = (batch.column(0) for chunk in table.chunks() for batch in chunk._batches([column]))
    return [cell for array in read for cell in array.to_pylist()]


def by_hand(line, width, place):
    """A cell of a line, by the rule as it is told: commas separate but between quotes, quotes are pairs."""
    if line.count(b'"') % 2 or len(line) > 64:
        return None
    parts, quotes = [b""], 0
    for character in (line.removesuffix(b"\r")[i : i + 1] for i in range(len(line.removesuffix(b"\r")))):
        quotes += character == b'"'
        if character == b"," and quotes % 2 == 0:
            parts.append(b"")
        else:
            parts[-1] += character
    if len(parts) != width:
        return None
    cell = parts[place]
    if len(cell) > 1 and cell[:1] == cell[-1:] == b'"':
        cell = cell[1:-1].replace(b'""', b'"')
    return cell or None


@settings(max_examples=150, deadline=None)
@example([b'1,"a', b'b",2'], 1)
@example([b'"a ""b""",2,3', b'a""b,2,3', b"1,2," + 70 * b"3", b"1,2,3"], 3)
@given(LINES, st.integers(1, 9))
def test_any_bytes_are_lines_of_cells(tmp_path_factory, lines, read):
    """Against the rule written plainly, with reads that end anywhere; the number of rows is that of the line feeds."""
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    path.write_bytes(b"a,b,c\n" + b"".join(line + b"\n" for line in lines))
    if not lines:
        with pytest.raises(InvalidInput, match="no rows"):
            PrivateTable.open(path, ["a"])
        return
    with mock.patch.multiple(_delimited, _READ=read, _LONGEST=64, BATCH=5):
        for place, name in enumerate("abc"):
            table = PrivateTable.open(path, [name])
            assert table.n_rows == len(lines)
            assert [chunk.piece.rows for chunk in table.chunks()][:-1] == [5] * ((len(lines) - 1) // 5)
            assert cells_of(table, name) == [by_hand(line, 3, place) for line in lines]
            assert all(block.dtype == float for chunk in table.chunks() for block in chunk.blocks())


WRITTEN = (
    st.text("0123456789.eE+-  \tinfaT:Z_", max_size=25).map(str.encode)
    | st.floats().map(lambda number: repr(number).encode())
    | st.from_regex(_USUAL, fullmatch=True, alphabet=st.characters(max_codepoint=127)).map(str.encode)
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.binary(max_size=8) | st.text("0123456789.eE+-  \tinfaT:Z_", max_size=25).map(str.encode), max_size=8)
)
def test_a_cell_is_read_alone_and_fails_on_nothing(cells):
    """All at once as each by itself: what Arrow reads is what Python reads, bit for bit."""
    found = numbers_in(pa.array([cell or None for cell in cells], pa.binary()))
    wanted = [np.nan if not cell else number_in(cell) for cell in cells]
    assert np.array_equal(found, wanted, equal_nan=True)


READ_AS = {
    "1": 1.0,
    " -1.50e3\t": -1500.0,
    "+.5": 0.5,
    "7.": 7.0,
    "0012": 12.0,
    "1e999": np.inf,
    "-inf": -np.inf,
    "TRUE": 1.0,
    "false": 0.0,
    "1970-01-02": 1.0,
    "1969-12-31 12:00": -0.5,
    "1970-01-01T06:00:00.000000Z": 0.25,
    "1970-01-01T00:00:00+12:00": -0.5,
    "2024-02-30": np.nan,
    "1_000": np.nan,
    "1,5": np.nan,
    "0x10": np.nan,
    "nan": np.nan,
    "NA": np.nan,
    "1 2": np.nan,
    "\N{ARABIC-INDIC DIGIT ONE}": np.nan,
}


@pytest.mark.parametrize("text", READ_AS)
def test_what_a_cell_reads_as(text):
    """Numbers, truths, dates and times; anything else is missing."""
    assert np.array_equal(numbers_in(pa.array([text.encode()])), [READ_AS[text]], equal_nan=True)


def test_a_long_cell_takes_no_longer_to_read_than_its_bytes():
    """One of 6,000 digits and a letter took 1.8 seconds, and of a million, as a line may hold, half a day."""
    begun = time.thread_time()
    assert np.isnan(number_in(b"1" * 6_000 + b"x"))
    assert time.thread_time() - begun < 0.3


@pytest.fixture
def frame():
    """A table with odd cells, and columns of several kinds."""
    random = np.random.default_rng(3)
    rows = 70_000
    made = pd.DataFrame({"id": random.integers(0, 900, rows).astype(str), "a": random.normal(size=rows)})
    made["b"] = random.integers(0, 99, rows)
    made["smokes"] = random.random(rows) < 0.5
    made["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 5000, rows), "D")
    made.loc[::10, "a"] = np.nan
    made["note"] = 'said "yes", twice'
    return made


def blocks_of(table):
    """All blocks of a table, one after another."""
    return [block.copy() for chunk in table.chunks() for block in chunk.blocks()]


def keys_of(table):
    """Keys of the persons of all rows."""
    return np.concatenate([np.concatenate([*chunk.keys()]) for chunk in table.chunks()])


def test_all_formats_hold_the_same_rows(frame, tmp_path):
    """Parquet in row groups of 65,536, Feather in batches of so many, CSV, and frames in memory: the same bits."""
    frame.to_csv(tmp_path / "t.csv", index=False, lineterminator="\r\n")
    frame.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=1 << 16)
    pa.feather.write_feather(pa.table(frame), str(tmp_path / "t.feather"), chunksize=1 << 16)
    columns = ["a", "log1p(b)", "smokes", "day"]
    named = {"private_rows": frame, "arrow": pa.table(frame)}
    tables = [PrivateTable.open(tmp_path / f"t.{end}", columns) for end in ("parquet", "feather", "csv")]
    tables += [PrivateTable.open(held, columns, name=name) for name, held in named.items()]
    persons = [PrivateTable.open(tmp_path / f"t.{end}", columns, person="id") for end in ("parquet", "feather", "csv")]
    persons += [PrivateTable.open(held, columns, person="id", name=name) for name, held in named.items()]
    wanted = blocks_of(tables[0])
    keys = keys_of(persons[0])
    for table, person in zip(tables, persons, strict=True):
        assert (table.n_rows, person.n_rows) == (70_000, None)
        for block, known in zip(blocks_of(table), wanted, strict=True):
            assert np.array_equal(block, known, equal_nan=True)
        assert np.array_equal(keys_of(person), keys)


def test_a_public_csv_reads_truths_and_days_as_a_private_one(frame, tmp_path):
    """Named columns; without names they are its numbers. Text is refused by name, which private text cannot be."""
    frame.head(100).to_csv(tmp_path / "t.csv", index=False)
    columns = ["smokes", "day", "b"]
    private = blocks_of(PrivateTable.open(tmp_path / "t.csv", columns))[0][:, :100].T
    assert np.array_equal(PublicTable.open(tmp_path / "t.csv", columns).rows, private)
    assert PublicTable.open(tmp_path / "t.csv").columns == ("id", "a", "b")
    with pytest.raises(InvalidInput, match="'note' of the public table is str, not a number"):
        PublicTable.open(tmp_path / "t.csv", ["note"])
    assert np.isnan(blocks_of(PrivateTable.open(tmp_path / "t.csv", ["note"]))[0]).all()


def test_lines_that_changed_are_not_read_as_the_table_that_was_opened(tmp_path):
    """Another number of lines is refused before a look; lines that moved under a scan, by the scan itself."""
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n3\n")
    table = PrivateTable.open(path, ["a"])
    (chunk,) = table.chunks()
    assert "start" not in repr(chunk)  # it tells how long the lines before are
    assert pickle.loads(pickle.dumps(chunk)) == chunk
    for changed in ("a\n1\n2\n", "aa,a\n1,1\n2,2\n3,3\n"):
        path.write_text(changed)
        with pytest.raises(InvalidInput, match="replaced while it was read"):
            list(chunk.blocks())
    path.write_text("a\n1\n2\n3")  # the last line need not end
    assert len(blocks_of(table)) == 1
    path.write_text("a\n1\n2\n")
    with pytest.raises(InvalidInput, match="changed its number of rows"):
        table.chunks()


BAD = {
    "nothing": b"",
    "not text": b"\xff\xfea\0,\0b\0\n\0",
    "another encoding": "größe,b\n1,2\n".encode("latin-1"),
    "an open quote": b'"a,b\n1,2\n',
}


@pytest.mark.parametrize("kind", BAD)
def test_a_first_line_that_is_no_header_is_refused(kind, tmp_path):
    """In one line, in our words."""
    (tmp_path / "t.csv").write_bytes(BAD[kind])
    with pytest.raises(InvalidInput, match="is not a CSV table") as caught:
        PrivateTable.open(tmp_path / "t.csv", ["a"])
    assert caught.value.__context__ is None


def test_names_of_columns_are_told_and_a_first_record_is_not(tmp_path):
    """A misspelt name has a neighbour among those of the schema; a file without a header has no names to show."""
    (tmp_path / "t.csv").write_text("\ufeffage,heart_rate\n1,2\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="did you mean 'heart_rate'"):
        PrivateTable.open(tmp_path / "t.csv", ["heartrate"])
    assert PrivateTable.open(tmp_path / "t.csv", ["age"]).n_rows == 1
    (tmp_path / "t.csv").write_text("ages,40\nolder,50\n")
    with pytest.raises(InvalidInput, match="the first line of a CSV file names its columns") as caught:
        PrivateTable.open(tmp_path / "t.csv", ["age"])
    assert "ages" not in str(caught.value)


def test_a_folder_holds_one_kind_of_files(frame, tmp_path):
    """Several CSV files are a table; the same rows as CSV and as Parquet would count twice."""
    for number in range(2):
        frame.head(10).to_csv(tmp_path / f"{number}.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    assert PrivateTable.open(tmp_path, ["a", "b"]).n_rows == len(PublicTable.open(tmp_path, ["b"]).rows) == 20
    frame.head(10).to_parquet(tmp_path / "2.parquet")
    for opened in (PrivateTable, PublicTable):
        with pytest.raises(InvalidInput, match="CSV and Parquet files under"):
            opened.open(tmp_path, ["a"])
        assert opened.open(f"{tmp_path}/*.csv", ["b"]).columns
