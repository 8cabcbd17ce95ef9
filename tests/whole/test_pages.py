"""What pages tell to type is run as it stands, and prints what they show."""

import os
from pathlib import Path

import pytest
from helpers.pages import agrees, blocks, ran, run_page

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS.parent / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
SHELL = {"LOGNAME": "analyst", "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_tells_to_type_prints_what_it_shows(page, monkeypatch):
    """Commands, Python and files of a page, in order, in a fresh folder."""
    for name in [*(name for name in os.environ if name.startswith("PUBPRIV_")), "PREFECT_API_URL"]:
        if name != "PUBPRIV_WRITE_PAGES":
            monkeypatch.delenv(name, raising=False)
    with ran(page, SHELL, write=bool(os.environ.get("PUBPRIV_WRITE_PAGES"))) as faults:
        assert not faults, "\n\n".join(faults)


@pytest.mark.long
def test_a_page_that_shows_something_else_is_seen(tmp_path, monkeypatch):
    """Another word, a line too many, a block that nobody runs; other numbers and another frame are the same shape."""
    assert agrees("│ a │ 1.5 ±0.2 │\nspent: 0.5 rho\n", "┃ a ┃ -2e-5 ±3 ┃\nspent: 1 rho")
    assert not agrees("spent: 0.5 rho\n", "spent: 0.5 mu\n")
    assert not agrees("a\nb\n", "a\n")
    assert agrees("a\nwarning: b\n", "a\n")
    assert not agrees("a\n", "a\nwarning: b\n")
    assert agrees("head 3db0aa8c85f38279\n", "head acd3b5f29a9b26e8\n")
    assert agrees("a\nb\nc\n", "a\n...\n")
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo one two\none 2\n$ false\n```\n```sh\nls\n```\n<!-- not run: no -->\n```\nx\n```\n"
    )
    faults = run_page(page, {})
    assert [fault.partition("\n")[0] for fault in faults] == [
        "$ echo one two",
        "page.md: a block 'sh' that is neither run nor said not to be",
    ]
    assert [block.why != "" for block in blocks(page.read_text())] == [False, False, True]
