"""`docs/algorithms.md` against the code: modules that it names name what it says, and no algorithm is left out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
ALGORITHMS = {"BKS": 10, "KSSU": 2, "AAL": 2}
THEOREMS = {
    "BKS": {"B.2", "B.5", "B.12", "C.14", "C.17", *(f"C.{i}" for i in range(20, 30))},
    "KSSU": {"1.1", "3.1", "3.2", "3.3", "4.3", "5.1", "5.2"},
    "AAL": {"1.8", "2.3", "6.2", "6.5"},
}
NUMBER = r"(?:[A-H]\.)?\d+(?:\.\d+)?(?: \(\d\))?|[A-H](?!\w)|\(\d+\)"
NAMED = re.compile(
    r"(?i:\b(algorithm|appendix|claim|condition|corollary|definition|equation|figure|lemma|theorem)s?) "
    rf"((?:{NUMBER})(?:(?:, and |, | and | or | to )(?:{NUMBER}))*)"
)
BETWEEN = r"(, and |, | and | or | to )"


def named(text: str) -> set[tuple[str, str]]:
    """What a text names: (kind, number); `algorithms 3 to 5` are three, `lemma A.24 (1) and (2)` is lemma A.24 too."""
    found = set()
    for kind, numbers in NAMED.findall(" ".join(text.split())):
        of = ""
        for joint, number in zip(["", *re.findall(BETWEEN, numbers)], re.split(BETWEEN, numbers)[::2], strict=True):
            part = number.startswith("(") and kind.lower() != "equation"
            whole = f"{of} {number}" if part else number
            before, of = of, of if part else number.partition(" ")[0]
            every = _between(before, whole) if joint == " to " and not part else {whole, of}
            found |= {(kind.lower(), each) for each in every}
    return found


def _between(first: str, last: str) -> set[str]:
    head, _, low = first.rpartition(".")
    prefix = f"{head}." if head else ""
    return {f"{prefix}{number}" for number in range(int(low), int(last.rpartition(".")[2]) + 1)}


@cache
def docstrings(path: Path) -> str:
    """All docstrings of a module."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(ast.get_docstring(node) or "" for node in tree if isinstance(node, kinds))


def rows() -> list[tuple[str, list[str]]]:
    """(paper, cells) of every row of the papers' tables."""
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        paper = section.partition(":")[0]
        if paper in ALGORITHMS:
            lines = [line for line in section.splitlines() if line.startswith("|")][2:]
            found += [(paper, [cell.strip() for cell in line.strip("|").split("|")]) for line in lines]
    return found


ROWS = rows()


@pytest.mark.parametrize(("paper", "cells"), ROWS, ids=[f"{paper} {cells[0][:40]}" for paper, cells in ROWS])
def test_a_module_names_what_it_is_said_to_be(paper, cells):
    """Each number of a row stands in a docstring of one of its modules; without a module the row says not built."""
    del paper
    assert len(cells) == 6
    modules = [ROOT / name for name in re.findall(r"`([\w/]+\.py)`", cells[1] + cells[2])]
    if not modules:
        assert cells[1].startswith(("not built", "["))
        return
    told = set().union(*(named(docstrings(module)) for module in modules))
    asked = named(cells[0])
    assert asked
    assert asked <= told, f"no docstring of {cells[1]} names {sorted(asked - told)}"


@pytest.mark.parametrize("paper", ALGORITHMS)
def test_every_algorithm_and_theorem_has_a_row(paper):
    """Of each paper, by number."""
    told = set().union(*(named(cells[0]) for of, cells in ROWS if of == paper))
    assert {("algorithm", str(number)) for number in range(1, ALGORITHMS[paper] + 1)} <= told
    assert {("theorem", number) for number in THEOREMS[paper]} <= told


def test_names_are_read_as_people_read_them():
    """Ranges, lists and parts; what is none of them is not."""
    assert named("algorithms 3 to 5 and 8") == {("algorithm", number) for number in "3458"}
    assert named("lemma A.24 (1)") == {("lemma", "A.24 (1)"), ("lemma", "A.24")}
    assert named("theorems C.23, C.24,\nC.28 and C.29") == {("theorem", f"C.{i}") for i in (23, 24, 28, 29)}
    assert named("equations (1) and (2)") == {("equation", "(1)"), ("equation", "(2)")}
    assert named("Appendix D; an algorithm of 3 steps") == {("appendix", "D")}
