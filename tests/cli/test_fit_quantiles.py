"""`fit quantiles` and `fit describe`: plan, refusals that cost nothing, model files, and what is done with them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL

from pubpriv import load

N = 2000


def table(n, seed):
    """Incomes, visits with zeros, and ages in whole years."""
    random = np.random.default_rng(seed)
    visits = np.where(random.random(n) < 0.4, 0.0, np.ceil(random.lognormal(1, 1, n) * 100) / 100)
    ages = np.rint(random.normal(45, 15, n))
    return pd.DataFrame({"income": random.lognormal(10, 1, n), "visits": visits, "age": ages})


@pytest.fixture
def fit(folder, program):
    """Run `fit quantiles` or `fit describe` without Prefect, some of the options changed."""
    table(N, 1).to_parquet(folder / "private.parquet")
    table(100, 2).to_parquet(folder / "public.parquet")

    def run(kind, *flags, **changed):
        options = {"private": "private.parquet", "public": "public.parquet", "budget": "zcdp:0.5", "out": "q.json"}
        options |= {"dataset": "visits", "ledger": URL} | changed
        pairs = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
        return program("fit", kind, "--plain", *pairs, *flags)

    return run


def test_deciles_are_released_and_read_back(fit, folder, balance):
    """In the data's own units, with intervals; the same release id again costs nothing."""
    told = fit("quantiles", at=".25,.5,0.75", release_id="q1")
    assert told.code == 0
    model = load(folder / "q.json")
    assert (model.kind, model.at) == ("quantiles", (0.25, 0.5, 0.75))
    right = np.quantile(table(N, 1), [0.25, 0.5, 0.75], axis=0, method="inverted_cdf").T
    assert model.quantiles[0] == pytest.approx(right[0], rel=0.15)
    assert model.quantiles[2] == pytest.approx(right[2], abs=1)
    assert "income │  25% │" in told.out
    assert "verdict: 3 of 3 columns are good" in told.out
    assert re.search(r"visits │ +0 │ (39|40)\.", told.out)
    before, spent = (folder / "q.json").read_text(), balance()["spent"]
    assert fit("quantiles", at=".25,.5,0.75", release_id="q1").code == 0
    assert (folder / "q.json").read_text() == before
    assert balance()["spent"] == spent


def test_shares_alone_are_shown_by_level(fit, folder):
    """A column of texts has no ranks: each level with its share and its interval."""
    for name, n in (("private", N), ("public", 100)):
        texts = np.random.default_rng(n).choice(["north", "south"], n, p=[0.7, 0.3])
        pd.DataFrame({"region": texts}).to_parquet(folder / f"{name}.parquet")
    shown = fit("quantiles", shares="region")
    assert shown.code == 0, shown.err
    assert re.search(r"region │ +north │ +(69|70|71|72)\.\d+% │", shown.out)
    assert "released quantiles" not in shown.out


@pytest.mark.long
def test_a_description_leaves_out_ranks_that_drown(fit, folder):
    """Nine ranks if there are rows for them; else those that noise does not drown, which it says."""
    assert fit("describe").code == 0
    assert load(folder / "q.json").at == (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    told = fit("describe", budget="zcdp:0.02", out="few.json")
    assert told.code == 0
    assert load(folder / "few.json").at == (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    assert "warning: noise would drown the ranks 0.01, 0.99, so they are left out; more rows" in told.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "changed", "why"),
    [
        ("quantiles", {"at": "a,b"}, "--at takes numbers with commas between them: 0.1,0.25"),
        ("quantiles", {"at": "0.5,0.25"}, "ranks rise"),
        ("quantiles", {"at": "0,0.5"}, "between 0 and 1"),
        ("quantiles", {"at": "0.004,0.5"}, "ask 1 of the 3 columns, leave out ranks as far from 0.5, or take "),
        ("quantiles", {"at": "0.001", "budget": "zcdp:0.1"}, "it would drown: leave out ranks as far from 0.5"),
        ("describe", {"budget": "zcdp:0.00001"}, "the rank 0.5 of 2,000 rows"),
        ("describe", {"columns": "income,wages"}, "wages"),
    ],
)
def test_what_cannot_be_told_is_refused_for_nothing(fit, balance, kind, changed, why):
    """In one line, which says what would do."""
    before = balance()["spent"]
    told = fit(kind, **changed)
    assert told.code == 2
    assert why in told.lines[-1]
    assert balance()["spent"] == before


@pytest.mark.long
def test_an_old_release_stands_for_public_rows(fit, folder, program):
    """Of quantiles alone: other estimators take no marginal distributions for rows."""
    assert fit("describe", out="old.json").code == 0
    told = fit("quantiles", public="old.json", out="new.json")
    assert told.code == 0
    assert load(folder / "new.json").columns == ("income", "visits", "age")
    planned = program("plan", "quantiles", "--rows", "2000", "--public", "old.json", "--budget", "zcdp:0.5")
    assert "3 columns, with 200 public rows" in planned.out
    assert "cannot be read as a table" in fit("gaussian", public="old.json").err


def test_levels_have_no_mean(fit):
    """Numbers that stand for texts are counted."""
    assert fit("describe").code == 0
    told = fit("mean", columns="levels(age, 40),income", out="mean.json")
    assert told.code == 2
    assert "levels of age are counted" in told.lines[-1]


def test_too_few_public_rows_are_refused(fit, folder):
    table(7, 2).to_parquet(folder / "seven.parquet")
    told = fit("describe", public="seven.parquet")
    assert told.code == 2
    assert "quantiles need 8 public rows" in told.lines[-1]


def test_a_plan_has_the_price_and_the_error_of_each_rank(program, folder):
    """Before there is a table; what would do if it is not enough."""
    size = "--dims", "3", "--public-rows", "100", "--at", "0.1,0.5"
    told = json.loads(program("plan", "quantiles", "--rows", "2000", *size, "--budget", "zcdp:0.5", "--json").out)
    assert [each["label"] for each in told["steps"]] == [f"quantiles/round-{i}" for i in (1, 2, 3, 4)]
    assert [each["of"] for each in told["errors"]] == ["rank 0.1", "rank 0.5"]
    assert told["errors"][1]["sampling"] == pytest.approx((0.25 / 2000) ** 0.5)
    assert told["feasible"]
    few = json.loads(program("plan", "quantiles", "--rows", "200", *size, "--budget", "zcdp:0.01", "--json").out)
    assert not few["feasible"]
    enough = few["feasible_from"]["rows"]
    again = program("plan", "quantiles", "--rows", str(enough), *size, "--budget", "zcdp:0.01")
    assert "feasible: yes" in again.out
    assert "rank 0.99" in program("plan", "describe", "--rows", "9000", *size[:4], "--budget", "zcdp:0.5").out


def test_a_release_is_shown_explained_reported_and_compared(fit, folder, program):
    """By the commands that other releases have."""
    for name in ("q1", "q2"):
        assert fit("quantiles", release_id=name, out=f"{name}.json").code == 0
    assert "Half of income lie at or below" in program("show", "q1.json").out
    assert "quantile:income@0.5" in program("explain", "q1.json", "--number", "quantile:income@0.5").out
    compared = program("compare", "q1.json", "q2.json")
    assert "of 19 numbers 0 changed" in compared.out
    assert "their noise" not in compared.out
    assert program("report", "q1.json", "--out", "page.html").code == 0
    page = (folder / "page.html").read_text()
    assert "Half of income lie at or below" in page
    assert "The dotted line is that of the public rows" in page
