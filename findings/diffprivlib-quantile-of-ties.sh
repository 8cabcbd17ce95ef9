#!/usr/bin/env bash
# diffprivlib's quantile of a column with many equal cells is far off at epsilon 10, or an error.
#
# Guess before the first run: a thousand equal cells and epsilon 10 give that cell, to within a hundredth of the bounds.
# Versions: diffprivlib 0.6.6, scikit-learn 1.5.2, scipy 1.17.1, numpy 2.4.6, Python 3.11.
# Seen: the answer is drawn uniformly from an interval between two neighbouring cells, and equal cells are an interval
# of length 0. Of 600 zeros and 400 ones with bounds 0 and 10, the 0.9-quantile, 1, is answered by anything between 1
# and 10, and the quartiles, and the median of equal cells, are an error. Cells that differ in their last digits are
# right.
#
# Output, compared with this at the end:
#   | 1000 cells, all 2, quantile 0.25: right 2.0, of 100: 100 errors, nine of ten others within none
#   | 1000 cells, all 2, quantile 0.5: right 2.0, of 100: 100 errors, nine of ten others within none
#   | 1000 cells, all 2, quantile 0.9: right 2.0, of 100: 0 errors, nine of ten others within [2.3 9.6]
#   | 600 zeros and 400 ones, quantile 0.25: right 0.0, of 100: 100 errors, nine of ten others within none
#   | 600 zeros and 400 ones, quantile 0.5: right 0.0, of 100: 0 errors, nine of ten others within [0. 1.]
#   | 600 zeros and 400 ones, quantile 0.9: right 1.0, of 100: 0 errors, nine of ten others within [1.4 9.6]
#   | 1000 different cells up to 10, quantile 0.25: right 2.5, of 100: 0 errors, nine of ten others within [2.5 2.5]
#   | 1000 different cells up to 10, quantile 0.5: right 5.0, of 100: 0 errors, nine of ten others within [5. 5.]
#   | 1000 different cells up to 10, quantile 0.9: right 9.0, of 100: 0 errors, nine of ten others within [9. 9.]
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    diffprivlib==0.6.6 scikit-learn==1.5.2 scipy==1.17.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import warnings

import numpy as np
from diffprivlib import tools

warnings.simplefilter("ignore")
COLUMNS = {
    "1000 cells, all 2": np.full(1000, 2.0),
    "600 zeros and 400 ones": np.repeat([0.0, 1.0], [600, 400]),
    "1000 different cells up to 10": np.arange(1000) / 100,
}


def answers(cells, quantile):
    drawn = []
    for seed in range(100):
        try:
            drawn.append(tools.quantile(cells, quantile, epsilon=10, bounds=(0, 10), random_state=seed))
        except RuntimeError:
            drawn.append(np.nan)
    return np.array(drawn)


for name, cells in COLUMNS.items():
    for quantile in (0.25, 0.5, 0.9):
        drawn = answers(cells, quantile)
        middle = np.nanpercentile(drawn, [5, 95]).round(1) if np.isfinite(drawn).any() else "none"
        right = np.quantile(cells, quantile).round(1)
        errors = np.isnan(drawn).sum()
        print(
            f"{name}, quantile {quantile}: right {right}, of 100: {errors} errors, nine of ten others within {middle}"
        )
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
