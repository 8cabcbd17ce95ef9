"""A folder's face: what begins with an underscore is its own, and what others call says what it does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pubpriv

PACKAGE = Path(pubpriv.__file__).parent


def imported(source: str) -> Iterator[str]:
    """Full names of what a file imports, modules and names alike."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def strangers(folder: str, source: str) -> list[str]:
    """What a file of a folder (`pubpriv.data`) imports of another folder's own modules."""
    found = []
    for name in imported(source):
        owner, hidden, _ = name.partition("._")
        if hidden and owner.startswith("pubpriv.") and not f"{folder}.".startswith(f"{owner}."):
            found.append(name)
    return found


def test_modules_with_an_underscore_are_used_by_their_folder_alone():
    """In the package; tests may look inside."""
    files = list(PACKAGE.rglob("*.py"))
    assert len([path for path in files if path.name.startswith("_") and path.name != "__init__.py"]) > 100
    for path in files:
        folder = ".".join(("pubpriv", *path.parent.relative_to(PACKAGE).parts))
        assert strangers(folder, path.read_text()) == [], path


@pytest.mark.parametrize(
    ("folder", "clean"),
    [("pubpriv.data", True), ("pubpriv.data.questions", True), ("pubpriv.database", False), ("pubpriv", False)],
)
def test_strangers_are_found(folder, clean):
    """The folder itself and those in it are none; one whose name begins like it, or that holds it, is."""
    for source in (
        "from pubpriv.data._dates import a",
        "from pubpriv.data import _dates",
        "import pubpriv.data._dates",
    ):
        assert (strangers(folder, source) == []) == clean


NAMES_A_THING = {"A", "An", "All", "Each", "Every", "How", "One", "The", "What", "Where", "Whether", "Which", "Whose"}
"""First words of texts that say what something is, where a function's says what it does."""


def without_verb(source: str) -> list[str]:
    """Public functions whose docstrings begin with such a word; a property is a thing, and may."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
        and (ast.get_docstring(node) or "-").split()[0] in NAMES_A_THING
    ]


def test_docstrings_of_public_functions_begin_with_a_verb():
    """Of a folder's face; what is its own may be described as its readers like."""
    assert without_verb('def f():\n    """The answer."""\n') == ["f"]
    assert without_verb('@property\ndef f():\n    """The answer."""\n') == []
    for path in PACKAGE.rglob("*.py"):
        if not path.name.startswith("_"):
            assert without_verb(path.read_text()) == [], path
