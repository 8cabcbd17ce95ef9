#!/usr/bin/env bash
# Polars' rolling correlation and covariance of columns that are far from zero are wrong; those of pandas are right.
#
# Guess before the first run: right to six digits for columns near 1.7e9, as times in seconds are, like Polars' own
# `corr`.
# Versions: polars 2.1.0, pandas 3.1.1, numpy 2.4.6, pyarrow 26.0.1, Python 3.11.
# Seen: `rolling_corr` was 453 where 0.46 is right, and `rolling_cov` 512 for 0.52: a mean of products less a product of
# means, all of whose digits are gone. `corr`, `cov` and `rolling_var` in the same version are right.
#
# Output, compared with this at the end:
#   | columns near 0:
#   |     Polars, corr and cov: correlation right True, covariance right True
#   |     Polars, rolling_corr and rolling_cov: correlation right True, covariance right True
#   |     pandas, rolling: correlation right True, covariance right True
#   | columns near 1.7e+09:
#   |     Polars, corr and cov: correlation right True, covariance right True
#   |     Polars, rolling_corr and rolling_cov: correlation right False, covariance right False
#   |     pandas, rolling: correlation right True, covariance right True
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    polars==2.1.0 pandas==3.1.1 numpy==2.4.6 pyarrow==26.0.1
cat >"$folder/finding.py" <<'PYTHON'
import numpy as np
import pandas as pd
import polars as pl

random = np.random.default_rng(1)
x = random.normal(size=2000)
y = x / 2 + random.normal(size=2000)


def check(name, correlation, covariance):
    correct = bool(abs(correlation - np.corrcoef(x, y)[0, 1]) < 1e-3), bool(abs(covariance - np.cov(x, y)[0, 1]) < 1e-3)
    print(f"    {name}: correlation right {correct[0]}, covariance right {correct[1]}")


for offset in (0, 1.7e9):
    print(f"columns near {offset:g}:")
    frame = pl.DataFrame({"x": x + offset, "y": y + offset})
    whole = frame.select(pl.corr("x", "y").alias("r"), pl.cov("x", "y").alias("c")).row(0)
    check("Polars, corr and cov", *whole)
    rolling = pl.rolling_corr("x", "y", window_size=2000), pl.rolling_cov("x", "y", window_size=2000)
    check("Polars, rolling_corr and rolling_cov", *frame.select(rolling[0].alias("r"), rolling[1].alias("c")).row(-1))
    rows = pd.DataFrame({"x": x + offset, "y": y + offset})
    window = rows["x"].rolling(2000)
    check("pandas, rolling", window.corr(rows["y"]).iloc[-1], window.cov(rows["y"]).iloc[-1])
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
