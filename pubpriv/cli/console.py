"""Output of the command line: results on standard output, notes and errors on standard error."""

import codecs
import json
import sys
from contextvars import ContextVar
from io import TextIOWrapper

from pubpriv.errors import InvalidInput, PubPrivError

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_PLAIN = {"±": "+-", "…": "...", "→": "->", "↑": "^"}
"""What is printed in place of a sign of ours that a console does not know."""


def any_console() -> None:
    """Let no text be refused by a console that knows few signs, as in old code pages and on minimal systems.

    A result is written before it is shown; it must not look failed because of a sign in it. Signs of ours have a plain
    form. Letters of names become escapes, which keep different names different.
    """
    codecs.register_error("plain", _in_plain_signs)
    for stream, errors in ((sys.stdout, "plain"), (sys.stderr, "plain"), (sys.stdin, "surrogateescape")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def check_arguments() -> None:
    """Refuse a command line whose letters this process cannot read: Python then has bytes in their place.

    Raises:
        InvalidInput: there are such letters, and the locale has ASCII only.
    """
    if sys.getfilesystemencoding() == "ascii" and any("\udc80" <= sign <= "\udcff" for sign in "".join(sys.argv)):
        raise InvalidInput(
            "the command line has letters that are not ASCII, and this process may read ASCII only: set LC_ALL=C.UTF-8 "
            "or PYTHONUTF8=1"
        )


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Replace signs that an encoding lacks; an error handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign) or _plain_or_escape(sign) for sign in signs), error.end


def _plain_or_escape(sign: str) -> str:
    is_of_spinner = "\u2800" <= sign <= "\u28ff"
    return "*" if is_of_spinner else sign.encode("ascii", "backslashreplace").decode("ascii")


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
    grid = Table(title=Text(_as_printed(title), style="table.title"), title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(Text(_as_printed(column)), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(_as_printed(cell)) for cell in row))
    width = None if sys.stdout.isatty() else 160
    Console(file=sys.stdout, width=width, highlight=False).print(grid)


def _as_printed(text: str) -> str:
    """Return a text as standard output shows it, so that a table knows how wide it is."""
    if not isinstance(sys.stdout, TextIOWrapper):
        return text
    return text.encode(sys.stdout.encoding, sys.stdout.errors or "strict").decode(sys.stdout.encoding)


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
