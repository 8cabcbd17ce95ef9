"""A private table is opened by its schema and row counts; whatever is wrong is one line without a cell's value."""

import os
import pickle
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

CANARY = 73921.46508
TEXT = "Krzyszkowiak"


def write(path, rows=3, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = {"a": np.full(rows, CANARY), "b": np.arange(rows)} | columns
    pq.write_table(pa.table(cells), path)
    return path


def refused(uri, columns=("a",), kind=InvalidInput, **options):
    """The message, after a check that it is one line and that neither it nor its trace holds a cell."""
    with pytest.raises(PubPrivError) as caught:
        PrivateTable.open(uri, columns, **options)
    error = caught.value
    told = "".join(traceback.format_exception(error)) + repr(vars(error))
    assert type(error) is kind
    assert "\n" not in str(error)
    assert str(error).strip()
    assert error.__cause__ is None
    assert error.__context__ is None
    for value in (str(CANARY), TEXT):
        assert value not in told
    return str(error)


def test_a_missing_file_is_named(tmp_path):
    """No table there."""
    assert str(tmp_path / "no.parquet") in refused(tmp_path / "no.parquet")
    assert "no private table" in refused(tmp_path / "no" / "*.parquet")


def _damaged(raw):
    return {
        "text": f"a,b\n{CANARY},{TEXT}\n".encode(),
        "nothing": b"",
        "half a file": raw[: len(raw) // 2],
        "footer of noise": raw[:-40] + bytes(range(32)) + raw[-8:],
        "footer beyond the file": raw[:-8] + b"\xff\xff\xff\x7f" + raw[-4:],
        "magic alone": b"PAR1" + str(CANARY).encode() + b"PAR1",
    }


@pytest.mark.parametrize("damage", _damaged(b""))
def test_what_is_not_parquet_is_refused(damage, tmp_path):
    """Text, an empty file, a cut one and damaged footers are bad input, not a storage to be tried again."""
    raw = write(tmp_path / "good.parquet").read_bytes()
    (tmp_path / "bad.parquet").write_bytes(_damaged(raw)[damage])
    assert "not a Parquet table" in refused(tmp_path / "bad.parquet")


def test_a_bad_file_among_good_ones_is_refused(tmp_path):
    """Each file of a folder is looked at."""
    write(tmp_path / "0.parquet")
    (tmp_path / "1.parquet").write_text(TEXT)
    assert "not a Parquet table" in refused(tmp_path)


def test_a_folder_without_tables_is_refused(tmp_path):
    """Empty, or with other files only, or a glob that matches nothing."""
    assert "no table under" in refused(tmp_path)
    (tmp_path / "a.txt").write_text(f"a\n{CANARY}\n")
    assert "no table under" in refused(tmp_path)
    assert "no table under" in refused(tmp_path / "*.parquet")


def test_a_table_without_rows_is_refused(tmp_path):
    """Zero rows in one file, or in all files of a folder; one file with rows is enough."""
    assert "no rows" in refused(write(tmp_path / "0.parquet", rows=0))
    write(tmp_path / "1.parquet", rows=0)
    assert "no rows" in refused(tmp_path)
    write(tmp_path / "2.parquet", rows=2)
    assert PrivateTable.open(tmp_path, ["a"]).n_rows == 2


def test_a_missing_column_is_named(tmp_path):
    """In the only file, in an expression, or in one file of several."""
    path = write(tmp_path / "0.parquet")
    assert "'c' is missing" in refused(path, ["a", "c"])
    assert "'c' is missing" in refused(path, ["log1p(c)"])
    assert "'A' is missing" in refused(path, ["A"])
    write(tmp_path / "1.parquet", c=[1, 2, 3])
    assert "'c' is missing" in refused(tmp_path, ["c"])


def test_a_duplicated_column_is_named(tmp_path):
    """Two columns of one name are told apart by nothing, so neither is taken."""
    table = pa.Table.from_arrays([pa.array([CANARY]), pa.array([2.0]), pa.array([1.0])], names=["a", "a", "b"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert "'a' appears more than once" in refused(tmp_path / "t.parquet")
    assert PrivateTable.open(tmp_path / "t.parquet", ["b"]).n_rows == 1
    pa.feather.write_feather(table, str(tmp_path / "t.feather"))
    (tmp_path / "t.csv").write_text("a,a,b\n1,2,1\n")
    for source, name in ((tmp_path / "t.feather", None), (tmp_path / "t.csv", None), (table, "twice")):
        with pytest.raises(InvalidInput, match="'a' appears more than once"):
            PrivateTable.open(source, ["a"], name=name)
        assert PrivateTable.open(source, ["b"], name=name).n_rows == 1


NOT_NUMBERS = {
    "string": pa.array([TEXT] * 3),
    "time of day": pa.array([1, 2, 3], pa.time32("s")),
    "binary": pa.array([TEXT.encode()] * 3),
    "list": pa.array([[1.0], [2.0], None]),
    "struct": pa.array([{"u": 1.0}] * 3),
    "categories": pa.array([TEXT, "x", TEXT]).dictionary_encode(),
    "null": pa.nulls(3),
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
def test_a_column_that_is_not_a_number_is_named(kind, tmp_path):
    """The declared column's type is told, no cell of it."""
    path = write(tmp_path / "t.parquet", v=NOT_NUMBERS[kind])
    assert "column 'v'" in refused(path, ["a", "v"])
    assert "not a number" in refused(path, ["log(v)"])
    assert PrivateTable.open(path, ["a"]).n_rows == 3


@pytest.mark.parametrize("columns", [["a", "a"], ["a", " a "], ["log(a)", "a", "log( a )"]])
def test_a_column_named_twice_is_refused(columns, tmp_path):
    """The same expression twice would be one number twice."""
    assert "named twice" in refused(write(tmp_path / "t.parquet"), columns)


@pytest.mark.parametrize("columns", [[], [""], ["a", " "], [None]])
def test_no_column_or_an_empty_name_is_refused(columns, tmp_path):
    """There is something to estimate, and it has a name."""
    assert "column" in refused(write(tmp_path / "t.parquet"), columns)


def test_other_columns_are_refused_only_where_none_were_chosen(tmp_path):
    """`exact` prints the line to use; otherwise further columns are nobody's business."""
    path = write(tmp_path / "t.parquet", name=[TEXT] * 3)
    assert "--columns a,b" in refused(path, ["a", "b"], exact=True)
    assert PrivateTable.open(path, ["b", "log1p(a)"]).column_names == ("b", "log1p(a)")


def test_hidden_files_and_folders_are_not_data(tmp_path):
    """What begins with a dot or an underscore is other programs' bookkeeping, at any depth."""
    write(tmp_path / "a.parquet", rows=2)
    for name in ("_SUCCESS.parquet", ".a.parquet.crc.parquet", "_temporary/0/p.parquet", ".cache/p.parquet"):
        write(tmp_path / name, rows=5)
    assert PrivateTable.open(tmp_path, ["a"]).n_rows == 2
    assert PrivateTable.open(tmp_path / "*.parquet", ["a"]).n_rows == 2
    assert PrivateTable.open(tmp_path / "**" / "*.parquet", ["a"]).n_rows == 2
    # a hidden folder that was named is not hidden
    assert PrivateTable.open(tmp_path / ".cache", ["a"]).n_rows == 5


def test_globs_name_files_or_folders(tmp_path):
    """`*` stays in one folder, `**` does not, and a folder that matches brings the Parquet files in it."""
    for number, name in enumerate(["a.parquet", "b.pq", "y=1/c.parquet", "y=2/m=1/d.parquet", "y=2/e.txt"]):
        write(tmp_path / name, rows=10**number)

    def rows(pattern):
        return PrivateTable.open(f"{tmp_path}/{pattern}", ["a"]).n_rows

    assert rows("*.parquet") == 1
    assert rows("?.p*") == 11
    assert rows("[b-z].*") == 10
    assert rows("y=*/*.parquet") == 100
    assert rows("y=*") == 1100
    assert rows("**/*.parquet") == 1101
    assert rows("y=*/**/*.parquet") == 1100
    assert rows("y=2/*.txt") == 10_000


def test_a_path_may_hold_the_characters_of_a_glob(tmp_path):
    """Such a character is written in brackets; without them the name is a glob, and refused where it could be both."""
    write(tmp_path / "data[1]" / "what?.parquet", rows=4)
    write(tmp_path / "data1" / "whatx.parquet", rows=7)
    assert "data[[]1]" in refused(tmp_path / "data[1]")
    assert "data[[]1]/what[?].parquet" in refused(tmp_path / "data[1]" / "what?.parquet")
    folder = PrivateTable.open(tmp_path / "data[[]1]", ["a"])
    file = PrivateTable.open(tmp_path / "data[[]1]" / "what[?].parquet", ["a"])
    assert (folder.n_rows, file.n_rows) == (4, 4)
    for table in (folder, file):
        assert PrivateTable.open(table.uri, ["a"]) == table
        assert sum(len(block.T) for block in table.chunks()[0].blocks()) >= 4
    (tmp_path / "link").symlink_to(tmp_path / "data[1]")
    assert PrivateTable.open(tmp_path / "link", ["a"]) == folder


def test_one_table_has_one_name(tmp_path, monkeypatch):
    """Relative paths, links, trailing slashes and file URIs are the same table to the ledger."""
    path = write(tmp_path / "data" / "t.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    spellings = [path, "data/t.parquet", "./data/../data/t.parquet", "link/t.parquet", path.as_uri()]
    assert {PrivateTable.open(s, ["a"]).uri for s in spellings} == {str(path.resolve())}
    assert PrivateTable.open("data/", ["a"]) == PrivateTable.open("link", ["a"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_unavailable(tmp_path):
    """Permissions can be mended and the same command tried again."""
    path = write(tmp_path / "t.parquet")
    path.chmod(0)
    assert "may not be read" in refused(path, kind=Unavailable)


def test_a_changed_row_count_is_refused(tmp_path):
    """n is public and fixed when the table is opened."""
    path = write(tmp_path / "0.parquet")
    table = PrivateTable.open(tmp_path, ["a"])
    assert len(table.chunks()) == 1
    write(tmp_path / "1.parquet", rows=1)
    with pytest.raises(InvalidInput, match="changed its number of rows"):
        table.chunks()
    path.unlink()
    with pytest.raises(InvalidInput, match="changed its number of rows"):
        table.chunks()


@pytest.mark.parametrize("column", [{"b": [1.0, 2.0, 3.0]}, {"a": ["1", "2", "x"]}])
def test_a_column_that_is_gone_or_no_number_any_more_is_refused(column, tmp_path):
    """Before a look, and so before its charge: it would be paid for, and fail."""
    path = write(tmp_path / "t.parquet")
    table = PrivateTable.open(path, ["a"])
    pq.write_table(pa.table(column), path)
    with pytest.raises(InvalidInput, match="column 'a'"):
        table.chunks()


def test_a_file_that_is_replaced_after_it_was_listed_is_not_read(tmp_path):
    """Its rows lie elsewhere, and a scan that goes on could count one of them twice."""
    path = write(tmp_path / "t.parquet")
    (chunk,) = PrivateTable.open(path, ["a"]).chunks()
    write(path, rows=2)
    with pytest.raises(InvalidInput, match="was replaced"):
        list(chunk.blocks())


def test_the_handle_is_opaque_and_travels(tmp_path):
    """It pickles, compares, and shows where and how many, and nothing of what."""
    table = PrivateTable.open(write(tmp_path / "t.parquet"), ["a", "log1p(b)"])
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    assert [c.piece.number for c in copy.chunks()] == [0]
    for text in (repr(table), str(table), repr(table.chunks()), repr(vars(table))):
        assert str(CANARY) not in text
    assert np.float64(CANARY).tobytes() not in pickle.dumps(table)
    for door in ("__iter__", "__len__", "__getitem__", "__array__", "to_pandas", "to_arrow", "rows"):
        assert not hasattr(table, door)


def test_statistics_and_metadata_are_not_looked_at(tmp_path):
    """The handle of a file is the same whatever its statistics and its key-value metadata say."""
    path = tmp_path / "t.parquet"
    cells = pa.table({"a": [CANARY, 2.0]})
    pq.write_table(cells.replace_schema_metadata({"owner": TEXT}), path)
    first = PrivateTable.open(path, ["a"])
    pq.write_table(pa.table({"a": [0.0, 1.0]}), path, write_statistics=False, store_schema=False)
    assert PrivateTable.open(path, ["a"]) == first
    assert TEXT not in repr(first)
