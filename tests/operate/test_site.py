"""The documentation's site in a browser: it asks nobody, complains of nothing, fits a phone, can be read and searched.

Pictures of its pages are in `test-screenshots/` afterwards: they are there to be looked at.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.operate, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
PAGES = ("index", "tutorial", "how-to/persons", "reference/command-line", "reference/python", "benchmarks", "gallery")
SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def site():
    """What `make docs` built, or builds now."""
    folder = ROOT / "build" / "site"
    if not (folder / "index.html").exists():
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, env=environment, check=True
        )
    return folder


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_site(browser, site, name, screen):
    """Only files of the site are read, the console has no error, nothing is cut off, and texts have contrast."""
    width, height = SCREENS[screen]
    with browser.open((site / f"{name}.html").as_uri(), width=width, height=height) as seen:
        seen.settle()
        seen.shot(f"site-{name.replace('/', '-')}-{screen}")
        asked = {request for request in seen.requests if not request.startswith(("data:", "blob:"))}
        assert {request for request in asked if not request.startswith(site.as_uri())} == set()
        assert seen.complaints == []
        assert seen.overflow() <= 0
        assert seen.faint() == []
        seen.page.add_style_tag(content="* { transition: none !important }")  # colours would fade over
        seen.page.evaluate("document.body.setAttribute('data-md-color-scheme', 'slate')")
        assert seen.faint() == []


def test_the_site_is_searched_without_a_server(browser, site):
    """A word that is in the glossary is found, by files alone."""
    with browser.open((site / "index.html").as_uri()) as seen:
        seen.settle()
        seen.page.fill("input[name=query]", "allotment")
        seen.page.wait_for_selector(".md-search-result__item", timeout=20_000)
        assert "Glossary" in seen.page.inner_text(".md-search-result__list")
        assert all(request.startswith((site.as_uri(), "data:", "blob:")) for request in seen.requests)


def test_reports_of_the_gallery_are_there(site):
    """Every report that the gallery links to is a page of its own with a picture."""
    links = re.findall(r"\]\(gallery/([\w-]+\.html)\)", (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"))
    assert len(links) > 3
    assert [name for name in links if "<svg" not in (site / "gallery" / name).read_text(encoding="utf-8")] == []


def test_faint_text_would_have_been_seen(browser, tmp_path):
    """Grey on white, and white on a light paper of its parent's."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<p style='color: #999'>grey</p><div style='background: #ccc'><p style='color: #fff'>white</p></div><p>good</p>"
    )
    with browser.open(bad.as_uri()) as seen:
        assert [line.rpartition(" ")[2] for line in seen.faint()] == ["grey", "white"]
