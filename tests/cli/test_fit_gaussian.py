"""`fit mean` and `fit gaussian`: model files, screens, refusals that cost nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL

from pubpriv import load

D, PUBLIC = 3, 10


@pytest.fixture
def world(folder):
    """One Gaussian of three columns in the folder's tables: 2,000 private rows, ten public ones."""
    for name, n in (("private", 2000), ("public", PUBLIC)):
        rows = 5 + 2 * np.random.default_rng(n).standard_normal((n, D))
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(folder / f"{name}.parquet")
    pd.DataFrame(4 * np.eye(D), columns=["a", "b", "c"]).to_csv(folder / "sigma.csv", index=False)
    return folder


FIT = {
    "--private": "private.parquet",
    "--public": "public.parquet",
    "--budget": "zcdp:0.5",
    "--dataset": "visits",
    "--ledger": URL,
    "--out": "model.json",
}


@pytest.fixture
def fit(world, program):
    """Run `fit mean` or `fit gaussian` without Prefect, with the options of `FIT`, some of them changed."""

    def run(kind, *flags, **changed):
        options = FIT | {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
        pairs = [part for name, value in options.items() for part in (name, value)]
        return program("fit", kind, "--plain", *pairs, *flags)

    return run


@pytest.fixture
def refused(fit, balance, world):
    """Run a fit that has to be refused for nothing, and return its one line."""

    def run(kind, *flags, **changed):
        before = balance()
        told = fit(kind, *flags, **changed)
        assert (told.code, told.out) == (2, "")
        assert told.lines[-1].startswith("error: ")
        assert "a defect" not in told.err
        after = balance()
        assert {name: after[name] for name in ("spent", "held", "open_runs")} == {
            name: before[name] for name in ("spent", "held", "open_runs")
        }
        assert not (world / "model.json").exists()
        return told.lines[-1].removeprefix("error: ")

    return run


# --- what is released ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "flags", "numbers", "asks"),
    [("mean", ["--covariance", "sigma.csv"], {"mean": (D,)}, "mean/"),
     ("mean", ["--covariance", "unknown"], {"mean": (D,)}, "gaussian/"),
     ("gaussian", [], {"mean": (D,), "covariance": (D, D)}, "gaussian/"),
     ("gaussian", ["--method", "algorithm-2"], {"mean": (D,), "covariance": (D, D)}, "gaussian/")],
)  # fmt: skip
def test_a_model_file_has_every_promised_key_and_replays_for_nothing(fit, balance, world, kind, flags, numbers, asks):
    """Format 2 with shapes, errors, statement and provenance; the same release id gives the same file at no cost."""
    told = fit(kind, *flags, release_id="r1")
    assert told.code == 0, told.err
    model = json.loads((world / "model.json").read_text())
    assert list(model) == [
        "format", "kind", "method", *(["target"] if asks == "gaussian/" else []), "estimand", "converged",
        "columns", *numbers, "standard_errors", "privacy", "provenance", "diagnostics", "public",
        "findings", "states", *(["noise"] if asks == "gaussian/" and "algorithm-2" not in flags else []),
    ]  # fmt: skip
    load(world / "model.json").check_whole()
    assert (model["format"], model["kind"], model["columns"]) == (2, kind, ["a", "b", "c"])
    for part, shape in numbers.items():
        assert np.shape(model[part]) == shape
        errors = {name: np.shape(value) for name, value in model["standard_errors"][part].items()}
        assert errors.pop("clipping", shape) == shape  # where tails may hide something
        assert errors == {"sampling": shape, "privacy": shape}
    assert model["privacy"]["unit"] == "one patient"
    assert all(charge["label"].startswith(asks) for charge in model["privacy"]["charges"])
    assert (model["provenance"]["release_id"], model["provenance"]["n_public"]) == ("r1", PUBLIC)
    assert load(world / "model.json").mean == pytest.approx([5, 5, 5], abs=0.3)
    spent = balance()["exact"]["spent"]
    again = fit(kind, *flags, release_id="r1")
    assert (again.code, again.out) == (0, told.out)
    replayed = json.loads((world / "model.json").read_text())
    for part in ("created", "chain_head"):
        del model["provenance"][part], replayed["provenance"][part]
    assert model == replayed
    assert balance()["exact"]["spent"] == spent


def test_the_screen_has_statement_estimates_and_errors(fit, world):
    """Guarantee, unit, what was spent, and of each column mean and deviation with both parts of their errors."""
    told = fit("gaussian", release_id="r1")
    model = load(world / "model.json")
    for words in ("0.5-zCDP", "one patient", "release r1", "of sampling", "of privacy", "sd"):
        assert words in told.out
    for name, mean, spread in zip(model.columns, model.mean, np.diag(model.covariance) ** 0.5, strict=True):
        line = next(line for line in told.out.splitlines() if f" {name} " in line)
        assert f"{mean:.6g} ±" in line
        assert f"{spread:.4g} ±" in line
    assert model.covariance == pytest.approx(4 * np.eye(D), abs=1)


def test_a_given_scale_reaches_the_estimate(fit, world):
    """A column that is constant in the public rows is measured at the scale that is given for it."""
    public = pd.read_parquet(world / "public.parquet").assign(c=5.0)
    public.to_parquet(world / "public.parquet")
    told = fit("gaussian", "--scale", "c=2")
    assert told.code == 0, told.err
    assert "scale" in told.err
    model = load(world / "model.json")
    assert model.diagnostics["scales"] == {"c": 2.0}
    assert model.covariance[2, 2] == pytest.approx(4, rel=0.3)


# --- what is refused -----------------------------------------------------------------------------------------


def test_too_few_public_rows_for_an_unknown_covariance_are_refused(refused, world):
    """d columns of a Gaussian need d + 1 public rows; other targets do with one."""
    pd.read_parquet(world / "public.parquet").head(D).to_parquet(world / "public.parquet")
    assert "needs at least 4 public rows, not 3" in refused("gaussian", target="gaussian")


MATRICES = {
    "not positive definite": "1,0,0\n0,1,1\n0,1,1\n",
    "not positive": "1,0,0\n0,-1,0\n0,0,1\n",
    "not symmetric": "1,0.5,0\n0,1,0\n0,0,1\n",
    "shape (2, 2)": "1,0\n0,1\n",
    "a missing or infinite entry": "1,0,0\n0,nan,0\n0,0,1\n",
    "is not a table of numbers": "1,0,0\n0,x,0\n0,0,1\n",
    "equally long lines": "1,0,0\n0,1\n0,0,1\n",
    "another order: they have to be a, b, c": "a,c,b\n1,0,0\n0,1,0\n0,0,1\n",
    "shape (0,)": "",
}


@pytest.mark.long
@pytest.mark.parametrize("why", MATRICES)
def test_a_known_covariance_that_is_none_is_refused(refused, world, why):
    """Not positive definite, not symmetric, of the wrong size, not numbers, columns in another order."""
    (world / "sigma.csv").write_text(MATRICES[why])
    assert why in refused("mean", covariance="sigma.csv")


def test_a_covariance_that_is_not_there_is_named(refused):
    """A word that is no file, a model that would replace the covariance, and a method that needs it."""
    assert "the covariance file unknwon cannot be read" in refused("mean", covariance="unknwon")
    assert "method coinpress needs a known covariance" in refused("mean", covariance="unknown", method="coinpress")
    assert "one of this run's inputs" in refused("mean", covariance="sigma.csv", out="sigma.csv")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mean", "gaussian"])
def test_what_would_be_noise_is_refused_with_what_would_do_unless_it_is_forced(refused, fit, world, kind):
    """Below the line of feasibility a run is refused with the rows or the budget; --force runs it, flagged, code 4."""
    line = refused(kind, budget="zcdp:0.0000001")
    assert "private rows" in line
    assert "zcdp:" in line
    assert "force" in line
    told = fit(kind, "--force", budget="zcdp:0.0000001")
    assert told.code == 4
    assert "warning: " in told.err
    assert not load(world / "model.json").converged


@pytest.mark.parametrize(
    ("kind", "options", "why"),
    [("gaussian", {"target": "mode"}, "target must be one of"), ("gaussian", {"method": "best"}, "method must be one"),
     ("mean", {"method": "best"}, "method must be one of"), ("gaussian", {"scale": "a"}, "--scale takes COLUMN=VALUE"),
     ("gaussian", {"scale": "z=1"}, "scale names z"), ("gaussian", {"scale": "a=-1"}, "a scale must be a positive"),
     ("gaussian", {"scale": "a=1", "target": "gaussian"}, "a scale is for columns"),
     ("mean", {"budget": "pure:1", "method": "coinpress"}, "no price under pure DP"),
     ("gaussian", {"budget": "pure:1", "method": "algorithm-2", "target": "gaussian"}, "no price under pure DP")],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(refused, kind, options, why):
    """Unknown targets and methods, scales of no column or no size, a kind of budget that a method has no noise for."""
    assert why in refused(kind, **options)


@pytest.fixture
def alone(world, program):
    """Run a fit without public rows of a dataset with an approx budget."""
    told = program("budget", "set", "alone", "approx:4,1e-6", "--unit", "row", "--ledger", URL)
    assert told.code == 0

    def run(kind, columns="a,b,c", budget="approx:3,1e-6", private="private.parquet"):
        out = ("--out", "alone.json", "--ledger", URL, "--dataset", "alone", "--release-id", "r")
        return program(
            "fit", kind, "--plain", "--method", "no-public", "--private", private, "--columns", columns,
            "--budget", budget, *out,
        )  # fmt: skip

    return run


@pytest.mark.long
def test_a_mean_and_a_gaussian_without_public_rows(alone, program, world):
    """A model file, a page, and a ledger that agrees with both."""
    assert alone("gaussian").code == 0
    found = load("alone.json")
    assert found.provenance["n_public"] == 0
    assert found.mean == pytest.approx([5, 5, 5], abs=0.3)
    told = program("report", "alone.json", "--ledger", URL, "--out", "page.html")
    assert told.code == 0
    assert "without public rows" in (world / "page.html").read_text()
    assert program("ledger", "verify", "--ledger", URL, "--model", "alone.json").code == 0


@pytest.mark.long
def test_no_answer_is_exit_4_and_the_rest_returns(alone, balance, world):
    """One line says why; the same command says it again, for nothing."""
    rows = pd.read_parquet(world / "private.parquet")
    rows["b"] = np.where(np.arange(len(rows)) % 3, 1.0, rows["b"])
    rows.to_parquet(world / "spiked.parquet")
    for _ in range(2):
        told = alone("mean", private="spiked.parquet")
        assert told.code == 4
        assert "same value in b" in told.err
        assert balance("alone")["held"] == 0
    assert not (world / "alone.json").exists()


@pytest.mark.parametrize(("options", "text"), [({"columns": ""}, "column"), ({"budget": "zcdp:0.1"}, "approx budget")])
def test_without_public_rows_what_cannot_be_is_refused(alone, options, text, balance):
    """Before the hold."""
    told = alone("gaussian", **options)
    assert told.code == 2
    assert text in told.err
    assert balance("alone")["runs"] == 0


def test_missing_cells_are_estimated_where_it_is_asked_for(fit, world):
    """The warning says so, the model file tells of each column, and the run is replayed for nothing."""
    rows = 5 + 2 * np.random.default_rng(7).standard_normal((2000, D))
    rows[:, 1:][np.random.default_rng(8).random((2000, 2)) < 0.3] = np.nan
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(world / "private.parquet")
    flags = "--target", "gaussian", "--missing", "estimate"
    told = fit("gaussian", *flags, release_id="r1")
    assert told.code == 0, told.err
    first = (world / "model.json").read_bytes()
    missing = json.loads(first)["diagnostics"]["missing"]
    assert missing["columns"]["b"]["share"] == pytest.approx(0.3, abs=0.05)
    assert fit("gaussian", *flags, "--overwrite", release_id="r1").code == 0
    assert (world / "model.json").read_bytes() == first
