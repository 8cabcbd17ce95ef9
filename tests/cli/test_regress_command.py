"""`pubpriv regress` and `pubpriv pca`: tables, files, JSON, and what is refused; no ledger is read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.releases import UNSETTLED, gaussian_release, mean_release, mixture_release, simulated

from pubpriv.released.groups import Group, Groups

SPREAD = np.array([[1.0, 0.2, 1.0], [0.2, 2.0, -1.0], [1.0, -1.0, 4.0]])


def release(**changed):
    return gaussian_release(("age", "log1p(cost)", "y"), np.zeros(3), SPREAD, error=0.02, **changed)


def test_a_regression_is_shown_with_its_errors_and_its_guarantee(program, folder):
    release().save("model.json")
    told = program("regress", "model.json", "--outcome", "y", "--on", "age,log1p(cost)", "--contrast", "age")
    assert told.code == 0
    for part in ("(intercept)", "log1p(cost)", "95% interval", "n 20,000", "the others held fixed", "0.5-zCDP"):
        assert part in told.out
    assert "good" in told.out
    assert "sampling errors assume" in told.err
    assert not list(folder.glob("*.db-wal"))


def test_json_has_all_of_it(program, folder):
    release().save("model.json")
    told = program("regress", "model.json", "--outcome", "y", "--level", "0.9", "--json", "--contrast", "age")
    data = json.loads(told.out)
    assert [each["name"] for each in data["coefficients"]] == ["(intercept)", "age", "log1p(cost)"]
    values = [each["value"] for each in data["coefficients"][1:]]
    assert values == pytest.approx(np.linalg.solve(SPREAD[:2, :2], SPREAD[:2, 2]).tolist())
    assert data["contrasts"][0]["value"] == pytest.approx(values[0])
    assert (data["level"], data["n"]) == (0.9, 20_000)


@pytest.mark.parametrize(
    ("name", "part"),
    [("a.tex", r"\toprule"), ("a.csv", "name,value"), ("a.txt", "std. error"), ("a.json", '"outcome": "y"')],
)
def test_a_table_is_written_once(program, folder, name, part):
    release().save("model.json")
    arguments = "regress", "model.json", "--outcome", "y", "--out", name
    assert program(*arguments).code == 0
    assert part in (folder / name).read_text()
    again = program(*arguments)
    assert (again.code, "--overwrite" in again.err) == (2, True)
    assert program(*arguments, "--overwrite").code == 0


def test_doubtful_and_simulated_releases_are_marked(program, folder):
    simulated(release(findings=(UNSETTLED,))).save("model.json")
    told = program("regress", "model.json", "--outcome", "y")
    assert told.code == 0
    assert "doubtful" in told.out
    assert "warning: doubtful: the rounds did not converge" in told.err
    assert "simulation" in told.err


def test_each_group_and_each_component(program, folder):
    """A group that permits no regression says why, and the others are shown."""
    whole = release()
    parts = {"mean": np.zeros(3), "covariance": SPREAD}
    errors = {
        part: {source: np.asarray(values) for source, values in of.items()}
        for part, of in whole.standard_errors.items()
    }
    own = {"mean": 1.0, "covariance": 1.0}
    groups = Group("north", (900.0, 4.0), parts, errors, own), Group("south", (3.0, 4.0), parts, errors, own)
    replace(whole, groups=Groups("region", groups)).save("model.json")
    told = program("regress", "model.json", "--outcome", "y", "--each")
    assert told.code == 0
    assert "north" in told.out
    assert "warning: south: a regression on 2 columns needs more than" in told.err
    data = json.loads(program("regress", "model.json", "--outcome", "y", "--each", "--json").out)["each"]
    assert data["north"]["n"] == 900
    assert "refused" in data["south"]
    mixture_release(("a", "b", "y")).save("mixture.json")
    assert "component 3" in program("regress", "mixture.json", "--outcome", "y", "--each").out
    one = program("regress", "mixture.json", "--outcome", "y", "--component", "2")
    assert "component 2" in one.out


def test_principal_components_are_shown(program, folder):
    release().save("model.json")
    told = program("pca", "model.json")
    assert told.code == 0
    assert "principal components" in told.out
    data = json.loads(program("pca", "model.json", "--covariance", "--json").out)
    variances = [each["value"] for each in data["numbers"] if each["what"] == "variance"]
    assert variances == pytest.approx(np.linalg.eigvalsh(SPREAD)[::-1].tolist())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["regress", "model.json", "--outcome", "z"], "no column 'z'"),
        (["regress", "model.json", "--outcome", "y", "--on", "y"], "y is the outcome"),
        (["regress", "model.json", "--outcome", "y", "--each"], "no groups and no components"),
        (["regress", "model.json", "--outcome", "y", "--each", "--group", "a"], "--each stands alone"),
        (["regress", "model.json", "--outcome", "y", "--level", "2"], "between 0 and 1"),
        (["regress", "model.json", "--outcome", "y", "--out", "a.pdf"], "ends in .csv"),
        (["regress", "mean.json", "--outcome", "cost"], "fit gaussian"),
        (["regress", "nothing.json", "--outcome", "y"], "no model at nothing.json"),
        (["pca", "model.json", "--columns", "age"], "at least two columns"),
        (["pca", "mean.json"], "fit gaussian"),
    ],
)
def test_what_cannot_be_is_refused(program, folder, arguments, words):
    release().save("model.json")
    mean_release().save("mean.json")
    told = program(*arguments)
    assert told.code == 2
    assert words in told.err


def test_loud_noise_is_refused(program, folder):
    gaussian_release(("age", "y"), error=0.6).save("model.json")
    told = program("regress", "model.json", "--outcome", "y")
    assert told.code == 2
    assert "noise is too large" in told.err
