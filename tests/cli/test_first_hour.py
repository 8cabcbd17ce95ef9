"""What a person meets in the first hour: few words to type, questions that are asked, refusals that help."""

import io
import json
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, files
from helpers.served import PUBPRIV

from pubpriv import __version__, load
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.released.report.evidence import reason

SHORT = ["--budget", "zcdp:0.5", "--ledger", URL, "--plain"]
ANSWERS = {
    "--dataset": "people",
    "--private": "private.parquet",
    "--public": "public.parquet",
    "--columns": "a,b",
    "--unit": "one person",
    "--cap": "zcdp:1",
    "--estimator": "mean",
    "--budget": "zcdp:0.5",
}


@pytest.fixture
def described(folder, program) -> Path:
    """`people.yaml`, written by `init` from options alone, and the dataset registered."""
    told = program("init", "--ledger", URL, "--register", *(part for pair in ANSWERS.items() for part in pair))
    assert told.code == 0, told.err
    return folder / "people.yaml"


def test_version_is_told(program):
    """`pubpriv --version`, and nothing else."""
    told = program("--version")
    assert (told.code, told.out, told.err) == (0, f"pubpriv {__version__}\n", "")


@pytest.mark.parametrize("group", [(), ("fit",), ("plan",), ("budget",), ("ledger",)], ids=" ".join)
def test_what_a_command_does_is_told_in_a_whole_line(program, group):
    """No sentence of a list of commands is cut."""
    listed = program(*group, "--help").out.partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 3
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_a_shell_completes_commands_and_options(folder):
    """The shell's question is answered with names of the command that is being typed."""
    for line, word, found in (("pubpriv led", 1, "ledger"), ("pubpriv fit mean --priv", 3, "--private")):
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(word), "_PUBPRIV_COMPLETE": "complete_bash"}
        done = subprocess.run(PUBPRIV, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
        assert done.stdout.split() == [found]


# --- a dataset that is registered --------------------------------------------------------------------------


def test_what_was_not_registered_is_said_with_the_line_that_does_it(folder, program, monkeypatch):
    """The commands that come next would be refused, and a file that is there keeps `init` from another try."""
    told = program("init", "--ledger", URL, "--no-register", *(part for pair in ANSWERS.items() for part in pair))
    line = told.err.partition("not registered yet: `")[2].partition("`")[0]
    setting, _, *words = shlex.split(line)
    assert setting == f"PUBPRIV_LEDGER=sqlite:///{folder}/ledger.db"
    monkeypatch.setenv(*setting.split("=", 1))
    assert program(*words).code == 0
    assert program("budget", "show", "people").code == 0


def test_init_asks_what_no_option_says(folder, program, monkeypatch):
    """Questions in their order; Enter takes the public columns; the file says what was answered."""
    given = ["people", "private.parquet", "public.parquet", "", "one person", "zcdp:1", "mean", "zcdp:0.5", "n"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(given) + "\n"))
    told = program("init", "--ledger", URL)
    assert told.code == 0
    text = (folder / "people.yaml").read_text()
    for line in ("dataset: people", "unit: one person", "cap: zcdp:1", "- a\n- b", "allotment: zcdp:0.5"):
        assert line in text
    assert told.out.splitlines()[1].startswith("pubpriv fit mean --dataset people.yaml --budget zcdp:0.5")
    with Ledger.open(URL) as books:
        assert books.datasets() == ["visits"]  # "n": not registered
    again = program("init", "--ledger", URL, "--dataset", "people")
    assert again.code == 2
    assert "people.yaml exists" in again.err


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def visits(folder) -> Path:
    """Several visits of each patient, with ids, sites and dates."""
    for name, n in (("private", 2000), ("public", 60)):
        generator = np.random.default_rng(n)
        frame = pd.DataFrame({"patient_id": np.arange(n) // 3, "site": np.where(np.arange(n) % 2, "north", "south")})
        frame["day"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(n) % 90, unit="D")
        frame[["a", "b"]] = generator.normal(50.0, 9.0, (n, 2))
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


def test_init_asks_at_a_terminal_whose_row_it_is_by_what_and_when_and_offers_a_ledger(visits, program, monkeypatch):
    """With a warning that an id of the public rows repeats; ids and groups are no columns of the estimate."""
    given = [
        "people",
        "",
        "private.parquet",
        "public.parquet",
        "patient_id",
        "site",
        "month:day",
        "zcdp:1",
        "",
        "",
        "zcdp:1",
        "mean",
        "zcdp:0.5",
        "y",
    ]
    monkeypatch.setattr("sys.stdin", _Terminal("\n".join(given) + "\n"))
    told = program("init")
    assert told.code == 0, told.err
    assert f"Ledger [{visits / 'ledger.db'}]" in told.err
    assert "warning: values of patient_id repeat in the public rows" in told.err
    text = (visits / "people.yaml").read_text()
    for line in ("person:\n- patient_id", "periods: month:day", "per_period: zcdp:1", "by: site", "- a\n- b"):
        assert line in text
    assert "unit: one person" in text
    with Ledger.open(f"sqlite:///{visits}/ledger.db") as books:
        balance = books.balance("people")
    assert balance.person.columns == ("patient_id",)
    assert balance.periods.unit == "month"
    assert tuple(balance.tables[0]["groups"]) == ("site",)


def test_init_takes_the_same_as_options_and_warns_where_nobody_says_whose_rows(visits, program):
    answers = [part for pair in ANSWERS.items() for part in pair]
    told = program("init", "--ledger", URL, "--no-register", *answers)
    assert told.code == 0
    assert "--person patient_id protects them together" in told.err
    (visits / "people.yaml").unlink()
    who = "--person", "patient_id", "--by", "site", "--dataset", "persons"
    told = program("init", "--ledger", URL, "--register", *answers, *who)
    assert (told.code, "protects them together" in told.err) == (0, False), told.err
    with Ledger.open(URL) as books:
        assert books.balance("persons").person is not None


def test_a_unit_may_be_changed_until_a_run_is_opened(folder, program):
    """Its words, and before a table is declared whose rows are protected; the books stay in order."""
    line = "budget", "set", "early", "zcdp:2", "--ledger", URL
    assert program(*line).code == 0
    assert "changed: the unit, from one record to one visit" in program(*line, "--unit", "one visit").err
    assert "changed:" not in program(*line).err
    told = program(*line, "--unit", "one customer", "--person", "who")
    assert told.code == 0
    assert "changed: the unit, from one visit to one customer, and whose rows are protected" in told.err
    assert program("ledger", "verify", "--ledger", URL).code == 0
    with Ledger.open(URL) as books:
        assert books.balance("early").person.columns == ("who",)
        assert books.balance("early").unit == "one customer"
        books.run("visits", "r1").open(parse_budget("zcdp:0.1"))
    told = program("budget", "set", "visits", "zcdp:2", "--unit", "one stay", "--ledger", URL)
    assert told.code == 2
    assert "a unit never changes once a run was opened" in told.err
    assert program("budget", "set", "visits", "zcdp:2", "--person", "who", "--ledger", URL).code == 2
    assert program("ledger", "verify", "--ledger", URL).code == 0


def test_budget_set_says_what_it_changed(folder, program):
    """The same again changes nothing; a table is new once; a raised cap says from what."""
    line = "budget", "set", "visits", "zcdp:2", "--ledger", URL
    assert "changed:" not in program(*line).err
    table = "--private", "private.parquet", "--columns", "a,b"
    assert f"changed: the table {folder / 'private.parquet'}, which is new" in program(*line, *table).err
    assert "changed:" not in program(*line, *table).err
    raised = program("budget", "set", "visits", "zcdp:3", "--ledger", URL, "--raise", "--reason", "more years")
    assert "changed: the cap, from 2-zCDP to 3-zCDP" in raised.err


def test_init_keeps_what_is_declared_of_lines_and_of_changes(folder, program):
    """In the file, and what is said of lines in the ledger; nobody is asked where the unit is a row."""
    answers = [part for pair in ANSWERS.items() for part in pair]
    assert program("init", "--ledger", URL, "--register", "--no-line-breaks", "--table-changes", *answers).code == 0
    assert {"no_line_breaks: true", "table_changes: true"} < {*(folder / "people.yaml").read_text().splitlines()}
    with Ledger.open(URL) as books:
        assert books.balance("people").tables[0]["no_line_breaks"] is True


def test_init_with_nobody_to_ask_names_the_option(folder, program, monkeypatch):
    """A script that leaves an answer out learns which."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    told = program("init", "--ledger", URL, "--dataset", "people")
    assert told.code == 2
    assert "give --private" in told.err


def test_init_refuses_what_cannot_be_and_writes_nothing(folder, program):
    """A column that only one table has, and public rows that are the private table."""
    before = files(folder)
    for change, text in (({"--columns": "a,c"}, "'c' is missing"), ({"--public": "private.parquet"}, "both")):
        told = program("init", "--ledger", URL, "--register", *(p for x in (ANSWERS | change).items() for p in x))
        assert told.code == 2
        assert text in told.err
    assert files(folder) == before


@pytest.mark.long
def test_fit_and_plan_take_everything_from_the_file(described, folder, program):
    """A dataset's file is all that `fit` and `plan` need beside a budget."""
    assert program("plan", "mean", "--dataset", "people.yaml", "--budget", "zcdp:0.5", "--ledger", URL).code == 0
    told = program("fit", "mean", "--dataset", "people.yaml", *SHORT, "--out", "model.json")
    assert told.code in (0, 4), told.err
    model = json.loads((folder / "model.json").read_text())
    assert (model["provenance"]["dataset"], model["columns"]) == ("people", ["a", "b"])


@pytest.mark.long
def test_fit_and_plan_take_table_and_columns_from_the_ledger(described, folder, program):
    """By name, the ledger knows the private table and its columns, and says that it knows no public file."""
    fit = ["fit", "mean", "--dataset", "people", *SHORT, "--out", "model.json"]
    told = program(*fit)
    assert told.code == 2
    assert "--public is missing" in told.err
    assert program(*fit, "--public", "public.parquet").code in (0, 4)
    plan = ["plan", "mean", "--dataset", "people", "--budget", "zcdp:0.5", "--ledger", URL]
    assert "2,000 private rows" in program(*plan, "--public", "public.parquet").out
    assert "500 private rows" in program(*plan, "--public", "public.parquet", "--rows", 500).out
    unbound = program("fit", "mean", "--dataset", "visits", *SHORT, "--out", "x.json", "--public", "public.parquet")
    assert unbound.code == 2
    assert "--private is missing, and dataset visits declares no table yet" in unbound.err


def test_show_takes_a_dataset_for_its_newest_release(described, folder, program, monkeypatch):
    """With PUBPRIV_OUTPUT, a name is enough."""
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(folder / "released"))
    assert program("fit", "mean", "--dataset", "people.yaml", *SHORT, "--release-id", "r1").code in (0, 4)
    told = program("show", "people")
    assert told.code == 0
    assert "people, release r1" in told.out
    assert program("show", "peple").code == 2


def test_csv_files_are_enough(folder, program):
    """Both tables, from `budget set` to a model; other columns hold text with commas and quotes."""
    for side in ("private", "public"):
        frame = pd.read_parquet(folder / f"{side}.parquet").assign(name='"x, y"', flag=True)
        frame.to_csv(folder / f"{side}.csv", index=False)
    given = ["--private", "private.csv", "--columns", "a,b,name", "--ledger", URL]
    assert program("budget", "set", "csv", "zcdp:1", *given).code == 0
    fit = ["fit", "mean", "--dataset", "csv", "--public", "public.csv", *SHORT, "--out", "csv.json"]
    told = program(*fit, "--columns", "a,b")
    assert told.code in (0, 4), told.err
    model = json.loads((folder / "csv.json").read_text())
    assert model["provenance"]["n_private"] == 2000
    assert np.allclose(model["mean"], pd.read_csv(folder / "private.csv")[["a", "b"]].mean(), atol=0.5)
    misspelt = program(*fit, "--columns", "a,names", "--overwrite")
    assert misspelt.code == 2
    assert "Did you mean 'name'? If not, declare it with" in misspelt.err
    refused = program(*fit, "--overwrite")
    assert refused.code == 2
    assert "column 'name' of the public table is str, not a number" in refused.err


# --- words that help -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_doctor_tells_a_line_a_check_and_the_first_failure(folder, program, monkeypatch):
    """All well: 0. A ledger that is not there: 2, and the other checks are told all the same."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    told = program("doctor", "--ledger", URL)
    assert told.code == 0, told.out
    assert [line.split()[0] for line in told.out.splitlines()] == ["ok"] * 8
    assert "knows 1 dataset" in told.out
    told = program("doctor", "--ledger", "sqlite:///nowhere.db")
    assert told.code == 2
    assert [line.split()[1] for line in told.out.splitlines() if line.startswith("FAIL")] == ["ledger"]
    assert not (folder / "nowhere.db").exists()


def test_doctor_sees_noise_that_is_none(program, monkeypatch):
    """A sampler that returns one value, whatever is asked of it."""
    import numpy as np

    from pubpriv.privacy.noise import OperatingSystemNoise

    monkeypatch.setattr(OperatingSystemNoise, "draw", lambda self, label, part, sd, size: np.zeros(size, dtype=int))
    told = program("doctor")
    assert told.code == 2
    assert "FAIL noise" in told.out


def test_a_refusal_stands_where_a_release_id_would(fit):
    """No release id is made known for a run that cannot be: no room, an unknown column."""
    for changed in ({"budget": "zcdp:3"}, {"columns": "a,nope"}):
        told = fit(**changed)
        assert told.code in (2, 3)
        assert "release id" not in told.err.partition("error:")[0]


def test_quiet_says_why_it_exits_with_4(fit, folder):
    """One line with the reason that a page gives, and not that a public row was left out; the path alone is output."""
    public = pd.read_parquet(folder / "public.parquet")
    public.reindex(range(len(public) + 1)).to_parquet(folder / "public.parquet")  # one row more, of missing values
    told = fit("--quiet", budget="zcdp:1e-9")
    assert (told.code, told.out) == (4, "model.json\n")
    estimate = load(folder / "model.json")
    assert told.lines == [f"some numbers are doubtful, hence exit code 4: {estimate.verdict}"]
    assert reason(estimate) in estimate.verdict
    assert "left out" in estimate.diagnostics["warnings"][-1]
    assert "left out" not in reason(estimate)


def test_progress_counts_and_a_step_that_repeats_is_one_line(folder, program):
    """Steps are numbered from 1 without a gap; the rounds of the learner are one of them."""
    options = ["--private", "private.parquet", "--public", "public.parquet", "--dataset", "visits"]
    told = program("fit", "gaussian", *options, *SHORT, "--out", "model.json")
    steps = [line.split(":")[0] for line in told.lines if line.startswith("  step ")]
    assert steps == [f"  step {i + 1}" for i in range(len(steps))]
    assert sum("approach, 7 times" in line for line in told.lines) == 1
    assert not any("2 of 7" in line for line in told.lines)


def test_people_read_four_digits_and_files_keep_all(fit, folder, program):
    """0.5, not 0.499999999948; the model and --json have the exact amount."""
    told = fit()
    assert "spent: 0.5 rho in" in told.out
    exact = json.loads((folder / "model.json").read_text())["privacy"]["spent"]
    assert exact.startswith("0.4999999")
    shown = program("budget", "show", "visits", "--ledger", URL)
    assert "0.4999" not in shown.out
    assert program("budget", "show", "visits", "--ledger", URL, "--json").out.count(exact.split()[0]) > 0


@pytest.mark.parametrize(("typed", "meant"), [("A", "'a'"), ("log1q(a)", "log1p(column), sqrt(column)")])
def test_a_misspelt_column_is_answered_with_the_right_one(fit, folder, typed, meant):
    """Names of columns are public, so the nearest one is told; of expressions, those that there are."""
    told = fit(columns=f"{typed},b")
    assert told.code == 2
    assert meant in told.err
