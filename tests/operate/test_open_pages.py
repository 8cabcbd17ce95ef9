"""The pages of `pubpriv open` in a browser: by clicks, on a desk and a phone, light and dark.

Pictures of every page are in `test-screenshots/` afterwards: they are there to be looked at.
"""

import os
import re
import subprocess
import sys

import pytest
from helpers.desk import entry

pytestmark = [pytest.mark.operate, pytest.mark.timeout(600)]

WIDTHS = {"desk": 1280, "phone": 390}


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    """Started as at a terminal; the link that it prints."""
    folder = tmp_path_factory.mktemp("desk")
    file = entry(folder).file
    environment = os.environ | {"PUBPRIV_LEDGER": f"sqlite:///{folder / 'ledger.db'}"}
    environment.pop("PREFECT_API_URL", None)
    command = [sys.executable, "-m", "pubpriv", "open", str(file), "--no-browser"]
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.send_signal(2)
            assert server.wait(60) == 0


def looked_at(seen, name):
    """What is right on every page: it fits, it can be read, nothing failed, and no address has the token."""
    seen.settle()
    seen.shot(f"open-{name}")
    assert seen.overflow() <= 0
    assert seen.faint() == []
    assert seen.complaints == []
    assert "token" not in seen.page.url
    levels = seen.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    unnamed = "[...document.querySelectorAll('input,select')].filter(e => !e.labels.length).length"
    assert seen.page.evaluate(unnamed) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", WIDTHS)
def test_a_release_by_clicks(browser, link, screen, scheme):
    """From the link to the report, with a keyboard's focus on what is pressed."""
    name = f"{screen}-{scheme}"
    with browser.open(link, width=WIDTHS[screen], height=800, color_scheme=scheme) as seen:
        page = seen.page
        page.wait_for_url(re.compile(r"/$"))
        looked_at(seen, f"{name}-datasets")
        page.get_by_role("link", name="visits").click()
        looked_at(seen, f"{name}-dataset")
        page.get_by_role("link", name="mean", exact=True).click()
        page.get_by_label("Budget").fill("zcdp:0.1")
        looked_at(seen, f"{name}-form")
        page.get_by_role("button", name="Plan").press("Enter")
        page.get_by_role("heading", name="Predicted errors").wait_for()
        looked_at(seen, f"{name}-plan")
        page.get_by_label("even if doubtful numbers are likely").check()
        page.get_by_role("button", name="Release, and spend zcdp:0.1").press("Enter")
        page.get_by_role("link", name="See the numbers").wait_for()
        looked_at(seen, f"{name}-released")
        page.get_by_role("link", name="See the numbers").click()
        page.get_by_role("heading", level=1).wait_for()
        seen.settle()
        assert "visits" in seen.text()


def test_a_browser_without_the_link_sees_nothing(browser, link):
    """Another profile of the same machine."""
    with browser.open(link.partition("/enter")[0]) as seen:
        assert "visits" not in seen.text()
