"""Times at the ends of what their types hold: INT96 after 2262, and what databases write for infinity."""

import datetime as dt
import math
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import pubpriv as pp
from pubpriv.common.periods import Span
from pubpriv.data._dates import in_span
from pubpriv.data.formats import parquet
from pubpriv.data.persons import NOBODY
from pubpriv.errors import InvalidInput

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")

INF, NAN = math.inf, math.nan
MOST = 2**63 - 1


def private_cells(source, column="x", **name):
    """Cells of all pieces, without the padding of blocks."""
    found = []
    for chunk in pp.PrivateTable.open(source, [column], **name).chunks():
        found += np.concatenate([block[0].copy() for block in chunk.blocks()] or [[]])[: chunk.piece.rows].tolist()
    return found


def same(found, wanted):
    return np.array_equal(np.array(found, float), np.array(wanted, float), equal_nan=True)


FAR = {
    "the last day": (253402214400, 2932896.0),
    "the last second": (253402300799, 2932897 - 1 / 86400),
    "the first day": (-62135596800, -719162.0),
    "after 2262": (9223372037, 9223372037 / 86400),
    "beyond the calendar, within microseconds": (9223372036854, 9223372036854 / 86400),
    "beyond microseconds": (9223372036856, INF),
    "far beyond": (2**46, INF),
}
"""Seconds since 1970, and days."""


def write_int96(path, seconds, kind="s", **how):
    cells = pa.array(seconds, pa.timestamp(kind))
    table = pa.table({"one": [1.0] * len(cells), "x": cells, "who": ["a" * 50] * len(cells)})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, **how)
    return path


@pytest.mark.parametrize("schema", [True, False])
def test_times_in_int96_do_not_wrap(schema, tmp_path):
    """Private and public, with and without Arrow's schema, over several row groups, with a missing one."""
    seconds, days = zip(*FAR.values(), strict=True)
    path = write_int96(tmp_path / "t.parquet", [*seconds, None], row_group_size=3, store_schema=schema)
    assert same(private_cells(path), [*days, NAN])
    public = pp.PublicTable.open(path, ["x"]).rows[:, 0].tolist()
    assert public == [day for day in days if math.isfinite(day)]


def test_times_in_int96_are_in_their_periods(tmp_path):
    """To the microsecond, and those that wrapped are in none."""
    border = (dt.date(2300, 2, 1) - dt.date(1970, 1, 1)).days * 86_400_000_000
    path = write_int96(tmp_path / "t.parquet", [border - 1, border, MOST, -MOST + 10**18], "us")
    table = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
    assert table.column("x").chunk(0)[0].value == border - 1
    for period, wanted in (("2300-01", 1), ("2300-02", 1), ("2300", 2), ("1816", 0)):
        opened = pp.PrivateTable.open(path, ["one"], dates="x", period=period)
        (keys,) = next(iter(opened.chunks())).keys()
        assert np.count_nonzero(keys != NOBODY) == wanted


def test_batches_of_other_lengths_are_the_same_rows(tmp_path, monkeypatch):
    """Where texts make batches shorter, the times beside them still belong to their rows."""
    seconds = [s + i for i in range(50) for s, _ in FAR.values()]
    path = write_int96(tmp_path / "t.parquet", seconds, "s")
    whole = private_cells(path)
    monkeypatch.setattr(parquet, "_ROWS", 7)
    assert same(private_cells(path), whole)


def test_a_table_of_times_without_rows_is_read(tmp_path):
    """An empty row group beside a full one."""
    path = tmp_path / "t.parquet"
    schema = pa.schema({"one": pa.float64(), "x": pa.timestamp("s")})
    with pq.ParquetWriter(path, schema, use_deprecated_int96_timestamps=True) as writer:
        writer.write_table(schema.empty_table())
        writer.write_table(pa.table({"one": [1.0], "x": pa.array([253402214400], pa.timestamp("s"))}, schema))
        writer.write_table(schema.empty_table())
    assert private_cells(path) == [2932896.0]
    assert pp.PublicTable.open(path, ["x"]).rows.tolist() == [[2932896.0]]


def test_a_dataset_that_lets_times_wrap_is_refused(tmp_path):
    """With the option that reads them; columns that nobody asked for, and other formats, do not matter."""
    path = write_int96(tmp_path / "t.parquet", [253402214400])
    feather.write_feather(pa.table({"x": pa.array([1], pa.timestamp("ns"))}), tmp_path / "t.feather")
    wraps = pa.dataset.dataset(path)
    for open_table in (pp.PublicTable.open, partial(pp.PrivateTable.open, name="lake")):
        with pytest.raises(InvalidInput, match=r"'x' .* would wrap: .*coerce_int96_timestamp_unit"):
            open_table(wraps, ["x"])
    assert private_cells(wraps, "one", name="other") == [1.0]
    options = pa.dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    kept = pa.dataset.dataset(path, format=pa.dataset.ParquetFileFormat(read_options=options))
    assert pp.PublicTable.open(kept, ["x"]).rows.tolist() == [[2932896.0]]
    assert private_cells(kept, name="kept") == [2932896.0]
    assert private_cells(pa.dataset.dataset(tmp_path / "t.feather", format="feather"), name="feather") == [1 / 86400e9]


ENDS = {
    "date32": pa.array([2**31 - 1, -(2**31) + 1, -(2**31), None, 2**31 - 2], pa.int32()).view(pa.date32()),
    **{
        str(kind): pa.array([MOST, -MOST, -MOST - 1, None, 86400 * 10**9], pa.int64()).view(kind)
        for unit in ("s", "ms", "us", "ns")
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "UTC"))
    },
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_largest_and_smallest_times_are_infinite_cells(kind, tmp_path):
    """Typed files and frames, private and public; in no period, and not among the public months."""
    cells, table = ENDS[kind], pa.table({"x": ENDS[kind], "one": [1.0] * 5})
    (last,) = pp.PublicTable.open(table, ["x"]).rows[:, 0].tolist()
    assert same(private_cells(table, name="ends"), [INF, -INF, -INF, NAN, last])
    feather.write_feather(table, tmp_path / "t.feather")
    assert same(private_cells(tmp_path / "t.feather"), [INF, -INF, -INF, NAN, last])
    assert pp.PublicTable.open(tmp_path / "t.feather", ["x"]).rows.tolist() == [[last]]
    assert not any(in_span(cells.slice(0, 4), Span.of(period)).any() for period in ("9998", "0002", "2262", "1970"))


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamptz"])
@pytest.mark.parametrize("ending", ["parquet", "csv", ""])
def test_infinity_of_databases_is_infinite(kind, ending, tmp_path):
    """As DuckDB writes it, as text as PostgreSQL does, and as it is handed over."""
    cells = ", ".join(f"('{text}'::{kind})" for text in ("infinity", "-infinity", "1970-01-02"))
    relation = duckdb.connect().sql(f"select x, 1.0::double one from (values {cells}) t(x)")
    source = relation
    if ending:
        source = tmp_path / f"t.{ending}"
        (relation.write_parquet if ending == "parquet" else relation.write_csv)(str(source))
    name = {} if ending else {"name": "infinite"}
    assert pp.PublicTable.open(source, ["x"]).rows.tolist() == [[1.0]]
    assert private_cells(source, **name) == [INF, -INF, 1.0]
