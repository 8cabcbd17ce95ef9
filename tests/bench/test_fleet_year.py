"""The bench of a fleet's year, on a small one: nothing of what it measures grows out of its bounds."""

import pytest

from benchmarks.year import BOUNDS, bench


@pytest.mark.slow
def test_a_year_stays_within_its_bounds():
    """Four datasets with a month of hourly releases each; the command measures twenty with a year."""
    found = bench(4, 720)
    assert found["releases"] == 2880
    assert {row["of"] for row in found["rows"]} == set(BOUNDS)
    assert {row["of"]: row["value"] for row in found["rows"] if row["ratio"] > 1} == {}
