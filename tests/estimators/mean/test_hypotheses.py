"""The mean by hypothesis selection: its errors, what it pays, and what it refuses."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mean._hypotheses import HypothesesCase
from pubpriv.privacy.budgets import Purse, parse_budget


def fit(n, budget, seed, d=1, **options):
    """(estimate, error of it, error of the rows' own mean), about a mean far from zero."""
    random = np.random.default_rng([seed, d, n])
    mean = random.normal(0, 5, d)
    rows = mean + random.standard_normal((n + 1, d))
    curator = pp.Curator.simulation(rows[1:], budget, seed)
    found = pp.estimate_mean(rows[:1], curator, covariance="identity", method="hypotheses", **options)
    return found, found.mean - mean, rows[1:].mean(axis=0) - mean, curator.statement()


@pytest.mark.parametrize(("budget", "kind"), [("pure:1", "epsilon"), ("zcdp:0.5", "rho"), ("approx:3,1e-6", "mu^2")])
def test_errors_are_near_those_without_privacy_and_within_those_told(budget, kind):
    """Over 15 draws of 1,000 rows, under every kind of budget; one charge takes it all."""
    runs = [fit(1000, budget, seed) for seed in range(15)]
    ours, own = (float(np.sqrt(np.mean([run[i] ** 2 for run in runs]))) for i in (1, 2))
    told = runs[0][0].standard_errors["mean"]
    assert 0.8 * own < ours < 2.5 * own
    assert ours < np.hypot(told["sampling"][0], told["privacy"][0])
    (charge,) = runs[0][3].charges
    assert charge.question == "Selection"
    assert charge.cost.endswith(kind)
    assert all(run[0].converged for run in runs)


@pytest.mark.long
def test_two_columns_and_a_known_covariance():
    """In the data's own units, and within three of the errors that are told."""
    covariance = np.array([[4.0, 1.0], [1.0, 9.0]])
    random = np.random.default_rng(1)
    rows = 100 + random.multivariate_normal([0, 0], covariance, 1501)
    curator = pp.Curator.simulation(rows[1:], "pure:2", 0)
    found = pp.estimate_mean(rows[:1], curator, covariance=covariance, method="hypotheses")
    assert (np.abs(found.mean - 100) < 3 * np.array(found.standard_errors["mean"]["privacy"])).all()


def test_a_mean_that_the_public_row_does_not_lead_to_is_flagged():
    """Eight standard deviations off: the outermost hypothesis is chosen."""
    rows = np.random.default_rng(2).standard_normal((1000, 1))
    curator = pp.Curator.simulation(rows, "pure:1", 0)
    found = pp.estimate_mean(np.array([[8.0]]), curator, covariance="identity", method="hypotheses")
    assert not found.converged
    assert "at the edge" in found.diagnostics["warnings"][0]


def test_bad_input_is_refused_before_anything_is_spent():
    """Three columns, and rows or a budget with which no hypothesis has a rival."""
    with pytest.raises(InvalidInput, match="one or two columns, not 3"):
        fit(1000, "pure:1", 0, d=3)
    with pytest.raises(InvalidInput, match="more private rows"):
        fit(20, "pure:0.1", 0)
    with pytest.raises(InvalidInput, match="options of method coinpress"):
        fit(1000, "pure:1", 0, rounds=3)


@pytest.mark.parametrize("most", [1, 3])
def test_one_row_of_each_person_is_what_it_chooses_by(most):
    """However many the others are, and however they lie: the last rows lie around 4, all others around -4."""
    persons = np.repeat(np.arange(2000), np.arange(2000) % 5 + 1)
    last = np.diff(persons, append=-1) != 0
    rows = np.random.default_rng(0).normal(size=(len(persons), 1)) + np.where(last, 4.0, -4.0)[:, None]
    curator = pp.Curator.simulation(rows, "zcdp:1", 0, persons=persons, rows_per_person=most)
    found = pp.estimate_mean(np.array([[3.5]]), curator, covariance="identity", method="hypotheses")
    assert found.mean == pytest.approx([4.0], abs=0.3)
    assert found.privacy["charges"][-1]["question"] == "Selection per person"


@pytest.mark.parametrize("budget", ["pure:1", "zcdp:0.5", "approx:3,1e-6"])
def test_what_is_planned_is_what_is_asked(budget):
    """The same question but for its frame, within the budget."""
    case, parsed = HypothesesCase(1, 1), parse_budget(budget)
    (planned,) = case.forecast(1000, Purse.of(parsed)).plan.questions
    found, *_, statement = fit(1000, budget, 0)
    assert found.diagnostics["hypotheses"] == planned.count
    assert statement.charges[0].sensitivity == pytest.approx(float(planned.epsilon), rel=1e-9)
    assert case.feasible(1000, Purse.of(parsed))
    assert not case.feasible(20, Purse.of(parse_budget("pure:0.1")))
