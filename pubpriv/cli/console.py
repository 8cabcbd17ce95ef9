"""Output of the command line: results on standard output, notes and errors on standard error."""

import json
import sys
from contextvars import ContextVar

from pubpriv.errors import PubPrivError

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def out(text: str = "") -> None:
    """Print a line of a result."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


manner: ContextVar[str] = ContextVar("manner", default="text")
"""Form of the output of `note` and `fail`: `text`, `quiet` (only errors) or `json` (one object per line)."""


def note(text: str) -> None:
    """Print a line for the user, or log it as an event with `json`."""
    if manner.get() == "json":
        level = "warning" if text.startswith("warning:") else "info"
        _line(json.dumps({"level": level, "event": "note", "message": text}))
    elif manner.get() == "text":
        _line(text)


def caution(text: str) -> None:
    """Print a line even under `--quiet`: why the exit code is not zero although there is a result."""
    if manner.get() == "quiet":
        _line(text)
    else:
        note(text)


def _line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output; cells are texts."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # names are other people's text: in `Text` their brackets are not markup
    grid = Table(title=Text(title, style="table.title"), title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(Text(column), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    width = None if sys.stdout.isatty() else 160
    Console(file=sys.stdout, width=width, highlight=False).print(grid)


def fail(error: BaseException) -> int:
    """Print an error as one line and return the exit code."""
    if isinstance(error, PubPrivError):
        text, code = f"error: {' '.join(str(error).split())}", error.exit_code  # in one line
    elif isinstance(error, KeyboardInterrupt):
        text, code = "interrupted: answers that were paid for are kept", INTERRUPTED
    else:
        name = type(error).__name__
        text, code = f"error: a defect in pubpriv ({name}); nothing private is in this line. Please report it", 1
    if manner.get() == "json":
        message = text.removeprefix("error: ")
        event = {"level": "error", "event": "failed", "error": type(error).__name__, "message": message}
        text = json.dumps(event | {"exit_code": code})
    _line(text)
    return code
