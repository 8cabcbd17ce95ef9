#!/usr/bin/env bash
# A Delta Lake table that is partitioned by a text loses the difference between an empty text and null.
#
# Guess before the first run: '' comes back as ''.
# Versions: deltalake 1.6.6, pyarrow 26.0.1, duckdb 2.0.0, polars 2.1.0, numpy 2.4.6, Python 3.11.
# Seen: null, without a word, and only in a column by which the table is partitioned. Where the column is an id, a row
# of the person '' is a row of nobody afterwards. (The log of such a table has texts alone, and '' stands for null.)
#
# Output, compared with this at the end:
#   | Delta Lake, not partitioned: [(1, ''), (2, 'a'), (3, None)]
#   | Delta Lake, partitioned: [(1, None), (2, 'a'), (3, None)]
#   | PyArrow's folders: [(1, ''), (2, 'a'), (3, None)]
#   | DuckDB's folders, read by Polars: [(1, ''), (2, 'a'), (3, None)]
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    deltalake==1.6.6 pyarrow==26.0.1 duckdb==2.0.0 polars==2.1.0 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, write_deltalake

rows = pa.table({"id": ["", "a", None], "x": [1, 2, 3]})


def pairs(table):
    return sorted(((row["x"], row["id"]) for row in pa.table(table).to_pylist()))


write_deltalake("plain", rows)
print("Delta Lake, not partitioned:", pairs(DeltaTable("plain").to_pyarrow_table()))
write_deltalake("parted", rows, partition_by=["id"])
print("Delta Lake, partitioned:", pairs(DeltaTable("parted").to_pyarrow_table()))
ds.write_dataset(rows, "arrow", format="parquet", partitioning=["id"], partitioning_flavor="hive")
print("PyArrow's folders:", pairs(ds.dataset("arrow", partitioning="hive").to_table()))
duckdb.sql("copy rows to 'duck' (format parquet, partition_by (id))")
folders = polars.scan_parquet("duck", hive_partitioning=True).collect()
print("DuckDB's folders, read by Polars:", pairs(folders.to_arrow()))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
