#!/usr/bin/env bash
# The wider SciPy's discrete Laplace noise, the more often it is exactly zero.
#
# Guess before the first run: beyond 64 bits an error, or numbers that have wrapped around.
# Versions: scipy 1.17.1, numpy 2.4.6, Python 3.11.
# Seen: a draw is the difference of two geometric draws, and NumPy's stop at 2**63 - 1. If both stop, the difference is
# 0: at a scale of 1e19 one draw in six, at 1e20 five of six, at 1e21 nearly all, where the standard deviation should be
# 1.4e21. NumPy's older generator gives -2**63 instead for a geometric draw of that size.
#
# Output, compared with this at the end:
#   | scale 1e+17: standard deviation 1.4e+17, of the draws 1.4e+17, zeros 0.000
#   | scale 1e+18: standard deviation 1.4e+18, of the draws 1.4e+18, zeros 0.000
#   | scale 1e+19: standard deviation 1.4e+19, of the draws 4.8e+18, zeros 0.167
#   | scale 1e+20: standard deviation 1.4e+20, of the draws 2.2e+18, zeros 0.820
#   | scale 1e+21: standard deviation 1.4e+21, of the draws 6.2e+17, zeros 0.982
#   | Generator.geometric(1e-21): 9223372036854775807
#   | RandomState.geometric(1e-21): -9223372036854775808
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import numpy as np
from scipy import stats

for scale in (1e17, 1e18, 1e19, 1e20, 1e21):
    draws = stats.dlaplace(1 / scale).rvs(1000, random_state=np.random.default_rng(1))
    spread, zeros = float(np.std(draws.astype(float))), np.mean(draws == 0)
    print(f"scale {scale:.0e}: standard deviation {2**0.5 * scale:.1e}, of the draws {spread:.1e}, zeros {zeros:.3f}")
print("Generator.geometric(1e-21):", np.random.default_rng(1).geometric(1e-21))
print("RandomState.geometric(1e-21):", np.random.RandomState(1).geometric(1e-21))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
