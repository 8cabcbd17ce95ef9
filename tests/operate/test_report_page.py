"""The report page in a browser: it asks nobody, complains of nothing, fits a phone, and can be printed.

Pictures of every page are in `test-screenshots/` afterwards: they are there to be looked at.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from helpers.browsing import SCREENSHOTS

import pubpriv as pp
from pubpriv.released.report import History, write_report

pytestmark = [pytest.mark.operate, pytest.mark.timeout(300)]

KINDS = ("mean", "gaussian", "mixture")
COLUMNS = ["log1p(doctor visits in the last year)", "age", "household_income_before_tax", "<b>score</b> & more"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A page for each kind of release, with names that are long or need escaping: kind -> file."""
    folder = tmp_path_factory.mktemp("reports")
    generator = np.random.default_rng(3)
    for name, n in (("private", 6000), ("public", 60)):
        rows = generator.standard_normal((n, 4)) + 5.0 * (np.arange(n) % 3)[:, None]
        frame = pd.DataFrame(rows * [1.0, 12.0, 9000.0, 1.0] + [4.0, 40.0, 52000.0, 0.0])
        frame.columns = ["doctor visits in the last year", *COLUMNS[1:]]
        frame.abs().to_parquet(folder / f"{name}.parquet")
    ledger = pp.Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    private = pp.PrivateTable.open(folder / "private.parquet", columns=COLUMNS)
    public = pp.PublicTable.open(folder / "public.parquet", columns=COLUMNS)
    ledger.register("visits-2026", budget=pp.ZeroConcentratedDP(3.0), table=private, unit="one <b>patient</b> & visit")
    files = {}
    with ledger:
        for kind in KINDS:
            estimate = _estimate(kind, public, private, ledger)
            history = History.of(ledger, "visits-2026")
            files[kind] = write_report(estimate, folder / f"{kind}.html", public, history)
    return files


def _estimate(kind, public, private, ledger):
    budget = pp.ZeroConcentratedDP(0.5)
    with pp.Curator(private, ledger, "visits-2026", budget, f"2026-11-{kind}") as curator:
        if kind == "mean":
            return pp.estimate_mean(public, curator, covariance="unknown")
        if kind == "gaussian":
            return pp.estimate_gaussian(public, curator)
        return pp.estimate_mixture(public, curator, n_components=3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_asks_nobody_and_complains_of_nothing(browser, reports, kind):
    """One file is read and nothing else; the console has no error; the page says what it is about."""
    url = reports[kind].as_uri()
    with browser.open(url) as seen:
        seen.settle()
        seen.shot(f"report-{kind}-desktop")
        assert {request for request in seen.requests if not request.startswith("data:")} == {url}
        assert seen.complaints == []
        assert seen.page.title()
        assert "visits-2026" in seen.text()
        assert seen.page.evaluate("document.querySelectorAll('script').length") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_fits_a_phone(browser, reports, kind):
    """At 360 pixels nothing has to be scrolled sideways but tables inside their own frames; text stays readable."""
    with browser.open(reports[kind].as_uri(), width=360, height=740) as seen:
        seen.shot(f"report-{kind}-phone")
        assert seen.overflow() <= 0
        smallest = seen.page.evaluate(
            """Math.min(...[...document.querySelectorAll('p, li, td, th, h1, h2, figcaption')]
                .filter(e => e.innerText.trim()).map(e => parseFloat(getComputedStyle(e).fontSize)))"""
        )
        assert smallest >= 11


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_can_be_printed(browser, reports, kind):
    """On paper: black on white, no picture cut in two, tables not cut off at the margin, nothing folded away."""
    with browser.open(reports[kind].as_uri(), width=794, height=1123) as seen:
        folded = seen.page.locator("details table").first
        assert not folded.is_visible()
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert folded.is_visible()
        style = "getComputedStyle(document.body)"
        assert seen.page.evaluate(f"{style}.backgroundColor") in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
        assert seen.page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
        every = "[...document.querySelectorAll('figure')]"
        breaks = seen.page.evaluate(f"{every}.map(e => getComputedStyle(e).breakInside)")
        assert set(breaks) == {"avoid"}
        seen.shot(f"report-{kind}-print")
        pages = seen.page.pdf(path=SCREENSHOTS / f"report-{kind}.pdf", format="A4")
        assert pages.startswith(b"%PDF")
        assert seen.overflow() <= 0


def test_the_page_follows_a_dark_screen(browser, reports):
    """Light text on dark paper; pictures and heat maps, which are drawn dark on light, keep light paper."""
    color = "getComputedStyle(document.querySelector('{}')).{}"
    with browser.open(reports["gaussian"].as_uri(), width=1280, height=900) as seen:
        seen.page.emulate_media(color_scheme="dark")
        read = {
            where: seen.page.evaluate(color.format(*where))
            for where in (
                ("body", "color"),
                ("body", "backgroundColor"),
                ("svg", "backgroundColor"),
                (".heat td", "color"),
            )
        }
        assert list(read.values()) == ["rgb(236, 236, 236)", "rgb(22, 24, 26)", "rgb(255, 255, 255)", "rgb(26, 26, 26)"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_can_be_read_aloud(browser, reports, kind):
    """Language, one main heading, headings in order, and a text for every picture."""
    with browser.open(reports[kind].as_uri()) as seen:
        evaluate = seen.page.evaluate
        assert evaluate("document.documentElement.lang") == "en"
        levels = evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => Number(e.tagName[1]))")
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        texts = evaluate(
            """[...document.querySelectorAll('svg[role=img]')].map(e =>
                (e.querySelector('title')?.textContent ?? '') + (e.querySelector('desc')?.textContent ?? ''))"""
        )
        pictures = evaluate("document.querySelectorAll('svg, img').length")
        assert pictures == len(texts) > 0
        assert all(len(text) > 20 for text in texts)


def test_the_browser_would_have_seen_it(browser, tmp_path):
    """A page that loads a picture from elsewhere, fails in its script, and is wider than a phone."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<title>x</title><img src='http://127.0.0.1:9/x.png'><div style='width: 900px'>x</div>"
        "<script>missing()</script>"
    )
    with browser.open(bad.as_uri(), width=360) as seen:
        seen.settle()
        assert "http://127.0.0.1:9/x.png" in seen.requests
        assert any("missing" in complaint for complaint in seen.complaints)
        assert seen.overflow() > 500
