#!/usr/bin/env bash
# pandas makes one person of two when a table with signed ids follows one with unsigned ids.
#
# Guess before the first run: `pd.concat` of int64 and uint64 keeps every id, as a column of objects; `merge` compares
# exactly.
# Versions: pandas 3.1.1, polars 2.1.0, duckdb 2.0.0, pyarrow 26.0.1, numpy 2.4.6, Python 3.11.
# Seen: `pd.concat` gives float64, and 2**53 + 1 becomes 2**53. `merge` compares int64 with uint64 exactly, but Int64
# with UInt64, the types that may miss cells, as floats: it joins the rows of two persons. Polars and DuckDB widen to
# 128 bits and keep both.
#
# Output, compared with this at the end:
#   | pandas, concat: float64 [9007199254740992, 9007199254740992] persons: 1
#   | pandas, concat of Int64 and UInt64: Float64 [9007199254740992, 9007199254740992] persons: 1
#   | pandas, rows of a merge: 0
#   | pandas, rows of a merge of Int64 and UInt64: 1
#   | Polars, concat: Int128 [9007199254740993, 9007199254740992]
#   | DuckDB, union all: [('HUGEINT', 9007199254740993), ('HUGEINT', 9007199254740992)]
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 pyarrow==26.0.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import duckdb
import pandas as pd
import polars

first = pd.DataFrame({"id": pd.Series([2**53 + 1], dtype="int64"), "visits": [3]})
second = pd.DataFrame({"id": pd.Series([2**53], dtype="uint64"), "cost": [70]})
nullable = first.astype({"id": "Int64"}), second.astype({"id": "UInt64"})

both = pd.concat([first["id"], second["id"]])
print("pandas, concat:", both.dtype, [int(cell) for cell in both], "persons:", both.nunique())
both = pd.concat([frame["id"] for frame in nullable])
print("pandas, concat of Int64 and UInt64:", both.dtype, [int(cell) for cell in both], "persons:", both.nunique())
print("pandas, rows of a merge:", len(first.merge(second, on="id")))
print("pandas, rows of a merge of Int64 and UInt64:", len(nullable[0].merge(nullable[1], on="id")))
frames = [polars.from_pandas(frame[["id"]]) for frame in (first, second)]
both = polars.concat(frames, how="vertical_relaxed")["id"]
print("Polars, concat:", both.dtype, both.to_list())
both = duckdb.sql("select typeof(id), id from (select id from first union all select id from second)").fetchall()
print("DuckDB, union all:", both)
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
