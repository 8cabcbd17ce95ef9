"""Why an interval is so wide: parts of the error that add up, the state, the finding and what would help."""

from dataclasses import replace

import pytest
from helpers.releases import clipped, gaussian_release, mean_release, mixture_release

from pubpriv.errors import InvalidInput
from pubpriv.released.findings import DOUBTFUL, Finding
from pubpriv.released.why import why

TAIL = Finding("could-hide", ("cost",), DOUBTFUL, "rows like it could hide", {}, ("mean",), "bound it")
HIDDEN = {"warnings": [], "could_hide": {"rows": 3, "beyond": 40.0}, "whole_rows": 20_000.0}


@pytest.mark.parametrize("make", [mean_release, gaussian_release, mixture_release])
def test_every_number_has_parts_that_add_up(make):
    """By the name that the table of numbers gives it."""
    estimate = clipped(make())
    for number in estimate.numbers():
        told = why(estimate, number.name)
        assert told.number == number
        assert sum(told.shares.values()) == pytest.approx(1.0)
        assert [float(part[1]) for part in told.parts()] == sorted((float(p[1]) for p in told.parts()), reverse=True)
        assert told.low < number.value < told.high


def test_names_may_be_those_of_people():
    """A standard deviation is asked for by its variance, a covariance in either order."""
    estimate = gaussian_release()
    assert why(estimate, "sd:cost").number.name == "variance:cost"
    assert why(estimate, "covariance:cost,age").number.name == "covariance:age,cost"
    with pytest.raises(InvalidInput, match="no number 'mean:csot'; did you mean mean:cost"):
        why(estimate, "mean:csot")


def test_a_doubtful_number_has_its_reason_and_a_remedy():
    estimate = replace(mean_release(), findings=(TAIL,), converged=False)
    told = why(estimate, "mean:cost")
    assert (told.state, told.findings, told.remedies[0]) == ("doubtful", (TAIL,), "bound it")
    assert why(estimate, "mean:age").findings == ()


def test_what_could_hide_stands_beside_the_number():
    """Three rows of 20,000, forty standard deviations out: they move a mean by 0.006 of one, a variance by 0.24."""
    estimate = gaussian_release(covariance=[[4.0, 0.0], [0.0, 1.0]], diagnostics=HIDDEN)
    of_mean, of_variance = (why(estimate, name).could_hide for name in ("mean:age", "variance:age"))
    assert (of_mean.low, of_mean.high) == (pytest.approx(-0.012), pytest.approx(0.012))
    assert (of_variance.low, of_variance.high) == (0.0, pytest.approx(0.96))
    assert why(estimate, "covariance:age,cost").could_hide is None
    assert why(gaussian_release(), "mean:age").could_hide is None


def test_declared_bounds_bound_what_could_hide():
    """Of a column that is clipped to 0 and 5, with mean 1 and sd 2, no row lies forty deviations out."""
    columns = ("clip(age, 0, 5)", "cost")
    estimate = gaussian_release(columns, [1.0, 1.0], [[4.0, 0.0], [0.0, 1.0]], diagnostics=HIDDEN)
    found = why(estimate, "mean:clip(age, 0, 5)").could_hide
    assert (found.low, found.high) == (pytest.approx(-3 / 20_000), pytest.approx(12 / 20_000))
    assert why(estimate, "variance:clip(age, 0, 5)").could_hide.high == pytest.approx(48 / 20_000)


def test_advice_on_the_budget_is_what_the_errors_say():
    """Noise three times the sampling error: 43 times the budget brings both together to 1.1 times that."""
    told = mean_release().to_json()
    told["standard_errors"]["mean"] = {"sampling": [1.0, 1.0], "privacy": [3.0, 0.1]}
    estimate = type(mean_release()).from_json(told)
    assert any(remedy.startswith("43 times the budget") for remedy in why(estimate, "mean:age").remedies)
    assert why(estimate, "mean:cost").remedies == (
        "nothing that privacy takes: more rows alone would make it narrower",
    )
