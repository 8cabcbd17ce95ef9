"""Columns in large or small units: the right numbers, or a refusal before anything is charged, by public facts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import run_program

import pubpriv as pp
from pubpriv.errors import InvalidInput, NoAnswer, PubPrivError

N, MEAN, SD = 3000, np.array([70.0, 5.0]), np.array([12.0, 1.0])

ESTIMATORS = {
    "mean": pp.estimate_mean,
    "mean, known": lambda public, curator: pp.estimate_mean(public, curator, covariance=np.cov(public.to_numpy().T)),
    "coinpress": lambda public, curator: pp.estimate_mean(
        public, curator, covariance=np.cov(public.to_numpy().T), method="coinpress"
    ),
    "gaussian": pp.estimate_gaussian,
    "gaussian's target": partial(pp.estimate_gaussian, target="gaussian"),
    "algorithm-2": partial(pp.estimate_gaussian, target="gaussian", method="algorithm-2"),
    "mixture": partial(pp.estimate_mixture, n_components=1),
}


def _tables(public_unit: float, private_unit: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Public and private rows of one law, column a in units of its own."""
    random = np.random.default_rng(5)
    return tuple(
        pd.DataFrame(random.normal(MEAN, SD, (n, 2)) * [unit, 1.0], columns=["a", "b"])
        for n, unit in ((40, public_unit), (N, private_unit))
    )


def _run(folder, estimate, public, private):
    """Estimate with a ledger; returns the estimate or its error, and what was spent."""
    private.to_parquet(folder / "private.parquet")
    with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        table = pp.PrivateTable.open(folder / "private.parquet", ["a", "b"])
        ledger.register("visits", budget="zcdp:2", table=table, unit="a row")
        try:
            with pp.Curator(table, ledger, dataset="visits", budget="zcdp:1", release_id="r") as curator:
                made = estimate(public, curator)
        except PubPrivError as error:
            made = error
        return made, ledger.balance("visits").spent.main


@pytest.mark.long
@pytest.mark.parametrize("exponent", [76, 152, -76])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_units_that_no_covariance_holds_are_refused_before_the_charge(tmp_path, name, exponent):
    """The message names the column, and says what to do."""
    public, private = _tables(10.0**exponent, 10.0**exponent)
    made, spent = _run(tmp_path, ESTIMATORS[name], public, private)
    assert isinstance(made, InvalidInput)
    assert spent == 0
    if "known" not in name and name != "coinpress":  # there, the covariance is refused as well
        assert "column a" in str(made)
    assert "units" in str(made)


@pytest.mark.long
@pytest.mark.parametrize("exponent", [57, -57])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_units_within_the_limits_change_nothing(tmp_path, name, exponent):
    """The mean is right in those units, and the model can be written."""
    public, private = _tables(10.0**exponent, 10.0**exponent)
    made, spent = _run(tmp_path, ESTIMATORS[name], public, private)
    assert not isinstance(made, Exception), made
    assert spent > 0
    mean = np.atleast_2d(made.means if name == "mixture" else made.mean)[0] / [10.0**exponent, 1.0]
    assert mean == pytest.approx(private.mean().to_numpy() / [10.0**exponent, 1.0], abs=1.0)
    made.save(tmp_path / "model.json")


@pytest.mark.long
@pytest.mark.parametrize("name", ["mean", "gaussian", "gaussian's target"])
def test_private_rows_in_other_units_than_public_ones_end_in_a_sentence(tmp_path, name):
    """No public fact can tell; the rounds follow them until numbers end."""
    made, _ = _run(tmp_path, ESTIMATORS[name], *_tables(1e55, 1e125))
    assert isinstance(made, NoAnswer)
    assert "same units" in str(made)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (partial(pp.estimate_gaussian, scale={"a": 1e80}), "the scale of a"),
        (partial(pp.estimate_mean, covariance=np.diag([1e200, 1.0])), "known covariance"),
        (partial(pp.estimate_mean, covariance=np.diag([1e-200, 1.0])), "known covariance"),
    ],
)
def test_sizes_from_the_user_have_the_same_limits(tmp_path, estimate, words):
    made, spent = _run(tmp_path, estimate, *_tables(1.0, 1.0))
    assert isinstance(made, InvalidInput)
    assert words in str(made)
    assert spent == 0


@pytest.mark.parametrize("command", ["mean", "gaussian", "mixture"])
def test_a_plan_and_a_run_refuse_them_with_exit_2(tmp_path, monkeypatch, capsys, command):
    public, private = _tables(1e90, 1e90)
    for name, table in (("public", public), ("private", private)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    run = partial(run_program, monkeypatch, capsys)
    asked = [command, "--budget", "zcdp:1", "--public", "public.csv"]
    told = run("plan", *asked, "--rows", N)
    assert told.code == 2
    assert "column a" in told.err
    here = ["--dataset", "visits", "--ledger", "sqlite:///ledger.db"]
    assert run("budget", "set", "visits", "zcdp:2", "--unit", "a row", "--ledger", "sqlite:///ledger.db").code == 0
    told = run("fit", *asked, "--private", "private.csv", *here, "--out", "model.json", "--plain")
    assert told.code == 2
    assert "column a" in told.err
    with pp.Ledger.open("sqlite:///ledger.db") as ledger:
        assert ledger.balance("visits").spent.main == 0
