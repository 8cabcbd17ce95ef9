#!/usr/bin/env bash
# A quarter of all floats are other floats after they were written to an Excel file.
#
# Guess before the first run: none; both writers give 17 digits. Whole numbers from 2**53 on: right by openpyxl, rounded
# by calamine.
# Versions: pandas 3.1.1, polars 2.1.0, openpyxl 3.1.5, xlsxwriter 3.3.1, python-calamine 0.9.1, numpy 2.4.6, Python
# 3.11.
# Seen: openpyxl and xlsxwriter both write 16 significant digits, so 0.1 + 0.2 becomes 0.3 and each float that needs 17
# changes in its last bit; whole numbers from 2**53 on are rounded, which makes one id of two. The reader does not
# matter. Amounts with two decimals come back as they were.
#
# Output, compared with this at the end:
#   | uniform, written by openpyxl: changed 0.246, 0.246 (read by openpyxl, calamine)
#   | uniform, written by xlsxwriter: changed 0.246, 0.246 (read by openpyxl, calamine)
#   | uniform, written by Polars: changed 0.246, 0.246 (read by openpyxl, calamine)
#   | amounts, written by openpyxl: changed 0.000, 0.000 (read by openpyxl, calamine)
#   | amounts, written by xlsxwriter: changed 0.000, 0.000 (read by openpyxl, calamine)
#   | amounts, written by Polars: changed 0.000, 0.000 (read by openpyxl, calamine)
#   | ids, written by openpyxl: changed 0.500, 0.500 (read by openpyxl, calamine)
#   | ids, written by xlsxwriter: changed 0.500, 0.500 (read by openpyxl, calamine)
#   | ids, written by Polars: changed 0.500, 0.500 (read by openpyxl, calamine)
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pandas==3.1.1 polars==2.1.0 openpyxl==3.1.5 xlsxwriter==3.3.1 python-calamine==0.9.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import numpy as np
import pandas as pd
import polars as pl

random = np.random.default_rng(0)
CELLS = {
    "uniform": random.random(5000),
    "amounts": random.integers(0, 10**6, 5000) / 100,
    "ids": 2**53 + np.arange(1, 5001),
}


def changed(cells, write):
    write(cells)
    readings = [pd.read_excel("t.xlsx", engine=engine)["x"].to_numpy() for engine in ("openpyxl", "calamine")]
    return [np.mean(reading != cells) for reading in readings]


WRITERS = {
    "openpyxl": lambda cells: pd.DataFrame({"x": cells}).to_excel("t.xlsx", index=False, engine="openpyxl"),
    "xlsxwriter": lambda cells: pd.DataFrame({"x": cells}).to_excel("t.xlsx", index=False, engine="xlsxwriter"),
    "Polars": lambda cells: pl.DataFrame({"x": cells}).write_excel("t.xlsx"),
}

for kind, cells in CELLS.items():
    for writer, write in WRITERS.items():
        by_openpyxl, by_calamine = changed(cells, write)
        print(f"{kind}, written by {writer}: changed {by_openpyxl:.3f}, {by_calamine:.3f} (read by openpyxl, calamine)")
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
