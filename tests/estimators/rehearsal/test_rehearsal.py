"""A rehearsal: it foretells from public rows alone what a run comes to, is the same again, and names what to mend."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.public_rows import usable
from pubpriv.estimators.rehearsal.rehearsal import rehearse

BY_NAME = {each.name: each for each in ESTIMATORS}


def rehearsal(rows, names, estimator="gaussian", n=5000, budget="zcdp:0.5", **settings):
    public = usable(PublicTable.open(rows, names))
    found = BY_NAME[estimator]
    return rehearse(found, found.settings(**settings), public, n, pp.parse_budget(budget))


def gaussian(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * [10.0, 1.0, 3.0][:d] + 50.0


@pytest.mark.long
@pytest.mark.parametrize("estimator", ["mean", "gaussian"])
@pytest.mark.parametrize(("n", "budget"), [(2000, "zcdp:0.05"), (200_000, "zcdp:0.01"), (5000, "pure:2")])
def test_widths_of_gaussian_rows_come_out_as_it_says(estimator, n, budget):
    """Of large tables too, of which it takes fewer rows with more noise."""
    public, private = gaussian(200, 3), gaussian(n, 3, seed=1)
    said = rehearsal(public, ["a", "b", "c"], estimator, n, budget)
    assert not said.likely_doubtful
    assert said.trials
    function = {"mean": pp.estimate_mean, "gaussian": pp.estimate_gaussian}[estimator]
    curator = pp.Curator.simulation(private, budget, 3, columns=["a", "b", "c"])
    came = function(PublicTable.open(public, ["a", "b", "c"]), curator)
    means = [number for number in came.numbers() if number.quantity == "mean"]
    halves = {each.column: each.half for each in said.widths if each.quantity == "mean"}
    for number in means:
        assert 1 / 1.3 <= halves[number.column] / (1.96 * number.error) <= 1.3


@pytest.mark.long
def test_it_is_the_same_again_and_leaves_the_public_rows_alone():
    rows = gaussian(80, 3)
    before = rows.copy()
    assert rehearsal(rows, ["a", "b", "c"]) == rehearsal(rows, ["a", "b", "c"])
    assert (rows == before).all()


def test_a_column_whose_numbers_will_be_doubtful_is_foretold_by_its_name():
    """Few private rows differ where no public one does, and noise hides them; the other column stays good."""
    public = np.random.default_rng(3).normal(40.0, 9.0, (60, 2))
    public[:, 0] = 0.0
    said = rehearsal(public, ["surgery", "age"], n=300)
    assert said.likely_doubtful
    assert [each.column for each in said.doubts] == ["surgery"]
    assert said.verdict().endswith("of surgery")
    assert any(line.startswith("surgery: too few private rows show its spread") for line in said.sentences())
    private = np.random.default_rng(4).normal(40.0, 9.0, (300, 2)) * [0.0, 1.0]
    came = pp.estimate_gaussian(
        PublicTable.open(public, ["surgery", "age"]), pp.Curator.simulation(private, "zcdp:0.5", 5, ["surgery", "age"])
    )
    assert not came.converged


@pytest.mark.long
def test_a_logarithm_is_advised_where_it_was_tried_and_was_better():
    generator = np.random.default_rng(3)
    public = np.column_stack([generator.lognormal(3.0, 1.0, 60), generator.normal(40.0, 9.0, 60)])
    said = rehearsal(public, ["fare", "age"], n=500, budget="zcdp:0.3").sentences()
    assert any(line.startswith("log1p(fare) would be estimated better: its error is 1.") for line in said)
    assert not any("log1p(age)" in line for line in said)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("left", lambda g: 100.0 - g.lognormal(2.0, 1.0, 60)),
        ("signed", lambda g: g.lognormal(2.0, 1.0, 60) - 5.0),
        ("log1p(cost)", lambda g: np.expm1(g.lognormal(0.5, 1.0, 60))),
        ("lncoins", lambda g: g.lognormal(2.0, 1.0, 60)),
    ],
)
def test_no_logarithm_of_a_left_tail_of_negative_values_or_of_what_is_one_already(name, cells):
    generator = np.random.default_rng(4)
    source = name.removeprefix("log1p(").removesuffix(")")
    frame = pd.DataFrame({source: np.minimum(cells(generator), 1e300), "age": generator.normal(40.0, 9.0, 60)})
    said = rehearsal(frame, [name, "age"], n=500, budget="zcdp:0.3")
    assert not any(line.startswith("log1p(") and "would be estimated" in line for line in said.sentences())


@pytest.mark.long
def test_columns_that_are_constant_nearly_so_heaped_or_computed_are_named_with_what_to_do():
    generator = np.random.default_rng(5)
    balance, paid = generator.normal(500.0, 90.0, 100), generator.normal(200.0, 40.0, 100)
    frame = pd.DataFrame(
        {
            "balance": balance,
            "paid_total": paid,
            "loan_amount": balance + paid + generator.normal(0.0, 0.5, 100),
            "version": 3.0,
            "defaults": np.where(np.arange(100) < 97, 0.0, 1.0),
            "visits": np.where(np.arange(100) % 5 < 3, 0.0, generator.normal(30.0, 5.0, 100)),
            "age": generator.normal(40.0, 9.0, 100),
        }
    )
    said = rehearsal(frame, list(frame)).sentences()
    assert "loan_amount follows from balance and paid_total: leave one out" in said
    assert "version is 3 in all 100 public rows, which show no spread: leave it out" in said
    assert any(line.startswith("defaults is nearly constant, 0 in 97 of 100") for line in said)
    assert any(line.startswith("visits is 0 in 60 of 100 public rows: ") for line in said)
    assert not any("age" in line for line in said)


@pytest.mark.long
def test_missing_cells_are_counted_by_column_and_rehearsed(tmp_path):
    """A third of the rows of a file have no income: the column is named, and intervals are those of fewer rows."""
    frame = pd.DataFrame(gaussian(90, 2), columns=["age", "income"])
    frame.iloc[::3, 1] = np.nan
    frame.to_parquet(tmp_path / "public.parquet")
    said = rehearsal(tmp_path / "public.parquet", ["age", "income"])
    assert any(line.startswith("income is missing in 30 of 90 public rows") for line in said.advice)
    assert not any(line.startswith("age is missing") for line in said.advice)
    whole = rehearsal(gaussian(90, 2), ["age", "income"])
    ratio = said.widths[0].without_privacy / whole.widths[0].without_privacy
    assert ratio == pytest.approx(np.sqrt(3 / 2), rel=0.15)


@pytest.mark.long
def test_codes_of_public_rows_are_among_the_rehearsed_ones():
    """A code in every tenth row, left out of the public rows, reaches the private ones and widens its column."""
    rows = gaussian(100, 2)
    rows[::10, 0] = -999.0
    coded, clean = rehearsal(rows, ["age", "income"]), rehearsal(rows[rows[:, 0] > 0], ["age", "income"])
    assert coded.widths[0].half > 3 * clean.widths[0].half


def test_quotients_and_maps_are_rehearsed_under_their_names():
    generator = np.random.default_rng(6)
    frame = pd.DataFrame({name: generator.lognormal(2.0, 0.5, 60) for name in ("cost", "days")})
    said = rehearsal(frame, ["cost / days", "log1p(cost)", "clip(days, 0, 20)"])
    assert {each.column for each in said.widths} == {"cost / days", "log1p(cost)", "clip(days, 0, 20)"}
    logs = next(each for each in said.widths if each.column == "log1p(cost)" and each.quantity == "mean")
    assert logs.value == pytest.approx(np.log1p(frame["cost"]).mean(), rel=0.1)


@pytest.mark.parametrize(("estimator", "rows"), [("gaussian", 12), ("mixture", 60)])
def test_it_says_why_there_are_no_trials(estimator, rows):
    settings = {"n_components": 2} if estimator == "mixture" else {}
    said = rehearsal(gaussian(rows, 2), ["a", "b"], estimator, **settings)
    assert said.trials == 0
    assert said.verdict().startswith("no rehearsal: ")
    assert not said.likely_doubtful


def test_wide_tables_are_told_of_their_columns_alone():
    rows = np.random.default_rng(1).normal(50.0, 9.0, (100, 21))
    rows[:, 3] = 1.0
    said = rehearsal(rows, [f"c{j}" for j in range(21)])
    assert (said.trials, "at most" in said.verdict()) == (0, True)
    assert any(line.startswith("c3 is 1 in all 100 public rows") for line in said.sentences())


def test_quantiles_are_told_nothing_of_moments():
    rows = gaussian(60, 2)
    rows[:35, 0] = 0.0
    assert rehearsal(rows, ["a", "b"], "quantiles").sentences() == ()
