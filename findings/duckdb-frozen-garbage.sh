#!/usr/bin/env bash
# DuckDB's binding reports leaked objects at exit if the program froze its garbage, as programs do to end sooner.
#
# Guess before the first run: gc.freeze() at exit saves the last search for garbage, and nothing else is seen of it.
# Versions: duckdb 2.0.0, duckdb 1.5.5, Python 3.11.
# Seen: 2.0.0, which is bound by nanobind, prints what it calls leaks on standard error, though the connection was
# closed, and ends with code 0; the version before, bound by pybind11, prints nothing. Without the call neither does.
#
# Output, compared with this at the end:
#   | duckdb 1.5.5, plain: code 0, says leaked: False
#   | duckdb 1.5.5, frozen: code 0, says leaked: False
#   | duckdb 2.0.0, plain: code 0, says leaked: False
#   | duckdb 2.0.0, frozen: code 0, says leaked: True
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/query.py" <<'PYTHON'
import atexit
import gc
import sys

import duckdb

if sys.argv[1] == "frozen":
    atexit.register(gc.freeze)
connection = duckdb.connect()
connection.sql("select 1").fetchall()
connection.close()
PYTHON
cat >"$folder/finding.py" <<'PYTHON'
import subprocess
import sys
from importlib.metadata import version

for way in ("plain", "frozen"):
    done = subprocess.run([sys.executable, "query.py", way], capture_output=True, text=True)
    print(f"duckdb {version('duckdb')}, {way}: code {done.returncode}, says leaked: {'leaked' in done.stderr}")
PYTHON
cd "$folder"
for version in 1.5.5 2.0.0; do
    "${PYTHON:-python3}" -m venv --clear "$folder/venv"
    venv/bin/pip install --quiet --disable-pip-version-check "duckdb==$version"
    venv/bin/python finding.py
done | tee output
diff <(sed -n 's/^#   | //p' "$script") output
