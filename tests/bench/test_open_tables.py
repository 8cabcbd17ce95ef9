"""Open tables are judged draw by draw, and other files are taken in their place."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks import open_tables
from benchmarks.library_tables import SKEWED, opened
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput


@pytest.mark.parametrize("name", SKEWED)
def test_open_tables_have_skewed_columns(name):
    """They can be had here, and one column at least is skewed as prices, areas and counts are."""
    columns, rows = opened(SKEWED[name])
    assert len(rows) > 500
    assert pd.DataFrame(rows, columns=columns).skew().max() > 0.9


def draw(sd_off=0.0, flagged=False, width=1.0):
    """Make a draw of one column."""
    return {
        "table": "fares",
        "n": 800,
        "d": 1,
        "refused": None,
        "flagged": flagged,
        "width": width,
        "off": {"mean of fare": 1.0, "sd of fare": sd_off},
        "sd_bias": {"fare": 0.1 * sd_off},
    }


DRAWS = {
    "within": ([draw()] * 5, (5, 1.0, True, "mean of fare")),
    "one is off": ([*([draw()] * 4), draw(-3.1)], (4, 0.8, False, "sd of fare")),
    "flagged where it is off": ([*([draw()] * 4), draw(-3.1, flagged=True)], (4, 1.0, True, "mean of fare")),
    "all flagged": ([draw(-9, flagged=True)] * 5, (0, 1.0, True, None)),
    "wide": ([draw(width=3.1)] * 5, (5, 1.0, False, "mean of fare")),
    "refused": ([{"table": "fares", "n": 800, "d": 1, "refused": "too few"}] * 5, (0, 1.0, True, None)),
}


@pytest.mark.parametrize("case", DRAWS)
def test_a_number_that_is_far_off_is_told(case):
    """Every draw must be flagged, or have every number within three standard errors that are not too wide."""
    draws, expected = DRAWS[case]
    row = open_tables._row("fares", draws)
    assert (row["within"], row["within_or_flagged"], row["met"], row["furthest"]) == expected


def test_numbers_are_compared_with_the_private_rows_own():
    """Of Gaussian rows all are within; a column of a few huge values is not, and it is named."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((3_000, 2))
    sound = open_tables._draw_of(("gaussian", ("a", "b"), rows, 0, "zcdp:0.5"))
    assert max(map(abs, sound["off"].values())) < 5
    assert 2_940 <= sound["n"] <= 2_960
    assert abs(sound["sd_bias"]["b"]) < 0.1
    assert 0.9 < sound["width"] < 1.2


def test_a_file_is_taken_in_their_place(tmp_path):
    """With some of its columns; a short one is refused."""
    file = tmp_path / "prices.csv"
    generator = np.random.default_rng(1)
    pd.DataFrame(generator.normal(size=(2_000, 3)), columns=["price", "area", "year"]).to_csv(file, index=False)
    found = open_tables.bench(1, workers=1, file=file, columns="price, area")
    assert [(row["table"], row["d"]) for row in found["rows"]] == [("prices.csv", 2)]
    pd.DataFrame(generator.normal(size=(80, 1)), columns=["price"]).to_csv(file, index=False)
    with pytest.raises(InvalidInput, match="80 usable rows"):
        open_tables.bench(1, workers=1, file=file)


BAD = {
    "a file without tables": ["--csv", "prices.csv"],
    "columns without a file": ["--tables", "--columns", "price"],
}


@pytest.mark.parametrize("case", BAD)
def test_options_that_do_not_go_together_are_refused(case):
    """In words, at once."""
    done = CliRunner().invoke(app, ["bench", "honest", *BAD[case]])
    assert isinstance(done.exception, InvalidInput)
    assert "--columns with --csv" in str(done.exception)
