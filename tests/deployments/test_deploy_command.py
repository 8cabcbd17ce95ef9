"""`pubpriv deploy` before it meets a server: what it prints, what it asks of the ledger, and its one-line errors."""

from dataclasses import astuple

import pandas as pd
import pytest
from helpers.cli_world import run_program

from pubpriv.cli.operate import _own_ledger
from pubpriv.deployments.budgets import budget_checks
from pubpriv.deployments.files import read
from pubpriv.deployments.model import Dataset
from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

TEXT = """\
dataset: visits
unit: one patient
cap: zcdp:1
private: /data/private.parquet
public: /data/public.parquet
table_changes: true
releases:
  - {name: mean, estimator: mean, allotment: "zcdp:0.25", schedule: {cron: "15 2 1 * *"}}
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The dataset above, and a ledger of its own that is not made yet."""
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "visits.yaml").write_text(TEXT)
    dataset = read(tmp_path / "visits.yaml")
    assert isinstance(dataset, Dataset)
    return dataset


def test_a_dataset_that_is_not_registered_is_told_with_the_line_that_does_it(told, tmp_path):
    """Deploying gives nothing away: the line to run is printed, and no ledger is made."""
    (standing,) = budget_checks([told])
    assert not standing.right
    assert f"pubpriv budget set visits zcdp:1 --unit 'one patient' --ledger sqlite:///{tmp_path}/ledger.db" in (
        standing.finding
    )
    assert "--private /data/private.parquet --columns NAMES`" in standing.finding, "a run on a worker binds no table"
    assert not (tmp_path / "ledger.db").exists()


def test_set_budget_registers_and_says_for_how_many_releases_it_pays(told, tmp_path):
    """With --set-budget the cap stands in the ledger; doing it again changes nothing."""
    (first,) = budget_checks([told], set_budget=True)
    (again,) = budget_checks([told], set_budget=True)
    assert (first.right, first.forecasts) == (again.right, again.forecasts)
    assert first.forecasts["mean"].startswith("the budget pays for 4 more releases, until 20")
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.balance("visits").unit == "one patient"
        ledger.run("visits", "mean-2026-11").open(parse_budget("zcdp:0.25"))
    assert budget_checks([told])[0].forecasts["mean"].startswith("the budget pays for 3 more releases")


def test_a_dataset_may_have_no_public_table(told, tmp_path):
    """Releases by methods that work without take none, also where the others have one; its columns are to be named."""
    release = '  - {name: alone, estimator: mean, allotment: "approx:1,1e-6", settings: {method: no-public}}\n'
    text = TEXT.replace("zcdp:1\n", "approx:4,1e-6\n").replace("zcdp:0.25", "approx:1,1e-6")
    (tmp_path / "both.yaml").write_text(text + release)
    both = read(tmp_path / "both.yaml")
    assert both.form("alone").public is None
    assert both.form("mean").public == "/data/public.parquet"
    alone = both.model_copy(update={"public": None, "columns": ("a",)})
    unnamed = alone.model_copy(update={"columns": None})
    assert "names no columns" in budget_checks([unnamed], set_budget=True)[0].finding
    assert budget_checks([alone], set_budget=True)[0].right


def test_set_budget_declares_the_table_and_its_columns(told, tmp_path):
    """Columns of the file, or of the public table if that is here; without either the line to run is told."""
    (standing,) = budget_checks([told], set_budget=True)
    assert not standing.right
    assert "/data/private.parquet is not declared" in standing.finding
    assert "budget set visits zcdp:1 --private /data/private.parquet --columns NAMES" in standing.finding
    named = told.model_copy(update={"columns": ("log1p(b)", "a")})
    assert not budget_checks([named])[0].right
    assert budget_checks([named], set_budget=True)[0].right
    assert budget_checks([named])[0].right
    (tmp_path / "public.csv").write_text("a,c\n1,2\n")
    found = told.model_copy(update={"public": f"{tmp_path}/public.csv"})
    assert not budget_checks([found])[0].right
    assert budget_checks([found], set_budget=True)[0].right
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.balance("visits").tables == ({"uri": "/data/private.parquet", "columns": ["a", "b", "c"]},)


def test_a_file_that_publishes_a_private_table_is_refused(told, tmp_path):
    """Its own, or another dataset's: nothing is declared."""
    for public in ("/data", "/data/*.parquet"):
        with pytest.raises(InvalidInput, match="rows cannot be both"):
            budget_checks([told.model_copy(update={"public": public, "columns": ("a",)})], set_budget=True)
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.balance("visits").tables == ()


def test_a_cap_that_differs_is_never_changed(told, tmp_path):
    """Neither lowered nor raised, not with --set-budget either: that takes a reason."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:2"), unit="one patient")
    (standing,) = budget_checks([told], set_budget=True)
    assert not standing.right
    assert "the ledger's cap is 2-zCDP, the file's 1-zCDP" in standing.finding
    assert "--raise --reason" in standing.finding
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.balance("visits").budget == parse_budget("zcdp:2")


def test_a_ledger_that_is_not_known_here_is_told(told, monkeypatch):
    """The machine that deploys need not reach the ledger."""
    monkeypatch.delenv("PUBPRIV_LEDGER")
    (standing,) = budget_checks([told], set_budget=True)
    assert (standing.right, standing.finding) == (False, "not checked: PUBPRIV_LEDGER is not set here")


def command(monkeypatch, capsys, *words: object) -> tuple[object, str, str]:
    """Exit code, output and errors of `pubpriv ...` in this process."""
    return astuple(run_program(monkeypatch, capsys, *words))


def test_a_prefect_yaml_is_printed_and_nothing_else_is_done(monkeypatch, capsys, told, tmp_path):
    """A prefect.yaml on standard output, and nothing else anywhere."""
    code, out, err = command(monkeypatch, capsys, "deploy", tmp_path / "visits.yaml", "--prefect-yaml")
    assert (code, err) == (0, "")
    assert "entrypoint: pubpriv.flows.estimate.estimate_mean" in out
    assert "period: month" in out
    assert not (tmp_path / "ledger.db").exists()


def test_a_mistake_in_a_file_is_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path):
    """The line names the file and the line in it."""
    (tmp_path / "bad.yaml").write_text(TEXT.replace("mean, allot", "median, allot"))
    code, out, err = command(monkeypatch, capsys, "deploy", tmp_path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith(f"error: {tmp_path / 'bad.yaml'}, line 8: releases[0].estimator:")


def test_pruning_needs_files_and_an_installation(monkeypatch, capsys, told, tmp_path):
    """Without files the examples are meant; without a name for the installation, somebody else's could be meant."""
    monkeypatch.delenv("PUBPRIV_INSTALLATION", raising=False)
    for files, words in (((), "name the files, or their folder"), ((tmp_path,), "PUBPRIV_INSTALLATION")):
        code, _, err = command(monkeypatch, capsys, "deploy", *files, "--prune")
        assert code == 2
        assert err.startswith("error: --prune deletes")
        assert words in err


def test_a_dataset_that_is_not_registered_is_not_deployed(monkeypatch, capsys, told, tmp_path):
    """Exit 2 before any server is asked, with the line to run."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        code, out, err = command(monkeypatch, capsys, "deploy", tmp_path)
    assert (code, out) == (2, "")
    assert "run `pubpriv budget set visits zcdp:1" in err
    assert "nothing was deployed: these datasets differ from their files: 1 in the ledger; see above" in err


def test_check_finds_missing_tables_and_columns(monkeypatch, capsys, tmp_path):
    """What is missing is named, with exit 2, and no server is asked; when all is there it is 0."""
    write = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]}).to_parquet
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "files").mkdir()
    text = TEXT.replace("/data", str(tmp_path)) + "columns: [a, c]\n"
    (tmp_path / "files" / "visits.yml").write_text(text)
    line = "deploy", tmp_path / "files", "--check", "--set-budget"
    write(tmp_path / "public.parquet")
    for words in ("column 'c' is missing from the public table", "private.parquet"):
        code, _, err = command(monkeypatch, capsys, *line)
        assert code == 2
        assert "dataset visits: " in err
        assert words in err
        (tmp_path / "files" / "visits.yml").write_text(text.replace("a, c", "a, b"))
    write(tmp_path / "private.parquet")
    for words in ("datasets: 1; the tables are there, and the ledger has them", "1 were not looked for in a ledger"):
        code, out, err = command(monkeypatch, capsys, *line)
        assert code == 0
        assert words in err
        said = "visits.mean runs at 02:15 on day 1 of every month, UTC; next (UTC): "
        assert out.partition(said)[2].count("-01 02:15") == 10
        monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)


def test_check_says_the_same_of_persons_and_of_none(monkeypatch, capsys, tmp_path):
    """A table without rows is a neighbour of the table of one person; its id is no column of the estimate."""
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "visits.yaml").write_text(TEXT.replace("/data", str(tmp_path)) + "person: [who]\n")
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0], "who": [4, 5, 6]})
    rows[["a"]].to_parquet(tmp_path / "public.parquet")
    line = "deploy", tmp_path / "visits.yaml", "--check", "--set-budget"
    said = set()
    for persons in (rows, rows[:1], rows[:0]):
        persons.to_parquet(tmp_path / "private.parquet", index=False)
        code, out, err = command(monkeypatch, capsys, *line)
        said.add((code, out, err))
    assert len(said) == 1
    assert said.pop()[0] == 0
    rows.astype({"who": float}).to_parquet(tmp_path / "private.parquet", index=False)
    code, _, err = command(monkeypatch, capsys, *line)
    assert (code, "column 'who'" in err) == (2, True)


def test_pruning_needs_files(monkeypatch, capsys):
    """Without files the examples are meant, and everything of one's own would be deleted."""
    code, _, err = command(monkeypatch, capsys, "deploy", "--prune")
    assert code == 2
    assert err.startswith("error: --prune deletes")


def test_datasets_are_served_in_the_ledger_that_is_named(monkeypatch, capsys, told, tmp_path):
    """Served beside the examples they would be given their caps a second time, in the examples' ledger."""
    code, out, err = command(
        monkeypatch, capsys, "serve", "--datasets", tmp_path / "visits.yaml", "--home", tmp_path / "home"
    )
    assert (code, out) == (2, "")
    assert "say --no-examples, or unset PUBPRIV_LEDGER" in err
    assert not (tmp_path / "home").exists()
    monkeypatch.chdir(tmp_path)
    for given, path in (("sqlite:///books.db", tmp_path / "books.db"), ("postgresql://me:pw@host/books", None)):
        monkeypatch.setenv("PUBPRIV_LEDGER", given)  # runs are at work in folders of their own
        assert _own_ledger(None, no_examples=True) == (given if path is None else f"sqlite:///{path}")


def test_a_file_names_the_unit_of_the_ledger(tmp_path, told):
    """What one record is never changes, so a file that says otherwise describes another dataset."""
    assert budget_checks([told], set_budget=True)[0].finding.startswith("registered with 1-zCDP")
    (check,) = budget_checks([told.model_copy(update={"unit": "one visit"})])
    assert (check.looked, check.right) == (True, False)
    assert "one record is 'one patient' in the ledger" in check.finding
    (check,) = budget_checks([told.model_copy(update={"unit": "one record"})])  # what it is if nobody says
    assert check.finding.startswith("registered with 1-zCDP")


def test_a_file_says_that_lines_are_records_of_persons(tmp_path, told):
    """Of a CSV file, which may not be here: a check says what to write, and what is written goes into the ledger."""
    path, lines = tmp_path / "persons.yaml", TEXT.replace("private.parquet", "private.csv")
    path.write_text(lines.replace("cap:", "person: [who]\ncolumns: [a]\ncap:"))
    (check,) = budget_checks([read(path)], set_budget=True)
    assert not check.right
    assert "write `no_line_breaks: true` into the file" in check.finding
    path.write_text(lines.replace("cap:", "person: [who]\ncolumns: [a]\nno_line_breaks: true\ncap:"))
    dataset = read(path)
    (check,) = budget_checks([dataset])
    assert not check.right
    assert "--columns a --no-line-breaks" in check.finding
    assert budget_checks([dataset], set_budget=True)[0].right
    assert budget_checks([dataset])[0].right
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        assert ledger.balance("visits").tables[0]["no_line_breaks"] is True


def test_a_file_may_protect_persons(tmp_path, told):
    """Id columns stand in the ledger as the file has them, and a file that says otherwise later is not right."""
    path = tmp_path / "persons.yaml"
    path.write_text(TEXT.replace("cap:", "person: [who]\npersons: 40\ncolumns: [a]\ncap:"))
    dataset = read(path)
    assert "--person who --persons 40" in budget_checks([dataset])[0].finding
    assert budget_checks([dataset], set_budget=True)[0].right
    assert budget_checks([dataset])[0].right
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        terms = ledger.person("visits")
        assert (terms.columns, terms.persons) == (("who",), 40)
    assert "the ledger protects one person, known by who" in budget_checks([told])[0].finding
    path.write_text(TEXT.replace("allotment:", "rows_per_person: auto, allotment:"))
    with pytest.raises(InvalidInput, match="rows_per_person is for datasets with person"):
        read(path)
