#!/usr/bin/env bash
# NumPy draws the same numbers from the seeds 7, [7] and [7, 0], and from [1, 2**32] and [1, 0, 1].
#
# Guess before the first run: other numbers from each; `default_rng([seed, i])` is a common way to a stream for each i.
# Versions: numpy 2.4.6, Python 3.11.
# Seen: a seed is cut into words of 32 bits, which are laid side by side, and zeros at the end do not count up to four
# words. So the stream of part 0 is the stream of the whole: noise that should be independent is the same noise.
# Counting parts from 1, or `SeedSequence(seed).spawn(n)`, avoids it.
#
# Output, compared with this at the end:
#   | 7: [944, 625, 684, 897]
#   | [7]: [944, 625, 684, 897]
#   | [7, 0]: [944, 625, 684, 897]
#   | [7, 0, 0]: [944, 625, 684, 897]
#   | [7, 0, 0, 0, 0]: [305, 797, 203, 53]
#   | [1, 4294967296]: [976, 692, 770, 223]
#   | [1, 0, 1]: [976, 692, 770, 223]
#   | 0: [850, 636, 511, 269]
#   | []: [850, 636, 511, 269]
#   | [0, 0]: [850, 636, 511, 269]
#   | equal to the draws of seed 7, by part: [True, False, False]
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import numpy as np


def draws(seed):
    return np.random.default_rng(seed).integers(1000, size=4).tolist()


for seed in (7, [7], [7, 0], [7, 0, 0], [7, 0, 0, 0, 0], [1, 2**32], [1, 0, 1], 0, [], [0, 0]):
    print(f"{seed}:", draws(seed))
noise = [np.random.default_rng([7, part]).normal(size=1000) for part in range(3)]
whole = np.random.default_rng(7).normal(size=1000)
print("equal to the draws of seed 7, by part:", [bool((part == whole).all()) for part in noise])
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
