"""`show`, `report`, `compare` and `sample` as a person or a script uses them, and where `fit` puts a release."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, fit_arguments
from helpers.releases import (
    UNSETTLED,
    clipped,
    gaussian_release,
    mean_release,
    mixture_release,
    quantiles_release,
    simulated,
)

from pubpriv import load

MAKERS = {
    "mean": mean_release,
    "gaussian": gaussian_release,
    "mixture": mixture_release,
    "quantiles": quantiles_release,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory without a ledger."""
    monkeypatch.chdir(tmp_path)
    for name in ("PUBPRIV_LEDGER", "PUBPRIV_OUTPUT", "PUBPRIV_LOG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def saved(estimate, name="model.json"):
    estimate.save(name)
    return name


COVARIANCE = "--covariance", "sigma.csv"
"""That of `two_groups`; without it, it would be learnt."""

PRIVATE_OF_MEANS = {"ingest_private", "count_rows", "clipped_mean", "count_lengths"}


def mean_arguments(*flags, **changed):
    """`fit mean --plain` on the folder's tables."""
    given = fit_arguments("--plain", *flags, components=None, **changed)
    return ["fit", "mean", *given[2:]]


# --- show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAKERS)
def test_show_tells_what_was_released(program, here, kind):
    """What, of which release, columns, errors by source, guarantee; nothing on standard error, no file."""
    told = program("show", saved(MAKERS[kind]()))
    assert (told.code, told.err) == (0, "")
    for word in ("visits, release 2026-11", "age", "cost", "0.5-zCDP", "one patient", "of sampling", "of privacy"):
        assert word in told.out
    assert [path.name for path in here.iterdir()] == ["model.json"]


def test_show_begins_with_a_sentence_and_tells_how_it_fits(program, here):
    """What was found or why not to use it, the estimand, the part of clipping, the fit; hints on standard error."""
    told = {"warnings": [], "beyond_clip": {"share": 0.013, "sd": 0.001}, "hints": ["cost has a long tail"]}
    estimate = clipped(gaussian_release(target="moments", diagnostics=told))
    shown = program("show", saved(estimate))
    assert shown.out.splitlines()[1].startswith("The 20,000 records of visits have mean age 1.00 ± 0.20")
    for part in ("estimated: mean and covariance of the table itself", "of clipping", "lie beyond the clip radius"):
        assert part in shown.out
    assert shown.lines == ["hint: cost has a long tail"]
    Path("model.json").unlink()
    shown = program("show", saved(replace(estimate, converged=False, findings=(UNSETTLED,))))
    assert shown.out.splitlines()[1].startswith("Do not use these numbers: ")


@pytest.mark.parametrize("kind", MAKERS)
def test_show_as_json_is_the_model(program, here, kind):
    """--json prints the model file as data."""
    told = program("show", saved(MAKERS[kind]()), "--json")
    assert json.loads(told.out) == json.loads(Path("model.json").read_text())


def test_show_warns(program, here):
    """A simulation, doubtful numbers, and the release's own warnings go to standard error."""
    estimate = simulated(mixture_release(converged=False, diagnostics={"warnings": ["look out"]}))
    told = program("show", saved(estimate))
    assert told.code == 0
    assert len(told.lines) == 3
    assert all(line.startswith("warning: ") for line in told.lines)
    for part in ("not private", "do not use doubtful numbers", "look out"):
        assert part in told.err


def test_brackets_in_names_are_no_markup(program, here):
    """Columns called like Rich's tags are shown as they are."""
    told = program("show", saved(mixture_release(("[red]a[/red]", "[/]"))))
    assert told.code == 0
    assert "[red]a[/red]" in told.out


@pytest.mark.parametrize("command", ["show", "report", "compare", "sample"])
def test_a_model_that_is_none_is_refused_in_words(program, here, command):
    """A missing file, and one that is no model: exit 2 with its name."""
    more = {"compare": ["no.json"], "sample": ["--rows", "3", "--out", "s.csv"]}.get(command, [])
    told = program(command, "no.json", *more)
    assert (told.code, told.lines) == (2, ["error: no model at no.json: check the path"])
    Path("no.json").write_text("{}")
    told = program(command, "no.json", *more)
    assert (told.code, told.lines) == (2, ["error: no.json is not a pubpriv model"])


def damages(told):
    """The data of a model file, each time with something else missing or wrong."""
    for path in (
        *(("standard_errors", part) for part in ("weights", "means", "covariances")),
        *(("provenance", name) for name in ("dataset", "n_public", "public_sha256", "created")),
        *(("privacy", name) for name in ("unit", "guarantee", "charges", "spent")),
        ("standard_errors", "means", "privacy"),
        *(("weights", 0), ("means", 1), ("covariances", 0, 1), ("columns", 1), ("diagnostics",), ("means",)),
    ):
        copy = json.loads(json.dumps(told))
        inside = copy
        for step in path[:-1]:
            inside = inside[step]
        del inside[path[-1]]
        yield copy
    for wrong in (None, "x", [1.0], float("nan")):
        yield told | {"weights": [wrong] * 3}


@pytest.mark.parametrize("command", ["show", "report", "compare", "sample"])
def test_a_damaged_model_is_no_defect_of_ours(program, here, command):
    """Whatever is missing or wrong in the file: exit 2 and a line that says so."""
    more = {"compare": ["b.json"], "sample": ["--rows", "3", "--out", "s.csv"]}.get(command, [])
    saved(mixture_release(), "b.json")
    for damaged in damages(mixture_release().to_json()):
        Path("a.json").write_text(json.dumps(damaged))
        told = program(command, "a.json", *more)
        assert (told.code, len(told.lines)) == (2, 1), (damaged, told)
        assert "damaged" in told.err


@pytest.mark.parametrize("command", ["show", "report", "compare", "sample"])
def test_a_variance_below_zero_is_damage(program, here, command):
    """A number that no covariance has is refused in words, and makes no figure."""
    told = gaussian_release().to_json()
    told["covariance"][1][1] = -1.0
    for name in ("a.json", "b.json"):
        Path(name).write_text(json.dumps(told))
    more = {"compare": ["b.json"], "sample": ["--rows", "3", "--out", "s.csv"]}.get(command, [])
    refused = program(command, "a.json", *more)
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert "covariance should have no variance below zero" in refused.err


# --- report --------------------------------------------------------------------------------------------------


def test_report_writes_a_page_beside_the_model(program, here):
    """By default under the model's name; a page that is there is replaced on request only."""
    saved(mean_release())
    assert program("report", "model.json").code == 0
    page = Path("model.html").read_bytes()
    assert page.startswith(b"<!doctype html>")
    again = program("report", "model.json")
    assert again.code == 2
    assert "--overwrite" in again.err
    assert program("report", "model.json", "--overwrite").code == 0
    assert Path("model.html").read_bytes() == page


def test_report_draws_the_public_rows_and_the_budget(program, folder):
    """With --public and --ledger both are on the page, and the ledger is read only."""
    assert program(*mean_arguments(release_id="r1")).code == 0
    before = (folder / "ledger.db").read_bytes()
    told = program("report", "model.json", "--public", "public.parquet", "--ledger", URL, "--out", "page.html")
    assert (told.code, told.lines) == (0, ["report written to page.html"])
    text = Path("page.html").read_text()
    for part in ("Guaranteed for all runs together: 2-zCDP", "12 public rows", "Releases of visits"):
        assert part in text
    assert (folder / "ledger.db").read_bytes() == before
    bare = program("report", "model.json")
    assert bare.code == 0
    assert "Releases of visits" not in Path("model.html").read_text()


REFUSED = [
    (["--public", "private.parquet"], "are not those that visits, release r1 was made with"),
    (["--public", "none.parquet"], "no public table"),
    (["--out", "model.json"], "is an input of this command"),
    (["--out", "."], "is a folder"),
    (["--out", "page.svg"], "ends in .html"),
    (["--out", "nowhere/page.html"], "does not exist"),
    (["--ledger", "sqlite:///nowhere.db"], "nowhere.db"),
]


def test_report_refuses_in_words(program, folder):
    """Exit 2, one line, no page."""
    assert program(*mean_arguments(release_id="r1")).code == 0
    for arguments, text in REFUSED:
        told = program("report", "model.json", *arguments)
        assert (told.code, len(told.lines)) == (2, 1)
        assert text in told.err
    assert not list(folder.glob("*.html"))


def test_a_ledger_that_knows_nothing_of_it(program, folder, monkeypatch):
    """Named on the command line it is an error; from the environment it is left out, and said."""
    saved(mean_release(dataset="elsewhere"))
    assert program("report", "model.json", "--ledger", URL).code == 2
    monkeypatch.setenv("PUBPRIV_LEDGER", URL)
    told = program("report", "model.json")
    assert told.code == 0
    assert "no budget history" in told.err
    saved(mean_release(release_id="never"))
    refused = program("report", "model.json", "--overwrite")
    assert refused.code == 2
    assert "name the ledger that it was charged to" in refused.err


# --- compare -------------------------------------------------------------------------------------------------


def test_compare_tells_drift_from_noise(program, here):
    """What changed, what noise explains, the threshold and its reason; exit 0 whatever is found."""
    saved(mean_release(center=[1.0, 2.0], release_id="r1"), "a.json")
    saved(mean_release(center=[1.01, 3.0], release_id="r2"), "b.json")
    told = program("compare", "a.json", "b.json")
    assert told.code == 0
    for part in ("release r1", "release r2", "mean of cost", "changed", "noise alone explains it", "Bonferroni"):
        assert part in told.out
    assert "of 2 numbers 1 changed; noise alone explains 1" in told.out
    assert "sampling errors are those of two tables" in told.err


def test_compare_as_json_gives_every_number_with_its_verdict(program, here):
    """The same as data: which releases, every number with its verdict, no infinities."""
    saved(mixture_release(release_id="r1", error=0.0), "a.json")
    saved(mixture_release(release_id="r2", error=0.0, means=[[0.0, 0.0], [6.0, 7.0]]), "b.json")
    told = json.loads(program("compare", "a.json", "b.json", "--json").out, parse_constant=pytest.fail)
    assert (told["first"]["release_id"], told["second"]["release_id"]) == ("r1", "r2")
    assert told["components"]["only_first"] == [3]
    assert told["compared"] == len(told["differences"]) == 2 * (1 + 2 + 2 + 1)
    assert {d["verdict"] for d in told["differences"]} == {"changed", "noise alone explains it"}


def test_compare_lists_what_differs_most(program, here):
    """Of many numbers the first 25 are listed, with --all every one."""
    names = [f"x{i}" for i in range(40)]
    saved(mean_release(names, release_id="r1"), "a.json")
    saved(mean_release(names, release_id="r2"), "b.json")
    few, every = (program("compare", "a.json", "b.json", *flags).out for flags in ([], ["--all"]))
    assert "the 25 of 40 that differ most" in few
    assert (few.count("│ mean of x"), every.count("│ mean of x")) == (25, 40)


def test_compare_names_columns_that_it_leaves_out(program, here):
    """And refuses releases that have none in common."""
    saved(mean_release(), "a.json")
    saved(mean_release(("age", "income")), "b.json")
    saved(mean_release(("weight", "income")), "c.json")
    told = program("compare", "a.json", "b.json")
    assert told.code == 0
    assert "columns of the first release alone are left out: cost" in told.err
    told = program("compare", "a.json", "c.json")
    assert (told.code, told.out, len(told.lines)) == (2, "", 1)


# --- sample --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sample_writes_rows_of_the_law(program, here, suffix):
    """As many as asked, of the released law, the same for the same seed; it says that they are free."""
    covariance = [[4.0, 1.5], [1.5, 1.0]]
    saved(gaussian_release(center=[10.0, -3.0], covariance=covariance))
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[suffix]
    told = program("sample", "model.json", "--rows", 20000, "--seed", 1, "--out", f"a.{suffix}")
    assert told.code == 0
    assert "post-processing and free" in told.err
    frame = read(f"a.{suffix}")
    assert list(frame.columns) == ["age", "cost"]
    assert len(frame) == 20000
    assert np.allclose(frame.mean(), [10.0, -3.0], atol=0.08)
    assert np.allclose(frame.cov(), covariance, atol=0.15)
    for seed, same in ((1, True), (2, False)):
        program("sample", "model.json", "--rows", 20000, "--seed", seed, "--out", f"b{seed}.{suffix}")
        assert read(f"b{seed}.{suffix}").equals(frame) == same
    assert sorted(path.suffix for path in here.iterdir()) == sorted([".json"] + [f".{suffix}"] * 3)


def test_sample_keeps_the_names_of_expressions_or_takes_them_back(program, here):
    """`log1p(cost)` holds logarithms under that name; with --original-units it is `cost`, in its own units."""
    saved(gaussian_release(("age", "log1p(cost)"), center=[1.0, 2.0], covariance=np.eye(2) * 0.01))
    for flags, out in (([], "a.csv"), (["--original-units"], "b.csv")):
        assert program("sample", "model.json", "--rows", 50, "--seed", 1, "--out", out, *flags).code == 0
    logs, back = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    assert list(logs.columns) == ["age", "log1p(cost)"]
    assert list(back.columns) == ["age", "cost"]
    assert np.allclose(np.log1p(back["cost"]), logs["log1p(cost)"])
    assert np.allclose(back["age"], logs["age"])


@pytest.mark.parametrize(
    ("estimate", "arguments", "text"),
    [
        (mean_release(), ["--rows", "3", "--out", "a.csv"], "the mean of 2 columns is no law"),
        (gaussian_release(), ["--rows", "3", "--out", "a.txt"], ".csv or .parquet"),
        (gaussian_release(), ["--rows", "0", "--out", "a.csv"], "--rows"),
        (gaussian_release(), ["--rows", "3", "--out", "model.json"], "is an input"),
        (gaussian_release(("x", "log(x)")), ["--rows", "3", "--out", "a.csv", "--original-units"], "both be called x"),
    ],
    ids=["mean", "suffix", "no rows", "the model", "two names"],
)
def test_sample_refuses_in_words(program, here, estimate, arguments, text):
    """Exit 2, one line, no file."""
    saved(estimate)
    told = program("sample", "model.json", *arguments)
    assert (told.code, len(told.lines)) == (2, 1)
    assert text in told.err
    assert [path.name for path in here.iterdir()] == ["model.json"]


def test_sample_bends_columns_to_what_can_be_and_tells_by_how_much(program, here):
    """No negative fare, whole visits; declared, or taken from public rows; what it did to mean and sd is said."""
    saved(gaussian_release(("fare", "visits"), center=[1.0, 3.0], covariance=[[4.0, 0.5], [0.5, 2.0]]))
    told = program("sample", "model.json", "--rows", 4000, "--seed", 1, "--out", "plain.csv")
    assert "synthetic rows keep" in told.err
    assert pd.read_csv("plain.csv")["fare"].min() < 0
    pd.DataFrame({"fare": [0.5, 7.25], "visits": [0, 6]}).to_csv("public.csv", index=False)
    for how in (["--bounds", "fare=0:", "--bounds", "visits=0:20", "--step", "visits=1"], ["--like", "public.csv"]):
        told = program("sample", "model.json", "--rows", 4000, "--seed", 1, "--out", "a.parquet", "--overwrite", *how)
        assert told.code == 0, told.err
        frame = pd.read_parquet("a.parquet")
        assert frame["fare"].min() == 0
        assert frame["visits"].dtype == "int64"
        assert frame["visits"].min() == 0
    (line,) = [line for line in told.lines if line.startswith("note: fare was bent to lie from 0 up: ")]
    assert f"became {frame['fare'].mean():.4g}, standard deviation" in line
    share = float(line.partition("% of its values")[0].rpartition(" ")[2])
    assert share == pytest.approx(30.85, abs=2.5)  # of a Gaussian, half a standard deviation below its mean


def test_sample_draws_rows_that_have_a_value(program, here):
    """The other column follows along the covariance, also where the value is of an expression's own column."""
    saved(gaussian_release(("log1p(cost)", "age"), center=[2.0, 50.0], covariance=[[1.0, 3.0], [3.0, 10.0]]))
    value = float(np.expm1(3.0))
    told = program(
        *("sample", "model.json", "--rows", 5000, "--seed", 1, "--out", "a.csv", "--original-units"),
        *("--given", f"cost={value!r}"),
    )
    assert told.code == 0, told.err
    frame = pd.read_csv("a.csv")
    assert set(frame["cost"]) == {value}
    assert frame["age"].mean() == pytest.approx(53.0, abs=0.06)
    assert frame["age"].std() == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--bounds", "age=1"], "COLUMN=LOW:HIGH"),
        (["--bounds", "age=5:1"], "from a lower to a higher number"),
        (["--bounds", "age=1.2:1.8", "--step", "age=1"], "no multiple of 1"),
        (["--step", "age=0"], "a step is a positive number"),
        (["--given", "agee=1"], "did you mean 'age'"),
        (["--given", "age=inf"], "cannot be inf"),
    ],
)
def test_sample_refuses_limits_that_leave_nothing(program, here, arguments, text):
    """Exit 2, one line, no file."""
    saved(gaussian_release())
    told = program("sample", "model.json", "--rows", 3, "--out", "a.csv", *arguments)
    assert (told.code, len(told.lines)) == (2, 1)
    assert text in told.err
    assert not (here / "a.csv").exists()


def test_sample_of_many_rows_is_drawn_in_parts(here, monkeypatch):
    """Parts have seeds of their own, and together as many rows as asked."""
    from pubpriv.released import sample

    monkeypatch.setattr(sample, "_AT_ONCE", 200)
    sample.write_sample(gaussian_release(), 1234, "a.parquet", seed=3)
    frame = pd.read_parquet("a.parquet")
    assert len(frame) == 1234
    assert not frame.duplicated().any()


# --- where fit puts a release --------------------------------------------------------------------------------


def test_fit_fills_the_output_tree(program, folder, monkeypatch):
    """With PUBPRIV_OUTPUT and without --out: model, table, page and latest; a replay leaves all as they are."""
    monkeypatch.setenv("PUBPRIV_OUTPUT", "released")
    arguments = mean_arguments(out=None, release_id="2026-11")
    assert program(*arguments).code == 0
    home = folder / "released" / "models" / "visits"
    made = {path.name: path.read_bytes() for path in home.iterdir()}
    assert set(made) - {".lock"} == {"2026-11.json", "2026-11.parquet", "2026-11.html", "latest.json"}
    assert load(home / "latest.json").provenance["release_id"] == "2026-11"
    assert b"12 public rows" in made["2026-11.html"]
    assert program(*arguments).code == 0
    assert {path.name: path.read_bytes() for path in home.iterdir()} == made


def test_a_file_of_its_own_does_not_keep_a_release_out_of_the_tree(program, folder, monkeypatch):
    """With PUBPRIV_OUTPUT and --out: the tree is filled all the same, and the file is the same model."""
    monkeypatch.setenv("PUBPRIV_OUTPUT", "released")
    told = program(*mean_arguments("--quiet", release_id="2026-11"))
    assert (told.code, told.out) == (0, "model.json\n")
    home = folder / "released" / "models" / "visits"
    assert {path.name for path in home.iterdir()} - {".lock"} == {
        "2026-11.json", "2026-11.parquet", "2026-11.html", "latest.json",
    }  # fmt: skip
    assert (home / "2026-11.json").read_bytes() == Path("model.json").read_bytes()
    monkeypatch.setenv("PUBPRIV_OUTPUT", "public.parquet/x")
    refused = program(*mean_arguments("--overwrite", release_id="r2"))
    assert refused.code == 2
    assert "PUBPRIV_OUTPUT" in refused.err
    assert json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)["runs"] == 1


def test_a_name_that_makes_no_file_is_refused_before_anything_is_spent(program, folder, monkeypatch):
    """A release id too long for a file name, with and without --out: exit 2, and the ledger has no run."""
    monkeypatch.setenv("PUBPRIV_OUTPUT", "released")
    for more in ({}, {"out": None}):
        refused = program(*mean_arguments(release_id="r" * 201, **more))
        assert (refused.code, len(refused.lines)) == (2, 1)
        assert "is no name for a file" in refused.err
    assert json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)["runs"] == 0


def test_fit_asks_where_the_model_goes(program, folder, monkeypatch):
    """Without --out and PUBPRIV_OUTPUT, or where that cannot be written: refused before anything is held."""
    monkeypatch.delenv("PUBPRIV_OUTPUT", raising=False)
    told = program(*fit_arguments("--plain", out=None))
    assert (told.code, len(told.lines)) == (2, 1)
    assert "--out" in told.err
    assert "PUBPRIV_OUTPUT" in told.err
    monkeypatch.setenv("PUBPRIV_OUTPUT", "public.parquet/x")
    refused = program(*fit_arguments("--plain", out=None))
    assert refused.code == 2
    assert "PUBPRIV_OUTPUT" in refused.err
    assert json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)["runs"] == 0


# --- how much is said ----------------------------------------------------------------------------------------


def test_quiet_prints_the_path_alone(program, folder):
    """The model's path on standard output; errors are printed all the same."""
    told = program(*mean_arguments("--quiet"))
    assert (told.code, told.out, told.err) == (0, "model.json\n", "")
    refused = program(*mean_arguments("--quiet", budget="zcdp:99", out="b.json"))
    assert (refused.code, len(refused.lines)) == (3, 1)
    assert refused.err.startswith("error: ")


def test_verbose_tells_charges_and_no_private_duration(program, folder):
    """What each step charged; seconds only of steps that see public rows."""
    (folder / "sigma.csv").write_text("16.36,15.36\n15.36,16.36\n")
    told = program(*mean_arguments("--verbose", *COVARIANCE))
    assert told.code == 0
    assert told.err.count("charged ") == 4
    lines = told.lines
    for i, line in enumerate(lines):
        if line.endswith("..."):
            done = next(text for text in lines[i + 1 :] if text.startswith("    done"))
            private = any(step in line for step in ("clipped mean", "private table", "lengths of rows", "whole rows"))
            assert (done == "    done") == private


@pytest.mark.parametrize("by", ["option", "environment"])
def test_logs_are_json_lines_of_a_fixed_vocabulary(program, folder, monkeypatch, by):
    """Every line of standard error is an object with known facts; charges add up; standard output is the path."""
    from pubpriv.cli.logs import _EVENTS

    monkeypatch.setenv("PUBPRIV_LOG", "json" if by == "environment" else "")
    flags = ["--log-json"] if by == "option" else []
    (folder / "sigma.csv").write_text("16.36,15.36\n15.36,16.36\n")
    told = program(*mean_arguments(*flags, *COVARIANCE, release_id="r1"))
    assert (told.code, told.out) == (0, "model.json\n")
    events = [json.loads(line) for line in told.lines]
    for event in events:
        name = event.pop("event")
        assert event.pop("level") in {"info", "warning"}
        assert set(event) == set(_EVENTS.get(name, ("message",)))
        event["event"] = name
    steps = [event for event in events if event["event"] == "step_finished"]
    assert {event["step"] for event in steps if event["seconds"] is None} == PRIVATE_OF_MEANS
    assert sum(event["charges"] for event in steps) == sum(event["event"] == "charge" for event in events) == 4
    finished = next(event for event in events if event["event"] == "run_finished")
    assert finished["spent"] == load("model.json").privacy["spent"]
    replay = [json.loads(line) for line in program(*mean_arguments(*flags, *COVARIANCE, release_id="r1")).lines]
    assert not [event for event in replay if event["event"] == "charge"]


def test_a_refusal_is_a_json_line_too(program, folder):
    """With the kind of error, its text and the exit code."""
    told = program(*mean_arguments("--log-json", budget="zcdp:99"))
    assert told.code == 3
    last = json.loads(told.lines[-1])
    assert (last["event"], last["level"], last["exit_code"], last["error"]) == ("failed", "error", 3, "BudgetExceeded")
    assert "requested" in last["message"]
    plain = program("show", "none.json")
    # the manner of one command is not that of the next
    assert plain.err == "error: no model at none.json: check the path\n"


def test_every_command_can_log_as_json(program, here, monkeypatch):
    """With PUBPRIV_LOG=json notes and refusals of any command are JSON lines; results stay what they are."""
    monkeypatch.setenv("PUBPRIV_LOG", "json")
    saved(gaussian_release())
    told = program("sample", "model.json", "--rows", 3, "--out", "a.csv")
    assert [json.loads(line)["event"] for line in told.lines] == ["note", "note"]
    assert json.loads(program("sample", "model.json").err)["exit_code"] == 2
    assert program("show", "model.json").out.startswith("The mean and covariance of 2 columns")


@pytest.mark.parametrize(
    ("flags", "variable", "text"),
    [(["--quiet", "--verbose"], "", "choose one of"), ([], "xml", "PUBPRIV_LOG is json or text")],
    ids=["two at once", "unknown"],
)
def test_a_voice_has_to_be_chosen(program, folder, monkeypatch, flags, variable, text):
    """Contradictions are refused before anything is done."""
    monkeypatch.setenv("PUBPRIV_LOG", variable)
    told = program(*mean_arguments(*flags))
    assert told.code == 2
    assert text in told.err


def test_the_vocabulary_is_closed():
    """An unknown event, a fact too many or too few is a mistake that a test sees."""
    from pubpriv.cli.logs import log_event

    for event, facts in (("ended", {}), ("step_started", {"step": "x"}), ("step_started", {"rows": 3})):
        with pytest.raises(TypeError):
            log_event(event, **facts)
