"""What the documents name exists: commands with their options, files, modules, tests, and what links lead to."""

import ast
import builtins
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
from typer.main import get_command

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WRITTEN = {"reference/command-line.md"}
"""Pages that are there in the built site only."""
PROOFS = [ROOT / "docs" / "privacy.md", ROOT / "docs" / "errata.md"]
PACKAGES = ("pubpriv",)


def spans(text: str) -> list[str]:
    """What stands in single backticks outside fenced blocks, on one line."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def commands(text: str, program: str = "pubpriv") -> list[str]:
    """Command lines of a program, in backticks or in fenced blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in [*lines, *spans(text)] if re.match(rf"{program}( |$)", line)]


def wrong_command(line: str) -> str | None:
    """What is wrong with a command line: a name that is none, or an option that its command does not take."""
    from pubpriv.cli.main import app

    here, words = get_command(app), shlex.split(line, comments=True)[1:]
    while words and hasattr(here, "commands") and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in here.commands:
            return f"{line}: there is no {name}"
        here = here.commands[name]
    known = {option for parameter in here.params for option in parameter.opts} | {"--help"}
    named = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    unknown = [option for option in named if option not in known]
    return f"{line}: there is no {', '.join(unknown)}" if unknown else None


def wrong_prefect_command(line: str) -> str | None:
    """What is wrong with a command line of Prefect's, by its own parser."""
    import cyclopts
    from prefect.cli._app import _app

    try:
        words = re.sub(r"\b([A-Z]+_)?ID\b", str(UUID(int=0)), line)  # Prefect wants a real one
        _app.parse_args(shlex.split(words.removesuffix("&"), comments=True)[1:], print_error=False, exit_on_error=False)
    except cyclopts.CycloptsError as error:
        return f"{line}: {error}"
    return None


@cache
def definitions(path: Path) -> dict[str, set[str]]:
    """Names at the top of a source file, each with the names inside if it is a class."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for name in _names(node):
            inside = node.body if isinstance(node, ast.ClassDef) else []
            found[name] = {inner for child in inside for inner in _names(child)}
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def classes() -> dict[str, set[str]]:
    """Every class of the project's packages, with the names inside."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {name: inside for path in files for name, inside in definitions(path).items() if name[0].isupper()}


def defines(path: Path, *names: str) -> bool:
    """A source file has this name, or this name in this class."""
    found = definitions(path)
    return names[0] in found and all(name in found[names[0]] for name in names[1:])


def wrong_name(span: str) -> str | None:
    """What is wrong with a file, a test, a dotted name or a class in backticks; other words are not looked at."""
    right = True
    if match := re.fullmatch(r"([\w./-]+\.py)::(\w+)", span):
        path = ROOT / match[1]
        right = path.is_file() and defines(path, match[2])
    elif re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", span) or re.fullmatch(r"[\w-]+\.(py|md|toml)", span):
        right = (ROOT / span).exists() or (ROOT / "pubpriv" / span).exists()  # an sdist has no links at the top
    elif re.fullmatch(rf"({'|'.join(PACKAGES)})(\.\w+)+", span):
        right = _resolves(span.split("."))
    elif match := re.fullmatch(r"([A-Z][a-z]\w*)(?:\.(\w+))?", span):
        inside = classes().get(match[1])
        right = hasattr(builtins, match[1]) or (inside is not None and match[2] in {None, *inside})
    return None if right else f"{span} does not exist"


def _resolves(parts: list[str]) -> bool:
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:length])
        module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module.is_file():
            return length == len(parts) or defines(module, *parts[length:])
    return False


def faults(text: str) -> Iterator[str]:
    """What a page about proofs names and does not exist."""
    yield from filter(None, map(wrong_name, spans(text)))
    for name, file in re.findall(r"`(\w+)`\s+in\s+`([\w./]+\.py)`", text):
        if not defines(ROOT / file, name):
            yield f"{name} is not in {file}"
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    yield from (f"{name} is read nowhere" for name in re.findall(r"\bPUBPRIV_\w+", text) if name not in sources)


def dead_links(page: Path, text: str) -> list[str]:
    """Relative links that lead nowhere."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    made = {ROOT / "docs" / name for name in WRITTEN} | {page.parent / name for name in targets if "gallery/" in name}
    there = {target for target in targets if "://" in target or (page.parent / target).exists()}
    return [target for target in targets if target not in there and page.parent / target not in made]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page):
    """Every `pubpriv ...` on a page is a command of the program, with options that it takes."""
    assert [wrong for line in commands(page.read_text(encoding="utf-8")) if (wrong := wrong_command(line))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prefect_commands_exist(page):
    """Every `prefect ...` on a page is a command of the Prefect that is installed, with options that it takes."""
    lines = commands(page.read_text(encoding="utf-8"), "prefect")
    assert [wrong for line in lines if (wrong := wrong_prefect_command(line))] == []


@pytest.mark.parametrize("line", ["prefect worker strat", "prefect gcl update NAME --active-slot 0"])
def test_a_prefect_command_that_is_none_is_seen(line):
    """Wrong commands and options of Prefect's."""
    assert wrong_prefect_command(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Relative links resolve from the folder of their page."""
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.long
@pytest.mark.parametrize("page", PROOFS, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_exist(page):
    """Files, tests, modules, classes, functions and variables that the proofs point to are there."""
    text = page.read_text(encoding="utf-8")
    assert sum("::test_" in span for span in spans(text)) > 10
    assert list(faults(text)) == []


def test_the_page_for_reviewers_names_files_and_their_sizes():
    """Each pattern finds files, and each part has as many lines as the page says, within a tenth."""
    page = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")
    parts = re.findall(r"^\| \d\. .* \| (`pubpriv/.*`) \| ([\d,]+) \|$", page, flags=re.MULTILINE)
    assert len(parts) == 9
    for files, lines in parts:
        named = {pattern: [*ROOT.glob(pattern)] for pattern in spans(files)}
        assert [pattern for pattern, paths in named.items() if not paths] == []
        counted = sum(path.read_text(encoding="utf-8").count("\n") for paths in named.values() for path in paths)
        assert abs(counted - int(lines.replace(",", ""))) <= counted / 10, (files, counted)
    tests = [span for span in spans(page) if span.startswith("tests/")]
    assert [name for name in tests if not (ROOT / name).exists()] == []


WRONG_COMMANDS = [
    "pubpriv budgets",
    "pubpriv budget shew visits",
    "pubpriv audit --quick",
    "pubpriv ledger verify -f x",
]
WRONG_NAMES = [
    *("tests/whole/test_docs.py::test_nothing", "tests/test_dogs.py::test_names_exist", "pubpriv/privacy/doors.py"),
    *("pubpriv.privacy.doors", "pubpriv.curator.Curator.give", "Curator.give", "Curater", "lawyer.md"),
]


@pytest.mark.parametrize("line", WRONG_COMMANDS)
def test_a_command_that_is_none_is_seen(line):
    """Wrong groups, commands and options, in prose and in blocks."""
    for text in (f"Run `{line}` now.", f"```\n{line}\n```\n"):
        assert [wrong_command(found) for found in commands(text)] != [None]
        assert commands(text) == [line]


@pytest.mark.parametrize("span", WRONG_NAMES)
def test_a_name_that_is_none_is_seen(span):
    """Wrong tests, files, modules, attributes and classes."""
    assert list(faults(f"See `{span}`.")) == [f"{span} does not exist"]


def test_other_faults_are_seen():
    """A function in the wrong file, a variable that nobody reads, a link to nowhere."""
    assert list(faults("`release` in `pubpriv/curator.py`")) == ["release is not in pubpriv/curator.py"]
    assert list(faults("`new_release_id` in `pubpriv/ledger/questions.py`")) == []
    assert list(faults("set `PUBPRIV_LODGER`")) == ["PUBPRIV_LODGER is read nowhere"]
    links = "[a](errata.md) [b](eratta.md#c) [d](https://example.org)"
    assert dead_links(ROOT / "docs" / "privacy.md", links) == ["eratta.md"]
