"""Table names as the ledger compares them: one table has one budget, however it is written."""

from fnmatch import fnmatch
from urllib.parse import unquote


def plain(uri: str) -> str:
    """A `file://` URI of this machine as its path; other names as they are, without a trailing slash.

    Symbolic links are resolved by whoever opens the table; the ledger never looks at files.
    """
    local = uri.removeprefix("file://").removeprefix("localhost")
    if uri.startswith("file://") and local.startswith("/"):
        uri = unquote(local)
    return uri.rstrip("/") or uri


def overlap(ours: str, theirs: str) -> bool:
    """One of two names is the other, lies in its folder, or matches its glob."""

    def covers(outer: str, inner: str) -> bool:
        return outer == inner or inner.startswith(outer.rstrip("/") + "/") or fnmatch(inner, outer)

    return covers(ours, theirs) or covers(theirs, ours)
