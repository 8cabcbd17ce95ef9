#!/usr/bin/env bash
# DuckDB rounds a time to the nearest second or millisecond: the end of the year 2026 becomes the year 2027.
#
# Guess before the first run: cut off, as pandas, Polars and PyArrow do.
# Versions: duckdb 2.0.0, pandas 3.1.1, polars 2.1.0, pyarrow 26.0.1, numpy 2.4.6, Python 3.11.
# Seen: a cast to timestamp_s or timestamp_ms, and one from nanoseconds to microseconds, goes to the nearest; a text
# with more digits than fit is cut off in the same version. So a row of December counts in January, and whether it does
# depends on the library that made the column smaller.
#
# Output, compared with this at the end:
#   | DuckDB, timestamp '2026-12-31 23:59:59.6'::timestamp_s: 2027-01-01 00:00:00
#   | DuckDB, timestamp '2026-12-31 23:59:59.9996'::timestamp_ms: 2027-01-01 00:00:00
#   | DuckDB, timestamp_ns '2026-12-31 23:59:59.9999996'::timestamp: 2027-01-01 00:00:00
#   | DuckDB, '2026-12-31 23:59:59.9999996'::timestamp: 2026-12-31 23:59:59.999999
#   | pandas, to milliseconds: 2026-12-31 23:59:59.999000
#   | Polars, to milliseconds: 2026-12-31 23:59:59.999000
#   | PyArrow, to milliseconds: 2026-12-31 23:59:59.999000
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb==2.0.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import datetime

import duckdb
import polars
import pyarrow as pa

LATE = datetime.datetime(2026, 12, 31, 23, 59, 59, 999600)
column = pa.array([LATE], pa.timestamp("us"))
CASTS = (
    "timestamp '2026-12-31 23:59:59.6'::timestamp_s",
    "timestamp '2026-12-31 23:59:59.9996'::timestamp_ms",
    "timestamp_ns '2026-12-31 23:59:59.9999996'::timestamp",
    "'2026-12-31 23:59:59.9999996'::timestamp",
)

for cast in CASTS:
    print(f"DuckDB, {cast}:", duckdb.sql(f"select {cast}").fetchall()[0][0])
print("pandas, to milliseconds:", column.to_pandas().dt.as_unit("ms")[0])
print("Polars, to milliseconds:", polars.from_arrow(column).dt.cast_time_unit("ms")[0])
print("PyArrow, to milliseconds:", column.cast(pa.timestamp("ms"), safe=False)[0])
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
