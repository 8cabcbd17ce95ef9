"""Cells as other programs write them, private and public: the same floats, which are worked out by hand here.

Each writer writes each type with a missing cell. What a writer cannot write, or writes so that nothing can tell what it
was, is listed with the reason.
"""

import datetime as dt
import math
import warnings
from decimal import Decimal
from fractions import Fraction
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import pubpriv as pp

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
fastparquet = pytest.importorskip("fastparquet")

NAN = math.nan
MORNING, LATE = dt.datetime(2026, 11, 2, 8, 30), dt.datetime(1969, 12, 31, 23, 59, 59, 500000)
DAY = 20759
"""The second of November 2026."""

TIMES = [20759 + 8.5 / 24, -0.5 / 86400, NAN]

CELLS = {
    "int8": (pa.int8(), [1, -128, None], [1, -128, NAN]),
    "int64": (pa.int64(), [2**53 + 3, -5, None], [9007199254740996, -5, NAN]),
    "uint64": (pa.uint64(), [2**64 - 1, 7, None], [18446744073709551616, 7, NAN]),
    "float": (pa.float64(), [0.1, -1e300, None], [0.1, -1e300, NAN]),
    "infinite": (pa.float64(), [math.inf, -math.inf, None], [math.inf, -math.inf, NAN]),
    "float32": (pa.float32(), [np.float32(0.1), -2.5, None], [0.10000000149011612, -2.5, NAN]),
    "truth": (pa.bool_(), [True, False, None], [1, 0, NAN]),
    "money": (pa.decimal128(12, 2), [Decimal("12345678.91"), Decimal("-0.07"), None], [12345678.91, -0.07, NAN]),
    "decimal": (pa.decimal128(38, 10), [Decimal("12345678901234567890.5"), None], [12345678901234567890.5, NAN]),
    "date": (pa.date32(), [dt.date(2026, 11, 2), dt.date(1900, 1, 1), None], [20759, -25567, NAN]),
    "time s": (pa.timestamp("s"), [MORNING, dt.datetime(1970, 1, 1), None], [20759 + 8.5 / 24, 0, NAN]),
    "time ms": (pa.timestamp("ms"), [MORNING, LATE, None], TIMES),
    "time us": (pa.timestamp("us"), [MORNING, LATE, None], TIMES),
    "time ns": (pa.timestamp("ns"), [MORNING, LATE, None], TIMES),
    "time, zone": (
        pa.timestamp("us", "Europe/Berlin"),
        [MORNING.replace(tzinfo=dt.UTC), None],
        [20759 + 8.5 / 24, NAN],
    ),
    "duration": (pa.duration("us"), [dt.timedelta(hours=36), dt.timedelta(seconds=1), None], [1.5, 1 / 86400, NAN]),
}
"""Type, cells and numbers."""

IDS = {
    "texts": (pa.string(), ["05", "5", " a", "a", "A", "a,b", 'said "a"', None]),
    "integers": (pa.int64(), [5, -1, 2**53 + 1, None]),
}
"""Type and cells."""

NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def arrow(kind):
    arrow_type, cells, *_ = (CELLS | IDS)[kind]
    return pa.table({"one": np.ones(len(cells)), "x": pa.array(cells, arrow_type)})


def nullable(kind):
    return arrow(kind).to_pandas(types_mapper=NULLABLE.get)


def objects(kind):
    cells = (CELLS | IDS)[kind][1]
    return pd.DataFrame({"one": np.ones(len(cells)), "x": pd.Series(cells, dtype=object)})


def stata(kind):
    """Rows that went through a file of Stata, as pandas reads it."""
    file = BytesIO()
    with warnings.catch_warnings(action="ignore", category=pd.errors.PossiblePrecisionLoss):  # whole numbers as floats
        nullable(kind).to_stata(file, write_index=False)
    return pd.read_stata(BytesIO(file.getvalue()))


def relation(kind):
    connection = duckdb.connect()
    connection.register("rows", arrow(kind))
    return connection.sql("from rows")


def spark(kind, path):
    """Parquet as Spark, Hive and Impala write it: times in INT96, decimals as integers, no Arrow schema."""
    whole = {"use_deprecated_int96_timestamps": True, "store_decimal_as_integer": True, "store_schema": False}
    pq.write_table(arrow(kind), path, **whole)


FRAMES = {
    "pyarrow": arrow,
    "polars": lambda kind: polars.from_arrow(arrow(kind)),
    "duckdb": relation,
    "pandas": lambda kind: arrow(kind).to_pandas(),
    "pandas, nullable": nullable,
    "pandas, of Arrow's types": lambda kind: arrow(kind).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, of objects as databases and readers make them": objects,
    "pandas, from Stata": stata,
}

CSV = ("pyarrow", "pandas", "polars", "duckdb")

FILES = {
    "pyarrow.parquet": lambda kind, path: pq.write_table(arrow(kind), path),
    "spark.parquet": spark,
    "pandas.parquet": lambda kind, path: arrow(kind).to_pandas().to_parquet(path),
    "polars.parquet": lambda kind, path: polars.from_arrow(arrow(kind)).write_parquet(path),
    "duckdb.parquet": lambda kind, path: relation(kind).write_parquet(str(path)),
    "fastparquet.parquet": lambda kind, path: fastparquet.write(str(path), nullable(kind)),
    "pyarrow.feather": lambda kind, path: feather.write_feather(arrow(kind), path),
    "pandas.feather": lambda kind, path: arrow(kind).to_pandas().to_feather(path),
    "polars.feather": lambda kind, path: polars.from_arrow(arrow(kind)).write_ipc(path),
    "pyarrow.csv": lambda kind, path: pyarrow.csv.write_csv(arrow(kind), path),
    "pandas.csv": lambda kind, path: arrow(kind).to_pandas().to_csv(path, index=False),
    "polars.csv": lambda kind, path: polars.from_arrow(arrow(kind)).write_csv(path),
    "duckdb.csv": lambda kind, path: relation(kind).write_csv(str(path)),
}

NOT_KEPT = {
    ("duckdb", "duration"),  # an interval of DuckDB has months, so it is no number, and is refused
    ("duckdb.parquet", "duration"),
    ("fastparquet.parquet", "duration"),  # it writes a time of day, so 36 hours are noon
    ("fastparquet.parquet", "time s"),  # it writes seconds as if they were milliseconds, in January 1970
    ("fastparquet.parquet", "date"),  # pandas has them as objects, which it does not write
    *(("pandas, from Stata", kind) for kind in ("infinite", "money", "decimal", "date", "time, zone", "duration")),
    ("spark.parquet", "duration"),  # plain Parquet has no durations: they are whole microseconds
    *((f"{writer}.csv", "duration") for writer in CSV),  # each has a text of its own
    *((f"{writer}.csv", "float32") for writer in CSV),  # they write 0.1, not 0.10000000149
}

NO_IDS = {
    *((f"pandas{ending}", "integers") for ending in ("", ".parquet", ".feather", ".csv", ", from Stata")),
    ("pandas, from Stata", "texts"),
}
"""Integers that pandas has as floats beside a missing one: refused, or in a CSV file the texts 5.0. Stata has no
missing text: it is an empty one, which is a person."""


def kept(writers):
    """Pairs of a writer and a type that says afterwards what was written."""
    return [(writer, kind) for writer in writers for kind in CELLS if (writer, kind) not in NOT_KEPT]


def private_cells(source, rows, **name):
    (chunk,) = pp.PrivateTable.open(source, ["x"], **name).chunks()
    return np.concatenate([block[0].copy() for block in chunk.blocks()])[:rows]


def public_cells(source):
    """Public rows without missing and infinite cells, which are dropped."""
    return pp.PublicTable.open(source, ["x"]).rows[:, 0]


def check(source, wanted, **name):
    wanted = np.array(wanted, dtype=float)
    assert np.array_equal(private_cells(source, len(wanted), **name), wanted, equal_nan=True)


def check_public(source, wanted):
    wanted = np.array(wanted, dtype=float)
    if np.isfinite(wanted).any():
        assert np.array_equal(public_cells(source), wanted[np.isfinite(wanted)])


@pytest.mark.parametrize(("library", "kind"), kept(FRAMES))
def test_frames_are_the_numbers_that_were_written(library, kind):
    """In memory, by library and type."""
    wanted = CELLS[kind][2]
    check(FRAMES[library](kind), wanted, name="foreign")
    check_public(FRAMES[library](kind), wanted)


@pytest.mark.parametrize(("writer", "kind"), kept(FILES))
def test_files_are_the_numbers_that_were_written(writer, kind, tmp_path):
    """On disk, by writer and type; and read by pandas and handed over as a frame."""
    path, wanted = tmp_path / writer, CELLS[kind][2]
    FILES[writer](kind, path)
    check(path, wanted)
    check_public(path, wanted)
    if path.suffix != ".csv":
        read = pd.read_parquet if path.suffix == ".parquet" else pd.read_feather
        check(read(path), wanted, name="read")
        check_public(read(path), wanted)


def people(source, **name):
    """Key of the person of each row; 0 is nobody."""
    (chunk,) = pp.PrivateTable.open(source, ["one"], person="x", **name).chunks()
    return np.concatenate([*chunk.keys()])


@pytest.mark.filterwarnings("ignore:column 'x' .* has the type object:UserWarning")
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("writer", [*FRAMES, *FILES])
def test_ids_are_the_persons_that_were_written(writer, kind, tmp_path):
    """Texts by every byte, integers by their value; a cell of a CSV file, and an object, is a text."""
    if (writer, kind) in NO_IDS:
        return
    cells = IDS[kind][1]
    if writer in FRAMES:
        found = people(FRAMES[writer](kind), name="people")
    else:
        FILES[writer](kind, tmp_path / writer)
        found = people(tmp_path / writer)
    if writer.endswith(".csv") or "objects" in writer:
        cells = [cell and str(cell) for cell in cells]
    wanted = people(pa.table({"one": np.ones(len(cells)), "x": cells}), name="wanted")
    assert found.tolist() == wanted.tolist()
    assert len({*wanted} - {0}) == len(cells) - 1


TEXTS = {
    "R's write.csv": [
        "1e+05",
        "NA",
        "-0.5",
        "Inf",
        "-Inf",
        "NaN",
        "TRUE",
        "FALSE",
        "2026-11-02",
        "2026-11-02 08:30:00",
    ],
    "PostgreSQL's COPY": ["t", "f", "", "Infinity", "-Infinity", "NaN", "12.50", "2026-11-02", "2026-11-02 08:30:00.5"],
    "DuckDB's COPY": ["true", "false", "inf", "-inf", "nan", "1e+300", "2026-11-02"],
    "PostgreSQL's COPY, zones": [
        "2026-11-02 08:30:00+00",
        "2026-11-02 08:30:00.25+01",
        "2026-11-02 08:30:00-03:30",
        "1900-01-01 00:53:28+00:53:28",
        "infinity",
        "-infinity",
    ],
    "Polars, Python and Go": [
        "2026-11-02T08:30:00.000000+0000",
        "2026-11-02T08:30:00.5-0330",
        "2026-11-02 08:30:00 +0100",
    ],
    "cloud databases": ["2026-11-02 08:30:00 UTC", "2026-11-02 08:30:00.123456789 UTC", "2026-11-02t08:30:00z"],
    "instruments": [
        "2026-11-02T08:30:00,5",
        "20261102T083000Z",
        "20261102T0830",
        "20261102T083000.25+0100",
        "2026-11-02T08",
        "2026-11-02T24:00:00",
        "2026-11-01T24:00+01",
        "20261102",
        "2026",
    ],
    "nobody": [
        "2026-11-02T24:00:01",
        "2026-11-02T25:00",
        "2026-11-02T08:60",
        "2026-02-30",
        "0000-01-01",
        "2026-11-02+01",
        "2026-11-02T08:30+24:00",
        "2026-11-02T08:30+1",
        "2026-11-02T083000",
        "2026-11-02 08:30 CET",
        "2026-11",
    ],
    "a spreadsheet": ["TRUE", "1.2E+05", "#N/A", "", "+5", " 7 ", ".5", "5."],
}
NUMBERS = {
    "R's write.csv": [1e5, NAN, -0.5, math.inf, -math.inf, NAN, 1, 0, 20759, 20759 + 8.5 / 24],
    "PostgreSQL's COPY": [1, 0, NAN, math.inf, -math.inf, NAN, 12.5, 20759, 20759 + 30600.5 / 86400],
    "DuckDB's COPY": [1, 0, math.inf, -math.inf, NAN, 1e300, 20759],
    "PostgreSQL's COPY, zones": [
        DAY + 8.5 / 24,
        DAY + (7.5 * 3600 + 0.25) / 86400,
        DAY + 0.5,
        -25567,
        math.inf,
        -math.inf,
    ],
    "Polars, Python and Go": [DAY + 8.5 / 24, DAY + (12 * 3600 + 0.5) / 86400, DAY + 7.5 / 24],
    "cloud databases": [DAY + 8.5 / 24, float(DAY + Fraction(30600123456789, 86400 * 10**9)), DAY + 8.5 / 24],
    "instruments": [
        DAY + 30600.5 / 86400,
        DAY + 8.5 / 24,
        DAY + 8.5 / 24,
        DAY + (7.5 * 3600 + 0.25) / 86400,
        DAY + 8 / 24,
        DAY + 1,
        DAY - 1 / 24,
        20261102,
        2026,
    ],
    "nobody": [NAN] * 11,
    "a spreadsheet": [1, 1.2e5, NAN, NAN, 5, 7, 0.5, 5],
}


@pytest.mark.parametrize("writer", TEXTS)
def test_texts_are_the_numbers_that_their_writers_mean(writer, tmp_path):
    """Each in a CSV file of its own, private and public, and as an object in a frame."""
    path = tmp_path / "t.csv"
    for text, number in zip(TEXTS[writer], NUMBERS[writer], strict=True):
        path.write_text(f'one,x\n1,"{text}"\n1,\n')
        check(path, [number, NAN])
        check_public(path, [number, NAN])
        frame = pd.DataFrame({"x": pd.Series([text, None], dtype=object)})
        check(frame, [number, NAN], name="texts")


def test_missing_numbers_of_stata_are_missing(tmp_path):
    """As pandas reads them: as floats, or as objects that say which of Stata's missing values it was."""
    rows = pd.DataFrame({"one": [1.0, 1, 1], "x": pd.array([1, None, 100], dtype="Int16")})
    rows.to_stata(tmp_path / "t.dta", write_index=False)
    for convert in (False, True):
        read = pd.read_stata(tmp_path / "t.dta", convert_missing=convert)
        assert (read["x"].dtype == object) == convert
        check(read.copy(), [1, NAN, 100], name="stata")
        check_public(read, [1, NAN, 100])


WHOLE = {
    "R 4.2's write.csv": """\
"one","id","whole","x","truth","day","time"
1,"05",1,0.1,TRUE,2026-11-02,2026-11-02 08:30:00
1,"5",NA,1e-300,FALSE,1900-01-01,1969-12-31 23:59:59
1,"",100000,Inf,NA,NA,NA
1,"a,b",7,NA,TRUE,9999-12-31,2026-11-02 00:00:00
""",
    "PostgreSQL 15's COPY": """\
one,id,whole,x,truth,day,time
1,05,1,0.1,t,2026-11-02,2026-11-02 09:30:00+01
1,5,,1e-300,f,1900-01-01,1969-12-31 23:59:59+00
1,,100000,Infinity,,,
1,"a,b",7,NaN,t,9999-12-31,2026-11-02 01:00:00+01
""",
}
"""Files as these programs write them, with the same rows."""

ROWS = {
    "whole": [1, NAN, 100000, 7],
    "x": [0.1, 1e-300, math.inf, NAN],
    "truth": [1, 0, NAN, 1],
    "day": [DAY, -25567, NAN, 2932896],
    "time": [DAY + 8.5 / 24, -1 / 86400, NAN, DAY],
}


@pytest.mark.parametrize("writer", WHOLE)
def test_files_of_programs_that_no_test_runs_are_read_by_row(writer, tmp_path):
    """Numbers of each column, and persons."""
    path = tmp_path / "t.csv"
    path.write_text(WHOLE[writer])
    for column, wanted in ROWS.items():
        (chunk,) = pp.PrivateTable.open(path, [column]).chunks()
        found = np.concatenate([block[0].copy() for block in chunk.blocks()])[: len(wanted)]
        assert np.array_equal(found, wanted, equal_nan=True)
    wanted = people(pa.table({"one": np.ones(4), "x": ["05", "5", None, "a,b"]}), name="wanted")
    (chunk,) = pp.PrivateTable.open(path, ["one"], person="id").chunks()
    assert np.concatenate([*chunk.keys()]).tolist() == wanted.tolist()
