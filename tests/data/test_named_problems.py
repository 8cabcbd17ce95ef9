"""What cannot be read is called what it is, with the file and what to do."""

import gzip
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput

FRAME = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7})
CSV = FRAME.to_csv(index=False)
ZIP = b"PK\x03\x04" + bytes(200)


def parquet():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(FRAME), sink)
    return sink.getvalue().to_pybytes()


PUBLIC = {
    "t.ods": (ZIP, "t.ods cannot be read as a table; by its name it is a spreadsheet: save it as .xlsx, or its sheet"),
    "t.tsv": (CSV.replace(",", "\t"), "t.tsv cannot be read as a table; by its name it is text with tabs"),
    "t.txt": (CSV, "t.txt cannot be read as a table; by its name it is text: if commas"),
    "sheet.csv": (ZIP, "sheet.csv is no CSV file, as its name says, but Excel: let its name end with .xlsx"),
    "sheet.parquet": (ZIP, "sheet.parquet is no Parquet file, as its name says, but Excel: let its name end"),
    "old.csv": (b"\xd0\xcf\x11\xe0" + bytes(99), "but an old spreadsheet"),
    "parquet.csv": (parquet(), "but Parquet: let its name end with .parquet"),
    "zipped.csv": (gzip.compress(CSV.encode()), "but compressed: let its name end with .csv.gz"),
    "wide.csv": (CSV.encode("utf-16"), "but text in UTF-16: save it in UTF-8"),
    "semi.csv": (CSV.replace(",", ";"), "cells seem to be separated by ';'"),
    "tabs.csv": (CSV.replace(",", "\t"), "cells seem to be separated by tabs"),
    "sep.csv": ("sep=;\n" + CSV, "says which sign separates cells: take that line away"),
    "first.csv": ("# exported 2026\n" + CSV, "its first line begins with #: take comments away"),
    "last.csv": (CSV + "# total 40\n", "its first cell that is none is '# total 40'"),
    "word.csv": (CSV + "unknown,3\n", "its first cell that is none is 'unknown'"),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_file_that_is_no_table_is_called_what_it_is(name, tmp_path):
    """Whether columns are named or not; the message has its path."""
    content, says = PUBLIC[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput, match=re.escape(says)) as refused:
        pp.PublicTable.open(tmp_path / name, ["a", "b"])
    assert str(tmp_path / name) in str(refused.value)
    if name not in ("last.csv", "word.csv"):  # of which a column of numbers is left
        with pytest.raises(InvalidInput, match=re.escape(says)):
            pp.PublicTable.open(tmp_path / name)


PRIVATE = {
    "t.ods": "t.ods cannot be read as a table; by its name it is a spreadsheet: save it as .xlsx, or its sheet",
    "t.tsv": "t.tsv cannot be read as a table; by its name it is text with tabs",
    "t.rds": "t.rds cannot be read as a table; by its name it is of statistics software",
    "t.sav": "t.sav is not an SPSS file, or it is damaged",
    "t.parquet": "t.parquet is not a Parquet table, or its footer is damaged",
}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_file_is_called_what_its_name_says(name, tmp_path):
    """Not what its bytes say, which are private: the message is the same for any."""
    told = set()
    for content in (ZIP, CSV.encode(), b"secret 4711\n"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match=re.escape(PRIVATE[name])) as refused:
            pp.PrivateTable.open(tmp_path / name, ["a"])
        told.add(str(refused.value))
    assert len(told) == 1


# --- folders


def test_a_public_folder_warns_of_files_that_are_not_read(tmp_path):
    """As a private one is said to; a folder of which all is read, and a single file, warn of nothing."""
    (tmp_path / "2025").mkdir()
    for name in ("a.csv", "2025/b.csv", "c.txt", "_d.csv", "2025/part-1"):
        (tmp_path / name).write_text(CSV)
    with pytest.warns(UserWarning, match=r"not read of .*: 2025/part-1, _d\.csv, c\.txt\. If they belong") as warned:
        table = pp.PublicTable.open(tmp_path, ["a"])
    assert len(warned) == 1
    assert table.rows.shape == (80, 1)
    for whole in (tmp_path / "a.csv", f"{tmp_path}/**/[ab].csv"):
        pp.PublicTable.open(whole, ["a"])


PROBLEMS = {
    "a column that is missing": ("a,b\n1,2\n", ["c"]),
    "words for groups": ("a,b\n1,2\n", ["a", "zz"]),
    "no header": (b"\xff\xfe\x00", ["a"]),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("glob", ["", "/ward=*/*.csv", "/**/*.csv"])
def test_values_of_private_partition_folders_are_never_shown(problem, glob, tmp_path):
    """They are cells of the table; the column's name may be shown."""
    content, columns = PROBLEMS[problem]
    for value in ("4711", "4712"):
        folder = tmp_path / f"ward={value}"
        folder.mkdir()
        (folder / "x.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "ward=4711" / "left.txt").write_text("x")
    with pytest.raises(InvalidInput) as refused:
        pp.PrivateTable.open(f"{tmp_path}{glob}", columns)
    assert "ward=*" in str(refused.value)
    assert "471" not in str(refused.value).replace(str(tmp_path), "")


# --- rows in memory


def test_a_public_relation_is_run_once():
    """A sample of a relation would have other rows each time that it is opened, which a run does several times."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("f", FRAME)
    sample = connection.sql("select * from f using sample 15 rows")
    first = pp.PublicTable.open(sample, ["a", "b"])
    again = [pp.PublicTable.open(sample, columns) for columns in (["a", "b"], None, ["b"])]
    assert [table.sha256 for table in again[:2]] == [first.sha256] * 2
    assert np.array_equal(again[2].rows[:, 0], first.rows[:, 1])
    curator = pp.Curator.simulation(FRAME.to_numpy(), "zcdp:5", seed=1, columns=["a", "b"])
    model = pp.estimate_mean(sample, curator, covariance="identity", force=True)
    assert model.provenance["public_sha256"] == first.sha256
    other = connection.sql("select * from f using sample 15 rows")
    assert pp.PublicTable.open(other, ["a", "b"]).rows.shape == (15, 2)


def test_a_reader_of_batches_is_read_once():
    """It is empty the second time."""
    table = pa.Table.from_pandas(FRAME)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert pp.PublicTable.open(reader).sha256 == pp.PublicTable.open(reader).sha256


def test_a_relation_with_a_result_that_was_not_read_is_called_so():
    """Public or private, in words of ours."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("f", FRAME)
    for opened, more in ((pp.PublicTable, {}), (pp.PrivateTable, {"name": "unread"})):
        relation = connection.sql("select * from f")
        unread = connection.execute("select * from f")
        unread.fetchone()
        with pytest.raises(InvalidInput, match=r"has a result that was not read to its end.*cursor\(\)"):
            opened.open(relation, ["a"], **more)
        unread.fetchall()


def test_a_column_of_128_bits_that_nobody_asks_for_is_no_problem_in_memory(tmp_path):
    """Arrow reads no file with one: the message says that it does not matter who asks."""
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(FRAME).with_columns(wide=polars.lit(1).cast(polars.Int128))
    assert pp.PublicTable.open(frame).columns == ("a", "b")
    assert pp.PrivateTable.open(frame, ["a"], name="wide").n_rows == 40
    frame.write_parquet(tmp_path / "t.parquet")
    for opened in (pp.PublicTable, pp.PrivateTable):
        with pytest.raises(InvalidInput, match=r"t\.parquet has a column .* even if that column is not asked for"):
            opened.open(tmp_path / "t.parquet", ["a"])
    with pytest.raises(InvalidInput, match=r"this is a LazyFrame: collect\(\) it first"):
        pp.PublicTable.open(frame.lazy())
