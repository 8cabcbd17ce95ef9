"""Mixtures without public rows: components are found within a bound, or the model is flagged, or there is no answer."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture.declaration import MIXTURE
from pubpriv.estimators.mixture.kssu.plan import kssu_plan
from pubpriv.estimators.planning import Size, make_plan
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)


def blobs(means, sds, n, seed=0):
    """Rows of round components of equal weight, about a point far from zero."""
    random = np.random.default_rng(seed)
    label = random.integers(len(means), size=n)
    rows = np.array(means, dtype=float)[label] + np.array(sds)[label, None] * random.standard_normal((n, len(means[0])))
    return rows + 300.0


def fit(rows, k, budget=HALF, seed=0, **options):
    """One simulated run, bound 1,000."""
    given = {"n_components": k, "method": "kssu", "bound": 1000.0} | options
    return pp.estimate_mixture(None, pp.Curator.simulation(rows, budget, seed), **given)


def far_off(found, means):
    """Largest distance of a true mean to the nearest released one."""
    return max(float(np.linalg.norm(found.means - 300.0 - np.array(mean), axis=1).min()) for mean in means)


@pytest.mark.long
@pytest.mark.parametrize("budget", [HALF, pp.ApproximateDP(4, "1e-6")])
@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_components_that_lie_apart_are_found(budget, kind):
    """Under both kinds of budget, with covariances of every kind; nothing is told of public rows."""
    means = [[0, 0, 0], [8, 0, 0], [0, 9, 0]]
    found = fit(blobs(means, [1, 1, 1], 6000), 3, budget, covariance_type=kind)
    assert found.converged
    assert far_off(found, means) < 0.3
    assert np.abs(found.covariances - np.eye(3)).max() < 0.3
    assert found.provenance["n_public"] == 0
    assert found.public == {}


@pytest.mark.slow
def test_components_within_each_others_reach_are_found_by_recursion():
    """A tight pair beside wide ones: the second level looks at the pair alone."""
    means = [[0, 0], [8, 0], [400, 300], [400, -300]]
    found = fit(blobs(means, [1, 1, 30, 30], 20_000), 4)
    assert found.converged
    assert found.diagnostics["levels"] == 2
    assert far_off(found, means[:2]) < 0.3
    assert far_off(found, means[2:]) < 10


def test_fewer_components_than_asked_for_are_released_and_flagged():
    """One blob for two components: no split is invented."""
    found = fit(blobs([[0, 0, 0]], [1], 4000), 2)
    assert not found.converged
    assert len(found.weights) == 1
    assert any("1 of 2 components" in warning for warning in found.diagnostics["warnings"])


@pytest.mark.long
def test_labels_and_prices_are_those_of_the_plan():
    """What is asked is a part of it, in its order; all of it fits the purse."""
    curator = pp.Curator.simulation(blobs([[0, 0], [9, 0]], [1, 1], 4000), HALF, 0)
    pp.estimate_mixture(None, curator, n_components=2, method="kssu", bound=1000.0)
    labels = [ask.label for ask in kssu_plan(Purse.of(HALF), 4000, 2, 2, "full").asks]
    asked = [line.label for line in curator.statement().charges]
    assert asked == [label for label in labels if label in asked]
    assert asked[-1] == "mixture/round-2"
    settings = MixtureSettings(n_components=2, method="kssu", bound=1000.0)
    plan = make_plan(MIXTURE.case(settings, Size(0, 2)), 4000, HALF)
    assert [step.label for step in plan.steps] == labels
    assert plan.feasible
    assert any("6 public rows" in note for note in plan.notes)
    assert {told.theorem for told in plan.theorems} == {"KSSU 4.2", "KSSU 4.3", "KSSU 5.2", "AAL 6.2"}


def test_no_rows_within_the_bound_are_no_answer():
    """Told, and the rest of the plan is not asked."""
    curator = pp.Curator.simulation(blobs([[0, 0]], [1], 2000), HALF, 0)
    with pytest.raises(NoAnswer, match="larger bound"):
        pp.estimate_mixture(None, curator, n_components=2, method="kssu", bound=1.0)
    assert all("zoom" in line.label for line in curator.statement().charges)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"bound": None}, "needs a bound"),
        ({"bound": 0.0}, "needs a bound"),
        ({"n_components": None}, "number of components"),
        ({"covariance_type": "auto"}, "full, diag or spherical"),
        ({"method": "auto"}, "a bound is for"),
        ({"public": np.zeros((9, 2))}, "leave them out"),
        ({"min_weight": 0.9}, "at most 1 / k"),
    ],
)
def test_what_cannot_be_is_refused_for_nothing(options, text):
    """Before anything is asked."""
    curator = pp.Curator.simulation(blobs([[0, 0]], [1], 500), HALF, 0)
    given = {"public": None, "n_components": 2, "method": "kssu", "bound": 1000.0} | options
    with pytest.raises(InvalidInput, match=text):
        pp.estimate_mixture(given.pop("public"), curator, **given)
    assert not curator.statement().charges
