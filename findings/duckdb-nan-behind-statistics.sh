#!/usr/bin/env bash
# DuckDB does not find the NaN of a Parquet file that has statistics, though it finds it in the same file without them.
#
# Guess before the first run: one row with x > 5 from every file in DuckDB and in Polars, for which NaN is above all
# numbers, whichever statistics a file has.
# Versions: duckdb 2.0.0, polars 2.1.0, pyarrow 26.0.1, numpy 2.4.6, Python 3.11.
# Seen: Parquet's smallest and largest cell leave NaN out, as they should, and DuckDB skips row groups by them. So
# `where x > 5` and even `where isnan(x)` give no row, where `count(*) filter (where isnan(x))` counts one. Polars is
# right. Which rows a query gives depends on who wrote the file: DuckDB writes no largest cell beside a NaN.
#
# Output, compared with this at the end:
#   | statistics.parquet: where x > 5: 0, where isnan(x): 0, filter (isnan): 1; Polars: 1
#   | none.parquet: where x > 5: 1, where isnan(x): 1, filter (isnan): 1; Polars: 1
#   | polars.parquet: where x > 5: 0, where isnan(x): 0, filter (isnan): 1; Polars: 1
#   | duckdb.parquet: where x > 5: 1, where isnan(x): 1, filter (isnan): 1; Polars: 1
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb==2.0.0 polars==2.1.0 pyarrow==26.0.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import math

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

rows = pa.table({"x": [1.0, 2.0, math.nan, 4.0]})
pq.write_table(rows, "statistics.parquet")
pq.write_table(rows, "none.parquet", write_statistics=False)
polars.from_arrow(rows).write_parquet("polars.parquet")
duckdb.sql("copy (from rows) to 'duckdb.parquet'")


def count(query):
    return duckdb.sql(query).fetchall()[0][0]


for path in ("statistics.parquet", "none.parquet", "polars.parquet", "duckdb.parquet"):
    wheres = [count(f"select count(*) from '{path}' where {where}") for where in ("x > 5", "isnan(x)")]
    aggregate = count(f"select count(*) filter (where isnan(x)) from '{path}'")
    lazy = polars.scan_parquet(path).filter(polars.col("x") > 5).collect().height
    print(f"{path}: where x > 5: {wheres[0]}, where isnan(x): {wheres[1]}, filter (isnan): {aggregate}", end="; ")
    print("Polars:", lazy)
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
