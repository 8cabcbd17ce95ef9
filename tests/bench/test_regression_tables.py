"""The bench of regressions of real tables: what a draw is worth, and how draws are summed up."""

import pytest

from benchmarks.regression_tables import _drawn, _row, bench
from pubpriv.released.numbers import State


@pytest.mark.long
def test_a_draw_judges_each_coefficient_and_is_the_same_again():
    found = _drawn(("diabetes 1", "zcdp:0.5", 3, False))
    assert found == _drawn(("diabetes 1", "zcdp:0.5", 3, False))
    assert len(found["coefficients"]) == 4
    assert all(each["width"] > 0 for each in found["coefficients"])


def one(off, state=State.GOOD, clear=True, found=True):
    return {"state": state, "off": off, "width": 2.0, "clear": clear, "found": found, "wrong": False}


def test_doubtful_coefficients_and_refusals_are_counted_apart():
    drawn = [
        {"n": 500, "refused": False, "coefficients": [one(1.0), one(4.0, clear=False, found=False)]},
        {"n": 500, "refused": False, "coefficients": [one(9.0, State.DOUBTFUL), one(0.5, found=False)]},
        {"n": 500, "refused": True, "coefficients": []},
    ]
    row = _row("a", drawn)
    assert (row["refused"], row["doubtful"], row["coefficients"]) == (1, 1, 3)
    assert row["within"] == pytest.approx(2 / 3)
    assert (row["furthest"], row["clear"], row["found"]) == (4.0, 2, 1)


def test_a_bench_is_met_if_coefficients_are_sound():
    found = bench(1, workers=1, tables="diabetes 1")
    assert found["met"] is (found["ratio"] >= 0.985)
    assert [row["table"] for row in found["rows"]] == ["diabetes 1"]
