"""The target `gaussian`: the bulk of tables with odd rows, and a single column of whole numbers."""

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.laws import LAWS
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian._learner import median_blur


def fit(name, seed, n=5000, d=1):
    """An estimate of the bulk of n rows of a law."""
    generator = np.random.default_rng([seed, n, d])
    private, public = LAWS[name].draw(n, d, generator), LAWS[name].draw(30, d, generator)
    return pp.estimate_gaussian(public, pp.Curator.simulation(private, "zcdp:0.5", seed), target="gaussian")


def test_intervals_hold_though_odd_rows_hide_among_the_rest():
    """Rows wider by 8 that lie where Gaussian ones do widen one column; the errors say by how much they may."""
    covered = 0
    for seed in range(8):
        found = fit("odd-2-wide-8", seed)
        errors = np.array([part[0, 0] for part in found.standard_errors["covariance"].values()])
        covered += abs(found.covariance[0, 0] - 1) < 1.96 * np.linalg.norm(errors)
        assert set(found.standard_errors["mean"]) == set(found.standard_errors["covariance"])
    assert covered >= 6


def test_without_odd_rows_nothing_is_added():
    """Gaussian rows have no error of clipping, nor do odd rows where none can hide."""
    assert set(fit("gaussian", 1).standard_errors["covariance"]) == {"sampling", "privacy"}
    errors = fit("odd-2-wide-8", 1, d=8).standard_errors["covariance"]
    assert errors["clipping"].max() < 1e-3


def test_whole_numbers_converge():
    """Their median of |w| may be anywhere in a gap of half a standard deviation, which is no reason for a flag."""
    assert all(fit("whole-numbers", seed).converged for seed in range(6))
    column = np.random.default_rng(3).standard_normal((30, 1))
    assert median_blur(PublicTable.open(column)) == 0
    assert median_blur(PublicTable.open(np.rint(2 * column))) == pytest.approx(1.5, rel=0.3)
    assert median_blur(PublicTable.open(np.rint(2 * np.hstack([column, column])))) == 0
