"""`pubpriv explain`: a model file and a run in the ledger tell the same questions and prices."""

import re

from helpers.cli_world import URL


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
