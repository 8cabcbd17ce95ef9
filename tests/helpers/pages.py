"""Pages whose blocks are run as they stand: commands and Python, in order, in one fresh folder.

A block `console` holds commands after `$ ` and what they print; `python` is run, one block after another in the same
names; a block with a title is written to a file of that name. Anything else needs `<!-- not run: why -->` above it.
What is printed is compared without its numbers, lines and spaces, for noise is drawn anew each time; a line `...`
stands for any lines. With `PUBPRIV_WRITE_PAGES=1` pages get the output of the day in the place of what they had.
"""

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pubpriv.cli.main import main
from pubpriv.errors import NoAnswer

_BLOCK = re.compile(r"(?P<why><!-- not run: [^>]+-->\n)?^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_NUMBER = re.compile(r"\b[0-9a-f]{12,}\b|[-+\u2212]?\b\d[\d.,]*(?:e[-+]?\d+)?(?:[TZ:-][\d:.+]+)*%?|\b(?:inf|nan)\b")
_FRAME = re.compile(r"[┏┓┗┛┡┩└┘├┤┬┴┼┳┻╇╈━─│┃]+")
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its kind, the file it is written to, its text, and why it is not run."""

    kind: str
    title: str
    body: str
    why: str
    start: int
    end: int

    def steps(self) -> Iterator[tuple[str, str]]:
        """Commands of a console block with what they print."""
        for part in re.split(r"^\$ ", self.body, flags=re.M)[1:]:
            command, told = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, flags=re.S).groups()
            yield command.replace("\\\n", " "), told


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page."""
    found = []
    for match in _BLOCK.finditer(text):
        kind = match["head"].split(" ")[0]
        title = _TITLE.search(match["head"])
        named = title[1] if title else ""
        found.append(Block(kind, named, match["body"], match["why"] or "", match.start("body"), match.end("body")))
    return found


def shape(text: str) -> list[str]:
    """Lines of an output without numbers, frames of tables and spaces; lines with nothing else are left out."""
    lines = [_NUMBER.sub("#", _FRAME.sub(" ", line)) for line in text.splitlines()]
    return [" ".join(line.split()) for line in lines if line.split()]


def agrees(told: str, shown: str) -> bool:
    """What was printed has the shape of what a page shows; where it shows no warning, noise may have brought one."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shape(shown))
    calm = "warning: " not in shown
    lines = [line for line in shape(told) if not (calm and line.startswith(("warning: ", "hint: ")))]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


class FlaggedError(Exception):
    """An estimate that did not converge, for want of luck with its noise."""


@dataclass
class Session:
    """A person at the keyboard, in the current folder."""

    environment: dict[str, str]
    code: int = 0
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def run(self, command: str) -> str:
        """What a command prints, and its errors with it; `pubpriv` alone runs in this process, which is quicker."""
        words = [expandvars(word, self.environment) for word in shlex.split(command, comments=True)]
        if words == ["echo", "$?"]:
            told, self.code = f"{self.code}\n", 0
            return told
        if self.code == NoAnswer.exit_code:
            raise FlaggedError(command)
        assert self.code == 0, f"exit code {self.code} before: {command}"
        if words[0] == "export":
            self.environment.update(word.split("=", 1) for word in words[1:])
            return ""
        plain = words[0] == "pubpriv" and not {"|", ">", "<", "&&", ";"} & set(words)
        return self._program(words) if plain else self._shell(command)

    def python(self, source: str) -> None:
        """Run a block in the names of those before it."""
        with redirect_stdout(io.StringIO()):
            exec(compile(source, "page", "exec"), self.names)

    def _program(self, words: list[str]) -> str:
        told = io.StringIO()
        before, sys.argv = sys.argv, words
        outside = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            with redirect_stdout(told), redirect_stderr(told):
                main()
        except SystemExit as left:
            self.code = int(left.code or 0)
        finally:
            sys.argv = before
            for name, value in outside.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        return _told(told.getvalue())

    def _shell(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | self.environment | {"PATH": path}
        done = subprocess.run(
            ["bash", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=120,
        )
        self.code = done.returncode
        return _told(done.stdout)


def expandvars(word: str, environment: dict[str, str]) -> str:
    """Put in what the shell knows of `$NAME`."""
    known = environment | {"PWD": str(Path.cwd())}
    return re.sub(r"\$([A-Z]+)", lambda match: known.get(match[1], match[0]), word)


def _told(text: str) -> str:
    """What a person reads in whose home this is."""
    return text.replace(str(Path.cwd()), "/home/analyst")


@contextmanager
def ran(page: Path, environment: dict[str, str], write: bool = False) -> Iterator[list[str]]:
    """Run a page in a fresh folder, which stays for as long as the context; give what does not agree.

    Noise is real, and some runs in a hundred are flagged for it: then all of it is run once more.
    """
    for last in (False, True):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            try:
                faults = run_page(page, environment, write)
            except FlaggedError:
                if last:
                    raise
                continue
            yield faults
            return


def run_page(page: Path, environment: dict[str, str], write: bool = False) -> list[str]:
    """Run all blocks of a page in the current folder; return what does not agree.

    Args:
        page: to run.
        environment: variables of the person's shell.
        write: put what is printed into the page, but where `...` stands for it.
    """
    text = page.read_text(encoding="utf-8")
    session, faults, changes = Session(dict(environment)), [], []
    for block in blocks(text):
        if block.why:
            continue
        if block.title:
            Path(block.title).write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            session.python(block.body)
        elif block.kind == "console":
            body, wrong = _console(session, block)
            faults += wrong
            changes.append((block, body))
        else:
            faults.append(f"{page.name}: a block {block.kind!r} that is neither run nor said not to be")
    if write:
        for block, body in reversed(changes):
            text = text[: block.start] + body + text[block.end :]
        page.write_text(text, encoding="utf-8")
        return []
    return faults


def _console(session: Session, block: Block) -> tuple[str, list[str]]:
    """Run a console block; its text as it should be, and what is wrong with it."""
    written, faults = [], []
    originals = [match[0] for match in re.finditer(r"^\$ (?:[^\n]*\\\n)*[^\n]*\n", block.body, flags=re.M)]
    for original, (command, shown) in zip(originals, block.steps(), strict=True):
        told = session.run(command)
        good = agrees(told, shown)
        kept = shown if good and "..." in shape(shown) else "".join(f"{line.rstrip()}\n" for line in told.splitlines())
        written.append(original + kept)
        faults += [] if good else [f"$ {command}\nprints\n{told}\nwhere the page shows\n{shown}"]
    return "".join(written), faults
