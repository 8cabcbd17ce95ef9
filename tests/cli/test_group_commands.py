"""Commands that estimate groups, from `budget set` to `sample`; what nobody declared is told nowhere. About 15 s."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from helpers.cli_world import URL

import pubpriv as pp
from pubpriv.cli.derived import settings_from
from pubpriv.errors import InvalidInput
from pubpriv.estimators import MEAN
from pubpriv.estimators.groups.labels import labels_of

HIDDEN = "secretville"
RUN = ("--private", "visits.parquet", "--dataset", "visits", "--ledger", URL, "--plain", "--budget", "zcdp:0.5")


def visits(n, seed, regions):
    random = np.random.default_rng(seed)
    where = np.resize(np.array(regions, dtype=object), n)
    cells = random.normal(size=(n, 2)) + 2.0 * (where == "south")[:, None]
    return pd.DataFrame({"a": cells[:, 0], "b": cells[:, 1], "region": where})


@pytest.fixture
def place(tmp_path, monkeypatch, program):
    """A folder with private and public rows, and a ledger in which the dataset has groups by region."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUBPRIV_LEDGER", raising=False)
    visits(3000, 0, ["north", "south", "north", None, HIDDEN]).to_parquet("visits.parquet", index=False)
    visits(40, 1, ["north", "south"]).to_csv("public.csv", index=False)
    told = program(
        *("budget", "set", "visits", "zcdp:4", "--ledger", URL, "--private", "visits.parquet", "--columns", "a,b"),
        *("--by", "region"),
    )
    assert told.code == 0
    return tmp_path


def test_a_release_by_group_from_fit_to_sample(place, program):
    """Groups are those of the public rows; the console, the page, a comparison and a sample tell them."""
    fit = ("fit", "gaussian", *RUN, "--public", "public.csv", "--by", "region")
    first = program(*fit, "--release-id", "r1", "--out", "1.json")
    assert first.code == 0, first.err
    told = first.out[first.out.index("groups by region") :]
    assert told.count("(sd ") == 1 + 2 * 2  # in the title, and of two groups and two columns
    groups = pp.load("1.json").groups
    assert [group.name for group in groups.each] == ["north", "south"]
    assert groups["south"].parts["mean"] == pytest.approx([2, 2], abs=0.3)
    assert groups["north"].rows[0] == pytest.approx(1200, abs=60)
    second = program(
        *fit, "--release-id", "r2", "--out", "2.json", "--by-values", "south", "--label", "region:south=the South"
    )
    assert second.code == 0, second.err
    assert "the South" in second.out
    compared = json.loads(program("compare", "1.json", "2.json", "--json").out)
    assert {each["group"] for each in compared["differences"]} == {None, "south"}
    assert any("north" in note for note in compared["notes"])
    assert program("report", "1.json", "--out", "1.html").code == 0
    page = (place / "1.html").read_text()
    assert "Groups by region" in page
    assert "sd of a" in page
    assert "groups by region" in program("show", "1.json").out
    assert program("report", "2.json", "--out", "2.html").code == 0
    assert "the South" in (place / "2.html").read_text()
    assert {number.group for number in pp.load("2.json").numbers()} == {None, "the South"}
    named = pp.load("2.json").groups
    assert named["the South"] is named["south"], "the value in the cells is another name"
    assert program("sample", "1.json", "--rows", 500, "--group", "south", "--seed", 1, "--out", "s.csv").code == 0
    assert pd.read_csv("s.csv").mean().tolist() == pytest.approx([2, 2], abs=0.3)
    refused = program("sample", "1.json", "--rows", 5, "--group", "west", "--out", "t.csv")
    assert (refused.code, "north, south" in refused.err) == (2, True)
    # what only the private rows have is in nothing that was written or said
    written = [file.read_bytes() for file in place.iterdir() if file.suffix not in (".parquet", ".db")]
    with sqlite3.connect("ledger.db") as ledger:
        written.append("\n".join(ledger.iterdump()).encode())
    assert not any(HIDDEN.encode() in content for content in (*written, first.out.encode(), first.err.encode()))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--by-values", "north"), "--by COLUMN"),
        (("--by", "area", "--by-values", "x"), "does not declare groups by area"),
        (("--by", "region", "--by-values", "north,north"), "named once"),
        (("--label", "region:north=N"), "--by COLUMN"),
        (("--by", "region", "--label", "area:north=N"), "takes the column of --by, region, as in region:north=NAME"),
        (("--by", "region", "--label", "region:nord=N"), "names no group by region: they are north and south"),
        (("--by", "a", "--by-values", "1"), "does not declare groups by a"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(place, program, options, says):
    """With what to do, in a line."""
    refused = program("fit", "mean", *RUN, "--public", "public.csv", "--out", "m.json", *options)
    assert (refused.code, says in refused.err) in ((2, True), (3, True)), refused.err
    spent = json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)
    assert (spent["spent"], spent["held"]) == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mean", "gaussian", "mixture"])
def test_a_plan_prices_groups(program, kind):
    """Its last question is about all of them; their number changes no price."""
    plans = []
    for values in ("a,b", "a,b,c,d,e"):
        sizes = ("--rows", 5000, "--public-rows", 20, "--dims", 2, "--by", "region", "--by-values", values)
        extra = ("--components", 2) if kind == "mixture" else ()
        told = program("plan", kind, *sizes, *extra, "--budget", "zcdp:0.5", "--json")
        assert told.code == 0, told.err
        plans.append(json.loads(told.out))
    few, many = plans
    assert few["steps"][-1]["label"].startswith("groups/")
    assert few["steps"][-1]["share"] == pytest.approx(0.6, abs=0.01)
    assert few["steps"] == many["steps"]
    assert many["errors"][-1]["privacy"] == pytest.approx(2.5 * few["errors"][-1]["privacy"], rel=0.01)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (("union:1=member", "union:0=not a member"), {"1": "member", "0": "not a member"}),
        (("union:a=b=c",), {"a=b": "c"}),  # the longest value that fits
        (("union:1=",), "no name that can be shown"),
        (("union:1=x\ny",), "no name that can be shown"),
        (("union:1=x", "union:1=y"), "names group 1 twice: x and y"),
        (("union:1=x", "union:0=x"), "two groups by union the name x"),
        (("union:1=0",), "two groups by union the name 0"),
        (("union:1=0", "union:0=1"), "two groups by union the name"),
    ],
)
def test_groups_take_the_names_of_their_owner(texts, labels):
    """Of one column, of its groups, and no two alike."""
    by = pp.ByCategory("union", ("0", "1", "a", "a=b"))
    if isinstance(labels, dict):
        assert labels_of(by, texts) == labels
        return
    with pytest.raises(InvalidInput, match=labels):
        labels_of(by, texts)


def test_a_group_with_a_comma_stands_between_quotes():
    """As a column does."""
    given = {"by": "town", "by_values": '"Bonn, Mitte", Trier'}
    assert settings_from(MEAN, given).by_values == ("Bonn, Mitte", "Trier")
