"""Codes for missing values among the public rows: found there for free, named, and left out before a run is planned."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import run_program

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._missing_codes import codes_in, known_code
from pubpriv.estimators.public_rows import usable
from pubpriv.tasks._crossing import PublicHandle

RANDOM = np.random.default_rng(3)
PLAIN = {
    "normal": RANDOM.normal(70, 12, 40),
    "few rows": RANDOM.normal(70, 12, 6),
    "many rows": RANDOM.normal(0, 1, 900),
    "lognormal": RANDOM.lognormal(3, 1, 60),
    "whole numbers": RANDOM.poisson(2, 50).astype(float),
    "yes and no": (np.arange(30) % 3 == 0).astype(float),
}


@pytest.mark.long
@pytest.mark.parametrize("code", [-999.0, -9999.0, 99999.0, -32768.0, 9.96921e36, np.finfo(float).max, -1e30])
@pytest.mark.parametrize("plain", PLAIN)
def test_codes_are_found_whatever_the_column_holds(plain, code):
    """Once, or in a fifth of the rows; the other cells are kept."""
    for count in (1, len(PLAIN[plain]) // 5):
        cells = np.concatenate([np.full(count, code), PLAIN[plain]])
        for one_law in (True, False):
            (found,) = codes_in(cells[:, None], one_law)
            assert (found.value, found.rows) == (code, tuple(range(count)))


def test_two_codes_of_one_column_do_not_hide_each_other():
    cells = np.concatenate([[-999.0, -998.0, -999.0, 1e30], PLAIN["normal"]])
    assert sorted((code.value, len(code.rows)) for code in codes_in(cells[:, None], True)) == [
        (-999.0, 2),
        (-998.0, 1),
        (1e30, 1),
    ]


def test_a_wild_value_that_nobody_uses_as_a_code_is_found_in_rows_of_one_law():
    """In a mixture it may be the only public row of its component."""
    cells = np.concatenate([[123456.7], PLAIN["normal"]])[:, None]
    assert [code.value for code in codes_in(cells, True)] == [123456.7]
    assert codes_in(cells, False) == ()


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (99, True),
        (-999, True),
        (9998, True),
        (88, True),
        (-777, True),
        (90, False),
        (989, False),
        (9, False),
        (0.5, False),
    ],
)
def test_known_codes(value, known):
    assert known_code(float(value)) is known


LAWS = {
    "normal": lambda random, m: random.normal(70, 12, m),
    "uniform": lambda random, m: random.uniform(0, 1, m),
    "exponential": lambda random, m: random.exponential(1, m),
    "laplace": lambda random, m: random.laplace(0, 1, m),
    "lognormal, .5": lambda random, m: random.lognormal(3, 0.5, m),
    "lognormal, 1": lambda random, m: random.lognormal(8, 1, m),
    "lognormal, 2": lambda random, m: random.lognormal(8, 2, m),
    "lognormal, 3": lambda random, m: random.lognormal(8, 3, m),
    "pareto, 1": lambda random, m: random.pareto(1, m) + 1,
    "pareto, 1.5": lambda random, m: random.pareto(1.5, m) + 1,
    "pareto, 3": lambda random, m: random.pareto(3, m) + 1,
    "t, 2": lambda random, m: random.standard_t(2, m),
    "cauchy": lambda random, m: random.standard_cauchy(m),
    "weibull, .4": lambda random, m: random.weibull(0.4, m),
    "gamma, .1": lambda random, m: random.gamma(0.1, 1, m),
    "poisson, .3": lambda random, m: random.poisson(0.3, m).astype(float),
    "geometric, .02": lambda random, m: random.geometric(0.02, m).astype(float),
    "a tenth is yes": lambda random, m: (random.random(m) < 0.1).astype(float),
    "a quarter is lognormal, else zero": lambda random, m: random.lognormal(6, 2, m) * (random.random(m) < 0.25),
    "whole dollars": lambda random, m: np.rint(random.lognormal(4, 1, m)),
    "ages": lambda random, m: random.integers(18, 100, m).astype(float),
}


@pytest.mark.slow
@pytest.mark.parametrize("one_law", [True, False])
def test_honest_long_tails_have_none(one_law):
    """At most 1 in 50 columns of any law, and 1 in 250 over all: the worst are shorter than 20 rows, or Cauchy's."""
    rates = {}
    for name, law in LAWS.items():
        random = np.random.default_rng(len(name))
        blocks = [law(random, (m, 50)) for m in (6, 10, 20, 40, 200) for _ in range(2)]
        rates[name] = np.mean([len({code.column for code in codes_in(block, one_law)}) / 50 for block in blocks])
    assert max(rates.values()) <= 0.02, rates
    assert np.mean(list(rates.values())) <= 0.004


def _clinic(m: int, n: int, code: float = -999.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(11)
    public, private = (
        pd.DataFrame({"a": random.normal(70, 12, size), "b": random.normal(5, 1, size)}) for size in (m, n)
    )
    public.loc[3, "a"] = code
    return public, private


@pytest.mark.long
@pytest.mark.parametrize("code", [-999.0, 9.96921e36])
@pytest.mark.parametrize(
    "estimate",
    [
        pp.estimate_mean,
        lambda public, curator: pp.estimate_mean(public, curator, covariance=np.diag([144.0, 1.0])),
        pp.estimate_gaussian,
        lambda public, curator: pp.estimate_mixture(public, curator, n_components=1),
    ],
    ids=["mean", "mean, known", "gaussian", "mixture"],
)
def test_a_code_among_the_public_rows_does_not_ruin_a_run(estimate, code):
    """Numbers are those of clean public rows, and the report says what was left out."""
    public, private = _clinic(41, 2000, code)
    made = estimate(public, pp.Curator.simulation(private.to_numpy(), "zcdp:0.5", seed=1, columns=["a", "b"]))
    clean = estimate(public.drop(3), pp.Curator.simulation(private.to_numpy(), "zcdp:0.5", seed=1, columns=["a", "b"]))
    mean, right = (np.ravel(each.means if hasattr(each, "means") else each.mean) for each in (made, clean))
    assert mean.tolist() == right.tolist()
    said = [text for text in made.diagnostics["warnings"] if "code of a missing value" in text]
    assert len(said) == 1
    assert said[0].startswith(f"1 of 41 public rows has {code:g} in column a, ")
    assert made.provenance["public_sha256"] == PublicTable.open(public, ["a", "b"]).sha256  # the file, as it is
    assert made.provenance["n_public"] == 40


def test_private_rows_may_have_the_codes_of_public_ones():
    """Errors include what as many would add as noise hides, where public rows do not contradict that; not more."""
    public, private = _clinic(41, 3000)
    rows = private.to_numpy().copy()
    rows[:5, 0] = -999
    made = pp.estimate_mean(public, pp.Curator.simulation(rows, "zcdp:0.5", seed=1, columns=["a", "b"]))
    error = np.sqrt(sum(np.square(part) for part in map(np.array, made.standard_errors["mean"].values())))
    assert abs(made.mean[0] - rows[:, 0].mean()) < 2 * error[0]
    assert error[0] < 1.1 * 1069 * made.diagnostics["could_hide"]["rows"] / 3000
    assert error[1] < 0.03
    assert made.states == {"a": "wide", "b": "good"}
    assert any("private rows may have -999 in a" in text for text in made.diagnostics["warnings"])


def test_what_was_left_out_crosses_to_tasks_and_is_not_looked_for_twice(tmp_path):
    public, _ = _clinic(41, 10)
    table = usable(PublicTable.open(public))
    again = PublicHandle.store(table, tmp_path).load()
    assert (len(again.rows), again.notes, again.given_sha256) == (40, table.notes, PublicTable.open(public).sha256)
    assert usable(again) is again


@pytest.mark.long
def test_plan_and_fit_say_it_before_anything_is_spent(tmp_path, monkeypatch, capsys):
    """`plan` as a note and in --json, `fit` before the run."""
    monkeypatch.chdir(tmp_path)
    public, private = _clinic(41, 2000)
    public.to_csv("public.csv", index=False)
    private.to_csv("private.csv", index=False)
    asked = ["gaussian", "--budget", "zcdp:0.5", "--public", "public.csv"]
    words = "1 of 41 public rows has -999 in column a"
    told = run_program(monkeypatch, capsys, "plan", *asked, "--rows", 2000)
    assert any(line.startswith(f"note: {words}") for line in told.lines)
    plan = json.loads(run_program(monkeypatch, capsys, "plan", *asked, "--rows", 2000, "--json").out)
    assert plan["notes"][0].startswith(words)
    assert plan["public_rows"] == 40
    run_program(monkeypatch, capsys, "budget", "set", "v", "zcdp:1", "--unit", "a row", "--ledger", "sqlite:///l.db")
    told = run_program(
        monkeypatch, capsys, "fit", *asked, "--private", "private.csv", "--dataset", "v", "--ledger", "sqlite:///l.db",
        "--out", "model.json", "--plain",
    )  # fmt: skip
    assert told.code in (0, 4)  # the private rows may have it, too
    assert any(line.startswith(f"warning: {words}") for line in told.lines)
