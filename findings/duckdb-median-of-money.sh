#!/usr/bin/env bash
# DuckDB's median of a DECIMAL column keeps the column's scale, and is cut off there, not rounded.
#
# Guess before the first run: a DOUBLE, 0.015 for 0.01 and 0.02, as for whole numbers, and as PyArrow and Polars give.
# Versions: duckdb 2.0.0, polars 2.1.0, pyarrow 26.0.1, numpy 2.4.6, Python 3.11.
# Seen: the DECIMAL 0.01; and 0.02 for 0.01 and 0.04, though a cast to that scale rounds 0.025 to 0.03. A quantile that
# lies between two amounts is cut off towards zero: of amounts above zero it is never too large, so over many groups the
# errors add up. Whole numbers become DOUBLE.
#
# Output, compared with this at the end:
#   | DuckDB, median of 0.01 and 0.02: 0.01 DECIMAL(3,2)
#   | DuckDB, median of -0.01 and -0.02: -0.01 DECIMAL(3,2)
#   | DuckDB, median of 0.01 and 0.04: 0.02 DECIMAL(3,2)
#   | DuckDB, 0.025 cast to DECIMAL(3,2): 0.03
#   | DuckDB, median of 1 and 2: 1.5 DOUBLE
#   | PyArrow, median of 0.01 and 0.02: 0.015
#   | Polars, median of 0.01 and 0.02: 0.015
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb==2.0.0 polars==2.1.0 pyarrow==26.0.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
from decimal import Decimal

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc


def median(*amounts, kind="decimal(3,2)"):
    rows = ", ".join(f"('{amount}'::{kind})" for amount in amounts)
    return duckdb.sql(f"select median(x), typeof(median(x)) from (values {rows}) rows(x)").fetchall()[0]


for amounts in (("0.01", "0.02"), ("-0.01", "-0.02"), ("0.01", "0.04")):
    print(f"DuckDB, median of {' and '.join(amounts)}:", *median(*amounts))
print("DuckDB, 0.025 cast to DECIMAL(3,2):", *duckdb.sql("select '0.025'::decimal(4,3)::decimal(3,2)").fetchall()[0])
print("DuckDB, median of 1 and 2:", *median(1, 2, kind="bigint"))
column = pa.array([Decimal("0.01"), Decimal("0.02")], pa.decimal128(3, 2))
print("PyArrow, median of 0.01 and 0.02:", pc.quantile(column)[0])
print("Polars, median of 0.01 and 0.02:", polars.from_arrow(column).median())
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
