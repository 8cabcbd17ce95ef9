#!/usr/bin/env bash
# DuckDB joins the texts '01', '1' and ' 1' with the number 1, and the whole query fails where one id is 'A7'.
#
# Guess before the first run: an error before any row is read, that VARCHAR and INTEGER cannot be compared.
# Versions: duckdb 2.0.0, polars 2.1.0, pandas 3.1.1, numpy 2.4.6, pyarrow 26.0.1, Python 3.11.
# Seen: the texts become numbers. Three persons are one, until some row has an id with a letter; then there is an error
# that names that id. Whether a query runs depends on the rows of the day.
#
# Output, compared with this at the end:
#   | DuckDB: [(' 1', 70), ('01', 70), ('1', 70)]
#   | DuckDB, one id with a letter: ConversionException
#   | pandas: ValueError
#   | Polars: SchemaError
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    duckdb==2.0.0 polars==2.1.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1
cat >"$folder/finding.py" <<'PYTHON'
import duckdb
import pandas as pd
import polars

visits = pd.DataFrame({"id": ["01", "1", " 1", "2"]})
letters = pd.DataFrame({"id": ["01", "A7"]})
costs = pd.DataFrame({"id": [1], "cost": [70]})


def outcome(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__


joined = duckdb.sql("select visits.id, cost from visits join costs on visits.id = costs.id order by 1")
print("DuckDB:", joined.fetchall())
joined = duckdb.sql("select * from letters join costs using (id)")
print("DuckDB, one id with a letter:", outcome(joined.fetchall))
print("pandas:", outcome(lambda: visits.merge(costs, on="id")))
print("Polars:", outcome(lambda: polars.from_pandas(visits).join(polars.from_pandas(costs), on="id")))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
