"""`python -O` leaves out every `assert`, and that changes nothing: no check of the product is one."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pubpriv.estimators.mixture._plan import _STARTS
from pubpriv.estimators.mixture.public_model import _START_SETTINGS

ROOT = Path(__file__).parents[2]
SHIPPED = ("pubpriv",)
PRIVACY = ("tests/privacy", "tests/data", "tests/audit", "tests/test_curator.py")
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestConfigWarning")


def narrows(check: ast.expr) -> bool:
    """It tells a type checker what a value is: `x is not None`, or `isinstance(x, ...)`."""
    if isinstance(check, ast.Compare):
        (operator, *more), (last, *_) = check.ops, check.comparators
        return isinstance(operator, ast.IsNot) and not more and isinstance(last, ast.Constant) and last.value is None
    return isinstance(check, ast.Call) and isinstance(check.func, ast.Name) and check.func.id == "isinstance"


def loose(source: str) -> list[str]:
    """Asserts that are more than a word to the type checker, and what asks whether it is run with -O."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [ast.unparse(node) for node in nodes if isinstance(node, ast.Assert) and not narrows(node.test)]
    return found + [node.id for node in nodes if isinstance(node, ast.Name) and node.id == "__debug__"]


def test_no_check_of_the_product_is_an_assert():
    """All that guards privacy or input raises by itself; what was checked once is checked here."""
    files = [path for package in SHIPPED for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 100
    found = {str(path.relative_to(ROOT)): told for path in files if (told := loose(path.read_text(encoding="utf-8")))}
    assert found == {}
    assert len(_START_SETTINGS) == _STARTS


def test_a_check_that_is_an_assert_is_seen():
    """And what only narrows a type is not."""
    assert loose("assert a is not None\nassert isinstance(a, int)") == []
    seen = ["assert a", "assert a == 1", "assert a is not b", "assert a is not None and b", "assert a is None"]
    assert [loose(each) for each in [*seen, "if __debug__:\n    a()"]] == [*([each] for each in seen), ["__debug__"]]


def optimised(*arguments: str) -> subprocess.CompletedProcess:
    """pytest under `python -O`; it rewrites the asserts of test files into code that stays."""
    command = [sys.executable, "-O", "-m", "pytest", *QUIET, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_failure_under_o_is_seen(tmp_path):
    """Otherwise the next test could not fail."""
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert __debug__\n")
    told = optimised("--rootdir", str(tmp_path), str(tmp_path))
    assert told.returncode == 1, told.stdout
    assert "1 failed" in told.stdout


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_privacy_tests_hold_under_o():
    """Door, ledger, filters, questions, tables and audit, as the suite tests them."""
    told = optimised(*PRIVACY)
    assert told.returncode == 0, told.stdout[-4000:]
