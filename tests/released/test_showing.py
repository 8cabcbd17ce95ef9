"""How releases show themselves in Python."""

import numpy as np
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release

from pubpriv.errors import InvalidInput

RELEASES = {"mean": mean_release, "gaussian": gaussian_release, "mixture": mixture_release}


@pytest.mark.parametrize("kind", RELEASES)
def test_a_release_is_one_line_and_no_array(kind):
    """Class, columns and release; that numbers are doubtful is there too."""
    release = RELEASES[kind]()
    line = repr(release)
    assert line.startswith(type(release).__name__)
    assert len(line) < 200
    assert all(column in line for column in release.columns)
    assert release.of_whom in line
    assert ("DOUBTFUL" in repr(RELEASES[kind](converged=False)), "DOUBTFUL" in line) == (True, False)


@pytest.mark.parametrize("kind", RELEASES)
def test_a_frame_has_every_number_and_intervals_follow_from_its_errors(kind):
    """As many rows as numbers; 95% is 1.96 errors to each side, and a higher level is wider."""
    release = RELEASES[kind]()
    frame, wide, narrow = release.to_frame(), release.interval(0.99), release.interval()
    assert frame["value"].tolist() == [number.value for number in release.numbers()]
    assert frame["error"].tolist() == [number.error for number in release.numbers()]
    assert np.allclose(narrow["high"] - narrow["low"], 2 * 1.959964 * frame["error"])
    assert (wide["high"] > narrow["high"]).all()
    for level in (0, 1, 95, "0.9"):
        with pytest.raises(InvalidInput, match="a level lies between 0 and 1"):
            release.interval(level)


def test_a_summary_tells_guarantee_numbers_and_warnings():
    """And the same in a notebook, where names cannot bring markup."""
    release = mixture_release(converged=False, diagnostics={"warnings": ["few rows"]}, columns=("a", "<b>x</b>"))
    told = release.summary()
    assert release.privacy["guarantee"]["text"] in told
    assert "component 1: mean of a: " in told
    assert "0 of 2 columns are good; a, <b>x</b>: doubtful, because the rounds did not converge" in told
    assert told.endswith("warning: few rows")
    shown = release._repr_html_()
    assert "component 1: mean of a" in shown
    assert "did not converge" in shown
    assert "<b>x</b>" not in shown


def test_rows_that_fit_no_model_are_refused_in_words():
    """Density and samples of a law take a table of its columns, and a number of rows."""
    release = gaussian_release()
    for rows in (np.zeros(2), [["a", "b"]], np.zeros((3, 9))):
        with pytest.raises(InvalidInput, match="rows are an array of numbers"):
            release.log_density(rows)
    for n in (0, -1, 2.5, "x", True):
        with pytest.raises(InvalidInput, match="positive number of rows"):
            release.sample(n)
