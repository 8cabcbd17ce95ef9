"""Table names as the ledger compares them: one table has one budget, however it is written."""

import re
from collections.abc import Callable, Sequence
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
    """Some file could belong to both names, each of a file, a folder, or a glob of files or folders.

    `*`, `?` and `[...]` stay inside one folder, `**` does not; brackets count as any character. Where globs could
    go either way, they overlap: a table that is refused can be declared under another name, and one with two
    budgets cannot be taken back.
    """
    mine, others = ([*name.rstrip("/").split("/"), "**"] for name in (ours, theirs))
    return _meet(mine, others, any_of="**", alike=_alike)


def _alike(ours: str, theirs: str) -> bool:
    """One name within a folder could be both."""
    a, b = _BRACKETS.sub("?", ours), _BRACKETS.sub("?", theirs)
    return _meet(a, b, any_of="*", alike=lambda x, y: x == y or "?" in (x, y))


def _meet(ours: Sequence[str], theirs: Sequence[str], any_of: str, alike: Callable[[str, str], bool]) -> bool:
    """Some sequence matches both patterns, in which `any_of` stands for any number of items."""
    # reachable[j]: what is read of ours so far, and the first j items of theirs, match the same sequence
    reachable = [all(item == any_of for item in theirs[:j]) for j in range(len(theirs) + 1)]
    for item in ours:
        row = [reachable[0] and item == any_of]
        for j, other in enumerate(theirs):
            if any_of in (item, other):
                row.append(reachable[j + 1] or row[j])
            else:
                row.append(reachable[j] and alike(item, other))
        reachable = row
    return reachable[-1]


_BRACKETS = re.compile(r"\[[^]]*\]")
