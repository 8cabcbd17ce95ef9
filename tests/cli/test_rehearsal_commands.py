"""The rehearsal in `plan` and `fit`: what is said before anything is spent, who is asked, and what a release keeps."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL

from pubpriv import load

LIKELY = "rehearsal: doubtful numbers are likely"


@pytest.fixture
def world(folder):
    """Ages, and surgeries, of which no row shows any."""
    for name, n, seed in (("private", 300, 8), ("public", 60, 3)):
        rows = np.random.default_rng(seed).normal(40.0, 9.0, (n, 2)) * [0.0, 1.0]
        pd.DataFrame(rows, columns=["surgery", "age"]).to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture
def fit(world, program):
    def run(*flags, columns="surgery,age"):
        tables = "--private", "private.parquet", "--public", "public.parquet", "--columns", columns
        where = "--dataset", "visits", "--ledger", URL, "--out", "model.json", "--release-id", "first", "--overwrite"
        return program("fit", "gaussian", "--plain", "--budget", "zcdp:0.5", *tables, *where, *flags)

    return run


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_a_likely_doubtful_run_ends_before_anything_is_spent(fit, balance):
    told = fit()
    assert told.code == 2
    assert any(line.startswith(LIKELY) and line.endswith("of surgery") for line in told.lines)
    assert "--yes" in told.lines[-1]
    assert (balance()["spent"], balance()["held"]) == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("\n", 2), ("y\n", None)])
def test_at_a_terminal_it_asks_and_no_is_the_default(fit, balance, monkeypatch, answer, code):
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    told = fit()
    assert "Spend zcdp:0.5 all the same" in told.err
    assert told.code == code or (code is None and told.code in (0, 4))
    assert (balance()["spent"] > 0) is (code is None)


@pytest.mark.long
def test_who_goes_on_keeps_what_was_said_in_the_release_and_on_its_page(fit, program, world):
    told = fit("--yes")
    assert told.code in (0, 4)
    said = load(world / "model.json").diagnostics["rehearsal"]
    assert [f"rehearsal: {line}" for line in said] == [line for line in told.lines if line.startswith("rehearsal: ")]
    program("report", "model.json", "--ledger", URL)
    assert said[0] in (world / "model.html").read_text()


@pytest.mark.long
def test_a_run_that_has_begun_is_not_rehearsed_again(fit):
    fit("--yes")
    told = fit()
    assert told.code in (0, 4)
    assert "rehearsal" not in told.err


@pytest.mark.long
def test_a_sound_run_is_not_asked_about_and_nothing_is_said(fit, world):
    told = fit(columns="age")
    assert told.code == 0
    assert "rehearsal" not in told.err
    assert "rehearsal" not in load(world / "model.json").diagnostics


@pytest.mark.parametrize("way", ["option", "environment"])
def test_it_can_be_left_out(fit, monkeypatch, way):
    if way == "environment":
        monkeypatch.setenv("PUBPRIV_REHEARSAL", "0")
    told = fit(*(("--no-rehearsal",) if way == "option" else ()))
    assert told.code in (0, 4)
    assert "rehearsal" not in told.err


@pytest.mark.long
def test_a_plan_shows_it_and_reads_no_private_row(world, program):
    """With the number of rows alone; `--json` has the whole of it, and a plan for a size has none."""
    asked = "plan", "gaussian", "--rows", "300", "--budget", "zcdp:0.5"
    told = program(*asked, "--public", "public.parquet")
    assert told.code == 0
    assert any(line.startswith(LIKELY) for line in told.out.splitlines())
    made = json.loads(program(*asked, "--public", "public.parquet", "--json").out)["rehearsal"]
    assert made["likely_doubtful"]
    assert made["doubts"][0]["column"] == "surgery"
    assert {(each["column"], each["quantity"]) for each in made["widths"]} == {
        (column, what) for column in ("surgery", "age") for what in ("mean", "sd")
    }
    assert "rehearsal" not in json.loads(program(*asked, "--public-rows", "60", "--dims", "2", "--json").out)
    assert "rehearsal" not in json.loads(program(*asked, "--public", "public.parquet", "--no-rehearsal", "--json").out)
