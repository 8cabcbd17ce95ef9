#!/usr/bin/env bash
# fastparquet reads dates outside 1677 to 2262 as other dates, and times there right.
#
# Guess before the first run: the years 3000 and 1 are right, since pandas 3 has units other than nanoseconds.
# Versions: fastparquet 2026.9.0, pandas 3.1.1, pyarrow 26.0.1, numpy 2.4.6, Python 3.11.
# Seen: a time of the year 3000 in microseconds is right; the date 3000-01-01 is in 1830. Nothing is said. A date like
# 9999-12-31, which many systems write for "no end", is an ordinary day afterwards.
#
# Output, compared with this at the end:
#   | written: ['2026-11-29', '3000-01-01', '9999-12-31', '0001-01-01']
#   | times in microseconds, as fastparquet reads them: ['2026-11-29', '3000-01-01', '9999-12-31', '0001-01-01']
#   | dates, as fastparquet reads them: ['2026-11-29', '1830-11-23', '1816-03-29', '1754-08-30']
#   | dates, as PyArrow reads them: ['2026-11-29', '3000-01-01', '9999-12-31', '0001-01-01']
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import datetime

import fastparquet
import pyarrow as pa
import pyarrow.parquet as pq

DAYS = [datetime.date(2026, 11, 29), datetime.date(3000, 1, 1), datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]


def read(name, kind):
    pq.write_table(pa.table({"x": pa.array(DAYS, pa.date32()).cast(kind)}), name)
    return [str(cell)[:10] for cell in fastparquet.ParquetFile(name).to_pandas()["x"]]


print("written:", [str(day) for day in DAYS])
print("times in microseconds, as fastparquet reads them:", read("times.parquet", pa.timestamp("us")))
print("dates, as fastparquet reads them:", read("dates.parquet", pa.date32()))
print("dates, as PyArrow reads them:", [str(day) for day in pq.read_table("dates.parquet")["x"].to_pylist()])
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
