"""The first steps of every estimate from files: open the public table, look at the private one's schema.

Steps are plain functions in a frozen bundle; `watcher` is how a console follows them.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from pubpriv.data.tables import PrivateTable, PublicTable

Step = Callable[..., Any]

watcher: ContextVar[Callable[[str, Step], Step] | None] = ContextVar("watcher", default=None)
"""Wrapped around every step of a job if it is set: how a console follows a run that a flow makes."""


def ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """The public rows in `path`; `content` is the file's hash, so that nothing stale is taken for it."""
    del content
    return PublicTable.open(path, columns)


def ingest_private(uri: str, columns: tuple[str, ...], exact: bool) -> PrivateTable:
    """A handle on the private table: schema and row count are looked at, rows are not."""
    return PrivateTable.open(uri, columns, exact)
