"""Commands on a table in which a person has many rows. About 8 s."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, register_visits

import pubpriv as pp

RUN = ("--private", "visits.parquet", "--public", "public.csv", "--dataset", "visits", "--ledger", URL, "--plain")
ONCE = (*RUN, "--budget", "zcdp:0.2")
TABLE = ("--private", "visits.parquet")
PER = ("--rows-per-person",)


def visits(persons=600, many=50, seed=3):
    """Rows of persons, of whom the first has `many`; each person has a level of their own."""
    random = np.random.default_rng(seed)
    who = random.permutation(np.repeat(np.arange(persons), np.r_[many, random.integers(1, 6, persons - 1)]))
    level = random.normal(size=(persons, 2))
    cells = 0.7 * level[who] + 0.7 * random.normal(size=(len(who), 2))
    return pd.DataFrame({"who": [f"p{i}" for i in who], "a": cells[:, 0], "b": cells[:, 1]})


@pytest.fixture
def place(tmp_path, monkeypatch, program):
    """A folder with `visits.parquet`, `public.csv` and a ledger with dataset `visits` of persons."""
    terms = ("zcdp:2", "--person", "who", "--unit", "one patient")
    told = register_visits(tmp_path, monkeypatch, program, visits(), *terms)
    assert (told.code, "all rows of one who are protected together" in told.err) == (0, True)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "budget", "most"),
    [
        ("mean", "zcdp:0.2", "1"),
        ("gaussian", "zcdp:0.2", "1"),
        ("mean", "pure:1", "1"),
        ("mean", "zcdp:1", "auto"),
        ("mean --method hypotheses --covariance identity --columns a", "zcdp:1", "1"),
    ],
)
def test_a_fit_and_its_replay_on_the_table_without_a_person_say_the_same(kind, budget, most, place, program):
    """Whatever is printed, written and noted follows from answers: none of it knows how many rows there are."""
    options = (*kind.split(), *RUN, "--budget", budget, *PER, most, "--release-id", "r", "--out", "m.json")
    run = ("fit", *options, "--overwrite")
    done = program(*run).code
    model = (place / "m.json").read_bytes()
    same = program(*run)
    frame = visits()
    frame[frame.who != "p0"].to_parquet("visits.parquet", index=False)
    assert program(*run) == same
    assert same.code == done
    assert done in (0, 4)  # noise may have it flagged
    assert (place / "m.json").read_bytes() == model
    assert program("ledger", "verify", "visits", "--ledger", URL).code == 0


def test_a_model_tells_released_numbers_of_persons_and_no_others(place, program):
    """`n_private` is gone: what stands there is noisy, and says how noisy."""
    assert program("fit", "mean", *ONCE, "--out", "m.json").code == 0
    model = json.loads((place / "m.json").read_text())
    assert "n_private" not in model["provenance"]
    assert abs(model["provenance"]["persons"]["estimate"] - 600) < 5 * model["provenance"]["persons"]["sd"] + 1
    assert model["provenance"]["rows_per_person"] == 1
    assert model["privacy"]["person"] == ["who"]
    assert "one person" in model["privacy"]["neighbouring"]
    labels = [charge["label"] for charge in model["privacy"]["charges"]]
    assert labels[:2] == ["person/sizes", "person/rows"]
    mean = visits().groupby("who")[["a", "b"]].mean().mean().to_numpy()
    found = pp.load(place / "m.json")
    errors = np.hypot(*(found.standard_errors["mean"][part] for part in ("sampling", "privacy")))
    assert np.all(np.abs(found.mean - mean) < 5 * errors)
    assert program("report", "m.json", "--out", "m.html", "--ledger", URL).code == 0
    assert "all rows of one who, however many" in (place / "m.html").read_text()


def test_persons_that_are_declared_are_not_counted_again(program, place):
    """Where each counts once their number is known, and one question is saved."""
    declare = ("budget", "set", "few", "zcdp:2", "--person", "who", "--persons", "600", "--ledger", f"{URL}2")
    assert program(*declare).code == 0
    run = [f"{URL}2" if part == URL else "few" if part == "visits" else part for part in ONCE]
    assert program("fit", "mean", *run, "--out", "m.json").code == 0
    model = json.loads((place / "m.json").read_text())
    assert model["privacy"]["charges"][0]["label"] == "person/rows"
    assert model["provenance"]["persons"] == {"estimate": 600, "sd": 0.0}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("budget", "set", "visits", "zcdp:2", "--person", "a", "--ledger", URL), "a unit never changes"),
        (("budget", "set", "visits", "zcdp:2", "--persons", "7", "--ledger", URL), "declares no number of persons"),
        (("budget", "set", "new", "zcdp:2", "--persons", "7", "--ledger", URL), "name their id columns"),
        (("budget", "set", "visits", "zcdp:2", *TABLE, "--columns", "a,who", "--ledger", URL), "out of --columns"),
        (("fit", "mean", *ONCE, "--out", "m.json", "--rows-per-person", "0"), "from 1 to"),
        (("plan", "mean", "--persons", "9", "--rows", "9", "--public", "public.csv", "--budget", "zcdp:1"), "--rows"),
    ],
)
def test_what_does_not_fit_the_unit_is_refused_and_costs_nothing(arguments, says, place, program):
    """With what to do."""
    told = program(*arguments)
    assert told.code == 2
    assert says in told.err
    assert json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)["held"] == 0


@pytest.mark.long
def test_rows_per_person_of_a_run_do_not_change(place, program):
    """A run keeps its L, and rows of a person mean nothing where the unit is a row."""
    run = ("fit", "gaussian", *ONCE, "--release-id", "r", "--rows-per-person")
    assert program(*run, "2", "--out", "m.json").code == 0
    assert "began with 2 rows" in program(*run, "1", "--out", "m.json", "--overwrite").err
    assert json.loads((place / "m.json").read_text())["provenance"]["rows_per_person"] == 2
    program("budget", "set", "rows", "zcdp:2", "--ledger", f"{URL}2")
    told = program(*["rows" if p == "visits" else f"{URL}2" if p == URL else p for p in run], "2", "--out", "x.json")
    assert (told.code, "whose unit is a person" in told.err) == (2, True)


@pytest.mark.long
def test_a_plan_takes_the_number_of_persons(place, program, monkeypatch):
    """With the first questions among those that it prices; the rows of such a table are not counted for it."""
    monkeypatch.setenv("PUBPRIV_LEDGER", URL)
    counted = program("plan", "mean", *TABLE, "--public", "public.csv", "--columns", "a,b", "--budget", "zcdp:0.2")
    assert (counted.code, "is private" in counted.err) == (2, True)
    plan = ("plan", "mean", "--persons", "600", "--public", "public.csv", "--columns", "a,b", "--budget", "zcdp:0.2")
    told = program(*plan, "--json")
    assert program(*plan, "--json", "--dataset", "visits").out == told.out
    plan = json.loads(told.out)
    assert [step["label"] for step in plan["steps"]][:2] == ["person/sizes", "person/rows"]
    assert sum(step["share"] for step in plan["steps"]) == pytest.approx(1)
    assert plan["feasible"]


@pytest.mark.parametrize("named", ["a ledger", "a file"])
def test_a_plan_counts_no_rows_of_persons_whoever_says_that_they_are(place, program, monkeypatch, named):
    """The ledger that is typed, or the dataset's own file before it is registered: it asked the environment alone."""
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    told = ("--public", "public.csv", "--columns", "a,b", "--budget", "zcdp:0.2")
    if named == "a ledger":
        counted = program("plan", "mean", *TABLE, *told, "--ledger", URL)
    else:
        (place / "visits.yaml").write_text(
            f"{{dataset: new, unit: one patient, person: [who], cap: 'zcdp:2', private: '{place}/visits.parquet', "
            f"public: '{place}/public.csv', releases: [{{name: m, estimator: mean, allotment: 'zcdp:0.2'}}]}}"
        )
        counted = program("plan", "mean", "--dataset", "visits.yaml", *told)
    assert (counted.code, counted.out) == (2, "")
    assert "is private" in counted.err


@pytest.mark.long
def test_a_plan_takes_the_sizes_of_persons(program):
    """They say how many rows count, what that costs, and what auto would choose."""
    plan = (
        "plan",
        "mean",
        "--public-rows",
        "30",
        "--dims",
        "3",
        "--budget",
        "zcdp:0.5",
        "--sizes",
        "1:3000,4:1500,20:500",
    )
    once, four, auto = (program(*plan, *more, "--json") for more in ((), (*PER, "4"), (*PER, "auto")))
    plans = [json.loads(told.out) for told in (once, four, auto)]
    assert [plan["rows"] for plan in plans] == [5000] * 3
    assert "4 rows of a person in full, 11,000 rows" in plans[1]["notes"][0]
    assert "auto would count 16 rows" in plans[2]["notes"][0]
    assert plans[1]["errors"][0]["sampling"] > plans[0]["errors"][0]["sampling"]  # rows of a person are alike
    for found in plans:
        prices = [float(step["price"].split()[0]) for step in found["steps"]]
        assert sum(prices) == pytest.approx(0.5, abs=1e-8)
    assert program(*plan[:-2], *PER, "3").code == 2
    assert "no list of sizes" in program(*plan[:-1], "1:x").err


def test_lines_of_a_text_are_records_of_persons_once_their_owner_says_so(place, program):
    """Refused with what to type, before anything is held; then shown wherever the unit is."""
    visits().to_csv("visits.csv", index=False)
    terms = ("budget", "set", "lines", "zcdp:2", "--ledger", "sqlite:///lines.db", "--person", "who")
    table = ("--private", "visits.csv", "--columns", "a,b")
    told = program(*terms, *table)
    assert (told.code, "Say so with --no-line-breaks" in told.err) == (2, True)
    assert program("budget", "show", "lines", "--ledger", "sqlite:///lines.db").code == 2  # nothing was registered
    assert program(*terms).code == 0
    run = ("fit", "mean", *table, "--public", "public.csv", "--dataset", "lines", "--budget", "zcdp:0.2", "--plain")
    run += ("--ledger", "sqlite:///lines.db", "--out", "lines.json")
    told = program(*run)
    assert (told.code, "would be m + 1 records, of any persons" in told.err) == (2, True)
    line = told.err.rpartition("with `pubpriv ")[2].rpartition("`")[0]
    assert program(*shlex.split(line)).code == 0
    assert program(*run).code == 0
    shown = program("budget", "show", "lines", "--ledger", "sqlite:///lines.db").out
    assert f"no cell of {place}/visits.csv contains a line break, as declared by the owner, not checked" in shown
