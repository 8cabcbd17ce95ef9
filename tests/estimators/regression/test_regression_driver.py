"""Fitted regressions in simulation: coefficients, errors where scatter is uneven, flags, refusals. About 8 s."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.regression.plan import RegressionPlan, law_kept, law_radius, ratio
from pubpriv.privacy.budgets import Purse

NAMES = ("a", "b", "c", "y")
SLOPES = np.array([0.5, -1.0, 0.1])


def rows(n=5000, seed=0, uneven=False, near=None, scale=(1.0, 10.0, 0.1)):
    """Rows (a, b, c, y) with slopes `SLOPES` of standardised columns and an intercept of 4."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3))
    if near is not None:
        x[:, 2] = x[:, 0] + near * x[:, 2]
    e = random.normal(size=n) * (np.exp(0.5 * x[:, 0] - 0.25) if uneven else 1.0)
    return np.column_stack([x * scale, 4 + x @ SLOPES + e])


def fitted(table, public=None, budget="zcdp:0.5", seed=1, **settings):
    """The regression of y in simulation."""
    public = rows(60, seed=99) if public is None else public
    curator = pp.Curator.simulation(table, budget, seed, NAMES, **settings.pop("unit", {}))
    return pp.estimate_regression(public, curator, outcome="y", **settings)


def off(found, scale=(1.0, 10.0, 0.1)):
    """Errors of the slopes in their stated standard errors."""
    errors = [n.error for n in found.numbers() if n.quantity == "coefficient"]
    return (found.coefficients - SLOPES / scale) / errors


def least_squares(table):
    """Slopes of OLS and their errors by White's sandwich (HC1)."""
    x = np.column_stack([np.ones(len(table)), table[:, :-1]])
    inverse = np.linalg.inv(x.T @ x)
    b = inverse @ x.T @ table[:, -1]
    meat = x * (table[:, -1] - x @ b)[:, None]
    errors = np.sqrt(np.diag(inverse @ (meat.T @ meat) @ inverse) * len(x) / (len(x) - x.shape[1]))
    return b[1:], errors[1:]


@pytest.mark.parametrize("budget", ["zcdp:0.5", "approx:3,1e-6", "pure:8"])
def test_coefficients_are_those_of_least_squares_but_for_stated_errors(budget):
    """Whatever the kind of budget, and all of it is spent at most."""
    found = fitted(rows(), budget=budget)
    assert np.abs(off(found)).max() < 4
    assert found.converged
    assert abs(found.intercept - 4) < 4 * found.regression.intercept.error
    assert abs(found.residual_sd - 1) < 0.2
    assert abs(found.r2 - 1.26 / 2.26) < 0.15


def test_errors_are_those_of_the_sandwich_where_scatter_is_uneven():
    """And wider than those of even scatter, which do not hold."""
    table = rows(20_000, uneven=True)
    found = fitted(table, rows(60, 99, uneven=True))
    sampling = np.array(found.standard_errors["coefficients"]["sampling"])
    _, errors = least_squares(table)
    assert 0.6 < (sampling / errors).min() <= (sampling / errors).max() < 1.2
    standardised = sampling * [1, 10, 0.1]
    assert standardised[0] > 1.2 * standardised[1:].max()  # the scatter grows with the first column
    assert np.abs(off(found)).max() < 4


def test_collinear_columns_have_large_errors_that_hold():
    """At a condition of a million the noise is as large as everywhere, in units of least squares."""
    table, public = rows(near=1e-3), rows(60, 99, near=1e-3)
    found = fitted(table, public)
    b, errors = least_squares(table)
    assert found.converged
    total = np.array([n.error for n in found.numbers() if n.quantity == "coefficient"])
    assert (total / errors).max() < 1.4
    assert np.abs((found.coefficients - b) / total).max() < 3


def test_public_rows_from_elsewhere_cost_little():
    """Moved by three standard deviations, and twice as wide."""
    public = rows(60, 99) * [2, 2, 2, 2] + [3, 30, 0.3, 5]
    assert np.abs(off(fitted(rows(), public))).max() < 4


def test_rows_that_lack_a_cell_are_left_out_and_counted():
    """As the release says."""
    table = rows()
    table[::10, 1] = np.nan
    found = fitted(table)
    assert np.abs(off(found)).max() < 4
    assert abs(found.rows - 4500) < 60
    assert "whole-rows" in {finding.code for finding in found.findings}


def test_a_few_rows_that_carry_a_coefficient_are_seen():
    """One row in fifty lies on another line, far out: least squares of the table is no slope of most rows."""
    table = rows(20_000)
    table[::50, 1] = 60.0 + table[::50, 1] / 10
    table[::50, 3] = -30.0
    found = fitted(table)
    assert not found.converged
    assert "b" in {name for finding in found.findings for name in finding.columns or found.on}


def test_persons_count_once_and_errors_cover_copies():
    """Four equal rows of each person: errors are those of a quarter of the rows."""
    one = rows(4000)
    table, persons = np.repeat(one, 4, axis=0), np.repeat(np.arange(4000), 4)
    found = fitted(table, unit={"persons": persons})
    assert np.abs(off(found)).max() < 4
    _, errors = least_squares(one)
    sampling = np.array(found.standard_errors["coefficients"]["sampling"])
    assert (sampling / errors).min() > 0.8
    assert abs(found.rows - 4000) < 200


def test_regressors_keep_the_order_that_was_asked():
    """With their errors."""
    one, other = fitted(rows()), fitted(rows(), on=["c", "a", "b"])
    assert other.on == ("c", "a", "b")
    assert other.coefficients.tolist() == one.coefficients[[2, 0, 1]].tolist()
    assert other.covariances["privacy"][1][2] == one.covariances["privacy"][3][1]


def test_scikit_learn_has_the_same_numbers():
    """And scores rows that are public."""
    curator = pp.Curator.simulation(rows(), "zcdp:0.5", 1, NAMES)
    model = pp.PrivateLinearRegression(outcome="y").fit(curator, rows(60, seed=99))
    assert model.coef_.tolist() == fitted(rows()).coefficients.tolist()
    held_out = rows(2000, seed=5)
    assert model.score(held_out[:, :3], held_out[:, 3]) > 0.45


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"outcome": "z"}, "none of the columns"),
        ({"on": ["a", "y"]}, "cannot be among"),
        ({"on": ["a", "b"]}, "opened with these columns"),
        ({"public": rows(4)}, "needs 5 public rows"),
        ({"public": np.column_stack([rows(60)[:, :2], rows(60)[:, 0] * 2, rows(60)[:, 3]])}, "a sum of the other"),
        ({"public": rows(60) * [1, 0, 1, 1]}, "one value in all public rows"),
        ({"n": 60}, "too few for a regression"),
        ({"budget": "zcdp:0.0001"}, "too few for a regression"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(change, why):
    """With what would do."""
    curator = pp.Curator.simulation(rows(change.get("n", 5000)), change.get("budget", "zcdp:0.5"), 1, NAMES)
    named = {"outcome": change.get("outcome", "y"), "on": change.get("on")}
    with pytest.raises(InvalidInput, match=why):
        pp.estimate_regression(change.get("public", rows(60, seed=99)), curator, **named)
    assert curator.statement().charges == ()


def test_groups_are_refused():
    """They have no regressions of their own yet."""
    by = pp.ByCategory("half", ("one", "other"))
    curator = pp.Curator.simulation(rows(400), "zcdp:0.5", 1, NAMES, groups=(by, ["one", "other"] * 200))
    with pytest.raises(InvalidInput, match="not estimated by group"):
        pp.estimate_regression(rows(60), curator, outcome="y")


def test_too_few_persons_end_the_run():
    """Their number is private, so it was paid for."""
    with pytest.raises(NoAnswer, match="too few"):
        fitted(rows(60), unit={"persons": np.arange(60)})


def test_a_resumed_run_gives_the_same_bits(tmp_path):
    """By a ledger, with levels, a product and real noise; and it spends nothing more."""
    random = np.random.default_rng(3)
    table = pd.DataFrame(rows(4000), columns=[*NAMES]).assign(region=random.choice(["n", "s"], 4000))
    table.to_parquet(tmp_path / "t.parquet")
    columns = ["a", "b", "level(region, s)", "product(level(region, s), a)", "y"]
    public = pd.DataFrame(rows(80, 9), columns=[*NAMES]).assign(region=random.choice(["n", "s"], 80))
    private = pp.PrivateTable.open(tmp_path / "t.parquet", columns)
    found = []
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget="zcdp:1", table=private, unit="one visit")
        for _ in range(2):
            with pp.Curator(private, ledger, "visits", "zcdp:0.5", "r1") as curator:
                found.append(pp.estimate_regression(public, curator, outcome="y"))
    assert found[0].to_json() == found[1].to_json()
    assert found[0].on == tuple(columns[:-1])
    errors = {n.column: n.error for n in found[0].numbers() if n.quantity == "coefficient"}
    assert abs(found[0].coefficients[2]) < 4 * errors["level(region, s)"]  # regions are alike


def test_the_plan_is_what_is_spent_and_its_radius_what_gaussian_rows_want():
    """Shares add up, more rows want a larger radius, and a forecast falls with the budget."""
    purse = Purse.of(pp.parse_budget("zcdp:0.5"))
    plan = RegressionPlan.of(purse, 4)
    assert sum(ask.price for ask in plan.asks) == 1
    assert all(ask.question.squared_distance <= ask.price for ask in plan.asks)
    assert law_radius(4, 0.1, 1e3) < law_radius(4, 0.1, 1e6)
    assert 0 < law_kept(4, 2.0) < law_kept(4, 8.0) < 1
    assert (
        1
        < ratio(5000, 11, purse)
        < 1.1
        < ratio(1000, 11, purse)
        < ratio(1000, 11, Purse.of(pp.parse_budget("zcdp:0.1")))
    )
