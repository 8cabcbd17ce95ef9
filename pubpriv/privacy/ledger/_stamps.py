"""The stamp in every record: when it was appended, by whom, on which machine, by which version."""

import getpass
import os
import socket
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

_LONGEST_NAME = 300
"""Longest name of a user and of a machine, in characters."""

_LOGIN_NAMES = "LOGNAME", "USER", "LNAME", "USERNAME"
"""Environment variables with the user's name; without any, the user's number is looked up."""


def stamp() -> dict[str, str]:
    """Return the stamp of a record that is appended now: time (UTC, ISO 8601), user, host and version."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "user": _printable(_user()),
        "host": _printable(socket.gethostname()),
        "version": installed_version(),
    }


@lru_cache(maxsize=1)
def installed_version() -> str:
    """Return the version of pubpriv, which is in every record."""
    try:
        return version("pubpriv")
    except PackageNotFoundError:
        return "unknown"


def _user() -> str:
    return _login(os.getuid(), *map(os.environ.get, _LOGIN_NAMES))


@lru_cache(maxsize=1)
def _login(*_: int | str | None) -> str:
    """The user's name from the system, which may query a directory; cached until the arguments change."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _printable(text: str) -> str:
    """Make a name of a user or a machine printable on one line, since a variable may contain anything."""
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_NAME]) or "unknown"
