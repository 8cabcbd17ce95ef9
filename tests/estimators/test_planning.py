"""What a plan says before a row is read: the prices that a run then pays, and the errors that it then has."""

import math

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.estimators.gaussian._forecast import GaussianCase
from pubpriv.estimators.gaussian._reference_forecast import ReferenceGaussianCase
from pubpriv.estimators.mean._plan import MeanCase
from pubpriv.estimators.mean._reference_forecast import ReferenceMeanCase
from pubpriv.estimators.mixture._forecast import MixtureCase
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.planning import make_plan

HALF = pp.parse_budget("zcdp:0.5")


def gaussians(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


# --- prices --------------------------------------------------------------------------------------------------


def _mean(method):
    return lambda public, curator: pp.estimate_mean(public, curator, covariance="identity", method=method)


def _gaussian(target, method="learner"):
    return lambda public, curator: pp.estimate_gaussian(public, curator, target=target, method=method)


def _mixture(public, curator):
    return pp.estimate_mixture(public, curator, n_components=2)


def _reference(table, method):
    return ReferenceMeanCase(3, len(table.rows), method, 2)


RUNS = {
    "mean": (lambda table: MeanCase(3, len(table.rows)), _mean("two-step")),
    "clip-and-noise": (
        lambda table: ReferenceMeanCase(3, len(table.rows), "clip-and-noise", 2),
        _mean("clip-and-noise"),
    ),
    "coinpress": (lambda table: _reference(table, "coinpress"), _mean("coinpress")),
    "algorithm-2": (lambda table: ReferenceGaussianCase(3, len(table.rows)), _gaussian("gaussian", "algorithm-2")),
    "gaussian": (lambda table: GaussianCase.of(table, "gaussian", {}), _gaussian("gaussian")),
    "moments": (lambda table: GaussianCase.of(table, "moments", {}), _gaussian("moments")),
    "auto": (lambda table: GaussianCase.of(table, "auto", {}), _gaussian("auto")),
    "mixture": (lambda table: MixtureCase.of(table, MixtureSettings(n_components=2)), _mixture),
}


@pytest.mark.parametrize("budget", ["zcdp:0.5", "approx:3,1e-6"])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_asks_what_was_planned_at_the_price_that_was_planned(name, budget):
    """Labels, kinds and exact prices are those of the run's statement; the last release has what no round needed."""
    case_of, estimate = RUNS[name]
    private, public = gaussians(2000, 3, 1), gaussians(30, 3, 2)
    for rows in (private, public):
        rows[::2] += 9.0 * (name == "mixture")
    allotment = pp.parse_budget(budget)
    told = estimate(public, pp.Curator.simulation(private, allotment, 1)).privacy
    plan = make_plan(case_of(pp.PublicTable.open(public)), 2000, allotment)
    asked = [(step.label, step.question, step.price) for step in plan.steps]
    paid = [(charge["label"], charge["question"], charge["cost"]) for charge in told["charges"]]
    labels = {label for label, _, _ in paid}
    spared = [step for step in asked if step[0] not in labels]
    assert all(label.startswith("gaussian/round-") for label, _, _ in spared)
    ended = {"gaussian/final"} if spared else set()
    kept = [[step for step in steps if step[0] in labels - ended] for steps in (asked, paid)]
    assert sorted(kept[0]) == sorted(kept[1])  # a mixture's guard is planned first and asked last
    whole = [sum(float(price.split()[0]) for _, _, price in steps) for steps in (asked, paid)]
    assert whole[0] == pytest.approx(whole[1])
    assert sum(step.share for step in plan.steps) == pytest.approx(1)


@pytest.mark.parametrize("method", ["bks-scarce", "bks-ample"])
@pytest.mark.parametrize("budget", ["zcdp:1", "approx:3,1e-6"])
def test_a_plan_of_the_papers_algorithms_tells_what_their_theorem_asks_for(method, budget):
    """Before a row is read, with the numbers that the run's diagnostics then hold."""
    private, public = gaussians(2000, 3, 1), gaussians(30, 3, 2)
    for rows in (private, public):
        rows[::2] += 60.0
    allotment = pp.parse_budget(budget)
    settings = MixtureSettings(n_components=2, method=method)
    curator = pp.Curator.simulation(private, allotment, 1)
    asked = pp.estimate_mixture(public, curator, n_components=2, method=method).diagnostics["requirement"]
    plan = make_plan(MixtureCase.of(pp.PublicTable.open(public), settings), 2000, allotment)
    (told,) = [note for note in plan.notes if note.startswith("theorem")]
    assert f"theorem {asked['theorem']} asks for means {asked['separation']:,.0f} standard deviations apart" in told
    assert f"{asked['public_rows']:,} public and {asked['private_rows']:,} private rows" in told


def test_degenerate_columns_are_planned_for():
    """A column that is constant in the public rows costs a question, unless its scale is given, and is told of."""
    rows = gaussians(30, 3, 2)
    rows[:, 2] = 0.0
    table = pp.PublicTable.open(rows)
    free, given = (make_plan(GaussianCase.of(table, "auto", scale), 5000, HALF) for scale in ({}, {"x2": 2.0}))
    extra = {step.label for step in free.steps} - {step.label for step in given.steps}
    assert extra == {"gaussian/scale-3"}
    assert any("x2" in note for note in free.notes)
    with pytest.raises(InvalidInput, match="x2"):
        GaussianCase.of(table, "gaussian", {})


# --- feasibility and wanted errors ---------------------------------------------------------------------------

CASES = {
    "mean": MeanCase(20, 3),
    "gaussian": GaussianCase.sized(5, 6, "gaussian"),
    "auto": GaussianCase.sized(5, 6, "auto"),
    "mixture": MixtureCase.sized(5, 60, MixtureSettings(n_components=3)),
}


@pytest.mark.long
@pytest.mark.parametrize("budget", ["zcdp:0.5", "approx:1,1e-6"])
@pytest.mark.parametrize("name", CASES)
def test_the_rows_and_the_budget_for_a_wanted_error_reach_it_and_not_by_far(name, budget):
    """With the rows, or the budget, that a plan tells the error is below the wanted one; with nine tenths it is not."""
    case, allotment = CASES[name], pp.parse_budget(budget)
    now = make_plan(case, 3000, allotment).forecast.errors[0]
    wanted = math.hypot(now.sampling, 0.8 * now.privacy)
    error, enough = make_plan(case, 3000, allotment, wanted).wanted
    assert error == wanted

    def reached(n, budget):
        return make_plan(case, n, budget).forecast.errors[0].error <= wanted

    assert reached(enough.rows, allotment)
    assert not reached(int(0.9 * enough.rows), allotment)
    richer = pp.parse_budget(enough.budget)
    assert reached(3000, richer)
    kind, _, numbers = enough.budget.partition(":")
    size, comma, delta = numbers.partition(",")
    assert not reached(3000, pp.parse_budget(f"{kind}:{0.9 * float(size):.6f}{comma}{delta}"))


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_below_feasibility_a_plan_says_what_would_do(name):
    """Few rows at a tiny budget are not feasible; what the plan tells in their place is."""
    case, poor = CASES[name], pp.parse_budget("zcdp:0.0001")
    plan = make_plan(case, 200, poor)
    assert not plan.feasible
    assert make_plan(case, plan.enough.rows, poor).feasible
    assert make_plan(case, 200, pp.parse_budget(plan.enough.budget)).feasible
    assert make_plan(case, 10**6, HALF).enough is None


def test_an_error_below_that_of_sampling_needs_rows_and_no_budget_will_do():
    """Where sampling alone is above the wanted error, no budget is named."""
    wanted = make_plan(CASES["gaussian"], 3000, HALF, 0.5 * math.sqrt(30 / 3000)).wanted[1]
    assert wanted.budget is None
    assert wanted.rows > 12_000


@pytest.mark.parametrize("error", [0.0, -1.0, math.nan, math.inf])
def test_a_wanted_error_is_a_positive_number(error):
    """Nothing else can be wanted."""
    with pytest.raises(InvalidInput, match="positive number"):
        make_plan(CASES["mean"], 100, HALF, error)


# --- predicted and measured errors ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "m"), [(200, 50, 1), (1000, 50, 1), (1000, 10, 4)])
def test_the_error_of_a_mean_is_as_predicted(n, d, m):
    """Root mean square over 100 simulations within 15% of the plan's."""
    squares = []
    for seed in range(100):
        estimate = pp.estimate_mean(
            gaussians(m, d, 10**6 + seed), pp.Curator.simulation(gaussians(n, d, seed), HALF, seed)
        )
        squares.append(np.mean(estimate.mean**2))
    predicted = make_plan(MeanCase(d, m), n, HALF).forecast.errors[0]
    assert math.sqrt(np.mean(squares)) == pytest.approx(predicted.error, rel=0.15)
    assert predicted.non_private == pytest.approx(1 / math.sqrt(n))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gaussian", "moments", "auto"])
@pytest.mark.parametrize(("n", "d"), [(1000, 5), (3000, 10), (10_000, 10)])
def test_the_error_of_a_gaussian_is_as_predicted(n, d, target):
    """Root mean squares over 100 simulations within 15% of the plan's: of the covariance, the mean, and one column."""
    covariances, means, variances = [], [], []
    for seed in range(100):
        curator = pp.Curator.simulation(gaussians(n, d, seed), HALF, seed)
        estimate = pp.estimate_gaussian(gaussians(d + 1, d, 10**6 + seed), curator, target=target)
        off = estimate.covariance - np.eye(d)
        covariances.append((off**2).sum())
        means.append((estimate.mean**2).sum())
        variances.append(np.mean(np.diag(off) ** 2))
    predicted = make_plan(GaussianCase.sized(d, d + 1, target), n, HALF).forecast.errors
    for measured, told in zip((covariances, means, variances), predicted, strict=False):
        assert math.sqrt(np.mean(measured)) == pytest.approx(told.error, rel=0.15), told.of


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "k"), [(3000, 3, 2), (9000, 5, 3), (20_000, 10, 3)])
def test_the_error_of_a_mixture_is_as_predicted(n, d, k):
    """Root mean squares over 30 simulations within 15% of the plan's: means and covariances of far components.

    Columns are correlated, so that a dozen public rows of each component are clearly worse than the private ones.
    """
    means, covariances = [], []
    centers = 12.0 * np.arange(k)[:, None] * np.ones(d)
    colour = np.eye(d) + 0.7 * np.tril(np.ones((d, d)), -1)
    whitening, spread = np.linalg.inv(colour), np.sqrt((colour**2).sum(axis=1))
    for seed in range(30):
        private = gaussians(n, d, seed) @ colour.T + centers[np.arange(n) % k]
        public = gaussians(12 * k, d, 10**6 + seed) @ colour.T + centers[np.arange(12 * k) % k]
        estimate = pp.estimate_mixture(public, pp.Curator.simulation(private, HALF, seed), n_components=k)
        if not estimate.diagnostics["private_model_chosen"]:
            continue  # the plan's notes tell when the public model is kept, with errors of its own
        order = np.argsort(estimate.means[:, 0])
        means.append(np.mean(((estimate.means[order] - centers) / spread) ** 2))
        off = whitening @ estimate.covariances @ whitening.T - np.eye(d)
        covariances.append(np.mean((off**2).sum(axis=(1, 2))))
    assert len(means) >= 28
    predicted = make_plan(MixtureCase.sized(d, 12 * k, MixtureSettings(n_components=k)), n, HALF).forecast.errors
    for measured, told in zip((means, covariances), predicted, strict=False):
        assert math.sqrt(np.mean(measured)) == pytest.approx(told.error, rel=0.15), told.of
