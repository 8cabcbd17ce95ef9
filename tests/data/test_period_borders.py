"""The last instant of a month is in that month: in every unit, zone and format, private and public.

The month that is right is worked out from Python's integers.
"""

from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

import pubpriv as pp
from pubpriv.audit._catalogue import PRICE
from pubpriv.common.periods import Span
from pubpriv.data._dates import in_span
from pubpriv.data.person_table import PersonTable
from pubpriv.data.public_categories import groups_of
from pubpriv.data.questions import Counts, InPeriod
from pubpriv.data.regions import Everything
from pubpriv.data.scan import scan

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")

PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
UNITS = {
    pa.date32(): 1,
    pa.date64(): PER_DAY["ms"],
    **{pa.timestamp(unit, zone): n for unit, n in PER_DAY.items() for zone in (None, "UTC", "America/St_Johns")},
}
"""Types, and how many of their units a day has."""

FIRST_DAYS = [date(1969, 12, 1), date(1970, 1, 1), date(2024, 2, 1), date(2024, 3, 1)]
EPOCH = date(1970, 1, 1)


def cells_at_borders(kind):
    """Cells one unit before, at and after each border, and a missing one; of `date64` only whole days are valid."""
    per_day, width = UNITS[kind], pa.int32() if kind == pa.date32() else pa.int64()
    least = per_day if kind == pa.date64() else 1
    counts = [(day - EPOCH).days * per_day + step for day in FIRST_DAYS for step in (-least, 0, least)]
    return pa.array([*counts, None], width).view(kind)


def month_of(count, per_day):
    return str(EPOCH + timedelta(days=count // per_day))[:7]


def relation(table):
    connection = duckdb.connect()
    connection.execute("set timezone = 'Asia/Kolkata'")
    connection.register("rows", table)
    return connection.sql("from rows")


FILES = {
    "arrow.parquet": pq.write_table,
    "spark.parquet": lambda table, path: pq.write_table(table, path, use_deprecated_int96_timestamps=True),
    "t.feather": feather.write_feather,
    "arrow.csv": pyarrow.csv.write_csv,
    "polars.csv": lambda table, path: polars.from_arrow(table).write_csv(path),
    "duckdb.csv": lambda table, path: relation(table).write_csv(str(path)),
    "pandas.csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
}
FRAMES = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas, objects": lambda table: table.to_pandas(date_as_object=True).astype({"t": object}),
    "polars": polars.from_arrow,
    "duckdb": relation,
}


def counts_by_period(source, names, **name):
    """Rows of each period as a release would count them, without noise."""
    asked = {period: InPeriod(Counts.priced(Everything(), PRICE), period) for period in names}
    tables = {period: pp.PrivateTable.open(source, ["x"], dates="t", period=period, **name) for period in names}
    return {p: int(scan(PersonTable(tables[p]).asked(q), q)["count"][0]) for p, q in asked.items()}


def counts_by_group(source, months, **name):
    """Rows of each month as groups."""
    by = pp.ByCategory("month(t)", tuple(months))
    counted = scan(pp.PrivateTable.open(source, ["x"], by=by, **name), Counts.priced(by, Fraction(1)))["count"]
    return dict(zip(months, counted.tolist(), strict=True))


def check(source, kind, **name):
    counts = cells_at_borders(kind).drop_null().view(pa.int32() if kind == pa.date32() else pa.int64()).to_pylist()
    wanted = Counter(month_of(count, UNITS[kind]) for count in counts)
    assert counts_by_period(source, wanted, **name) == wanted
    assert counts_by_group(source, [*wanted], **name) == wanted
    if not name:
        assert groups_of(source, "month(t)").values == tuple(sorted(wanted))


def table_of(kind):
    cells = cells_at_borders(kind)
    return pa.table({"x": np.arange(float(len(cells))), "t": cells})


@pytest.mark.parametrize("kind", UNITS, ids=str)
@pytest.mark.parametrize("writer", FILES)
def test_rows_of_files_are_in_the_month_of_their_instant(writer, kind, tmp_path):
    """By period and by group, and public rows show the same months."""
    FILES[writer](table_of(kind), tmp_path / writer)
    check(tmp_path / writer, kind)


@pytest.mark.parametrize("kind", UNITS, ids=str)
@pytest.mark.parametrize("library", FRAMES)
def test_rows_of_frames_are_in_the_month_of_their_instant(library, kind):
    """The same in memory."""
    check(FRAMES[library](table_of(kind)), kind, name="borders")


@pytest.mark.parametrize("kind", UNITS, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_cell_is_in_the_one_period_that_its_integer_says(kind, data):
    """Of every unit of period, at any border of the calendar that the type reaches."""
    per_day, bits = UNITS[kind], 31 if kind == pa.date32() else 63
    day = data.draw(st.dates(date(2, 1, 1), date(9997, 12, 31)))
    span = Span.holding(data.draw(st.sampled_from(["year", "quarter", "month", "week", "day"])), day)
    step = data.draw(st.integers(-2, 2))
    counts = [c for end in span.days if abs(c := end * per_day + step) < 2**bits]
    array = pa.array(counts, pa.int32() if bits == 31 else pa.int64()).view(kind)
    first, end = span.days
    assert in_span(array, span).tolist() == [first <= count // per_day < end for count in counts]


SECONDS = [date(2024, 1, 1), date(2024, 2, 1)]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.uint64()], ids=str)
def test_whole_seconds_are_in_the_period_of_their_instant(kind, tmp_path):
    """Typed, as text, and as text of a column in which pandas found missing cells."""
    counts = [(day - EPOCH).days * 86_400 + step for day in SECONDS for step in (-1, 0)]
    pq.write_table(pa.table({"x": [0.0] * 4, "t": pa.array(counts, kind)}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x,t\n" + "".join(f"0,{count}\n" for count in counts))
    (tmp_path / "m.csv").write_text("x,t\n" + "".join(f"0,{count}.0\n" for count in counts))
    for name in ("t.parquet", "t.csv", "m.csv"):
        found = counts_by_period(tmp_path / name, ["2023-12", "2024-01", "2024-02"])
        assert [*found.values()] == [1, 2, 1]


def test_numbers_of_one_instant_are_one_float_in_every_unit_and_as_text(tmp_path):
    """The nearest one: 64-bit nanoseconds are no floats, and were rounded twice."""
    generator = np.random.default_rng(3)
    milliseconds = [*generator.integers(-(2**42), 2**42, 300).tolist(), 2**53 // 1000 + 1, -(2**50) + 1]
    wanted = [float(Fraction(count, PER_DAY["ms"])) for count in milliseconds]
    for unit in ("ms", "us", "ns"):
        factor = PER_DAY[unit] // PER_DAY["ms"]
        fits = [i for i, count in enumerate(milliseconds) if abs(count * factor) < 2**63]
        cells = pa.array([milliseconds[i] * factor for i in fits], pa.timestamp(unit))
        assert pp.PublicTable.open(pa.table({"x": cells}), ["x"]).rows[:, 0].tolist() == [wanted[i] for i in fits]
    nanoseconds = generator.integers(-(2**62), 2**62, 20_000).tolist()
    cells = pa.array(nanoseconds, pa.timestamp("ns"))
    pyarrow.csv.write_csv(pa.table({"x": cells}), tmp_path / "t.csv")
    wanted = [float(Fraction(count, PER_DAY["ns"])) for count in nanoseconds]
    assert pp.PublicTable.open(pa.table({"x": cells}), ["x"]).rows[:, 0].tolist() == wanted
    assert pp.PublicTable.open(tmp_path / "t.csv", ["x"]).rows[:, 0].tolist() == wanted
