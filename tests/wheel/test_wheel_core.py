"""`pip install pubpriv` alone: what works, and what is said where an extra is missing."""

import json

import pytest

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

LEDGER = ("--ledger", "sqlite:///ledger.db")
TABLES = ("--private", "private.parquet", "--columns", "a,b,c")

FITS = {
    "mean": ("--public", "public.parquet"),
    "gaussian": ("--public", "public.csv"),
    "mixture": ("--public", "public.parquet", "--components", "2"),
}

LACKING = {
    "demo": "this needs Prefect: pip install 'pubpriv[prefect]'",
    "demo --plain": "the demo's data comes with statsmodels: pip install 'pubpriv[demo]'",
    "deploy --dry-run": "this needs Prefect: pip install 'pubpriv[prefect]'",
    "serve": "this needs Prefect: pip install 'pubpriv[prefect]'",
    "backfill x --from 2026-01-01 --to 2026-01-02": "this needs Prefect: pip install 'pubpriv[prefect]'",
    "budget show x --ledger postgresql://u@localhost/x": (
        "a ledger in PostgreSQL needs a driver: pip install 'pubpriv[postgres]'"
    ),
    "bench scan": "benchmarks are no part of an installed package: run `pubpriv bench` in a checkout's .venv",
}


@pytest.fixture(scope="module")
def ledger(core):
    """A ledger with a dataset, made by the program itself."""
    core.run("budget", "set", "visits", "zcdp:4", *TABLES, "--unit", "one visit", *LEDGER)
    return core


@pytest.mark.parametrize("estimator", FITS)
def test_a_plain_fit_needs_no_extra(ledger, estimator):
    """From a table to a model, its budget, its page, and rows drawn from it."""
    model = f"{estimator}.json"
    run = ("--budget", "zcdp:0.5", "--dataset", "visits", "--release-id", estimator, "--out", model, "--plain")
    ledger.run("fit", estimator, *TABLES, *FITS[estimator], *run, *LEDGER)
    assert json.loads((ledger.folder / model).read_text())["provenance"]["release_id"] == estimator
    assert estimator in ledger.run("budget", "history", "visits", *LEDGER)
    ledger.run("report", model)
    ledger.run("ledger", "verify", "--model", model, *LEDGER)


def test_a_plan_needs_no_extra(core):
    """A price before there is a table."""
    core.run("plan", "mean", "--rows", 5000, "--public-rows", 1, "--dims", 20, "--budget", "zcdp:0.5")


@pytest.mark.parametrize("words", LACKING)
def test_what_needs_an_extra_says_which_in_one_line(core, words):
    """Exit code 2, nothing made."""
    before = set(core.folder.iterdir())
    assert core.run(*words.split(), code=2) == f"error: {LACKING[words]}\n"
    assert set(core.folder.iterdir()) == before


def test_a_fit_that_needs_an_extra_spends_nothing(ledger):
    """Prefect by option and by variable, Dask by option."""
    run = ("--budget", "zcdp:0.1", "--dataset", "visits", "--release-id", "none", "--out", "none.json", *LEDGER)
    command = ("fit", "mean", *TABLES, "--public", "public.parquet", *run)
    needs = "error: this needs Prefect: pip install 'pubpriv[prefect]'\n"
    assert ledger.run(*command, "--prefect", code=2) == needs
    assert ledger.run(*command, code=2, PREFECT_API_URL="http://127.0.0.1:1/api") == needs
    assert "pip install 'pubpriv[dask]'" in ledger.run(*command, "--plain", "--dask", "tcp://127.0.0.1:1", code=2)
    assert "none" not in ledger.run("budget", "history", "visits", *LEDGER).split()


def test_help_lists_no_benchmarks(core):
    """They are not there."""
    told = core.run("--help")
    assert "fit " in told
    assert "bench" not in told
