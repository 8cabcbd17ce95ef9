"""A plan is checked as a whole before its first charge."""

from fractions import Fraction

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.mixture._course import _surely
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture.rounds import round_radius
from pubpriv.privacy.budgets import Purse

ROWS = np.random.default_rng(0).normal(size=(2000, 3))
REGIMES = ("overlapping", "separated-scarce", "separated-ample")
PUBLIC = np.random.default_rng(1).normal(size=(60, 3))


@pytest.mark.parametrize("budget", ["approx:24,1e-6", "approx:1,1e-20", "zcdp:1e-11"])
def test_a_budget_that_some_step_cannot_use_is_refused_before_any_step_is_charged(budget):
    """Failure terms past the reserve, and shares below a unit, are found with nothing spent."""
    curator = pp.Curator.simulation(ROWS, pp.parse_budget(budget), seed=1)
    with pytest.raises(InvalidInput, match=r"failure terms|too small"):
        pp.estimate_mixture(PUBLIC, curator, n_components=2)
    assert not curator.statement().charges


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("d", [2, 7])
def test_rehearsed_questions_cost_what_the_run_charges(regime, d):
    """Each question of the rehearsal fits its price, and nearly uses it up."""
    plan = MixturePlan.of(Purse(10**12, "zcdp"), n=5000, d=d, k=3, regime=regime, groups=2)
    for ask, question in zip(plan.asks, plan.questions, strict=True):
        # about one region, the guard's and the Gram's bounds are those of many
        assert Fraction(999, 1000) * ask.price < question.squared_distance <= ask.price


@pytest.mark.slow
def test_a_run_charges_the_parts_that_were_rehearsed():
    """Noise scales and sizes of a real run are those of its rehearsal."""
    curator = pp.Curator.simulation(ROWS, pp.ZeroConcentratedDP(0.5), seed=1)
    pp.estimate_mixture(PUBLIC, curator, n_components=2)
    charged = {line.label: line.noise_scale for line in curator.statement().charges}
    plan = MixturePlan.of(Purse(5 * 10**11, "zcdp"), n=2000, d=3, k=2, regime="overlapping")
    rehearsed = {
        ask.label: tuple(part.noise_scale for part in question.parts.values())
        for ask, question in zip(plan.asks, plan.questions, strict=True)
    }
    assert charged == rehearsed


@pytest.mark.parametrize(("most", "before"), [(0, 1), (3, 0)])
def test_noise_is_begun_on_for_subspaces_that_are_surely_asked_for(most, before):
    """Where k is known they come first; while it is looked for, they were asked before noise is begun on again."""
    plan = MixturePlan.of(Purse(10**12, "zcdp"), n=5000, d=7, k=3, regime="separated-scarce", most=most)
    expected = [plan.pca.question] * before + [ask.question for ask in plan.rounds]
    assert _surely(plan, None) == expected


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
@pytest.mark.parametrize("d", [1, 7])
def test_the_last_round_of_many_rows_takes_little_of_them(d, kind):
    """It clips one Gaussian row in two thousand, of few rows one in a hundred; noise adds two percent to errors."""
    usual, radii = round_radius(kind, d), []
    for n in (2_000, 20_000, 60_000, 10**7):
        plan = MixturePlan.of(Purse(10**12, "zcdp"), n=n, d=d, k=3, regime="overlapping", covariance_type=kind)
        *before, last = (ask.question.radii[0] for ask in plan.rounds)
        assert all(radius == usual for radius in before)
        noise = plan.rounds[-1].question.noise()["square" if kind == "spherical" else "moment"].max()
        own = noise / d / np.sqrt(2 * n / 3 / d) if kind == "spherical" else noise / np.sqrt(2 * n / 3)
        assert last == usual or own < 0.21
        radii.append(last)
    assert radii[0] == usual
    assert radii == sorted(radii)
    assert radii[-1] == max(usual, length_quantile(d, 0.9995))


def test_radial_noise_has_the_usual_radius():
    """A pure run cuts nothing off, so nothing says how far out its rows lie."""
    plan = MixturePlan.of(Purse(10**12, "pure"), n=10**7, d=2, k=3, regime="overlapping")
    assert plan.rounds[-1].question.radii[0] == round_radius("full", 2)
