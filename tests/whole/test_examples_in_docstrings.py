"""Every public name has an example, and every example does what it says."""

import doctest
from contextlib import chdir
from pathlib import Path

import pytest

import pubpriv as pp
from pubpriv.deployments.randhie import write_tables

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
ON_THE_PAGE = {"Curator"}
"""Names whose examples stand on the page of the reference."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`patients.csv` and `volunteers.csv`, as `pubpriv demo --tables` writes them."""
    here = tmp_path_factory.mktemp("examples")
    write_tables(here, "person")
    return here


def run(text: str, name: str, folder: Path) -> int:
    """Run the examples in a text; return how many there were."""
    told: list[str] = []
    examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    with chdir(folder):
        failed, tried = doctest.DocTestRunner().run(examples, out=told.append)
    assert not failed, "".join(told)
    return tried


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(pp.__all__) - ON_THE_PAGE))
def test_the_example_of_a_public_name_runs(name, folder):
    """And there is one."""
    assert run(getattr(pp, name).__doc__, name, folder) > 0


def test_examples_on_the_page_run(folder):
    """Of every name that has none in its docstring, and of no other."""
    text = PAGE.read_text(encoding="utf-8")
    assert run(text.replace("```", ""), "python.md", folder) > 0
    assert {name for name in pp.__all__ if f"::: pubpriv.{name}\n" not in text} == set()
