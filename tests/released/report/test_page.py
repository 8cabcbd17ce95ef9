"""The report page: one file, whole, escaped, the same each time, and nothing left out that a reader has to know."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from helpers.releases import (
    clipped,
    gaussian_release,
    mean_release,
    mixture_release,
    public_for,
    quantiles_release,
    regression_release,
    simulated,
)

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.released.report import History, page, write_report
from pubpriv.released.report._history import _PastRun

VOID = {"meta", "link", "br", "img", "input", "hr"}
NASTY = ("<script>alert(1)</script>", 'a" onload="x', "b & <b>c</b>", "\x00\u202e]]>-->")


class Reader(HTMLParser):
    """The elements of a page with their text; notes what is not closed as it was opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.elements, self.words = [], [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        for tag in self.open:
            self.words[tag] = self.words.get(tag, "") + data

    def tags(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def history(release_id="2026-11", runs=3):
    """A dataset that spent a quarter of its budget in each run."""
    past = [_PastRun(f"r{i}", f"2026-1{i}-01", "0.5-zCDP", 0.5, False) for i in range(runs - 1)]
    past.append(_PastRun(release_id, "2026-11-21", "0.5-zCDP", 0.5, False))
    told = {
        "kind": "zcdp",
        "text": "2-zCDP, which implies (11.69, 1e-06)-DP",
        "rho": 2.0,
        "delta": 1e-6,
        "epsilon": 11.69,
    }
    return History("visits", "2-zCDP", told, "rho", 2.0, 0.5 * runs, 0.0, tuple(past))


RELEASES = {
    "mean-1": lambda: mean_release(("age",)),
    "mean-2": mean_release,
    "mean-30": lambda: mean_release([f"x{i}" for i in range(30)]),
    "gaussian-1": lambda: gaussian_release(("age",)),
    "gaussian-2": gaussian_release,
    "gaussian-20": lambda: gaussian_release([f"x{i}" for i in range(20)]),
    "quantiles-1": lambda: quantiles_release(("age",), zeros=0.3),
    "quantiles-5": lambda: quantiles_release(("age", "log1p(cost)", "visits", "a", "b")),
    "quantiles-40": lambda: quantiles_release([f"x{i}" for i in range(40)], at=(0.01, 0.1, 0.5, 0.9, 0.99)),
    "mixture-1": lambda: mixture_release(("age",)),
    "mixture-2": mixture_release,
    "mixture-5": lambda: mixture_release(("age", "log1p(cost)", "visits", "a", "b")),
    "mixture-40": lambda: mixture_release([f"x{i}" for i in range(40)]),
    "mixture-k1": lambda: mixture_release(("a", "b", "c"), means=np.zeros((1, 3))),
    "mixture-k9": lambda: mixture_release(("a", "b", "c"), means=np.arange(27.0).reshape(9, 3) * 4),
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("bare", [False, True], ids=["full", "bare"])
def test_a_page_is_whole_and_self_contained(name, bare):
    """Every kind and shape of release: well-formed, titled, nothing loaded, no script, headings in order."""
    public, estimate = public_for(RELEASES[name]())
    text = page(estimate) if bare else page(estimate, public, history())
    read = Reader(text)
    assert (read.faults, read.open) == ([], [])
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert read.words["title"].startswith(read.words["h1"])
    assert not read.tags("script")
    assert not [a for _, a in read.elements if any(n.startswith("on") for n in a)]
    loads = [a.get("src") or a.get("href") for _, a in read.elements if "src" in a or "href" in a]
    assert loads == ["data:,"]
    assert "http:" not in text.replace("http://www.w3.org", "")
    assert not re.search(r"url\((?!#)", text)
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert not re.search(r"\b(nan|inf|None|not finite)\b", text)


@pytest.mark.long
@pytest.mark.parametrize("name", RELEASES)
def test_every_picture_has_words(name):
    """Each SVG is an image with a title and a description of its own, and ids are used once."""
    public, estimate = public_for(RELEASES[name]())
    read = Reader(page(estimate, public, history()))
    pictures = read.tags("svg")
    assert len(pictures) >= 2
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for picture in pictures:
        assert picture["role"] == "img"
        assert {picture["aria-labelledby"], picture["aria-describedby"]} <= set(ids)
    assert len(read.tags("desc")) == len(pictures)
    assert len(read.tags("figcaption")) >= 1


def test_the_same_release_gives_the_same_page():
    """Twice in one process, and without any clock."""
    public, estimate = public_for(mixture_release())
    assert page(estimate, public, history()) == page(type(estimate).from_json(estimate.to_json()), public, history())


KINDS = {
    "mean": mean_release,
    "gaussian": gaussian_release,
    "mixture": mixture_release,
    "quantiles": quantiles_release,
    "regression": lambda columns, **told: regression_release(columns[:-1], columns[-1], **told),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_names_are_text_wherever_they_stand(kind):
    """Markup in names of columns, datasets, releases, units and warnings is shown, never obeyed."""
    estimate = kind(NASTY, release_id=NASTY[0], dataset="</title><script>")
    told = estimate.to_json()
    told["privacy"]["unit"] = "<img src=x onerror=y>"
    told["diagnostics"] = {"warnings": ["<script>w</script>"], "<b>": "<i>"}
    public, estimate = public_for(type(estimate).from_json(told))
    past = history(NASTY[0])
    past = History("</title><script>", *list(past.__dict__.values())[1:])
    read = Reader(page(estimate, public, past))
    assert (read.faults, read.open) == ([], [])
    for tag in ("script", "img", "i", "b"):
        assert not read.tags(tag)
    assert not [a for _, a in read.elements if "onload" in a or "onerror" in a]
    assert "<script>alert(1)</script>" in read.words["td" if kind is None else "th"]
    for invisible in "\x00\u202e":
        assert invisible not in page(estimate, public, past)


def test_a_page_tells_numbers_with_both_errors():
    """Estimate, interval and both parts of the error stand in one row, in the data's own units."""
    read = Reader(page(mean_release(center=[50.1234, 7.0], error=0.5)))
    # 1.96 * 0.5 = 0.98, of which 0.6 is privacy noise and 0.8 sampling, in the order of the table's heads
    assert "estimate95% interval± privacy noise± sampling" in read.words["tr"]
    assert "".join(["age", "50.12", "49.14 to 51.10", "0.59", "0.78"]) in read.words["tr"]


def test_a_page_tells_errors_of_clipping_where_there_are_any():
    """As a column of their own, and in the sentence on what errors are made of."""
    for estimate, there in ((mean_release(error=0.5), False), (clipped(mean_release(error=0.5)), True)):
        words = Reader(page(estimate)).words["main"]
        assert ("± clipping" in words) == ("and clipping, which" in words) == there
        assert "49.14 to 51.10" in Reader(page(replace(estimate, center=(50.1234, 7.0)))).words["tr"]


def test_a_minute_is_enough_for_four_answers():
    """May it be used, what is protected, what privacy cost, what is left: before the promise, after the warnings."""
    release = mean_release(error=0.5)  # of which privacy has 0.3, sampling 0.4
    answers = Reader(page(release, history=history())).words["dl"]
    for part in ("Yes, it came with no warning", "wider than sampling", "rho of 2 for further releases of visits"):
        assert part in answers
    assert "25%" in answers
    assert "at most 69.2%" not in answers  # beside other runs, the figure is that of the whole budget
    assert "at most 69.2%" in Reader(page(release)).words["dl"]
    unsure = mean_release(converged=False, diagnostics={"warnings": ["few rows"]})
    text = Reader(page(unsure)).words["main"]
    assert text.index("few rows") < text.index("No: 0 of 2 columns are good") < text.index("What is promised")
    assert "Nothing." in Reader(page(simulated(release))).words["dl"]


def test_correlations_have_names_that_may_break_after_an_underscore():
    """Over the columns too; a name keeps its letters for whoever copies it."""
    text = page(gaussian_release(("body_mass", "age")))
    assert text.count("body_<wbr>mass") >= 3
    assert '<th scope="col"><span>age</span></th>' in text


def test_guarantees_come_first_and_in_words():
    """Dataset before run, in the sentences of `budget report`, then what it means to somebody; then the numbers."""
    text = Reader(page(mean_release(), history=history())).words["main"].partition("What is promised")[2]
    order = [
        "Guaranteed for all runs together: 2-zCDP",
        "Guaranteed for run 2026-11: 0.5-zCDP",
        "one patient",
        "at most 69.2%",
        "The released numbers",
        "step-1",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_what_is_wrong_is_said_first():
    """A simulation, a release with doubtful numbers and every warning are told before any promise or number."""
    estimate = mixture_release(converged=False, diagnostics={"warnings": ["look out"]})
    for told, parts in (
        (estimate, ["all columns are doubtful", "look out"]),
        (
            simulated(estimate),
            ["Simulation: not private", "This is a simulation", "all columns are doubtful", "look out"],
        ),
    ):
        text = Reader(page(told)).words["main"]
        for part in parts:
            assert text.index(part) < text.index("What is promised")
    assert "Guaranteed" not in Reader(page(simulated(estimate))).words["main"]
    assert "Read this first" not in Reader(page(mixture_release())).words["main"]


def test_other_public_rows_are_refused():
    """Rows whose hash is not the release's, also if it is one cell that differs."""
    public, estimate = public_for(mean_release())
    page(estimate, public)
    rows = public.rows.copy()
    rows[3, 1] += 1e-9
    with pytest.raises(InvalidInput, match="are not those that visits, release 2026-11 was made with"):
        page(estimate, PublicTable(public.columns, rows))


def test_the_history_of_another_ledger_is_refused():
    """A history has to know the dataset and the release."""
    with pytest.raises(InvalidInput, match="does not have the release of this model"):
        page(mean_release(), history=history("other"))
    with pytest.raises(InvalidInput, match="name the ledger"):
        page(mean_release(dataset="labs"), history=history())


def test_a_run_of_two_hundred_releases_fits_on_a_page():
    """The newest are listed, all are drawn, and the page says how many there were."""
    read = Reader(page(mean_release(), history=history(runs=300)))
    assert "the newest 20 of 300" in read.words["main"]


def test_a_page_is_written_whole(tmp_path):
    """`write_report` writes what `page` gives, as UTF-8, and returns the path."""
    file = write_report(mean_release(("größe", "cost")), tmp_path / "deep" / "page.html")
    assert file.read_text(encoding="utf-8") == page(mean_release(("größe", "cost")))
    assert 'charset="utf-8"' in file.read_text(encoding="utf-8")[:200]


def test_a_ledger_tells_its_history_without_clocks(tmp_path):
    """Runs with what they spent, by day: a page shows no time of a charge."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.standard_normal((200, 2)), columns=["a", "b"])
    frame.to_parquet(tmp_path / "private.parquet")
    public = PublicTable.open(pd.DataFrame(rng.standard_normal((5, 2)), columns=["a", "b"]))
    private = pp.PrivateTable.open(tmp_path / "private.parquet", columns=["a", "b"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(2.0), table=private, unit="one patient")
        for release_id in ("r1", "r2"):
            with pp.Curator(private, ledger, "visits", pp.ZeroConcentratedDP(0.5), release_id) as curator:
                estimate = pp.estimate_mean(public, curator)
        told, records = History.of(ledger, "visits"), ledger.records("visits")
    assert [(run.release_id, run.allotment, run.open) for run in told.runs] == [
        ("r1", "0.5-zCDP", False),
        ("r2", "0.5-zCDP", False),
    ]
    assert sum(run.spent for run in told.runs) == pytest.approx(told.spent, abs=1e-12)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", run.day) for run in told.runs)
    assert told.cap == 2.0
    assert told.remaining == pytest.approx(2.0 - told.spent, abs=1e-12)
    text = page(estimate, public, told)
    charged = [record for record in records if record.kind == "charged"]
    assert charged
    for record in charged:
        assert record.at not in text
