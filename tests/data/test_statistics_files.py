"""Files of SPSS, Stata and SAS: the same rows as from Parquet, what is missing is, and no failure on a value."""

import fsspec
import numpy as np
import pandas as pd
import pyreadstat
import pytest

import pubpriv as pp
from pubpriv.data.formats import _statistics
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput

COLUMNS = ["hours", "log1p(wage)", "kids", "visited", "seen"]
WRITERS = {
    "sav": pyreadstat.write_sav,
    "zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True),
    "dta": pyreadstat.write_dta,
    "xpt": lambda frame, path: pyreadstat.write_xport(frame, path, file_format_version=8),
}
SITES = pp.ByCategory("site", ("north", "süd"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One table of 2,000 rows in each format, and its first 50 rows as public ones."""
    random, n, folder = np.random.default_rng(1), 2_000, tmp_path_factory.mktemp("statistics")
    frame = pd.DataFrame(
        {
            "hours": np.where(random.random(n) < 0.05, np.nan, random.normal(38, 6, n)),
            "wage": np.exp(random.normal(3, 0.4, n)),
            "kids": random.poisson(1.3, n).astype("int32"),
            "site": random.choice(["north", "süd", "", "elsewhere"], n),
            "visited": (pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 30_000, n), "D")).date,
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**8, n), "s"),
        }
    )
    frame["seen"] = frame["seen"].mask(random.random(n) < 0.1)
    for name, rows in (("t", frame), ("p", frame.head(50))):
        rows.to_parquet(folder / f"{name}.parquet")
        for end, write in WRITERS.items():
            write(rows, str(folder / f"{name}.{end}"))
    return folder


def blocks_of(table):
    """All blocks of a table, one after another."""
    return np.concatenate([block.copy() for chunk in table.chunks() for block in chunk.blocks()], axis=1)


@pytest.mark.parametrize("end", WRITERS)
def test_a_private_table_is_the_same_in_all_formats(folder, end):
    """Cells, groups, the number of rows, and persons by a text or an integer."""
    opened = [PrivateTable.open(folder / f"t.{each}", COLUMNS, by=SITES) for each in ("parquet", end)]
    assert [table.n_rows for table in opened] == [2_000, 2_000]
    assert np.array_equal(*map(blocks_of, opened), equal_nan=True)
    ids = ("site", "kids") if end == "dta" else ("site",)
    first, second = (PrivateTable.open(folder / f"t.{each}", ["hours"], person=ids) for each in ("parquet", end))
    of_parquet, of_file = (np.concatenate([*table.chunks()[0].keys()]) for table in (first, second))
    known = of_file != 0  # an empty text is nobody in such a file
    assert known.sum() == 2_000 - (pd.read_parquet(folder / "t.parquet")["site"] == "").sum()
    assert np.array_equal(of_parquet[known], of_file[known])


@pytest.mark.parametrize("end", WRITERS)
def test_public_rows_are_the_same_in_all_formats(folder, end):
    expected, found = (PublicTable.open(folder / f"p.{each}", COLUMNS).rows for each in ("parquet", end))
    assert np.array_equal(expected, found)


def test_rows_of_all_pieces_are_read_once(folder, monkeypatch):
    """In pieces of 300 rows, of which the last one is shorter, as in one piece."""
    whole = blocks_of(PrivateTable.open(folder / "t.dta", ["hours", "wage"]))[:, :2_000]
    monkeypatch.setattr(_statistics, "_ROWS", 300)
    table = PrivateTable.open(folder / "t.dta", ["hours", "wage"])
    chunks = table.chunks()
    assert [chunk.n_records for chunk in chunks] == [300] * 6 + [200]
    pieces = [np.concatenate([*map(np.copy, chunk.blocks())], axis=1)[:, : chunk.n_records] for chunk in chunks]
    assert np.array_equal(np.concatenate(pieces, axis=1), whole, equal_nan=True)


def test_what_a_file_declares_to_be_missing_is_missing(tmp_path):
    """A code and a range of SPSS, and extended missing values of Stata."""
    frame = pd.DataFrame({"age": [31.0, 99.0, 52.0, -3.0]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", missing_ranges={"age": [99.0, {"lo": -9.0, "hi": -1.0}]})
    extended = pd.DataFrame({"age": [31.0, "a", 52.0, "z"]})
    pyreadstat.write_dta(extended, tmp_path / "t.dta", missing_user_values={"age": ["a", "z"]})
    for name in ("t.sav", "t.dta"):
        cells = blocks_of(PrivateTable.open(tmp_path / name, ["age"]))[0, :4]
        assert np.array_equal(cells, [31, np.nan, 52, np.nan], equal_nan=True)


def test_no_cell_makes_a_reader_fail(tmp_path):
    """A text that is not in the file's encoding, times that no calendar holds, and infinite numbers."""
    pyreadstat.write_sav(pd.DataFrame({"id": ["abc", "xyz"], "x": [1.0, 2.0]}), tmp_path / "t.sav")
    content = (tmp_path / "t.sav").read_bytes()
    assert content.count(b"xyz") == 1
    (tmp_path / "t.sav").write_bytes(content.replace(b"xyz", b"x\xff\xfe"))
    table = PrivateTable.open(tmp_path / "t.sav", ["x"], person="id")
    keys = np.concatenate([*table.chunks()[0].keys()])
    assert len(set(keys.tolist())) == 2
    far = pd.DataFrame({"day": [1e300, -1e300, 1.5, np.nan]})
    for end, form in (("sav", "DATETIME20"), ("sav", "DATE11"), ("dta", "%td"), ("dta", "%tc"), ("xpt", "DATETIME")):
        path, form_of = tmp_path / f"far.{end}", {"day": form}
        rows = far * 1e-240 if end == "xpt" else far  # the largest number of a transport file is 7e75
        if end == "sav":
            pyreadstat.write_sav(rows, path, variable_format=form_of)
        elif end == "dta":
            pyreadstat.write_dta(rows, path, variable_format=form_of)
        else:
            pyreadstat.write_xport(rows, path, variable_format=form_of)
        days = blocks_of(PrivateTable.open(path, ["day"]))[0, :4]
        assert days[0] > 1e6
        assert days[1] < -1e6
        assert np.isnan(days[3])


@pytest.mark.parametrize("end", WRITERS)
def test_a_number_among_ids_is_the_nearest_whole_one(tmp_path, end):
    """Such files have no integers of 64 bits; what is near one is that person, and no cell fails, however odd."""
    odd = [5.0, 5.3, -0.0, 1e300 if end != "xpt" else 1e70, -1e18, np.nan, 4.999999999]
    frame = pd.DataFrame({"id": odd, "x": np.ones(len(odd))})
    WRITERS[end](frame, str(tmp_path / f"t.{end}"))
    whole = pd.DataFrame({"id": pd.array([5, 5, 0, 2**63 - 1024, -(10**18), None, 5], "Int64"), "x": 1.0})
    whole.to_parquet(tmp_path / "t.parquet")
    tables = [PrivateTable.open(tmp_path / f"t.{each}", ["x"], person="id") for each in ("parquet", end)]
    of_parquet, of_file = (np.concatenate([*table.chunks()[0].keys()]) for table in tables)
    assert np.array_equal(of_parquet, of_file)


def test_floats_among_ids_are_refused_where_there_are_integers(tmp_path):
    pd.DataFrame({"id": [5.0], "x": [1.0]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match="is double: the person of a row is read from integers"):
        PrivateTable.open(tmp_path / "t.parquet", ["x"], person="id")


def test_other_files_are_refused_with_what_to_do(folder, tmp_path):
    """A damaged one, one in a store, and several kinds in a folder; nothing of the library's text is repeated."""
    (tmp_path / "t.sav").write_bytes(b"$FL2 but no more")
    with pytest.raises(InvalidInput, match=r"is not an SPSS file, or it is damaged$") as refused:
        PrivateTable.open(tmp_path / "t.sav", ["a"])
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    with pytest.raises(InvalidInput, match="cannot be read as SPSS"):
        PublicTable.open(tmp_path / "t.sav", ["a"])
    with fsspec.open("memory://t.dta", "wb") as file:
        file.write((folder / "t.dta").read_bytes())
    with pytest.raises(InvalidInput, match="a local file: copy it, or write it as Parquet"):
        PrivateTable.open("memory://t.dta", ["hours"])
    with pytest.raises(InvalidInput, match="Parquet and SAS and SPSS and Stata files under"):
        PrivateTable.open(folder, ["hours"])
    with pytest.raises(InvalidInput, match="'hourz' is missing"):
        PrivateTable.open(folder / "t.dta", ["hourz"])
