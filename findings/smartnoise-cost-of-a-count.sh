#!/usr/bin/env bash
# SmartNoise SQL charges epsilon 2 for one count at epsilon 1, and 4 for COUNT(*), SUM and AVG.
#
# Guess before the first run: 2 for AVG, a sum and a count, and 3 for VAR; so 1 for a count.
# Versions: smartnoise-sql 1.0.10, opendp 0.14.2, pandas 2.3.3, numpy 2.4.6, Python 3.11.
# Seen: the epsilon that one gives is for each noisy number, and unless `censor_dims` is false a count of the persons is
# drawn beside them, to leave out rare groups, also where a query has no groups. So a count costs 2, AVG 3, VAR 4; and
# COUNT(*) beside AVG(age) is one more number than the COUNT(age) that AVG draws. Only COUNT(DISTINCT id), which is that
# count of persons, costs 1.
#
# Output, compared with this at the end:
#   | COUNT(DISTINCT id): epsilon 1.0, delta 1.5e-05
#   | COUNT(*): epsilon 2.0, delta 1.5e-05
#   | SUM(age): epsilon 2.0, delta 1.5e-05
#   | AVG(age): epsilon 3.0, delta 1.5e-05
#   | VAR(age): epsilon 4.0, delta 1.5e-05
#   | COUNT(*), SUM(age), AVG(age): epsilon 4.0, delta 1.5e-05
#   | COUNT(age), SUM(age), AVG(age): epsilon 3.0, delta 1.5e-05
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    smartnoise-sql==1.0.10 opendp==0.14.2 pandas==2.3.3 numpy==2.4.6
cat >"$folder/finding.py" <<'PYTHON'
import numpy as np
import pandas as pd
import yaml
from snsql import Privacy, from_df

people = pd.DataFrame({"id": np.arange(1000), "age": np.arange(1000) % 50})
columns = {"id": {"type": "int", "private_id": True}, "age": {"type": "int", "lower": 0, "upper": 50}, "rows": 1000}
with open("people.yaml", "w") as file:
    yaml.safe_dump({"": {"public": {"people": columns}}}, file)
reader = from_df(people, privacy=Privacy(epsilon=1.0, delta=1e-5), metadata="people.yaml")
for what in (
    "COUNT(DISTINCT id)",
    "COUNT(*)",
    "SUM(age)",
    "AVG(age)",
    "VAR(age)",
    "COUNT(*), SUM(age), AVG(age)",
    "COUNT(age), SUM(age), AVG(age)",
):
    epsilon, delta = reader.get_privacy_cost(f"SELECT {what} FROM public.people")
    print(f"{what}: epsilon {epsilon:.1f}, delta {delta:.2g}")
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
