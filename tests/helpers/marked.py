"""Which tests take the session's Prefect server, or children of its fork server, by the text of their files."""

import ast
from functools import cache
from pathlib import Path


@cache
def take_the_server(file: Path) -> frozenset[str]:
    """Names of the tests of a file that have the mark; the process that hands them out does not collect them."""

    def marked(*nodes: ast.AST) -> bool:
        return any("mark.prefect" in ast.unparse(node) for node in nodes)

    text = file.read_text(encoding="utf-8")
    if "mark.prefect" not in text:
        return frozenset()
    statements = ast.parse(text).body
    whole = marked(*(each for each in statements if isinstance(each, ast.Assign)))
    tests = [each for each in statements if isinstance(each, ast.FunctionDef)]
    return frozenset(each.name for each in tests if whole or marked(*each.decorator_list))


@cache
def take_children(file: Path) -> bool:
    """Whether the tests of a file take processes from `helpers.forks`."""
    text = file.read_text(encoding="utf-8")
    return any(f"from helpers.{names}" in text for names in ("forks import", "jobs import", "seeded import killed"))
