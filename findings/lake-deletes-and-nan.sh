#!/usr/bin/env bash
# "Delete where x > 5" deletes the NaN of a Delta Lake table, and not the one of an Iceberg table.
#
# Guess before the first run: neither null nor NaN is deleted by `x > 5`, in either kind of table.
# Versions: deltalake 1.6.6, pyiceberg 0.12.0, pyarrow 26.0.1, Python 3.11.
# Seen: in Delta Lake NaN is above 5, and goes; in Iceberg it stays. PyIceberg is of two minds: a scan of `x != 1` gives
# NaN, and a delete of `x != 1` leaves it. The same scan afterwards gives no row, though the NaN is still there: the
# smallest and the largest cell of what is left are both 1, so PyArrow, which reads for PyIceberg, does not look at it.
#
# Output, compared with this at the end:
#   | Delta Lake, left by delete x > 5: [1.0, None, 4.0]
#   | Iceberg, scan of x > 5: [7.0]
#   | Iceberg, left by delete x > 5: [1.0, None, nan, 4.0]
#   | Iceberg, scan of x > 5 after the delete: []
#   | Delta Lake, left by delete x != 1: [1.0, None]
#   | Iceberg, scan of x != 1: [7.0, nan, 4.0]
#   | Iceberg, left by delete x != 1: [1.0, None, nan]
#   | Iceberg, scan of x != 1 after the delete: []
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    deltalake==1.6.6 pyiceberg[sql-sqlite]==0.12.0 pyarrow==26.0.1
cat >"$folder/finding.py" <<'PYTHON'
import math
import os

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

rows = pa.table({"x": [1.0, 7.0, None, math.nan, 4.0]})
catalog = SqlCatalog("lake", uri="sqlite:///catalog.db", warehouse=f"file://{os.getcwd()}/warehouse")
catalog.create_namespace("lake")

for number, predicate in enumerate(("x > 5", "x != 1")):
    write_deltalake(f"delta{number}", rows)
    DeltaTable(f"delta{number}").delete(predicate)
    left = DeltaTable(f"delta{number}").to_pyarrow_table()["x"].to_pylist()
    print(f"Delta Lake, left by delete {predicate}:", left)
    table = catalog.create_table(f"lake.t{number}", schema=rows.schema)
    table.append(rows)
    print(f"Iceberg, scan of {predicate}:", table.scan(row_filter=predicate).to_arrow()["x"].to_pylist())
    table.delete(predicate)
    print(f"Iceberg, left by delete {predicate}:", table.scan().to_arrow()["x"].to_pylist())
    print(
        f"Iceberg, scan of {predicate} after the delete:", table.scan(row_filter=predicate).to_arrow()["x"].to_pylist()
    )
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
