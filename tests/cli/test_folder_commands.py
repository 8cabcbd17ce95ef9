"""Commands on a folder of files: what is read is said before anything is spent, and what is not is named."""

import pytest
from helpers.cli_world import URL, fit_arguments, two_groups

SET = ("--ledger", URL, "--columns", "a,b")


@pytest.fixture
def visits(folder):
    """A folder with the year 2026, and last year's rows under a name that is not read."""
    (folder / "visits").mkdir()
    for name, seed in (("2026.csv", 1), ("_2025.csv", 2)):
        two_groups(2000, seed).to_csv(folder / "visits" / name, index=False)
    return folder / "visits"


@pytest.mark.long
def test_files_that_are_left_out_are_named_where_they_are_declared_planned_and_fitted(visits, program):
    """A table and its rows are counted, and what to do is said."""
    read, left = f"the table {visits} has 1 file and 2,000 rows", f"warning: not read of {visits}, because of their"
    told = program("budget", "set", "folder", "zcdp:2", "--private", "visits", *SET)
    assert (told.code, read in told.err, f"{left} names: _2025.csv. If" in told.err) == (0, True, True)
    plan = ("plan", "mean", "--private", "visits", "--public", "public.parquet", "--budget", "zcdp:0.5", *SET)
    planned = program(*plan)
    assert (planned.code, read in planned.err, left in planned.err) == (0, True, True)
    changed = {"private": "visits", "dataset": "folder"}
    fitted = program(*fit_arguments("--plain", **changed))
    assert (fitted.code, read in fitted.err, fitted.err.count(left)) == (0, True, 1)
    (visits / "_2025.csv").rename(visits / "2025.csv.gz")
    assert program(*fit_arguments("--plain", "--overwrite", **changed)).code == 2  # it is not compressed


def test_of_one_file_nothing_more_is_said(folder, program):
    """It is named, and nothing is left out."""
    told = program("budget", "set", "file", "zcdp:2", "--private", "private.parquet", *SET)
    assert (told.code, len(told.lines)) == (0, 1)


def test_of_persons_a_fixed_sentence_is_said(folder, program):
    """With one file or two, of which one is not read."""
    (folder / "persons").mkdir()
    two_groups(500, 1).assign(who=range(500)).to_parquet(folder / "persons/2026.parquet")
    said = []
    for beside in ("2026.parquet", "_2025.parquet"):
        (folder / "persons" / beside).touch()
        terms = ("zcdp:2", "--person", "who", "--private", "persons")
        told = program("budget", "set", "people", *terms, *SET)
        assert told.code == 0
        assert "2025" not in told.err
        said.append([line for line in told.lines if "files are read whose names end with" in line])
    assert said[0] == said[1]
    assert len(said[0]) == 1


@pytest.mark.filterwarnings("default")
def test_files_of_a_public_folder_that_are_not_read_are_named_once(folder, program):
    """However often a run opens its public rows; also by a plan."""
    (folder / "volunteers").mkdir()
    for name in ("2026.csv", "2025.txt"):
        two_groups(12, 2).to_csv(folder / "volunteers" / name, index=False)
    told = program(*fit_arguments("--plain", public="volunteers"))
    left = f"warning: not read of {folder}/volunteers, because of their names: 2025.txt. If"
    assert (told.code, told.err.count(left)) == (0, 1)
    planned = program("plan", "mean", "--rows", 2000, "--public", "volunteers", "--budget", "zcdp:0.5")
    assert (planned.code, planned.err.count(left)) == (0, 1)
