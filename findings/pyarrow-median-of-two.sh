#!/usr/bin/env bash
# PyArrow's approximate median of two numbers is the smaller one; of four it is the mean of the middle two.
#
# Guess before the first run: exact, 1.5 for 1 and 2 and 2.5 for 1 to 4, since a digest of a hundred centroids holds
# each number by itself.
# Versions: pyarrow 26.0.1, duckdb 2.0.0, numpy 2.4.6, Python 3.11.
# Seen: 1 and 0. Over groups of two rows, such as pairs of visits, every median is the minimum. DuckDB, which uses the
# same kind of digest, says 1.5 and 50 for floats, and 2 for whole numbers, whose type it keeps.
#
# Output, compared with this at the end:
#   | [1, 2]: PyArrow 1.0, exact 1.5, DuckDB 1.5 for floats, 2 for whole numbers
#   | [0, 100]: PyArrow 0.0, exact 50.0, DuckDB 50.0 for floats, 50 for whole numbers
#   | [1, 2, 3]: PyArrow 2.0, exact 2.0, DuckDB 2.0 for floats, 2 for whole numbers
#   | [1, 2, 3, 4]: PyArrow 2.5, exact 2.5, DuckDB 2.5 for floats, 2 for whole numbers
#   | [0, 0, 100, 100]: PyArrow 50.0, exact 50.0, DuckDB 50.0 for floats, 50 for whole numbers
#   | medians of groups: [1.0, 5.0]
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 duckdb==2.0.0 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import duckdb
import pyarrow as pa
import pyarrow.compute as pc

for cells in ([1, 2], [0, 100], [1, 2, 3], [1, 2, 3, 4], [0, 0, 100, 100]):
    approximate, exact = pc.approximate_median(pa.array(cells)), pc.quantile(pa.array(cells))[0]
    query = "select approx_quantile(x::double, 0.5), approx_quantile(x, 0.5) from (select unnest($cells) as x)"
    duck = duckdb.execute(query, {"cells": cells}).fetchall()[0]
    print(f"{cells}: PyArrow {approximate}, exact {exact}, DuckDB {duck[0]} for floats, {duck[1]} for whole numbers")
pairs = pa.table({"group": [0, 0, 1, 1], "x": [1.0, 2.0, 5.0, 9.0]})
medians = pairs.group_by("group").aggregate([("x", "approximate_median")])
print("medians of groups:", medians["x_approximate_median"].to_pylist())
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
