"""The first steps of every estimate from files: open the public table, look at the private one's schema.

Steps are plain functions in a frozen bundle; `watcher` is how a console follows them, and `settling` how a resumed
run goes on from what they made.
"""

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
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


def settling(settled_in: Callable[[str, Callable[[], Any]], Any], method: str) -> Callable[[str, Step], Step]:
    """For a bundle's `wrapped`: each step's value is settled in a run, by its name and how often it was called.

    Args:
        settled_in: `Curator.settled` of the run.
        method: whose steps they are.
    """
    calls: Counter[str] = Counter()

    def around(name: str, step: Step) -> Step:
        def settled(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return settled_in(f"{method}/{name}-{calls[name]}", partial(step, *args, **kwargs))

        return settled

    return around
