"""Which way a run takes follows from public facts, is told in words, and says beforehand what it cannot do."""

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from benchmarks.synthetic import Setting, Truth, covering_draw, draw, error, oracle
from pubpriv.estimators.mixture._forecast import MixtureCase
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Regime, _needed, advice
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.mixture.rounds import UNTRUSTED
from pubpriv.estimators.planning import make_plan as plan_of
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)
CHEAP = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))


def drawn(m, gap, d=4, k=3, n=3000, seed=0):
    """Public and private rows of k unit Gaussians, `gap` apart; components take turns."""
    generator = np.random.default_rng(seed)
    means = gap / 2**0.5 * np.linalg.qr(generator.normal(size=(d, d)))[0][:k]
    return (means[np.arange(rows) % k] + generator.normal(size=(rows, d)) for rows in (m, n))


def estimated(public, private, k=3, budget=HALF, **options):
    curator = pp.Curator.simulation(private, budget, 1)
    return pp.estimate_mixture(public, curator, n_components=k, runner=CHEAP, **options)


# --- the choice ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "regime", "words"),
    [
        ((33, 10, 3, 1 / 3, 6.0, False), Regime.SCARCE, "33 public rows are fewer than the 60"),
        ((60, 10, 3, 1 / 3, 6.0, False), Regime.AMPLE, "60 public rows (60 would do)"),
        ((60, 10, 3, 0.1, 6.0, False), Regime.SCARCE, "fewer than the 200"),
        ((60, 10, 3, 1 / 3, 2.5, True), Regime.OVERLAPPING, "2.5 standard deviations, below 4"),
        ((41, 200, 5, 1 / 5, None, False), Regime.SCARCE, "too few to measure"),
        ((9, 10, 1, 1.0, None, True), Regime.OVERLAPPING, "one component"),
    ],
    ids=["scarce", "ample", "light component", "overlapping", "unknown separation", "one component"],
)
def test_the_regime_and_its_reason_follow_from_public_facts(facts, regime, words):
    """m, d, k, smallest weight and public separation; the reason has the numbers that decided."""
    found = Regime.of(*facts)
    assert found.name == regime
    assert words in found.reason


@pytest.mark.long
@pytest.mark.parametrize(
    ("m", "gap", "regime", "asked"),
    [
        (12, 10.0, Regime.SCARCE, {"mixture/pca", "mixture/coarse/subspace"}),
        (40, 10.0, Regime.AMPLE, set()),
        (40, 1.5, Regime.OVERLAPPING, {"mixture/pick-2"}),
    ],
)
def test_a_run_asks_what_its_regime_needs(m, gap, regime, asked):
    """Ample public rows spare the private subspace and its cells; the reason is in the diagnostics."""
    estimate = estimated(*drawn(m, gap))
    assert estimate.diagnostics["regime"] == regime
    assert estimate.diagnostics["regime_reason"]
    charged = {line["label"] for line in estimate.privacy["charges"]}
    assert asked <= charged
    if regime == Regime.AMPLE:
        assert not {"mixture/pca", "mixture/coarse/subspace"} & charged


def test_what_ample_public_rows_spare_goes_to_the_rounds():
    """The shares of the subspace are those of the rounds now, and the noise of the last one is smaller."""
    purse = Purse(10**11, "zcdp")
    scarce, ample = (MixturePlan.of(purse, 20_000, 10, 3, regime) for regime in (Regime.SCARCE, Regime.AMPLE))
    assert ample.asks[-1].price > 1.1 * scarce.asks[-1].price
    assert ample.noise < scarce.noise


# --- few public rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "told"), [(16, True), (17, False)])
def test_few_public_rows_are_told_of_before_anything_is_spent(m, told):
    """Below 5 log(k) / w_min the plan, and whoever checks a job, says so; from there on nobody does."""
    assert _needed(3, 1 / 3) == 17
    assert bool(advice(m, 3, 1 / 3)) == told
    notes = plan_of(MixtureCase.sized(4, m, MixtureSettings(n_components=3)), 3000, HALF).notes
    assert any("may have been missed" in note for note in notes) == told


@pytest.mark.long
def test_a_model_from_few_public_rows_says_so():
    """In its warnings, with the number that would do; the smallest weight that was asked for counts."""
    public, private = drawn(20, 10.0)
    few = [w for w in estimated(public, private, min_weight=0.1).diagnostics["warnings"] if "missed" in w]
    assert len(few) == 1
    assert "about 55 would do" in few[0]
    assert not [w for w in estimated(public, private).diagnostics["warnings"] if "missed" in w]


# --- fall-backs ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("gap", [10.0, 1.5])
def test_noise_that_is_known_to_drown_covariances_leaves_one_round(gap):
    """Predicted before the first charge: every start is measured once, and the reader is told what to trust."""
    public, private = drawn(40, gap, d=10, n=600)
    estimate = estimated(public, private, budget=pp.ZeroConcentratedDP(0.05))
    rounds = [label for label in estimate.diagnostics["rounds"] if "round" in label]
    assert estimate.diagnostics["covariance_noise_predicted"] > UNTRUSTED
    assert not [label for label in rounds if label.endswith("round-2")]
    (line,) = [w for w in estimate.diagnostics["warnings"] if "trust weights, means and scale only" in w]
    assert "as predicted from" in line


@pytest.mark.long
def test_the_same_rows_at_a_large_budget_are_measured_twice():
    """The fall-back above is one of noise, not of rows."""
    estimate = estimated(*drawn(40, 10.0, d=10, n=600), budget=pp.ZeroConcentratedDP(500))
    assert "mixture/round-2" in estimate.diagnostics["rounds"]
    assert estimate.diagnostics["covariance_noise_predicted"] < 0.5


def test_a_plan_says_beforehand_that_noise_drowns_covariances():
    """`plan mixture` is not feasible there, and says what can be trusted."""
    case = MixtureCase.sized(10, 40, MixtureSettings(n_components=3))
    told = plan_of(case, 600, pp.ZeroConcentratedDP(0.05))
    assert not told.feasible
    assert any("only means, weights and scales" in note for note in told.notes)
    assert plan_of(case, 600_000, pp.ZeroConcentratedDP(0.05)).feasible


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 3},
        {"n_components": None, "max_components": 5},
        {"n_components": 3, "covariance_type": "diag"},
        {"n_components": 3, "covariance_type": "spherical"},
        {"n_components": 3, "method": "bks-scarce"},
        {"n_components": 3, "method": "bks-ample"},
    ],
    ids=["default", "k looked for", "diag", "spherical", "bks-scarce", "bks-ample"],
)
def test_a_plan_asks_at_least_what_the_run_asks_at_the_same_prices(options):
    """Every charge of a run is a step of the plan made from the same public rows, at the same price."""
    public, private = drawn(30, 30.0, d=6)
    estimate = pp.estimate_mixture(public, pp.Curator.simulation(private, HALF, 1), runner=CHEAP, **options)
    case = MixtureCase.of(pp.PublicTable.open(public), MixtureSettings(**options))
    planned = {step.label: (step.question, step.price) for step in plan_of(case, len(private), HALF).steps}
    charged = {line["label"]: (line["question"], line["cost"]) for line in estimate.privacy["charges"]}
    # rounds are of as many components as were found, and a ladder is climbed on the share of the last one
    rounds = {label for label in charged if "round" in label or "/ladder/" in label or label.endswith("/explained")}
    assert {label: charged[label] for label in charged.keys() - rounds}.items() <= planned.items()
    assert charged


# --- at full scale -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("spherical", [False, True], ids=["anisotropic", "spherical"])
def test_ample_public_rows_need_no_subspace(spherical):
    """d 20, k 5, separation 6, 2 d k public rows, rho 0.1: components found in all of 6 runs, means near the best."""
    ratios = []
    for seed in range(6):
        generator = np.random.default_rng([seed, 20])
        setting = Setting(20, 5, 6.0, 200, 50_000, spherical=spherical)
        truth = draw(setting, generator)
        public = covering_draw(setting, truth, generator)[0]
        rows, labels = truth.sample(setting.n, generator)
        estimate = estimated(public, rows, 5, pp.ZeroConcentratedDP(0.1))
        assert estimate.diagnostics["regime"] == Regime.AMPLE
        ours = error(truth, Truth(estimate.weights, estimate.means, estimate.covariances))
        ratios.append(ours.mean / error(truth, oracle(rows, labels, 5)).mean)
    assert max(ratios) < 2.5
    assert np.median(ratios) < 1.5


# --- components that lie apart in single columns -------------------------------------------------------------


@pytest.mark.long
def test_components_that_lie_apart_in_one_column_each_are_found():
    """Their distance is most of those columns' spread, so clusters are looked for in units of the spread inside them.

    (From k-means clusters of the standardised columns alone both of these draws lose a component.)
    """
    d, k = 20, 5
    for seed in (1, 2):
        generator = np.random.default_rng(seed)
        means = 8.0 * np.eye(d)[generator.permutation(d)[:k]]
        public, private = (means[np.arange(rows) % k] + generator.normal(size=(rows, d)) for rows in (60, 10_000))
        curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP(1.0), 10 + seed)
        estimate = pp.estimate_mixture(public, curator, n_components=k)
        truth = Truth(np.full(k, 1 / k), means, np.stack([np.eye(d)] * k))
        assert error(truth, Truth(estimate.weights, estimate.means, estimate.covariances)).mean < 0.5
