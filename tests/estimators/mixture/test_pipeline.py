"""The mixture pipeline finds what is there, says what is awkward, and spends what it planned."""

import dataclasses
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from helpers.runners import instead
from hypothesis import given, settings
from hypothesis import strategies as st

import pubpriv as pp
from benchmarks.synthetic import SETTINGS, Truth, draw, draw_public, error, oracle
from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.privacy.budgets import Purse
from pubpriv.released.kinds import MixtureEstimate

HALF = pp.ZeroConcentratedDP(0.5)


@cache
def _fallback(columns, rows, scaling, k):
    return public_model(pp.PublicTable(columns, np.frombuffer(rows).reshape(-1, len(columns))), scaling, k)


QUICK = instead(public_model, lambda public, scaling, k: _fallback(public.columns, public.rows.tobytes(), scaling, k))
"""The plain steps, which remember the cross-validated fit of the public rows: most of the time of a small run."""


def clusters(k=3, d=4, n=4000, m=40, seed=0, gap=8.0):
    """Public and private rows of k unit Gaussians; every component has a public row."""
    generator = np.random.default_rng(seed)
    means = gap * generator.normal(size=(k, d))
    labels = np.r_[np.arange(k), generator.integers(k, size=max(m - k, 0))][:m]
    private = means[generator.integers(k, size=n)] + generator.normal(size=(n, d))
    return means[labels] + generator.normal(size=(m, d)), private


def fit(public, private, k, budget=HALF, seed=1, columns=None, **options):
    curator = pp.Curator.simulation(private, budget, seed, columns=columns)
    return pp.estimate_mixture(public, curator, n_components=k, **{"runner": QUICK, **options})


def whole(estimate, k, d):
    """Shapes, finiteness, positive definiteness, order, weights that sum to one."""
    assert estimate.weights.shape == (k,)
    assert estimate.means.shape == (k, d)
    assert estimate.covariances.shape == (k, d, d)
    assert np.isfinite(estimate.means).all()
    assert (np.diff(estimate.weights) <= 0).all()
    assert (estimate.weights > 0).all()
    assert estimate.weights.sum() == pytest.approx(1)
    for covariance in estimate.covariances:
        assert np.array_equal(covariance, covariance.T)
        assert np.isfinite(np.linalg.cholesky(covariance)).all()
    told, private = (estimate.diagnostics.get(name) for name in ("distance_from_public_rows", "private_model_chosen"))
    assert 0 <= told["least"] <= told["most"] <= 1 if told and private else told is None
    errors = estimate.standard_errors
    assert set(errors) == {"weights", "means", "covariances"}
    for name, shape in (("weights", (k,)), ("means", (k, d)), ("covariances", (k, d, d))):
        for part in ("sampling", "privacy"):
            found = np.array(errors[name][part])
            assert found.shape == shape
            assert np.isfinite(found).all()
            if part == "sampling" and not (name == "weights" and k == 1):
                assert (found > 0).all()
            if part == "privacy" and estimate.diagnostics["private_model_chosen"]:
                assert (found > 0).all() or (name == "weights" and k == 1)
            if part == "privacy" and not estimate.diagnostics["private_model_chosen"]:
                assert (found == 0).all()
    json.dumps(estimate.to_json(), allow_nan=False)
    return estimate


@pytest.fixture(scope="module")
def fitted():
    return fit(*clusters(), 3, columns=["a", "b", "c", "d"])


# -- quality --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_separated_components_are_recovered(seed):
    """Setting S1 at rho = 0.5: all components, means within 1.35 of the oracle that knows every label."""
    generator = np.random.default_rng(seed)
    setting = SETTINGS["S1"]
    truth = draw(setting, generator)
    public = draw_public(setting, truth, generator)
    rows, labels = truth.sample(setting.n, generator)
    estimate = whole(fit(public, rows, setting.k, seed=seed), setting.k, setting.d)
    ours = error(truth, Truth(estimate.weights, estimate.means, estimate.covariances))
    best = error(truth, oracle(rows, labels, setting.k))
    assert ours.mean <= 1.35 * best.mean
    assert ours.weight <= best.weight + 0.01
    assert ours.covariance < 0.5
    assert estimate.converged


@pytest.mark.long
def test_more_budget_brings_the_estimate_closer():
    """The error is made of noise: at a large budget it is far below that at a small one."""
    public, private = clusters(n=3000)
    truth = fit(public, private, 3, pp.ZeroConcentratedDP(50))
    near, far = (fit(public, private, 3, pp.ZeroConcentratedDP(rho)) for rho in (5, 0.02))

    def distance(estimate):
        return np.abs(np.sort(estimate.means, axis=0) - np.sort(truth.means, axis=0)).max()

    assert distance(near) < 0.3 * distance(far)


@pytest.mark.long
def test_units_of_the_columns_do_not_matter():
    """Columns of 1e-6 and of 1e6, and an offset, give the same model in other units."""
    public, private = clusters()
    scale, shift = np.array([1e-6, 1.0, 1e6, 1e3]), np.array([0.0, 1e3, -1e6, 0.0])
    plain, other = fit(public, private, 3), whole(fit(public * scale + shift, private * scale + shift, 3), 3, 4)
    assert np.allclose((other.means - shift) / scale, plain.means, rtol=1e-3, atol=1e-3)
    assert np.allclose(other.covariances / np.outer(scale, scale), plain.covariances, rtol=1e-2, atol=1e-2)


@pytest.mark.long
def test_the_same_seed_gives_the_same_bits(fitted):
    """A simulation is a function of rows, budget and seed."""
    again = fit(*clusters(), 3, columns=["a", "b", "c", "d"])
    assert again.mixture == fitted.mixture
    assert fit(*clusters(), 3, seed=2).mixture != fitted.mixture


# -- awkward input --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_constant_column_is_named():
    """Constant in the public rows, whether or not in the private ones: named, and the run goes on."""
    public, private = clusters()
    public[:, 1] = 7.0
    for rows in (private, np.where(np.arange(4) == 1, 7.0, private)):
        estimate = whole(fit(public, rows, 3, columns=["a", "b", "c", "d"]), 3, 4)
        (note,) = [w for w in estimate.diagnostics["warnings"] if "constant" in w]
        assert "column b " in note


@pytest.mark.long
@pytest.mark.parametrize("combination", [[1, 0, 0, 0], [2, -1, 0, 0.5]], ids=["copy", "combination"])
def test_a_collinear_column_is_named(combination):
    """A copy, or a linear combination, of other columns: named, and the covariance stays positive."""
    public, private = (np.c_[rows, rows @ np.array(combination)] for rows in clusters())
    estimate = whole(fit(public, private, 3, columns=list("abcde")), 3, 5)
    (note,) = [w for w in estimate.diagnostics["warnings"] if "linear combination" in w]
    assert "column e " in note


def test_ordinary_columns_are_not_complained_of(fitted):
    """No warning where nothing is awkward."""
    assert not [w for w in fitted.diagnostics["warnings"] if "column" in w]


@pytest.mark.long
@pytest.mark.parametrize("m", [2, 3, 12])
def test_one_component_from_few_public_rows_is_a_gaussian(m):
    """k = 1 from few public rows is a Gaussian."""
    public, private = clusters(k=1, d=3, m=m)
    estimate = whole(fit(public, private, 1), 1, 3)
    assert estimate.weights.tolist() == [1.0]
    if m > 3:
        assert np.abs(estimate.means[0] - private.mean(axis=0)).max() < 0.2


@pytest.mark.long
@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("k", [2, 4, pytest.param(8, marks=pytest.mark.slow)])
def test_as_many_components_as_public_rows(k, d):
    """m = k, with more and with fewer columns than components."""
    whole(fit(*clusters(k=k, d=d, m=k), k), k, d)


REPEATED = {
    "each six times": lambda rows: np.repeat(rows[:8], 6, axis=0),
    "as many as components": lambda rows: np.repeat(rows[:3], 10, axis=0),
    "fewer than components": lambda rows: np.repeat(rows[:2], 10, axis=0),
    "one row": lambda rows: np.repeat(rows[:1], 10, axis=0),
    "two of many": lambda rows: np.r_[rows, rows[:2]],
}


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.slow) if how == "one row" else how for how in REPEATED]
)
def test_repeated_public_rows_leave_a_whole_model(how):
    """Duplicates among the public rows, down to a single distinct one, do not crash and leave a whole model."""
    public, private = clusters()
    whole(fit(REPEATED[how](public), private, 3), 3, 4)


@pytest.mark.long
@pytest.mark.parametrize("n", [1, 50])
@pytest.mark.parametrize("d", [4, 30])
def test_fewer_private_rows_than_expected(n, d):
    """Noise drowns everything: the public model is returned, and the reader is told."""
    estimate = whole(fit(*clusters(d=d, n=n), 3), 3, d)
    assert not estimate.diagnostics["private_model_chosen"]
    assert any("public one, which is returned" in w for w in estimate.diagnostics["warnings"])


ODD = {
    "far away": lambda rows: rows + 1e5,
    "huge": lambda rows: rows * 1e300,
    "a tenth NaN": lambda rows: np.where(np.arange(len(rows))[:, None] % 10 == 0, np.nan, rows),
}


@pytest.mark.long
@pytest.mark.parametrize("how", ODD)
def test_odd_private_rows_leave_a_whole_model(how):
    """Whatever the private rows are, the run ends with a whole model and without a warning."""
    public, private = clusters()
    with np.errstate(over="ignore"):
        rows = ODD[how](private)
    whole(fit(public, rows, 3), 3, 4)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "positive integer"),
        (-1, "positive"),
        (True, "positive"),
        (2.0, "positive"),
        ("3", "positive"),
        (101, "most"),
        (41, "41 comp"),
    ],
)
def test_bad_numbers_of_components_are_refused(k, message):
    """Before anything is charged."""
    public, private = clusters()
    curator = pp.Curator.simulation(private, HALF, 1)
    with pytest.raises(InvalidInput, match=message):
        pp.estimate_mixture(public, curator, n_components=k)
    assert not curator.statement().charges


@pytest.mark.parametrize(
    ("public", "message"),
    [
        (np.zeros((1, 4)), "at least two"),
        (np.zeros((9, 3)), "columns"),
        (np.full((9, 4), 1e200) * np.arange(9)[:, None], "too large"),
    ],
    ids=["one row", "other columns", "huge"],
)
def test_bad_public_rows_are_refused(public, message):
    """Before anything is charged."""
    curator = pp.Curator.simulation(clusters()[1], HALF, 1)
    with pytest.raises(InvalidInput, match=message):
        pp.estimate_mixture(public, curator, n_components=1)
    assert not curator.statement().charges


# -- money ----------------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(derandomize=True, deadline=None, database=None, max_examples=150)
@given(
    units=st.integers(10**7, 10**14),
    n=st.integers(1, 10**9),
    d=st.integers(1, 300),
    k=st.integers(1, 100),
    regime=st.sampled_from(["overlapping", "separated-scarce", "separated-ample"]),
    search=st.booleans(),
    kind=st.sampled_from(["zcdp", "approx"]),
)
def test_a_plan_spends_its_share_exactly(units, n, d, k, regime, search, kind):
    """Prices add up to the purse, each is payable in whole units, and labels are unique."""
    purse = Purse(units, kind)
    most = min(k + 3, 20) if search and k <= 20 else 0
    plan = MixturePlan.of(purse, n, d, k, regime, most=most)
    assert sum((ask.price for ask in plan.asks), Fraction(0)) == purse.squared_distance(units)
    assert all(ask.price > 0 and (ask.price * 10**12).denominator == 1 for ask in plan.asks)
    assert len({ask.label for ask in plan.asks}) == len(plan.asks)
    assert plan == MixturePlan.of(purse, n, d, k, regime, most=most)


@pytest.mark.long
@pytest.mark.parametrize("budget", [HALF, pp.ApproximateDP(1.0, 1e-6), pp.ApproximateDP(20.0, 1e-6)], ids=str)
def test_a_run_charges_its_plan(budget):
    """Every planned question is charged once, in its place, within its price; nearly all of the budget is used."""
    curator = pp.Curator.simulation(clusters()[1], budget, 1)
    estimate = whole(pp.estimate_mixture(clusters()[0], curator, n_components=3, runner=QUICK), 3, 4)
    charges = curator.statement().charges
    assert sorted(c.label for c in charges) == sorted(estimate.diagnostics["rounds"])
    spent = sum(Fraction(c.cost.split()[0]) for c in charges)
    cap = Fraction(budget.cap.main, 10**12)
    assert 0.999 * cap < spent <= cap


@pytest.mark.long
def test_the_plan_does_not_depend_on_private_rows():
    """Other rows of the same number are asked the same first question, and the same others if its answer is alike.

    Rows that public ones do not cover are asked one question more, out of the same sum; and where they are wider, the
    last round is divided.
    """
    public, private = clusters()
    told = []
    for rows in (private, private[::-1] * 3 + 1, private[::-1]):
        curator = pp.Curator.simulation(rows, HALF, 1)
        pp.estimate_mixture(public, curator, n_components=3, runner=QUICK)
        told.append([dataclasses.astuple(c) for c in curator.statement().charges])
    assert told[0] == told[2]
    assert told[0][0] == told[1][0]
    labels = [[charge[0] for charge in charges] for charges in told]
    at_home = [label for label in labels[1] if "/home/" in label]
    assert at_home == ["mixture/home/round-1", "mixture/home/round-2"]
    both = {"mixture/absent-component", "mixture/round-2", *at_home}
    assert [label for label in labels[1] if label not in both] == [label for label in labels[0] if label not in both]


def test_a_budget_for_the_estimate_is_kept():
    """What is left of the run can be used by another method; asking for more than there is, is refused."""
    public, private = clusters()
    curator = pp.Curator.simulation(private, HALF, 1)
    tenth = pp.ZeroConcentratedDP(0.1)
    estimate = pp.estimate_mixture(public, curator, n_components=3, budget=tenth, runner=QUICK)
    assert 0.0999 < float(estimate.privacy["spent"].split()[0]) <= 0.1
    with pytest.raises(SpecMismatch):
        pp.estimate_mixture(public, curator, n_components=2, budget=tenth, runner=QUICK)
    assert curator.begin("another", {}, "f00").units == 4 * 10**11
    poor = pp.Curator.simulation(private, tenth, 1)
    with pytest.raises(BudgetExceeded):
        pp.estimate_mixture(public, poor, n_components=3, budget=HALF, runner=QUICK)
    assert not poor.statement().charges


@pytest.mark.long
def test_steps_can_be_wrapped():
    """Any runner of steps gives the same bits; private steps, and no others, are called with the curator first."""
    called = []

    def around(step, place, /, *args):
        called.append((step, type(args[0]).__name__ == "Curator"))
        return step(*args)

    public, private = clusters()
    few = public[:20]  # so few that a private subspace is needed
    assert fit(few, private, 3, runner=around).mixture == fit(few, private, 3).mixture
    assert all(step.private == first for step, first in called)
    private_steps = {step.name for step, first in called if first}
    measured = {"count_rows", "uncovered", "private_pca", "locate", "estimate_components"}
    assert private_steps == measured | {"prefer", "check_fit", "count_far"}


# -- models ---------------------------------------------------------------------------------------------------


def test_a_model_survives_its_file(fitted, tmp_path):
    """Every number bit for bit, in every part, and the file is replaced whole."""
    path = tmp_path / "models" / "model.json"
    fitted.save(path)
    fitted.save(path)
    back = pp.load(path)
    assert isinstance(back, MixtureEstimate)
    assert back.mixture == fitted.mixture
    assert back.to_json() == fitted.to_json()
    assert [p.name for p in path.parent.iterdir()] == ["model.json"]
    data = json.loads(path.read_text())
    assert data["format"] == 2
    assert set(data) >= {"kind", "method", "converged", "columns", "weights", "means", "covariances", "standard_errors"}
    assert set(data["privacy"]) == {"unit", "neighbouring", "kind", "guarantee", "spent", "charges"}
    assert set(data["provenance"]) >= {"dataset", "release_id", "n_private", "n_public", "public_sha256", "version"}


def test_a_simulated_model_says_so(fitted):
    """Its guarantee is none, in words."""
    assert fitted.privacy["guarantee"]["text"] == "none (simulation)"
    assert "simulation" in fitted.method


def test_a_model_becomes_scikit_learns(fitted):
    """The same densities, labels and samples from a `GaussianMixture`."""
    model = fitted.to_sklearn()
    rows = fitted.sample(500, seed=3)
    assert np.allclose(model.score_samples(rows), fitted.log_density(rows))
    assert model.predict(rows).shape == (500,)
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert model.sample(10)[0].shape == (10, 4)


def test_samples_follow_the_model(fitted):
    """Means and covariance of a large sample are the model's; the seed decides, and the order carries nothing."""
    rows = fitted.sample(200_000, seed=1)
    assert np.array_equal(rows[:10], fitted.sample(200_000, seed=1)[:10])
    mean = fitted.weights @ fitted.means
    within = np.einsum("k,kij->ij", fitted.weights, fitted.covariances)
    between = np.einsum("k,ki,kj->ij", fitted.weights, fitted.means - mean, fitted.means - mean)
    spread = np.sqrt(np.diag(within + between))
    assert (np.abs(rows.mean(axis=0) - mean) < 5 * spread / math.sqrt(200_000)).all()
    assert np.abs((np.cov(rows.T) - within - between) / np.outer(spread, spread)).max() < 0.02
    assert np.abs(rows[:100_000].mean(axis=0) - mean).max() < 0.05 * spread.max()
    with pytest.raises(InvalidInput, match="positive number of rows"):
        fitted.sample(0)


@pytest.mark.slow
def test_standard_errors_are_as_large_as_the_errors():
    """Over seeds of the noise, estimates scatter about their mean as the privacy part says."""
    public, private = clusters(n=2000)
    estimates = [fit(public, private, 3, seed=seed) for seed in range(12)]
    order = [np.argsort(e.means[:, 0]) for e in estimates]
    scatter = np.std([e.means[o] for e, o in zip(estimates, order, strict=True)], axis=0, ddof=1)
    told = np.mean(
        [np.array(e.standard_errors["means"]["privacy"])[o] for e, o in zip(estimates, order, strict=True)], axis=0
    )
    assert 0.7 < np.sqrt((scatter**2).mean() / (told**2).mean()) < 1.4
