"""`pubpriv explain`: a model file and a run in the ledger tell the same questions and prices."""

import json
import re
from dataclasses import replace

import pytest
from helpers.cli_world import URL
from helpers.releases import clipped, gaussian_release

from pubpriv.released.findings import DOUBTFUL, Finding


def test_a_model_and_its_run_tell_the_same(fit, folder, program):
    """Labels, words and prices agree; the ledger knows how many numbers each question released."""
    assert fit("--release-id", "r1").code in (0, 4)
    model = program("explain", "model.json")
    run = program("explain", "r1", "--dataset", "visits", "--ledger", URL)
    assert (model.code, run.code) == (0, 0), model.err + run.err
    rows = [re.findall(r"[\w/.#-]+/[\w-]+.*?│.*?│ *[\d.e-]+", each.out) for each in (model, run)]
    assert [re.sub(r" +", " ", row) for row in rows[0]] == [re.sub(r" +", " ", row) for row in rows[1]]
    assert "noisy numbers" in run.out
    assert "all runs together: 2-zCDP" in run.out
    for name in ("model-explained.html", "r1-explained.html"):
        assert (folder / name).read_text().count("<svg") == 1


def test_what_cannot_be_explained_is_told_and_nothing_is_replaced(fit, folder, program):
    """No such file, no such run, a page that is there, a ledger without a dataset."""
    assert fit("--release-id", "r1").code in (0, 4)
    (folder / "model-explained.html").write_text("mine")
    for arguments, text in (
        (["nothing.json"], "there is no model file 'nothing.json'"),
        (["r2", "--dataset", "visits", "--ledger", URL], "r2"),
        (["model.json"], "--overwrite replaces it"),
        (["model.json", "--ledger", URL], "name the run's --dataset too"),
    ):
        told = program("explain", *arguments)
        assert told.code == 2
        assert text in told.err
    assert (folder / "model-explained.html").read_text() == "mine"
    assert program("explain", "model.json", "--overwrite").code == 0


def test_a_number_is_explained_by_its_parts(program, folder):
    """Value and interval, state, parts of the error, what could hide and what would help; nothing is written."""
    hidden = {"warnings": [], "could_hide": {"rows": 3, "beyond": 40.0}, "whole_rows": 20_000.0}
    finding = Finding("could-hide", ("cost",), DOUBTFUL, "rows like it could hide", remedy="bound it")
    estimate = replace(clipped(gaussian_release(diagnostics=hidden)), findings=(finding,), converged=False)
    estimate.save("model.json")
    told = program("explain", "model.json", "--number", "mean:cost")
    assert (told.code, told.err) == (0, "")
    for part in ("95% interval 1.804 to 2.196", "state: doubtful", "2.1 times as wide", "clipping", "64%"):
        assert part in told.out
    assert "found (could-hide): rows like it could hide" in told.out
    assert "could hide: 3 rows that lay 40 standard deviations out in cost" in told.out
    assert "what would help: bound it" in told.out
    assert not list(folder.glob("*.html"))
    data = json.loads(program("explain", "model.json", "--number", "variance:cost", "--json").out)
    assert (data["number"], data["state"], data["could_hide"]["low"]) == ("variance:cost", "doubtful", 0.0)
    assert data["errors"]["clipping"] == max(data["errors"].values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--number", "mean:csot"], "did you mean mean:cost"),
        (["--number", "mean:cost", "--dataset", "visits"], "--number is about a number in a model file"),
        (["--json"], "--json goes with --number"),
    ],
)
def test_what_cannot_be_explained_is_refused(program, folder, arguments, words):
    gaussian_release().save("model.json")
    told = program("explain", "model.json", *arguments)
    assert told.code == 2
    assert words in told.err
