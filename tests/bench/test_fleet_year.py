"""The bench of a fleet's year, on a small one: nothing of what it measures grows out of its bounds."""

import json
import subprocess
import sys

import pytest

from benchmarks.year import BOUNDS

_COMMAND = "from pubpriv.cli.main import main; main()"


@pytest.mark.slow
def test_a_year_stays_within_its_bounds():
    """Four datasets with a month of hourly releases each, in a process that held nothing else: memory is its most."""
    told = ["bench", "fleet", "year", "--datasets", "4", "--runs", "720", "--json"]
    done = subprocess.run([sys.executable, "-c", _COMMAND, *told], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["releases"] == 2880
    assert {row["of"] for row in found["rows"]} == set(BOUNDS)
    assert {row["of"]: row["value"] for row in found["rows"] if row["ratio"] > 1} == {}
