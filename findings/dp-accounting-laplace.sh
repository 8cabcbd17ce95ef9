#!/usr/bin/env bash
# Laplace noise of scale 1 is (1, 0)-private, and neither accountant of dp-accounting says so at a small delta.
#
# Guess before the first run: PLD says 1 at delta 0, and 2 for two releases; RDP says about 1 at every small delta.
# Versions: dp-accounting 0.6.0, scipy 1.17.1, numpy 2.4.6, Python 3.11.
# Seen: PLD says infinity from delta 1e-20 down to 0, where 1 holds, though it says 0.999998 at 1e-6. RDP says more than
# 1 at every delta, 1.67 at 1e-300, and infinity at 0. A pure guarantee is best added up as such.
#
# Output, compared with this at the end:
#   | PLDAccountant, 1 of epsilon 1; epsilon at delta 1e-06: 0.999998, 1e-20: inf, 1e-300: inf, 0: inf
#   | PLDAccountant, 2 of epsilon 1; epsilon at delta 1e-06: 2, 1e-20: inf, 1e-300: inf, 0: inf
#   | RdpAccountant, 1 of epsilon 1; epsilon at delta 1e-06: 1.00508, 1e-20: 1.03659, 1e-300: 1.66682, 0: inf
#   | RdpAccountant, 2 of epsilon 1; epsilon at delta 1e-06: 2.0044, 1e-20: 2.03591, 1e-300: 2.66614, 0: inf
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dp-accounting==0.6.0 scipy==1.17.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
from dp_accounting import LaplaceDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

for kind in (PLDAccountant, RdpAccountant):
    for releases in (1, 2):
        accountant = kind().compose(LaplaceDpEvent(1.0), releases)
        found = [f"{delta:g}: {accountant.get_epsilon(delta):.6g}" for delta in (1e-6, 1e-20, 1e-300, 0)]
        print(f"{kind.__name__}, {releases} of epsilon 1; epsilon at delta", ", ".join(found))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
