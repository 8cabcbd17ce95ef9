"""Estimators under pure DP: radial noise, no delta, the same drivers."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.data.questions import Counts, Radial
from pubpriv.data.regions import Everything
from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.estimators.gaussian._forecast import GaussianCase
from pubpriv.estimators.mean._plan import MeanCase
from pubpriv.estimators.mixture._forecast import MixtureCase
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.planning import make_plan
from pubpriv.privacy.events import GaussianEvent, RadialEvent

ONE, FOUR = pp.PureDP(1), pp.PureDP(4)


def simulated(rows, budget, seed):
    return pp.Curator.simulation(rows, budget=budget, seed=seed)


def root_mean_square(values):
    return math.sqrt(np.mean(np.square(values)))


@pytest.mark.long
@pytest.mark.parametrize(("d", "n", "epsilon"), [(5, 1000, 1), (20, 1000, 2)])
def test_a_mean_is_as_good_as_predicted(d, n, epsilon):
    """Root mean square over 40 runs within 20% of the plan's; a twentieth of the runs may find rows far out."""
    random, errors = np.random.default_rng(d), []
    for seed in range(40):
        rows, public = random.normal(size=(n, d)), random.normal(size=(1, d))
        found = pp.estimate_mean(public, simulated(rows, pp.PureDP(epsilon), seed), covariance="identity")
        errors.append(root_mean_square(found.mean))
    errors = np.sort(errors)[:-2]
    assert root_mean_square(errors) == pytest.approx(found.diagnostics["predicted_error"], rel=0.2)


@pytest.mark.long
@pytest.mark.parametrize(("target", "most"), [("gaussian", 1.25), ("auto", 1.3)])
def test_a_gaussian_above_the_line_is_nearly_as_good_as_without_privacy(target, most):
    """d 5, n 10,000, epsilon 4, 6 public rows in odd units: the median of five covariances, and their intervals."""
    random, ratios, covered = np.random.default_rng(7), [], []
    colour = np.diag([1.0, 1e-2, 1e2, 3.0, 1.0]) @ random.normal(size=(5, 5))
    law, back = colour @ colour.T, np.linalg.inv(colour)
    for seed in range(5):
        rows, public = (random.normal(size=(size, 5)) @ colour.T + 9 for size in (10_000, 6))
        found = pp.estimate_gaussian(public, simulated(rows, FOUR, seed), target=target)
        assert found.converged
        errors = [np.linalg.norm(back @ s @ back.T - np.eye(5)) for s in (found.covariance, np.cov(rows.T))]
        ratios.append(errors[0] / errors[1])
        told = np.sqrt(sum(np.square(part) for part in found.standard_errors["covariance"].values()))
        covered.append(np.mean(np.abs(found.covariance - law) < 1.96 * told))
    assert np.median(ratios) < most
    assert np.mean(covered) > 0.85


@pytest.mark.long
def test_a_mixture_is_found():
    """d 2, k 2, n 10,000, epsilon 4: weights, means and covariances."""
    random = np.random.default_rng(3)
    means = np.array([[0.0, 0.0], [8.0, 0.0]])
    rows, public = (means[random.integers(2, size=size)] + random.normal(size=(size, 2)) for size in (10_000, 24))
    found = pp.estimate_mixture(public, simulated(rows, FOUR, 1), n_components=2)
    assert found.converged
    order = np.argsort(found.means[:, 0])
    assert np.abs(found.means[order] - means).max() < 0.1
    assert np.abs(found.covariances - np.eye(2)).max() < 0.15
    assert {line["question"].split("(")[0] for line in found.privacy["charges"]} == {"Radial"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "n"),
    [(MeanCase(3, 1), 1000), (GaussianCase.sized(3, 9, "auto"), 5000),
     (MixtureCase.sized(2, 24, MixtureSettings(n_components=2)), 20_000)],
    ids=["mean", "gaussian", "mixture"],
)  # fmt: skip
def test_a_plan_takes_all_of_epsilon_and_no_more(case, n):
    """Shares add up, and so do prices, whose noise is that of the forecast."""
    plan = make_plan(case, n, ONE)
    assert sum(step.share for step in plan.steps) == pytest.approx(1)
    paid = sum((Fraction(step.price.split()[0]) for step in plan.steps), Fraction(0))
    assert Fraction(999, 1000) < paid <= 1
    assert all(step.question.startswith("Radial(") for step in plan.steps)
    assert plan.guarantee == {"kind": "pure", "text": "1-DP (pure)", "epsilon": 1.0}
    more = make_plan(case, n, FOUR)
    assert more.forecast.errors[0].privacy < plan.forecast.errors[0].privacy / 2


@pytest.mark.long
def test_more_rows_or_a_larger_budget_are_told():
    """In epsilon, for a mean, and for a covariance below its line."""
    random = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=r"a budget worth pure:[0-9.]+ would do"):
        pp.estimate_mean(random.normal(size=(1, 8)), simulated(random.normal(size=(100, 8)), pp.PureDP("0.1"), 0))
    rows, public = random.normal(size=(1000, 3)), random.normal(size=(12, 3))
    with pytest.raises(InvalidInput, match=r"About 3648 rows would do, or a budget of pure:1.9,"):
        pp.estimate_gaussian(public, simulated(rows, pp.PureDP("0.5"), 0))


@pytest.mark.parametrize(
    ("run", "options"),
    [(pp.estimate_mean, {"method": "coinpress", "covariance": "identity"}),
     (pp.estimate_gaussian, {"method": "algorithm-2", "target": "gaussian"}),
     (pp.estimate_mixture, {"method": "bks-ample", "n_components": 2})],
)  # fmt: skip
def test_methods_of_the_papers_keep_their_noise(run, options):
    """They are refused before anything is asked."""
    random = np.random.default_rng(0)
    curator = simulated(random.normal(size=(500, 2)), FOUR, 0)
    with pytest.raises(InvalidInput, match="no price under pure DP"):
        run(random.normal(size=(40, 2)), curator, **options)
    assert not curator.statement().charges


@pytest.fixture
def books(tmp_path):
    """A ledger with a table of 2,000 rows, whose datasets have a pure and a zCDP budget."""
    rows = np.random.default_rng(1).normal(size=(2000, 2))
    pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "t.parquet")
    table = pp.PrivateTable.open(tmp_path / "t.parquet", ["a", "b"])
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("pure", budget=pp.PureDP(2), table=table)
        yield ledger, table


def test_a_run_is_charged_replayed_and_verified(books):
    """Real noise: charges within epsilon, the same bits again, a guarantee without delta, records that follow."""
    ledger, table = books
    public = np.random.default_rng(2).normal(size=(12, 2))
    found = []
    for _ in range(2):
        with pp.Curator(table, ledger, "pure", ONE, "r") as curator:
            found.append(pp.estimate_mean(public, curator, covariance="identity"))
    assert found[0].mean.tolist() == found[1].mean.tolist()
    assert found[0].privacy["guarantee"] == {"kind": "pure", "text": "1-DP (pure)", "epsilon": 1.0}
    bill = ledger.run("pure", "r").bill()
    assert all(isinstance(charge.event, RadialEvent) for charge in bill.charges)
    assert 0.999e12 < bill.state.spent.main <= 10**12
    assert ledger.verify("pure").charges == len(bill.charges)
    assert np.abs(found[0].mean).max() < 0.3


def test_whatever_is_asked_in_a_pure_run_has_radial_noise(books):
    """A plain question is answered under the run's law; a Gaussian event has no price there, nor a run in rho."""
    ledger, table = books
    curator = pp.Curator(table, ledger, "pure", ONE, "r")
    question = Counts.priced(Everything(), Fraction(1, 4))
    answer = curator.release(question, "count")
    assert answer.question == Radial(question)
    assert answer.values["count"][0] == pytest.approx(2000, abs=60)
    run = ledger.run("pure", "r")
    with pytest.raises(InvalidInput, match="no price under pure DP"):
        run.charge("gauss", {"type": "Counts"}, GaussianEvent(Fraction(1, 100), ((1 << 40, 1),)))
    with pytest.raises(BudgetExceeded):
        curator.release(Counts.priced(Everything(), Fraction(1)), "too much")
    with pytest.raises(InvalidInput, match="cannot be charged to a pure ledger"):
        pp.Curator(table, ledger, "pure", pp.ZeroConcentratedDP("0.1"), "other")


def test_a_pure_run_on_another_ledger_pays_the_converted_price(books, tmp_path):
    """epsilon tanh(epsilon / 2) of rho is held, and at most that is charged."""
    _, table = books
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'other.db'}") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(1), table=table)
        with pp.Curator(table, ledger, "visits", ONE, "r") as curator:
            pp.estimate_mean(np.random.default_rng(2).normal(size=(12, 2)), curator, covariance="identity")
        assert 0 < ledger.balance("visits").spent.main <= math.tanh(0.5) * 1e12 + 4096
        assert ledger.verify("visits").charges
