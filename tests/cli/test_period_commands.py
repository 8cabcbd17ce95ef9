"""Commands on a table that grows: a cap for each month, and fits of one month's rows. About 10 s."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL, register_visits

import pubpriv as pp
from pubpriv.common.periods import Span

RUN = ("--public", "public.csv", "--dataset", "visits", "--ledger", URL, "--plain", "--budget", "zcdp:0.1")
TERMS = ("--period", "month:seen", "--per-period", "zcdp:0.15")


def visits(rows=6000, seed=3):
    """Rows of June, July and August, whose level rises from month to month; some rows have no date."""
    random = np.random.default_rng(seed)
    days = random.integers(0, 92, rows)
    seen = pd.Series(pd.Timestamp("2026-06-01") + pd.to_timedelta(days, "D"))
    level = seen.dt.month - 6
    cells = random.normal(size=(rows, 2)) + level.to_numpy()[:, None]
    return pd.DataFrame({"a": cells[:, 0], "b": cells[:, 1], "seen": seen.where(random.random(rows) > 0.01)})


@pytest.fixture
def place(tmp_path, monkeypatch, program):
    """A folder with `visits.parquet`, `public.csv` and a ledger with dataset `visits` of months."""
    told = register_visits(tmp_path, monkeypatch, program, visits(), "zcdp:1", *TERMS)
    assert (told.code, "for every record of a table, its date included" in told.err) == (0, True)
    return tmp_path


@pytest.mark.long
def test_a_waived_cap_is_of_one_table_which_may_move(place, program):
    """A second table is refused with what to do; the table that moved is asked where it is."""
    url = f"sqlite:///{place}/waived.db"
    table = ("--ledger", url, "--columns", "a,b", "--private")
    declared = ("budget", "set", "visits", "zcdp:1", *table)
    told = program(*declared, "visits.parquet", *TERMS, "--lifetime", "none", "--reason", "a row is in one month")
    assert "so there is one table only" in told.err
    (place / "visits.parquet").rename(place / "moved.parquet")
    told = program(*declared, "moved.parquet")
    assert (told.code, f"--moved-from {place}/visits.parquet" in told.err) == (2, True)
    assert program(*declared, "moved.parquet", "--moved-from", "visits.parquet").code == 0
    run = ("--public", "public.csv", "--dataset", "visits", "--ledger", url, "--plain", "--budget", "zcdp:0.1")
    assert program("fit", "mean", *run, "--period", "2026-06", "--out", "m.json").code == 0
    assert program("budget", "set", "visits", "zcdp:1", "--ledger", url, "--moved-from", "visits.parquet").code == 2


def test_each_month_is_released_once_from_its_own_rows(place, program):
    """Two months differ as their rows do; what is said of them is of the month, and the ledger accounts for it."""
    for month in ("2026-06", "2026-07"):
        told = program("fit", "mean", *RUN, "--period", month, "--out", f"{month}.json")
        assert told.code == 0, told.err
        found = pp.load(place / f"{month}.json")
        rows = visits()
        own = rows[rows.seen.dt.strftime("%Y-%m") == month]
        assert np.all(np.abs(found.mean - own[["a", "b"]].mean().to_numpy()) < 0.2)
        assert abs(found.provenance["counted_rows"]["estimate"] - len(own)) < 5 * found.provenance["counted_rows"]["sd"]
        assert (found.provenance["period"], "n_private" in found.provenance) == (month, False)
        assert found.provenance["release_id"] == f"mean-{month}"
        assert program("ledger", "verify", "--model", f"{month}.json", "--ledger", URL).code == 0
    drift = program("compare", "2026-06.json", "2026-07.json")
    assert "changed" in drift.out
    assert "no record in common" not in drift.err
    shown = json.loads(program("budget", "show", "visits", "--json", "--ledger", URL).out)
    assert {name: round(each["spent"], 6) for name, each in shown["periods"]["each"].items()} == {
        "2026-06": 0.1,
        "2026-07": 0.1,
    }
    report = program("budget", "report", "mean-2026-07", "--dataset", "visits", "--ledger", URL).out
    assert "only rows of 2026-07" in report
    assert "0.15-zCDP" in report
    assert program("report", "2026-07.json", "--out", "m.html", "--ledger", URL).code == 0
    assert "2026-07" in (place / "m.html").read_text()


@pytest.mark.long
def test_what_a_fit_says_does_not_depend_on_how_many_rows_a_month_has(place, program):
    """A replay on a table without one row of the month, and with others, is the same to the letter."""
    run = ("fit", "mean", *RUN, "--period", "2026-06", "--out", "m.json", "--overwrite")
    assert program(*run).code == 0
    model = (place / "m.json").read_bytes()
    same = program(*run)
    frame = visits(500, seed=9)
    frame[frame.seen.dt.month != 6].to_parquet("visits.parquet", index=False)
    assert program(*run) == same
    assert same.code == 0
    assert (place / "m.json").read_bytes() == model


@pytest.mark.long
@pytest.mark.parametrize(("kind", "why"), [("mean", "would add little"), ("gaussian", "rows are too few")])
def test_a_month_of_too_few_rows_is_an_answer_that_is_paid_for(place, program, kind, why):
    """Its rows were counted, so exit code 2 (nothing was spent) would be wrong; what was held goes back."""
    told = program("fit", kind, *RUN, "--period", "2026-05", "--out", "m.json")
    assert told.code == 4
    assert why in told.err
    assert "Counting is paid for" in told.err
    spent = json.loads(program("budget", "show", "visits", "--json", "--ledger", URL).out)
    assert (spent["open_runs"], spent["held"]) == ({}, 0)
    assert 0 < spent["periods"]["each"]["2026-05"]["spent"] <= 0.004
    assert (place / "m.json").exists() is False


def test_refusals_come_before_anything_is_spent(place, program):
    """A month without room, one that has not ended, another unit, another column, a dataset without periods."""
    fit = ("fit", "mean", *RUN, "--out", "m.json")
    assert program(*fit, "--period", "2026-06").code == 0
    full = program(*fit, "--period", "2026-06", "--release-id", "again", "--overwrite")
    assert (full.code, "cap of its period" in full.err) == (3, True)
    everything = program(*fit, "--release-id", "all", "--overwrite")
    assert (everything.code, "fit every one" in everything.err) == (3, True)
    coming = Span.holding("month", pd.Timestamp.now("UTC").date()).name
    for period, says in ((coming, "has not ended"), ("2026-W10", "is no month"), ("June", "a period is named like")):
        refused = program(*fit, "--period", period, "--overwrite")
        assert (refused.code, says in refused.err) == (2, True)
    pure = program(*fit[:-2], "--budget", "pure:0.1", "--period", "2026-07", "--out", "n.json")
    assert (pure.code, "rows of one period" in pure.err) == (2, True)
    assert program("budget", "set", "plain", "zcdp:1", "--ledger", URL).code == 0
    plain = ["plain" if part == "visits" else part for part in fit]
    without = program(*plain, "--private", "other.parquet", "--period", "2026-06", "--overwrite")
    assert (without.code, "has no periods" in without.err) == (2, True)
    spent = json.loads(program("budget", "show", "visits", "--json", "--ledger", URL).out)["spent"]
    assert spent == pytest.approx(0.1)


def test_terms_are_typed_together_and_stay(place, program):
    """Half of them, others, or a waiver without a reason."""
    again = ("budget", "set", "visits", "zcdp:1", "--ledger", URL)
    assert program(*again, "--period", "month:seen").code == 2
    assert program(*again, "--period", "week:seen", "--per-period", "zcdp:0.15").code == 2
    assert program(*again, *TERMS, "--lifetime", "none").code == 2
    waived = program(*again, *TERMS, "--lifetime", "none", "--reason", "a row is in one month")
    assert (waived.code, "it was waived" in waived.err) == (0, True)
    assert "for all runs together" not in program("budget", "show", "visits", "--ledger", URL).out


def test_persons_have_a_cap_for_each_month_and_one_for_all(place, program):
    """Both sentences are printed, and questions are of the persons of the month."""
    frame = visits()
    frame.assign(who=np.arange(len(frame)) % 2000).to_parquet("people.parquet", index=False)
    declare = ("--private", "people.parquet", "--columns", "a,b", "--person", "who", "--ledger", f"{URL}2")
    declare += ("--persons", "2000")  # of all months: how many one month has is asked
    told = program("budget", "set", "people", "zcdp:1", *TERMS, *declare)
    assert "for what one person has in one month: 0.15-zCDP" in told.err
    assert "adds up, within the cap of the dataset" in told.err
    run = [{"visits": "people", URL: f"{URL}2"}.get(part, part) for part in RUN]
    assert program("fit", "mean", *run, "--period", "2026-07", "--out", "m.json").code == 0
    model = json.loads((place / "m.json").read_text())
    months = frame.seen.dt.strftime("%Y-%m") == "2026-07"
    persons = len({*(np.arange(len(frame)) % 2000)[months]})
    assert abs(model["provenance"]["persons"]["estimate"] - persons) < 5 * model["provenance"]["persons"]["sd"]
    assert [charge["question"] for charge in model["privacy"]["charges"][:2]] == [
        "PersonSizes in 2026-07",
        "Counts per person in 2026-07",
    ]


def test_a_plan_of_a_period_is_what_its_run_asks_and_pays(place, program):
    """Labels, questions and prices of the run's charges; what caps have left for it, before and after."""
    planned = ("plan", "mean", *RUN[:6], "--budget", "zcdp:0.1", "--period", "2026-06")
    plan = json.loads(program(*planned, "--rows", 2000, "--json").out)
    assert (plan["period"]["cap"]["runs"], plan["period"]["lifetime"]["runs"]) == (1, 10)
    assert program("fit", "mean", *RUN, "--period", "2026-06", "--out", "m.json").code == 0
    charges = json.loads((place / "m.json").read_text())["privacy"]["charges"]
    asked = [(step["label"], step["question"], float(step["price"].split()[0])) for step in plan["steps"]]
    paid = [(each["label"], each["question"], float(each["cost"].split()[0])) for each in charges]
    assert [each[:2] for each in asked] == [each[:2] for each in paid]
    assert [each[2] for each in asked] == pytest.approx([each[2] for each in paid], rel=1e-3)
    told = program(*planned, "--rows", 2000)
    assert "left 0.05 rho; this run takes 0.1 rho, and 0 like it fit" in told.out
    assert "left 0.9 rho; this run takes 0.1 rho, and 9 like it fit, so one in each of 9 months" in told.out
    later = json.loads(program(*planned[:-1], "2026-07", "--rows", 2000, "--json").out)["period"]
    assert (later["cap"]["remaining"], later["lifetime"]["spent"]) == pytest.approx((0.15, 0.1))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--rows", "2000", "--period", "2026-W10"), "is no month"),
        (("--period", "2026-06"), "--rows N"),
        (("--persons", "900", "--period", "2026-06"), "--rows N"),
        (("--rows", "2000", "--period", "2026-06", "--budget", "pure:1"), "a pure budget is not offered"),
    ],
)
def test_what_no_plan_of_a_period_can_be_of(place, program, options, says):
    """With what to say instead; how many rows a period has is not counted."""
    refused = program("plan", "mean", *RUN[:6], "--budget", "zcdp:0.1", *options)
    assert (refused.code, says in refused.err) == (2, True), refused.err
    assert program("plan", "mean", "--public", "public.csv", "--budget", "zcdp:1", *options[-2:]).code == 2
