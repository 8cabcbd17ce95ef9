#!/usr/bin/env bash
# SciPy's discrete Laplace has a tail on the left alone: to the right of 37 scales its probability is exactly 0.
#
# Guess before the first run: `dlaplace.sf(50)` right to ten digits, its `isf(1e-20)` 46, the tail of Skellam's law
# right to six digits, and `laplace.logsf(800)` -800.69.
# Versions: scipy 1.17.1, numpy 2.4.6, Python 3.11.
# Seen: `sf` is 1 - cdf, so it is 0 from there on, and `isf(1e-20)` is infinite. Skellam's law has
# no right tail either, and the logarithm of both tails of the Laplace law is minus infinity at 800, where -800.69 is
# right. Such tails decide what an accountant says at a small delta.
#
# Output, compared with this at the end:
#   | dlaplace(1): P(X > 50) = 0, P(X < -50) = 5.18721e-23
#   |     by the formula: 5.18721e-23
#   |     exceeded with probability 1e-20: inf, undercut with it: -45.0
#   | skellam(5, 5): P(X > 30) = 0, sum of pmf: 6.56245e-17
#   | laplace: log P(X > 800) = -inf, log P(X < -800) = -inf
#   |     by the formula: -800.693
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import math

import numpy as np
from scipy import stats

np.seterr(all="ignore")
law = stats.dlaplace(1)
print(f"dlaplace(1): P(X > 50) = {law.sf(50):.6g}, P(X < -50) = {law.cdf(-51):.6g}")
print(f"    by the formula: {math.exp(-51) / (1 + math.exp(-1)):.6g}")
print(f"    exceeded with probability 1e-20: {law.isf(1e-20)}, undercut with it: {law.ppf(1e-20)}")
law = stats.skellam(5, 5)
print(f"skellam(5, 5): P(X > 30) = {law.sf(30):.6g}, sum of pmf: {law.pmf(np.arange(31, 200)).sum():.6g}")
print(f"laplace: log P(X > 800) = {stats.laplace.logsf(800):.6g}, log P(X < -800) = {stats.laplace.logcdf(-800):.6g}")
print(f"    by the formula: {-800 - math.log(2):.6g}")
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
