"""Arrow's numbers are those of its own conversion, bit for bit, without pandas."""

import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from pubpriv.data._arrow import numbers_of
from pubpriv.data.tables import PublicTable

TYPES = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES += [pa.float16(), pa.float32(), pa.float64()]


def cells(kind: pa.DataType, nulls: float, n: int = 500) -> pa.Array:
    """Values of the whole range of a type."""
    generator = np.random.default_rng(0)
    if pa.types.is_floating(kind):
        special = [np.nan, np.inf, -np.inf, -0.0]
        values = list(np.r_[special, generator.standard_normal(n - 4) * 100].astype(kind.to_pandas_dtype()))
    else:
        numbers = np.iinfo(kind.to_pandas_dtype())
        values = generator.integers(numbers.min, numbers.max, n, kind.to_pandas_dtype(), endpoint=True).tolist()
    return pa.array([None if generator.random() < nulls else value for value in values], kind)


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type_becomes_what_arrow_makes_of_it(kind, nulls):
    """Slices too, whose buffers begin before them."""
    whole = cells(kind, nulls)
    for part in (whole, whole[3:], whole[5:77], whole[:0]):
        wanted = part.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        found = numbers_of(part)
        assert found.dtype == np.float64
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


DECIMALS = [(5, 2), (18, 0), (18, 2), (38, 10), (38, 22), (38, 23), (38, 37), (76, 30)]


@pytest.mark.parametrize(("precision", "scale"), DECIMALS)
def test_a_decimal_becomes_the_nearest_float(precision, scale):
    """As Python rounds it; Arrow's own conversion, by which private rows were read, was off in one of seven."""
    generator = np.random.default_rng(1)
    wholes = [int("".join(map(str, generator.integers(0, 10, generator.integers(1, precision))))) for _ in range(300)]
    wholes += [2**53 - 1, -(2**53), 2**53 + 1, -(2**63), 2**63 - 1] * (precision > 18) + [0, -1]
    with localcontext(prec=90):
        cells = [None if place % 7 == 3 else Decimal(whole).scaleb(-scale) for place, whole in enumerate(wholes)]
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    wanted = np.array([np.nan if cell is None else float(cell) for cell in cells])
    whole = pa.array(cells, kind)
    for part in (slice(None), slice(3, None), slice(5, 77), slice(0, 0)):
        assert np.array_equal(numbers_of(whole[part]), wanted[part], equal_nan=True)
    assert np.isnan(numbers_of(pa.nulls(2, kind))).all()


@pytest.mark.parametrize("index", [None, "id"])
def test_a_public_table_is_read_as_pandas_reads_it(index, tmp_path):
    """With an index that pandas wrote, nulls, decimals and columns that are no numbers: the same rows and hash."""
    frame = pd.DataFrame(
        {
            "a": [1.5, None, 3.0, 4.0],
            "n": pd.array([2**60 + 1, None, 3, 4], dtype="Int64"),
            "d": [Decimal("0.1"), Decimal("2.30"), Decimal("-7"), Decimal("4")],
            "s": ["x", "y", "z", "w"],
            "t": pd.to_datetime(["2026-01-01"] * 4),
            "b": [True, False, True, True],
        },
        index=pd.Index([7, 5, 3, 1], name=index),
    )
    path = tmp_path / "public.parquet"
    frame.to_parquet(path)
    found, wanted = PublicTable.open(path), PublicTable.open(pd.read_parquet(path))
    assert (found.columns, found.sha256, found.dropped) == (wanted.columns, wanted.sha256, wanted.dropped)
    assert found.columns == ("a", "n", "d")


def test_tables_are_read_without_pandas(tmp_path):
    """Public and private rows of a Parquet file, nulls and integers among them."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": pa.array([1, None, 3]), "b": [1.0, 2.0, 3.0]}), path)
    code = (
        "import sys; from pubpriv import PrivateTable, PublicTable\n"
        f"rows = PublicTable.open({str(path)!r}).rows\n"
        f"blocks = [b for c in PrivateTable.open({str(path)!r}, ['a', 'b']).chunks() for b in c.blocks()]\n"
        "assert len(rows) == 2 and len(blocks) == 1\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_arrow_starts_no_thread_for_public_tables(tmp_path, in_new_process):
    """One that lets go of Python's bytes when the process ends would abort it, after all was done."""
    table = pa.table({name: np.arange(30.0) for name in "ab"})
    pq.write_table(table, tmp_path / "table.parquet")
    feather.write_feather(table, tmp_path / "table.feather")
    code = (
        "import os, sys; from pubpriv import PublicTable; import pyarrow.parquet\n"
        "def threads(): return len(os.listdir('/proc/self/task'))\n"
        "before = threads()\n"
        "print([len(PublicTable.open(path).rows) + threads() - before for path in sys.argv[1:]])"
    )
    tables = (str(tmp_path / f"table.{kind}") for kind in ("parquet", "feather"))
    assert in_new_process(code, *tables) == "[30, 30]"


OTHERS = {
    "truths": (pa.array([True, None, False, True]), [1, np.nan, 0, 1]),
    "dates": (pa.array([0, None, -3, 19_000], pa.date32()), [0, np.nan, -3, 19_000]),
    "dates in ms": (pa.array([86_400_000, None, 0], pa.date64()), [1, np.nan, 0]),
    "times in s": (pa.array([43_200, None, -86_400], pa.timestamp("s")), [0.5, np.nan, -1]),
    "times in ns, in a zone": (pa.array([0, 21_600 * 10**9, None], pa.timestamp("ns", "CET")), [0, 0.25, np.nan]),
    "durations": (pa.array([86_400 * 10**6, None, 0], pa.duration("us")), [1, np.nan, 0]),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_truths_and_times_are_numbers_too(kind):
    """Ones and zeros, days; slices too."""
    cells, wanted = OTHERS[kind]
    assert np.array_equal(numbers_of(cells), wanted, equal_nan=True)
    assert np.array_equal(numbers_of(cells[1:]), wanted[1:], equal_nan=True)
