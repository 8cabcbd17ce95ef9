"""A fitted regression as a release: numbers, table of a journal, predictions, contrasts, file, page."""

import json

import numpy as np
import pytest
from helpers.releases import regression_release
from scipy.stats import t

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.released.compare import compare
from pubpriv.released.findings import DOUBTFUL, Finding
from pubpriv.released.numbers import State
from pubpriv.released.report import page
from pubpriv.released.report._ellipses import picture
from pubpriv.schemas.released import coefficients_table

MODEL = regression_release()
FEW = Finding("few-rows-carry", ("a",), DOUBTFUL, "a few far rows carry it", quantities=("coefficient",))


def test_numbers_are_coefficients_intercept_and_fit():
    """Each once, with intervals of Student's t, and of R^2 within 0 and 1."""
    numbers = MODEL.numbers()
    assert [n.name for n in numbers] == ["intercept", "coefficient:a", "coefficient:log1p(b)", "R2", "residual_sd"]
    slope = numbers[1]
    reach = t.ppf(0.975, 20) * slope.error
    assert slope.interval == pytest.approx((1 - reach, 1 + reach))
    assert slope.error == pytest.approx(0.1 * np.sqrt(1.25))
    assert 0 <= numbers[3].interval[0] < 0.4 < numbers[3].interval[1] <= 1
    assert MODEL.to_frame().set_index("quantity").loc["intercept", "value"] == 3.0


def test_a_coefficient_that_a_few_rows_carry_is_marked_by_name():
    """The others stay usable, and the intercept is no column."""
    marked = regression_release(findings=(FEW,))
    states = {n.name: n.state for n in marked.numbers()}
    assert [name for name, state in states.items() if state == State.DOUBTFUL] == ["coefficient:a"]
    assert marked.states == {"a": State.DOUBTFUL, "log1p(b)": State.GOOD}
    assert marked.usable
    assert not marked.converged
    assert "a: doubtful, because a few far rows carry it" in marked.verdict
    assert r"$1$$^{\dagger}$" in marked.to_latex()


def test_contrasts_and_predictions_have_errors_that_are_not_independent():
    """The covariance of all coefficients is in the file."""
    shape = 0.01 * (np.eye(3) + 0.25)
    assert MODEL.contrast("a - `log1p(b)`").error == pytest.approx(np.sqrt(shape[1, 1] + shape[2, 2] - 2 * shape[1, 2]))
    row = np.array([1.0, 2.0, 0.5])
    found = MODEL.predict([[2.0, 0.5]])
    assert found["value"][0] == pytest.approx(3 + 2 + 1)
    assert found["error"][0] == pytest.approx(np.sqrt(row @ shape @ row))
    with pytest.raises(InvalidInput, match="array of numbers"):
        MODEL.predict([[1.0]])


def test_the_table_of_a_journal_says_that_it_was_paid_for():
    """Unlike that of a regression which follows from another release."""
    text = MODEL.regression.summary()
    assert "n 19,990" in text
    assert "costs nothing more" not in text
    assert "(intercept)" in text


def test_a_page_shows_a_plot_and_a_table():
    """Names are other people's text, so they are escaped; no picture of rows, which a regression does not describe."""
    text = page(regression_release(on=("<b>", "c")))
    assert "&lt;b&gt;" in text
    assert "<b>," not in text
    assert "The released coefficients" in text
    assert "(intercept)" in text
    assert "19,990" in text


def test_a_picture_shows_the_coefficients():
    """For Prefect's page, with one regressor too."""
    assert "The released coefficients" in picture(MODEL)
    assert "The released coefficients" in picture(regression_release(on=("a",)))


def test_releases_are_compared_by_coefficient():
    """Of the same outcome and regressors."""
    drift = compare(MODEL, regression_release(release_id="2026-12"))
    assert {d.column for d in drift.differences if d.quantity == "coefficient"} == {"a", "log1p(b)"}
    assert drift.changed == 0


def test_a_table_for_prefect_has_all_numbers():
    """With intervals, and without a column for what has none."""
    frame = coefficients_table(MODEL.numbers())
    assert frame["quantity"].tolist() == ["intercept", "coefficient", "coefficient", "R2", "residual_sd"]
    assert frame["column"].tolist() == [None, "a", "log1p(b)", None, None]


@pytest.mark.parametrize("part", ["covariances", "freedom", "rows", "on", "outcome"])
def test_a_file_without_a_part_is_damaged(part, tmp_path):
    """Each is needed for a table."""
    told = MODEL.to_json()
    (tmp_path / "m.json").write_text(json.dumps({key: value for key, value in told.items() if key != part}))
    with pytest.raises(InvalidInput, match="damaged"):
        pp.load(tmp_path / "m.json")


def test_a_file_that_was_edited_is_refused():
    """Covariances of another size, and an outcome that is no column."""
    for changed in ({"covariances": {"sampling": [[1.0]]}}, {"outcome": "z"}, {"freedom": 0.0}):
        with pytest.raises(InvalidInput, match="damaged"):
            type(MODEL).from_json(json.loads(json.dumps(MODEL.to_json() | changed))).check_whole()
