"""Public rows that heap on one value: the target `gaussian` is refused before anything is spent."""

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.laws import LAWS
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian._heaps import heap


def found_in(rows):
    """What is said of public rows."""
    return heap(PublicTable.open(rows))


@pytest.mark.parametrize("d", [1, 4])
def test_costs_that_are_mostly_nothing_are_seen(d):
    """Zero in half of the rows, and no other value twice."""
    rows = np.random.default_rng(1).standard_normal((30, d)) + 3
    rows[:14, -1] = 0
    assert "is 0 in 14 of 30 public rows" in found_in(rows)
    rows[:14, -1] += np.arange(14) / 10
    assert found_in(rows) is None


@pytest.mark.parametrize("law", ["gaussian", "whole-numbers", "poisson-20", "poisson-0.5", "t5", "odd-1-wide-15"])
def test_rows_that_are_rounded_are_not(law):
    """However coarsely, and with odd rows among them."""
    generator = np.random.default_rng(2)
    assert not any(found_in(LAWS[law].draw(m, d, generator)) for m in (8, 30, 200) for d in (1, 5) for _ in range(5))
    assert not any(
        found_in(np.rint(sd * generator.standard_normal((30, 1)))) for sd in (0.3, 0.6, 1.0) for _ in range(9)
    )


def test_rows_that_are_there_more_than_once_are_not():
    """Public rows may be copies of each other."""
    rows = np.random.default_rng(3).standard_normal((30, 3))
    assert found_in(np.repeat(rows[:, :1], 5, axis=0)) is None
    assert found_in(np.vstack([rows, np.repeat(rows[:1], 25, axis=0)])) is None


def test_a_run_is_refused_before_it_is_charged_and_flagged_if_forced():
    """With what to do instead."""
    generator = np.random.default_rng(4)
    rows = LAWS["zero-inflated"].draw(3000, 2, generator)
    curator = pp.Curator.simulation(rows[30:], "zcdp:0.5", 1)
    with pytest.raises(InvalidInput, match="target moments"):
        pp.estimate_gaussian(rows[:30], curator, target="gaussian")
    forced = pp.estimate_gaussian(rows[:30], curator, target="gaussian", force=True)
    assert not forced.converged
    assert "no Gaussian is behind such a column" in " ".join(forced.diagnostics["warnings"])
    assert pp.estimate_gaussian(rows[:30], pp.Curator.simulation(rows[30:], "zcdp:0.5", 1)).target == "moments"
