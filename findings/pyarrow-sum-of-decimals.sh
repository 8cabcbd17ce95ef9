#!/usr/bin/env bash
# PyArrow's sum and mean of decimals wrap around: two huge positive amounts have a negative sum.
#
# Guess before the first run: an error, as PyArrow gives where two such columns are added, and as DuckDB and Polars
# give.
# Versions: pyarrow 26.0.1, polars 2.1.0, duckdb 2.0.0, numpy 2.4.6, Python 3.11.
# Seen: a negative number of 39 digits in a type that holds 38, and a negative mean of two equal positive amounts.
# Adding the columns is refused, since the type's digits would not suffice; adding up one column is not looked at.
#
# Output, compared with this at the end:
#   | PyArrow, sum: -140282366920938463463374607431768211458
#   | PyArrow, mean: -70141183460469231731687303715884105729
#   | PyArrow, column + column: ArrowInvalid
#   | Polars, sum: ComputeError
#   | DuckDB, sum: OutOfRangeException
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.0 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
from decimal import Decimal

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc

largest = Decimal(10**38 - 1)
column = pa.array([largest, largest], pa.decimal128(38, 0))
rows = pa.table({"x": column})


def outcome(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__


print("PyArrow, sum:", pc.sum(column))
print("PyArrow, mean:", pc.mean(column))
print("PyArrow, column + column:", outcome(lambda: pc.add(column, column)))
print("Polars, sum:", outcome(lambda: polars.from_arrow(column).sum()))
print("DuckDB, sum:", outcome(lambda: duckdb.sql("select sum(x) from rows").fetchall()))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
