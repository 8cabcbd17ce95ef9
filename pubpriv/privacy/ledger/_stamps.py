"""What every record says beside its facts: when it was appended, by whom, on which machine, by which version."""

import getpass
import os
import socket
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

_LONGEST_NAME = 300
"""Characters of a user and of a machine."""

_LOGIN_NAMES = "LOGNAME", "USER", "LNAME", "USERNAME"
"""Variables that say who the user is; without any, the number of the user does."""


def stamp() -> dict[str, str]:
    """Say when (UTC, ISO 8601), by whom, where and by which version a record is appended now."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "user": _printable(_user()),
        "host": _printable(socket.gethostname()),
        "version": installed_version(),
    }


@lru_cache(maxsize=1)
def installed_version() -> str:
    """Name the version of pubpriv, which every record carries."""
    try:
        return version("pubpriv")
    except PackageNotFoundError:
        return "unknown"


def _user() -> str:
    return _login(os.getuid(), *map(os.environ.get, _LOGIN_NAMES))


@lru_cache(maxsize=1)
def _login(*_: int | str | None) -> str:
    """Ask the system, which may ask a directory elsewhere; again only where that may have changed."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _printable(text: str) -> str:
    """What the system says of a user or a machine, on one line that can be shown: a variable may hold anything."""
    return "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_NAME]) or "unknown"
