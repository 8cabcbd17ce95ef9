"""Numbers of columns that were mapped, in the units of what they were mapped from."""

import json

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.cli.estimates import show
from pubpriv.released.numbers import of_all
from pubpriv.released.report.page import write_report

COLUMNS = ["sqrt(cost)", "log1p(income)", "log(weight)", "age"]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1)
    skewed = 500 * random.gamma(0.7, 1, 4000)
    return np.c_[skewed, random.lognormal(8, 1, 4000), random.lognormal(4, 0.3, 4000), random.normal(40, 9, 4000)]


def mapped(rows):
    return np.c_[np.sqrt(rows[:, 0]), np.log1p(rows[:, 1]), np.log(rows[:, 2]), rows[:, 3]]


def run(rows, **options):
    return pp.Curator.simulation(rows, "zcdp:0.5", 3, columns=COLUMNS, **options)


@pytest.fixture(scope="module")
def gaussian(rows):
    return pp.estimate_gaussian(mapped(rows[:60]), run(rows))


def test_a_root_gives_the_mean_and_logarithms_geometric_means(rows, gaussian):
    """The mean of squares is an identity of moments, so it holds for a skewed law."""
    root, shifted, log = gaussian.in_original_units()
    assert [each.column for each in (root, shifted, log)] == ["cost", "income", "weight"]
    assert root.low < rows[:, 0].mean() < root.high
    assert root.value == pytest.approx(rows[:, 0].mean(), rel=0.1)
    assert root.value == pytest.approx(gaussian.mean[0] ** 2 + gaussian.covariance[0, 0])
    assert shifted.low < np.expm1(np.log1p(rows[:, 1]).mean()) < shifted.high
    assert log.low < np.exp(np.log(rows[:, 2]).mean()) < log.high
    assert shifted.high < rows[:, 1].mean()
    assert (root.what, log.what) == ("mean", "geometric mean")


def test_intervals_are_no_narrower_than_those_of_independent_numbers(gaussian):
    """Sampling errors of mean and variance of a skewed column go together."""
    numbers = {number.name: number for number in of_all(gaussian.numbers())}
    mean, variance = numbers["mean:sqrt(cost)"], numbers["variance:sqrt(cost)"]
    root = gaussian.in_original_units()[0]
    least = 2 * 1.96 * np.hypot(2 * mean.value * mean.error, variance.error)
    assert least < root.high - root.low < 2 * least


def test_a_mean_alone_has_them_too(rows):
    """If the variance was learnt; of groups, whose variances are theirs, roots have none."""
    found = pp.estimate_mean(mapped(rows[:60]), run(rows), covariance="unknown")
    assert found.in_original_units()[0].low < rows[:, 0].mean() < found.in_original_units()[0].high
    by = pp.ByCategory("half", ("low", "high")), ["low", "high"] * 2000
    grouped = pp.estimate_mean(mapped(rows[:60]), run(rows, groups=by), covariance="unknown")
    assert [each.column for each in grouped.of_group("low").in_original_units()] == ["income", "weight"]


def test_doubts_go_with_the_numbers(rows):
    odd = rows.copy()
    odd[:400, 0] = 1e15
    found = pp.estimate_gaussian(mapped(rows[:60]), run(odd))
    states = {number.name: number.state for number in of_all(found.numbers())}
    assert found.in_original_units()[0].state == max(
        (states["mean:sqrt(cost)"], states["variance:sqrt(cost)"]), key=["good", "wide", "doubtful"].index
    )


def test_file_console_and_page_show_them(gaussian, tmp_path, capsys):
    gaussian.save(tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text())
    assert [each["column"] for each in told["original_units"]] == ["cost", "income", "weight"]
    assert pp.load(tmp_path / "model.json").in_original_units() == gaussian.in_original_units()
    show(gaussian)
    assert "geometric mean" in capsys.readouterr().out
    page = write_report(gaussian, tmp_path / "page.html").read_text()
    assert "In original units" in page


def test_other_columns_have_none(rows):
    curator = pp.Curator.simulation(rows[:, 3:], "zcdp:0.5", 3, columns=["age"])
    found = pp.estimate_gaussian(rows[:60, 3:], curator)
    assert found.in_original_units() == ()
    assert "original_units" not in found.to_json()
