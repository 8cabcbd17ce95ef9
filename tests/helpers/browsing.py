"""The system's Chromium, without a window, for tests: pages that remember what they asked for and complained about."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SCREENSHOTS = Path(__file__).parents[2] / "test-screenshots"
PATIENCE = 90_000
"""Milliseconds that a page may take to show something: the server has other things to do, and so has the machine."""

SETTLED = 500
"""Milliseconds without a request after which a loaded page has asked for all it wants."""


@dataclass
class Watched:
    """A page, the URLs it asked for, and what its console complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def shot(self, name: str, whole: bool = True) -> None:
        """A picture for a person to look at; Chromium draws no more than 16,384 pixels downwards reliably."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)

    def settle(self) -> None:
        """Wait until the page is loaded and asks for nothing more.

        Playwright's own state of an idle network waits for the end of each request, which it does not always see where
        pages are files: on a busy machine it waited for ever.
        """
        self.page.wait_for_load_state("load")
        asked = -1
        while asked < len(self.requests):
            asked = len(self.requests)
            self.page.wait_for_timeout(SETTLED)

    def text(self) -> str:
        """What a reader sees."""
        return str(self.page.inner_text("body"))

    def faint(self) -> list[str]:
        """Texts that are hard to read: contrast below 4.5, or 3 where they are large (WCAG 2, AA)."""
        return list(self.page.evaluate((Path(__file__).parent / "faint.js").read_text(encoding="utf-8")))

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        root = "document.documentElement"
        return int(self.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))


@dataclass(frozen=True)
class Browser:
    """A running Chromium."""

    driver: Any

    @contextmanager
    def open(self, url: str, width: int = 1280, height: int = 900, **options: Any) -> Iterator[Watched]:
        """A fresh profile with one page."""
        context = self.driver.new_context(viewport={"width": width, "height": height}, **options)
        try:
            watched = Watched(context.new_page())
            watched.page.set_default_timeout(PATIENCE)
            watched.page.on("request", lambda request: watched.requests.append(request.url))
            watched.page.on("console", lambda message: _note(watched, message))
            watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
            watched.page.goto(url, wait_until="domcontentloaded")
            yield watched
        finally:
            context.close()


def _note(watched: Watched, message: Any) -> None:
    if message.type == "error":
        watched.complaints.append(message.text)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser; skips, with the reason, where it or its driver is missing."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("SKIPPED: no Chromium (Debian: apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="SKIPPED: no playwright (make install)")
    # root may start it only without its sandbox; it sees our own pages and nothing else
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as playwright:
        driver = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield Browser(driver)
        finally:
            driver.close()
