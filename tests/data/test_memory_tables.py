"""A private table in memory has the name that its owner gives it; its rows stay, and no message quotes them."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import pubpriv as pp
from pubpriv.data.categories import ByCategory
from pubpriv.errors import InvalidInput, SpecMismatch

CANARY = 73921.46508
FRAME = pd.DataFrame({"a": np.random.default_rng(1).normal(size=600), "b": [CANARY] * 600, "who": ["x", "y"] * 300})
PUBLIC = np.random.default_rng(2).normal(size=(12, 1))


def cells(table):
    return np.concatenate([block[0].copy() for chunk in table.chunks() for block in chunk.blocks()])[: table.n_rows]


def frames():
    """The same rows as other libraries hold them."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    return {
        "polars": polars.from_pandas(FRAME),
        "polars, in pieces": polars.concat(
            [polars.from_pandas(FRAME[:7]), polars.from_pandas(FRAME[7:])], rechunk=False
        ),
        "duckdb": duckdb.from_df(FRAME),
        "a dataset": pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME)),
    }


@pytest.mark.filterwarnings("ignore:column 'who' .* has the type object:UserWarning")
def test_no_category_of_one_row_keeps_a_table_from_being_opened():
    """A number among texts was one: whoever opened tables learned for nothing whether a row had one."""
    by = ByCategory("who", ("y", "5"))
    for odd in ("z", 5, 2**70, None, b"z", 0.5, True):
        who = pd.Series(["x", "y", odd], dtype="category")
        table = pp.PrivateTable.open(FRAME[:3].assign(who=who), ["a"], by=by, name="p")
        codes = next(table.chunks()[0].blocks())[1, :3]
        assert np.array_equal(codes, [np.nan, 0, 1 if odd == 5 else np.nan], equal_nan=True)
        keys = []
        for kind in ("category", object):
            table = pp.PrivateTable.open(FRAME[:3].assign(who=who.astype(kind)), ["a"], person="who", name="p")
            keys.append(next(table.chunks()[0].keys()).tolist())
        assert keys[0] == keys[1]


@pytest.mark.parametrize("library", ["polars", "polars, in pieces", "duckdb", "a dataset"])
def test_frames_of_other_libraries_hold_the_same_rows(library):
    """Private and public, in the row and in the person unit: what pandas gives."""
    frame = frames()[library]
    assert np.array_equal(cells(pp.PrivateTable.open(frame, ["a"], name="p")), FRAME["a"])
    keys = [
        np.concatenate(
            [
                key
                for chunk in pp.PrivateTable.open(source, ["a"], person="who", name="p").chunks()
                for key in [*chunk.keys()]
            ]
        )
        for source in (frame, FRAME)
    ]
    assert np.array_equal(*keys)
    assert len({*keys[0]}) == 2
    by = ByCategory("who", ("y", "x"))
    codes = [pp.PrivateTable.open(source, ["a"], by=by, name="p").chunks()[0].blocks() for source in (frame, FRAME)]
    assert all(next(blocks)[1, :3].tolist() == [1, 0, 1] for blocks in codes)
    assert pp.PublicTable.open(frames()[library]).sha256 == pp.PublicTable.open(FRAME.copy()).sha256


def test_a_release_is_made_of_a_frame(tmp_path):
    """The ledger knows its name; another dataset may not take it, and another name is another table."""
    private = pp.PrivateTable.open(FRAME, ["a"], name="patients")
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("people", budget="zcdp:1", table=private)
        ledger.register("others", budget="zcdp:1")
        with pp.Curator(private, ledger, "people", budget="zcdp:0.5") as curator:
            found = pp.estimate_mean(PUBLIC, curator, covariance="identity")
        assert abs(found.mean[0] - FRAME["a"].mean()) < 0.3
        with pytest.raises(SpecMismatch, match="frame://patients belongs to dataset 'people'"):
            pp.Curator(private, ledger, "others", budget="zcdp:0.5")
        with pytest.raises(InvalidInput, match="is in the memory of this process and is read here"):
            pp.Curator(private, ledger, "people", budget="zcdp:0.1", executor=ThreadPoolExecutor(1))
        assert ledger.balance("people").state.held.main == 0
        # another frame under the name is the table replaced
        pp.PrivateTable.open(FRAME.head(5), ["a"], name="patients")
        with pytest.raises(InvalidInput, match="changed its number of rows"):
            private.chunks()


def test_handles_on_other_columns_of_a_table_do_not_disturb_each_other():
    """A second one leaves the first one its column, of the same object or of the table read again."""
    first = pp.PrivateTable.open(FRAME, ["a"], name="both")
    for frame in (FRAME, FRAME.copy(), pa.table(FRAME)):
        second = pp.PrivateTable.open(frame, ["b"], name="both")
        assert np.array_equal(cells(first), FRAME["a"])
        assert np.array_equal(cells(second), FRAME["b"])


def test_a_handle_travels_without_its_rows():
    """Elsewhere it opens nothing, and says where the table is."""
    private = pp.PrivateTable.open(FRAME, ["b"], name="traveller")
    pickled = pickle.dumps(private)
    assert len(pickled) < 1000
    code = f"import pickle; pickle.loads({pickled!r}).chunks()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "frame://traveller is in the memory of the Python program that opened it" in done.stderr


REFUSED = {
    "no name": (FRAME, {}, "needs a name"),
    "a name that is a path": (FRAME, {"name": "a/b"}, "needs a name"),
    "an array": (np.ones((3, 1)), {"name": "p"}, "a private table is the path"),
    "nothing": (None, {"name": "p"}, "a private table is the path"),
    "text": (FRAME.assign(a=str(CANARY)), {"name": "p"}, "'a' of the private table frame://p is string, not a number"),
    "categories": (FRAME.assign(a=FRAME["who"].astype("category")), {"name": "p"}, "--by a makes groups of them"),
    "a misspelt column": (FRAME.rename(columns={"a": "aa"}), {"name": "p"}, "did you mean 'aa'"),
    "other columns": (pa.table(FRAME), {"name": "p", "exact": True}, "--columns a"),
    "no rows": (FRAME.head(0), {"name": "p"}, "has no rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused_in_our_words(case):
    """What is wrong and what to do; no cell."""
    source, options, told = REFUSED[case]
    with pytest.raises(InvalidInput, match=told) as caught:
        pp.PrivateTable.open(source, ["a"], **options)
    assert str(CANARY) not in str(caught.value)
    assert caught.value.__cause__ is None


def test_names_do_not_cross(tmp_path):
    """A file has its own name, and the name of a private table is nobody's public rows."""
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InvalidInput, match="leave out name="):
        pp.PrivateTable.open(tmp_path / "t.csv", ["a"], name="patients")
    with pytest.raises(InvalidInput, match="the name of a private table"):
        pp.PublicTable.open("frame://patients")
    ours = FRAME.copy()
    pp.PrivateTable.open(ours, ["a"], name="patients")
    with pytest.raises(InvalidInput, match="was opened as a private one"):
        pp.PublicTable.open(ours)


def test_a_column_that_nobody_asked_for_may_have_any_type():
    """Whole numbers of 128 bits, which Arrow does not have; asked for, they are refused in our words."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": polars.Series([2**64, 1], dtype=polars.Int128), "a": [1.0, 2.0]})
    assert cells(pp.PrivateTable.open(frame, ["a"], name="wide")).tolist() == [1, 2]
    assert pp.PublicTable.open(frame.clone(), ["a"]).rows.tolist() == [[1], [2]]
    assert pp.PublicTable.open(frame.clone()).columns == ("a",)
    with pytest.raises(InvalidInput, match="has columns that Arrow has no types for"):
        pp.PrivateTable.open(frame, ["id"], name="wide")
    with pytest.raises(InvalidInput, match="'id' of the public table is Int128, not a number"):
        pp.PublicTable.open(frame.clone(), ["id"])


def test_a_file_with_a_type_that_arrow_does_not_know_says_so(tmp_path):
    """The file is not damaged."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": polars.Series([2**64, 1], dtype=polars.Int128), "a": [1.0, 2.0]})
    frame.write_parquet(tmp_path / "wide.parquet")
    frame.write_ipc(tmp_path / "wide.feather")
    for name in ("wide.parquet", "wide.feather"):
        for opening in (pp.PrivateTable.open, pp.PublicTable.open):
            with pytest.raises(InvalidInput, match=f"{name} has a column of a type that Arrow does not know"):
                opening(tmp_path / name, ["a"])


def test_a_relation_whose_connection_has_an_unread_result_says_so():
    """It is not the types of its columns that are wrong."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("create table visits as select 1.0::double a from range(9)")
    connection.execute("from visits").fetchone()
    for opening in (lambda rows: pp.PrivateTable.open(rows, ["a"], name="unread"), pp.PublicTable.open):
        with pytest.raises(InvalidInput, match="cursor\\(\\)"):
            opening(connection.sql("from visits"))
        assert len(pp.PublicTable.open(connection.cursor().sql("from visits")).rows) == 9


@pytest.mark.long
def test_a_run_reads_public_rows_once():
    """A relation that draws its rows gives others each time."""
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select random() a from range(200) using sample 50% (bernoulli)")
    reads = []

    class Public:
        def __arrow_c_stream__(self, schema=None):
            reads.append(schema)
            return relation.__arrow_c_stream__(schema)

    two = partial(pp.estimate_mixture, n_components=2)
    for estimate in (pp.estimate_mean, pp.estimate_gaussian, two):
        estimate(Public(), pp.Curator.simulation(np.tile(PUBLIC, (90, 1)), budget="zcdp:5", seed=1, columns=["a"]))
        assert len(reads) == 1
        reads.clear()
