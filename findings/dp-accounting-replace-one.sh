#!/usr/bin/env bash
# Two accountants of dp-accounting differ by a factor of two for one Gaussian release where a row is replaced.
#
# Guess before the first run: the same epsilon under each neighbouring relation, in either accountant, since the noise
# multiplier of the event is relative to its sensitivity.
# Versions: dp-accounting 0.6.0, scipy 1.17.1, numpy 2.4.6, Python 3.11.
# Seen: with REPLACE_ONE the PLD accountant doubles the sensitivity, since a sum of vectors of norm 1 moves by 2; the
# RDP accountant does not. So 5.2 or 11.0 is the epsilon of the same event under the same relation, and a noise
# multiplier that was calibrated with one means another privacy with the other.
#
# Output, compared with this at the end:
#   | by the formula: 4.887 for a shift of 1, 10.997 for a shift of 2
#   | ADD_OR_REMOVE_ONE, RdpAccountant: 5.222
#   | ADD_OR_REMOVE_ONE, PLDAccountant: 4.887
#   | REPLACE_ONE, RdpAccountant: 5.222
#   | REPLACE_ONE, PLDAccountant: 10.997
#   | REPLACE_SPECIAL, RdpAccountant: 5.222
#   | REPLACE_SPECIAL, PLDAccountant: 4.887
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dp-accounting==0.6.0 scipy==1.17.1 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import math

from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy import optimize, stats


def exact(shift, delta=1e-6):
    """Epsilon of one Gaussian release of unit noise, by the formula."""

    def excess(epsilon):
        tails = stats.norm.cdf(shift / 2 - epsilon / shift), stats.norm.cdf(-shift / 2 - epsilon / shift)
        return tails[0] - math.exp(epsilon) * tails[1] - delta

    return optimize.brentq(excess, 0, 100)


print(f"by the formula: {exact(1):.3f} for a shift of 1, {exact(2):.3f} for a shift of 2")
for relation in NeighboringRelation:
    for kind in (RdpAccountant, PLDAccountant):
        accountant = kind(neighboring_relation=relation).compose(GaussianDpEvent(1.0))
        print(f"{relation.name}, {kind.__name__}: {accountant.get_epsilon(1e-6):.3f}")
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
