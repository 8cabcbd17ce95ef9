"""Numbers of a release as CSV, as a workbook and for LaTeX; no cell of them is run by a spreadsheet."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release
from typer.testing import CliRunner

from pubpriv.cli.main import app
from pubpriv.data.tables import PublicTable
from pubpriv.released.exports import csv_of

NAMES = ('=HYPERLINK("http://x.example")', "+1", "-cost", "@sum", "age")


def test_csv_has_each_number_with_its_interval():
    release = gaussian_release()
    read = pd.read_csv(io.StringIO(release.to_csv(0.9)))
    expected = release.interval(0.9)
    assert list(read) == list(expected)
    assert np.array_equal(read[["value", "low", "high"]], expected[["value", "low", "high"]])


def test_no_name_is_run_as_a_formula():
    """Names that begin as formulas get an apostrophe; numbers, and texts of numbers, stay."""
    read = pd.read_csv(io.StringIO(mean_release(NAMES).to_csv()))
    assert read["column"].tolist() == [f"'{NAMES[0]}", "+1", f"'{NAMES[2]}", f"'{NAMES[3]}", "age"]
    frame = pd.DataFrame({"=a": [-1.5, 2.0], "level": ["-5", "\t=1"]})
    assert csv_of(frame) == "'=a,level\n-1.5,-5\n2.0,'\t=1\n"


def test_a_workbook_has_the_numbers_and_what_should_be_known_of_them(tmp_path):
    release, path = mean_release(NAMES), tmp_path / "numbers.xlsx"
    release.to_excel(path)
    with zipfile.ZipFile(path) as book:
        sheets = [book.read(name).decode() for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
    assert len(sheets) == 2
    assert not any("<f>" in sheet or "hyperlink" in sheet.lower() for sheet in sheets)
    values = PublicTable.open(f"{path}#numbers", ["value", "low", "high"]).rows
    assert values == pytest.approx(release.interval()[["value", "low", "high"]].to_numpy())


def test_latex_has_a_row_for_each_main_number():
    told = mixture_release(("a_b", "50% & more")).to_latex()
    assert told.count(r" \\") == 1 + 3 + 3 * 2 * 2
    assert r"component 1: mean of a\_b & 0 ± 0.05 & -0.0979982 to 0.0979982 \\" in told
    assert r"sd of 50\% \& more" in told
    assert "% guarantee: " in told


@pytest.mark.parametrize("end", ["csv", "xlsx", "tex"])
def test_show_writes_the_numbers(tmp_path, end):
    mean_release().save(tmp_path / "m.json")
    where = str(tmp_path / f"numbers.{end}")
    done = CliRunner().invoke(app, ["show", str(tmp_path / "m.json"), "--out", where])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, ["show", str(tmp_path / "m.json"), "--out", where])
    assert "exists: choose another --out, or say --overwrite" in str(again.exception)
    wrong = CliRunner().invoke(app, ["show", str(tmp_path / "m.json"), "--out", str(tmp_path / "numbers.ods")])
    assert "a table of numbers is no .ods file" in str(wrong.exception)
