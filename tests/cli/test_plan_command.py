"""`pubpriv plan`: prices, guarantee and predicted errors, without a ledger and without a private row."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, files

from pubpriv.privacy.wording import for_people

SIZES = ["--rows", 2000, "--public-rows", 10, "--dims", 3]
KINDS = {"mean": [], "gaussian": [], "mixture": ["--components", 2]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_tells_prices_guarantee_and_errors(program, tmp_path, monkeypatch, kind):
    """The screen has all of it; --json the same; neither needs a ledger or leaves a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    arguments = ["plan", kind, *SIZES, *KINDS[kind], "--budget", "approx:2,1e-6", "--error", 0.1]
    told, data = program(*arguments), program(*arguments, "--json")
    assert (told.code, data.code) == (0, 0)
    plan = json.loads(data.out)
    assert (plan["plan"], plan["rows"], plan["columns"], plan["public_rows"]) == (kind, 2000, 3, 10)
    assert plan["guarantee"]["text"] == "(2, 1e-06)-DP"
    assert sum(step["share"] for step in plan["steps"]) == pytest.approx(1)
    for step in plan["steps"]:
        assert step["label"] in told.out
        assert for_people(step["price"]) in told.out
    for error in plan["errors"]:
        assert error["error"] == pytest.approx((error["sampling"] ** 2 + error["privacy"] ** 2) ** 0.5)
        assert error["non_private"] <= error["error"] < error["public_only"]
        assert f"{error['error']:.3g}" in told.out
    assert plan["wanted"]["error"] == 0.1
    assert f"{plan['wanted']['rows']:,} private rows" in told.out
    for words in ("(2, 1e-06)-DP", "feasible: yes", "an error of 0.1 takes"):
        assert words in told.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "method", "theorem"),
    [
        ("mean", "coinpress", "BKS B.2 (1)"),
        ("gaussian", "algorithm-2", "BKS B.5 (1)"),
        ("mixture", "bks-scarce", "C.23"),
    ],
)
def test_a_plan_of_a_published_method_stands_beside_its_theorem(program, kind, method, theorem):
    """What the theorem asks for, and what the run is predicted to need for the same: on the screen and in --json."""
    arguments = ["plan", kind, *SIZES, *KINDS[kind], "--budget", "zcdp:1", "--method", method]
    told, data = program(*arguments, "--theorems"), json.loads(program(*arguments, "--json").out)
    assert theorem not in program(*arguments).out
    asked = next(each for each in data["theorems"]["asked"] if theorem in each["theorem"])
    assert theorem in told.out
    assert f"{asked['private_rows']:,}" in told.out
    assert f"{data['theorems']['predicted']:,}" in told.out
    assert asked["private_rows"] > data["theorems"]["predicted"] > 0


def test_a_plan_begins_with_what_a_person_asks(program, folder):
    """Whether it will work and how wide it will be come before the price, and the price before the questions."""
    public = pd.DataFrame(np.random.default_rng(1).normal(50.0, 9.0, (60, 2)), columns=["a", "b"])
    public.to_csv(folder / "rows.csv", index=False)
    told = program("plan", "mean", "--rows", "5000", "--public", "rows.csv", "--budget", "zcdp:0.5").out
    places = [
        told.index(words)
        for words in (
            "feasible: yes",
            "rehearsal: no number",
            "likely intervals",
            "privacy: 0.5",
            "predicted root",
            "questions",
        )
    ]
    assert places == sorted(places)
    assert "theorems" not in told


def test_a_plan_refuses_rounds_of_a_method_without_any(program):
    """As the run would, whether there are public rows or only a number of them."""
    told = program("plan", "mean", *SIZES, "--budget", "zcdp:1", "--rounds", 4)
    assert told.code == 2
    assert "options of method coinpress" in told.err


def test_a_plan_from_tables_is_the_run_that_follows(program, folder, balance):
    """A plan counts rows, is free, and has the guarantee of the fit, which may leave rounds to the last release."""
    before = files(folder)
    tables = ["--private", "private.parquet", "--public", "public.parquet"]
    plan = json.loads(program("plan", "mean", *tables, "--budget", "zcdp:0.5", "--json").out)
    assert (plan["rows"], plan["public_rows"]) == (2000, 12)
    assert files(folder) == before
    assert balance()["spent"] == 0
    rest = ["--budget", "zcdp:0.5", "--dataset", "visits", "--ledger", URL, "--out", "model.json", "--plain"]
    program("fit", "mean", *tables, *rest, "--release-id", "r1")
    told = json.loads((folder / "model.json").read_text())["privacy"]
    planned = {step["label"]: step["price"] for step in plan["steps"]}
    paid = {charge["label"]: charge["cost"] for charge in told["charges"]}
    assert {label for label in paid if planned[label] != paid[label]} == {"gaussian/final"}
    assert planned.keys() > paid.keys()
    assert plan["guarantee"] == told["guarantee"]


def test_a_plan_below_feasibility_says_what_would_do(program):
    """It is a plan all the same: exit code 0, and the rows or the budget from which on it would work."""
    told = program("plan", "gaussian", "--rows", 100, "--public-rows", 11, "--dims", 10, "--budget", "zcdp:0.5")
    assert told.code == 0
    assert "feasible: no" in told.out
    assert "449 private rows at this budget, or a budget of zcdp:10 with these rows" in told.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["mean", "--rows", 100], "--public FILE, or --public-rows M --dims D"),
     (["mean", "--rows", 100, "--public-rows", 3], "--public FILE, or --public-rows M --dims D"),
     (["mean", "--rows", 100, "--public", "public.parquet", "--dims", 2], "leave out --public-rows and --dims"),
     (["mean", "--public", "public.parquet"], "--rows N, or --private TABLE"),
     (["mean", "--rows", 100, "--private", "private.parquet", "--public", "public.parquet"], "--rows N, or --private"),
     (["mean", "--private", "private.parquet", "--public-rows", 3, "--dims", 2], "--private is counted for"),
     (["mean", *SIZES, "--columns", "a"], "--columns names columns of --public"),
     (["mean", "--rows", 100, "--public", "nowhere.parquet"], "no public table at"),
     (["mean", *SIZES, "--error", -1], "a wanted error must be a positive number"),
     (["gaussian", "--target", "gaussian", "--rows", 100, "--public-rows", 3, "--dims", 3], "at least 4 public rows"),
     (["gaussian", *SIZES, "--target", "mode"], "target must be one of"),
     (["gaussian", *SIZES, "--scale", "z=1"], "--scale names columns of --public"),
     (["mixture", *SIZES, "--components", 11], "10 public rows cannot seed 11 components")],
)  # fmt: skip
def test_a_plan_that_cannot_be_made_is_refused(program, folder, arguments, why):
    """Sizes that are missing, told twice or too small are refused with exit code 2 and one line."""
    told = program("plan", *arguments, "--budget", "zcdp:0.5")
    assert (told.code, told.out) == (2, "")
    assert why in told.lines[-1]
    assert told.lines[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("budget", "why"), [("pure:0", "positive number"), ("zcdp:x", "positive number"), ("one", "is written")]
)
def test_a_budget_that_cannot_be_planned_is_refused(program, budget, why):
    """What is no budget."""
    told = program("plan", "mean", *SIZES, "--budget", budget)
    assert told.code == 2
    assert why in told.err


@pytest.mark.long
def test_a_plan_says_first_which_public_column_costs_rows(program, tmp_path):
    """Of a hundred public rows 57 lack one column."""
    rows = np.random.default_rng(1).normal(size=(100, 3))
    rows[:57, 1] = np.nan
    pd.DataFrame(rows, columns=["age", "pressure", "weight"]).to_csv(tmp_path / "p.csv", index=False)
    asked = ["plan", "gaussian", "--public", tmp_path / "p.csv", "--rows", 20_000, "--budget", "zcdp:0.5", "--json"]
    assert json.loads(program(*asked).out)["notes"][0].startswith("57 of 100 public rows lack pressure")
