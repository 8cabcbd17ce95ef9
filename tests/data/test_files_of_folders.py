"""Which files of a folder are read, what is said of the others, and files that do not fit together."""

import bz2
import gzip
import warnings

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from helpers.read_cells import cells, keys_of

import pubpriv as pp
from pubpriv.data.contents import Contents
from pubpriv.errors import FilesNotRead, InvalidInput

ROWS = pd.DataFrame({"a": np.random.default_rng(1).normal(50, 10, 300), "b": np.arange(300.0)})
NEW, OLD = ROWS[:100], ROWS[100:]


def text(frame):
    return frame.to_csv(index=False).encode()


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


PACKED = {"2025.csv.gz": gzip.compress, "2025.CSV.GZ": gzip.compress, "2025.csv.zst": zstd, "2025.csv": bytes}


@pytest.mark.parametrize("name", PACKED)
def test_compressed_files_have_the_rows_of_those_that_are_not(name, tmp_path):
    """Private and public, of rows and of persons: the bits of the text that was compressed."""
    (tmp_path / name).write_bytes(PACKED[name](text(OLD)))
    (tmp_path / "2026.csv").write_bytes(text(NEW))
    in_order = pd.concat([OLD, NEW]).to_numpy()
    assert np.array_equal(cells(pp.PrivateTable.open(tmp_path, ["a", "b"])), in_order)
    assert np.array_equal(pp.PublicTable.open(tmp_path, ["a", "b"]).rows, in_order)
    assert pp.PrivateTable.open(tmp_path / name, ["a"]).n_rows == len(OLD)
    keys = keys_of(pp.PrivateTable.open(tmp_path, ["a"], person="b"))
    assert np.array_equal(keys[: len(OLD)], keys_of(pp.PrivateTable.open(tmp_path / name, ["a"], person="b")))
    assert len({*keys.tolist()}) == 300


def test_a_compressed_file_is_read_through_and_not_only_its_first_part(tmp_path):
    """Several members, as tools append them, and lines beyond what the header is looked for in."""
    many = pd.DataFrame({"a": np.arange(150_000.0), "words": ["x" * 20] * 150_000})
    data = text(many)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data[: 1 << 20]) + gzip.compress(data[1 << 20 :], 1))
    (tmp_path / "t.csv.zst").write_bytes(zstd(data[:3_000_000]) + zstd(data[3_000_000:]))
    for name in ("t.csv.gz", "t.csv.zst"):
        table = pp.PrivateTable.open(tmp_path / name, ["a"])
        assert table.n_rows == 150_000
        assert np.array_equal(cells(table)[:, 0], many["a"])
        assert np.array_equal(cells(table)[:, 0], many["a"])  # read again


def test_a_replaced_record_of_a_compressed_file_moves_no_other(tmp_path):
    """Its lines have other lengths, and the bytes of the file are others."""
    path, lines = tmp_path / "t.csv.gz", text(ROWS).decode().splitlines()
    before = None
    for record in ("7.5,1.0", ",", '"', "x" * 5_000_000, "1,2,3"):
        lines[150] = record
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
        others = np.delete(cells(pp.PrivateTable.open(path, ["a", "b"])), 149, axis=0)
        assert before is None or np.array_equal(before, others)
        before = others


@pytest.mark.parametrize("how", ["half", "not compressed", "damaged"])
def test_a_file_that_is_not_compressed_as_its_name_says_is_refused(how, tmp_path):
    """Before anything is spent, in one line."""
    packed = gzip.compress(text(ROWS))
    data = {"half": packed[: len(packed) // 2], "not compressed": text(ROWS), "damaged": b"\0" * 40 + packed[40:]}
    (tmp_path / "t.csv.gz").write_bytes(data[how])
    with pytest.raises(InvalidInput, match="damaged, or not compressed as its name says") as caught:
        pp.PrivateTable.open(tmp_path / "t.csv.gz", ["a"])
    assert caught.value.__context__ is None
    with pytest.raises(InvalidInput, match=r"t\.csv\.gz cannot be read"):
        pp.PublicTable.open(tmp_path / "t.csv.gz", ["a"])


def test_a_compressed_copy_beside_its_original_is_refused(tmp_path):
    """Every row would count twice."""
    (tmp_path / "t.csv").write_bytes(text(NEW))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text(NEW)))
    for opening in (pp.PrivateTable.open, pp.PublicTable.open):
        with pytest.raises(InvalidInput, match=r"differ only in \.gz or \.zst"):
            opening(tmp_path, ["a"])
        opening(f"{tmp_path}/*.csv", ["a"])


LEFT = {
    "2025.txt": b"",
    "_2025.csv": b"",
    ".2024.csv.gz": b"",
    "2023.csv.bz2": bz2.compress(b"a\n"),
    "part-1": b"",
    "sub/part-2": b"",
    "_old/2020.csv": b"",
    "sub/.hidden/2021.csv": b"",
    "_SUCCESS": b"",
    ".2026.csv.crc": b"",
    "sub/_metadata": b"",
}
"""Files beside the ones that are read; of the last three it is known that they are no tables."""


@pytest.mark.parametrize("place", ["disk", "store"])
def test_what_is_not_read_is_named_where_the_unit_is_a_row(place, tmp_path):
    """By path below the folder; of a glob only what it could mean."""
    store = fsspec.filesystem("memory" if place == "store" else "file")
    where = f"memory://left-out{tmp_path}" if place == "store" else f"{tmp_path}/t"
    for name, data in {**LEFT, "2026.csv": text(NEW), "sub/2027.csv": text(OLD)}.items():
        store.makedirs(f"{where}/{name}".rpartition("/")[0], exist_ok=True)
        store.pipe_file(f"{where}/{name}", data)
    try:
        contents = Contents.of(pp.PrivateTable.open(where, ["a"]))
        assert contents.read == f"the table {where} has 2 files and 300 rows"
        assert ".2024.csv.gz, 2023.csv.bz2, 2025.txt, _2025.csv, _old/ and 3 more" in contents.left_out
        few = Contents.of(pp.PrivateTable.open(f"{where}/sub", ["a"]))
        assert "names: .hidden/, part-2. If they belong" in few.left_out
        glob = Contents.of(pp.PrivateTable.open(f"{where}/s*", ["a"]))
        assert "names: sub/.hidden/, sub/part-2. If they" in glob.left_out
        with pytest.raises(InvalidInput, match=r"have names that end with none of \.parquet"):
            pp.PrivateTable.open(f"{where}/20*", ["a"])
        for name in ("*.csv", "2026.csv", "**/*.csv"):
            assert "2025.txt" not in str(Contents.of(pp.PrivateTable.open(f"{where}/{name}", ["a"])))
        assert Contents.of(pp.PrivateTable.open(f"{where}/2026.csv", ["a"])) == Contents()
    finally:
        store.rm(where, recursive=True)


def test_of_persons_the_same_is_said_whatever_there_is(tmp_path):
    """How many files and rows there are, and what else, is private."""
    said = set()
    for extra in ({}, LEFT, {"2027.csv": text(OLD)}):
        for name, data in {"2026.csv": text(NEW), **extra}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / name).write_bytes(data)
        said.add(Contents.of(pp.PrivateTable.open(tmp_path, ["a"], person="b")))
    (contents,) = said
    assert contents.left_out is None
    assert ".parquet, .pq, .csv, .csv.gz, .csv.zst, .feather, .arrow, .ipc" in contents.read
    assert not any(name in contents.read for name in LEFT)


DIFFERENT = {
    "a column is missing": ROWS[["a"]],
    "a column has another name": ROWS.rename(columns={"b": "B"}),
    "words": ROWS.assign(b="many"),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("how", DIFFERENT)
def test_files_that_differ_are_named(how, kind, tmp_path):
    """The one that lacks a column, or has words in it, of three; nothing is left out silently, whatever is asked."""
    for number, frame in enumerate((NEW, OLD, DIFFERENT[how])):
        write = frame.to_csv if kind == "csv" else frame.to_parquet
        write(tmp_path / f"{number}.{kind}", index=False)
    for columns in (["a", "b"], None):
        with pytest.raises(InvalidInput, match=r"'b' is .*2\.(csv|parquet), and .*other files of the public table"):
            pp.PublicTable.open(tmp_path, columns)
    assert len(pp.PublicTable.open(tmp_path, ["a"]).rows) == 600
    if how == "words" and kind == "csv":
        assert np.isnan(cells(pp.PrivateTable.open(tmp_path, ["b"]))[300:]).all()  # cells of private text are missing
        return
    with pytest.raises(InvalidInput, match=rf"'b' (is missing from|of) the private table .*2\.{kind}"):
        pp.PrivateTable.open(tmp_path, ["b"])
    with pytest.raises(InvalidInput, match=rf"the private table {tmp_path} \(one of its files\)"):
        pp.PrivateTable.open(tmp_path, ["b"], person="a")


def test_columns_that_are_empty_in_a_file_are_numbers_where_others_have_some(tmp_path):
    """A column of nulls has no type; one of texts stays text where the other file has no cell in it."""
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "n": pa.nulls(2), "t": ["x", "y"]}), tmp_path / "1.parquet")
    pa.parquet.write_table(pa.table({"a": [3, 4], "n": [1, None], "t": pa.nulls(2)}), tmp_path / "2.parquet")
    assert pp.PublicTable.open(tmp_path, ["a"]).rows.ravel().tolist() == [1, 2, 3, 4]
    table = pp.PublicTable.open(tmp_path)
    assert (table.columns, table.rows.tolist(), table.dropped) == (("a", "n"), [[3, 1]], 3)


def test_names_of_folders_make_no_column(tmp_path):
    """As Hive writes a column; it is said where it went."""
    (tmp_path / "year=2024").mkdir()
    ROWS.to_parquet(tmp_path / "year=2024/0.parquet", index=False)
    with pytest.raises(InvalidInput, match="names of folders make no column, so write it into the files"):
        pp.PrivateTable.open(tmp_path, ["a", "year"])


@pytest.mark.parametrize("what", ["words", "missing", "damaged", "left out", "twice"])
def test_values_of_partitions_are_in_no_message(what, tmp_path):
    """A folder `ward=3` says of its rows what a cell would; a glob that names it stands for it."""
    folder = tmp_path / "stay=1234567" / "ward=canary"
    folder.mkdir(parents=True)
    file = folder / "0.parquet"
    ROWS.to_parquet(file, index=False)
    if what == "words":
        DIFFERENT["words"].to_parquet(file, index=False)
    if what == "missing":
        ROWS[["a"]].to_parquet(file, index=False)
    if what == "damaged":
        file.write_bytes(b"PAR1")
    if what == "twice":
        (folder / "1.parquet").hardlink_to(file)
    if what == "left out":
        (folder / "notes.ods").write_bytes(b"PK")
        message = Contents.of(pp.PrivateTable.open(tmp_path, ["b"])).left_out
    else:
        with pytest.raises(InvalidInput) as caught:
            pp.PrivateTable.open(tmp_path, ["b"])
        message = str(caught.value)
    assert "stay=*/ward=*/" in message
    assert "canary" not in message
    assert "1234567" not in message


FOREIGN = {
    "t.xls": (b"\xd0\xcf\x11\xe0", "a spreadsheet: save it as .xlsx, or its sheet as CSV"),
    "t.tsv": (b"a\tb\n1\t2\n", "tabs between its cells: write commas"),
    "t.txt": (b"a,b\n1,2\n", r"text: if commas separate its cells, let its name end with \.csv"),
    "t.csv.bz2": (b"BZh9", "compressed: of such files"),
    "t.rds": (b"\0" * 64, "statistics software: export it as CSV"),
    "t.sas7bdat": (b"\0" * 64, "is not a SAS file, a data set or a transport file by its name, or it is damaged"),
    "t.duckdb": (b"\0" * 64, "a database: name a table in it, duckdb:"),
    "semicolons.csv": (b"a;b\n1,5;2\n", "separated by ';': commas separate the cells"),
    "comments.csv": (b"# exported 2026\na,b\n1,2\n", "begins with #: take comments away"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_of_a_private_file_of_another_kind_it_is_said_what_it_is(name, tmp_path):
    """By its name, or by its header, which is public."""
    content, message = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=message) as caught:
        pp.PrivateTable.open(tmp_path / name, ["a"])
    assert name in str(caught.value)


OF_PERSONS = "files are read whose names end with .*check yourself that none is missing"


def opened_in(folder, place, person=(), budget="zcdp:0.1"):
    """What a new run of a folder warns of; the same run again; and what stays held if warnings are errors."""
    with pp.Ledger.open(f"sqlite:///{place}/{len(person)}.db") as ledger:
        table = pp.PrivateTable.open(folder, ["a"], person=person)
        ledger.register("visits", "zcdp:1", table=table, person=person, no_line_breaks=True)
        with pytest.raises(FilesNotRead):
            pp.Curator(table, ledger, "visits", budget)
        held = ledger.balance("visits").held.main
        told = []
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                curator = pp.Curator(table, ledger, "visits", budget, "r")
                curator.begin("mean", {}, "00")
            told.append([str(each.message) for each in caught if issubclass(each.category, FilesNotRead)])
        return *told, held


def test_a_new_run_in_python_warns_of_what_is_not_read(tmp_path):
    """Once, before anything is held; where the unit is a person of nothing but what is read."""
    folder = tmp_path / "visits"
    folder.mkdir()
    NEW.to_csv(folder / "2026.csv", index=False)
    OLD.to_csv(folder / "2025.txt", index=False)
    (told,), again, held = opened_in(folder, tmp_path)
    assert f"not read of {folder}, because of their names: 2025.txt. If" in told
    assert (again, held) == ([], 0)
    of_persons = opened_in(folder, tmp_path, person="b")
    (folder / "2025.txt").unlink()
    with pp.Ledger.open(f"sqlite:///{tmp_path}/1.db") as ledger, pytest.warns(FilesNotRead, match=OF_PERSONS) as caught:
        pp.Curator(pp.PrivateTable.open(folder, ["a"], person="b"), ledger, "visits", "zcdp:0.1", "s")
    assert of_persons == ([str(each.message) for each in caught], [], 0)
