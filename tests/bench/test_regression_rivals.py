"""Rivals of a released regression: with little noise each is least squares, and a cell is met unless one is better."""

import numpy as np
import pytest

from benchmarks.regression import Cell, draw, least_squares_of
from benchmarks.regression_rivals import _row, adassp, adassp_exact, bench, opendp, public_ssp
from pubpriv.errors import InvalidInput


@pytest.mark.parametrize("rival", [adassp_exact, public_ssp])
def test_without_noise_a_rival_is_least_squares(rival):
    """Of a large budget; AdaSSP with bounds of its own clips some rows, and is near."""
    generator = np.random.default_rng(1)
    rows, _ = draw("gauss", 5_000, 3, generator)
    public, _ = draw("gauss", 60, 3, generator)
    own, errors, _ = least_squares_of(rows)
    assert np.abs((rival(rows, public, 1e8, generator) - own) / errors).max() < 3
    assert np.abs((adassp(rows, public, 1e8, generator) - own) / errors).max() < 8


def test_opendp_takes_one_regressor():
    generator = np.random.default_rng(2)
    rows, slopes = draw("gauss", 5_000, 1, generator)
    found = opendp(rows, draw("gauss", 60, 1, generator)[0], 0.5, generator)
    assert found == pytest.approx(slopes, rel=0.5)
    assert opendp(draw("gauss", 100, 2, generator)[0], rows[:10], 0.5, generator) is None


def way(*errors):
    return np.array(errors)


def test_a_cell_is_met_unless_a_private_rival_is_clearly_better():
    """One that leaks does not count, and one that is better by chance does not."""
    base = {"ols": way(1.0), "adassp_exact": way(0.1), "opendp": None}
    worse = [base | {"released": way(1.1 + i / 10), "adassp": way(2.0), "public_ssp": way(3.0)} for i in range(4)]
    assert _row(Cell("gauss", 10, 1), worse)["met"] is True
    better = [each | {"public_ssp": way(0.5)} for each in worse]
    assert _row(Cell("gauss", 10, 1), better)["met"] is False
    refused = [each | {"released": None} for each in worse]
    assert _row(Cell("gauss", 10, 1), refused)["met"] is False


def test_ways_are_compared_under_zcdp():
    with pytest.raises(InvalidInput, match="zCDP"):
        bench(1, budget="pure:1")
