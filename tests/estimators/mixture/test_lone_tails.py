"""Laws of a tail of one column: what a round makes of it, and which column it is."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lengths import beyond_share
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._linear import clip_radius
from pubpriv.estimators.mixture._lone_tails import lone_tails, seen_in_columns
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.released.law import Mixture


def test_a_single_column_has_no_others():
    """Laws that are alike in all columns are enough there."""
    assert lone_tails(1, 3.0, 4.0) == ()


@pytest.mark.parametrize("d", [2, 5, 20])
def test_rows_of_a_law_look_gaussian_to_a_round(d):
    """Clipped rows have the second moment of Gaussian ones, along the column that is long, and a longer tail.

    A column that is long to one side alone has two laws, and its mean lies on that side.
    """
    radius, end = clip_radius(d), 1.2 * clip_radius(d)
    laws = lone_tails(d, radius, end)
    assert len(laws) >= 26  # of the longest, few columns show that the variance is more than four times as large
    for law in laws:
        assert 1 - 1e-3 < law.factor < 4
        assert 0.004 < law.far < 0.04  # of a Gaussian column .0027
        assert law.sampling >= 1
        assert law.law.shares(np.array([radius, end]), np.ones(1))[0, -1] > 0.8 * beyond_share(d, end)
    assert sorted(law.place for law in laws) == pytest.approx(sorted(-law.place for law in laws), abs=0.003)
    assert max(law.place for law in laws) > 0.03


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_public_rows_show_which_column_is_long(step):
    """By the values in it, on a lattice or not: each of the others is likelier to be Gaussian."""
    generator = np.random.default_rng(4)
    rows = generator.standard_normal((60, 5))
    rows[:, 2] = generator.exponential(size=60) - 1
    rows = np.rint(rows / step) * step if step else rows
    mixture = Mixture.of(np.ones(1), np.zeros((1, 5)), np.eye(5)[None])
    scaling = precondition(PublicTable.open(rows))
    standard = Mixture.of(np.ones(1), scaling.apply(np.zeros((1, 5))), np.diag(1 / np.array(scaling.scale) ** 2)[None])
    last = Round(standard, (1000.0,), 1.0, 1.0, 1.0, mixture, 1000.0)
    seen = seen_in_columns(scaling, last, rows, np.zeros(60, dtype=int))
    assert seen.sum(axis=1) == pytest.approx(np.full(5, 60.0))
    radius = clip_radius(5)
    odds = np.max([seen @ law.odds for law in lone_tails(5, radius, 1.2 * radius)], axis=0)
    assert odds[2] > 3
    assert np.delete(odds, 2).max() < 1


@pytest.mark.slow
def test_a_very_long_column_is_covered():
    """Of t with three degrees of freedom, among nine Gaussian columns of three components: 4 of 18 intervals held."""
    held = 0
    for seed in range(6):
        generator = np.random.default_rng(seed)
        rows = generator.standard_normal((20_060, 10))
        rows[:, 9] = generator.standard_t(3, len(rows))
        rows[:, :3] += 8 * np.eye(3)[np.arange(len(rows)) % 3]
        trial = pp.Curator.simulation(rows[60:], "zcdp:0.5", seed)
        found = pp.estimate_mixture(rows[:60], trial, n_components=3)
        parts = [np.asarray(part)[:, 9, 9] for part in found.standard_errors["covariances"].values()]
        held += int((np.abs(found.covariances[:, 9, 9] - 3) < 1.96 * np.linalg.norm(parts, axis=0)).sum())
    assert held >= 15
