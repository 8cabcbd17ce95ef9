"""Values that may cross the boundary of a task: handles instead of curators and tables, and public values.

A curator crosses as its handle, a `PublicTable` as a `PublicHandle`; inside the task both are opened again. Anything
but handles and public values is refused, with a text that names only its type.
"""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from prefect import Task
from prefect.utilities.annotations import quote

from pubpriv.curator import Curator, RunHandle, SimulationHandle
from pubpriv.data.codec import public_value, to_json
from pubpriv.data.tables import Lacking, LeftOut, PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, PubPrivError
from pubpriv.released.estimate import replacing

_P = ParamSpec("_P")
_R = TypeVar("_R")

_LARGE = 20_000
"""In values with at least this many numbers Prefect does not search for earlier tasks' results, which takes 25
microseconds per number. (`pubpriv.tasks.runner` itself finds the tasks that made an argument.)"""


class CrossingError(PubPrivError, TypeError):
    """A value that may not cross a task boundary; the text names only its type."""


@public_value
@dataclass(frozen=True)
class PublicHandle:
    """A public table whose rows are in a file named by their hash.

    Attributes:
        path: the file.
        sha256: hash of columns and rows, as `PublicTable` computes it.
        columns: names, in order.
        dropped: number of rows left out when the table was opened.
        source: where rows were read from, for checks against private tables; see `PublicTable`.
        given_sha256, left_out, lacking: of rows that were left out; see `PublicTable`.
    """

    path: str
    sha256: str
    columns: tuple[str, ...]
    dropped: int
    source: str | None = None
    given_sha256: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    lacking: tuple[Lacking, ...] = ()

    @classmethod
    def store(cls, table: PublicTable, folder: str | os.PathLike[str]) -> "PublicHandle":
        """Write the rows under `folder` unless they are there; readers see a complete file or none.

        Only this user may read the file: even public rows should not be readable by everybody on the machine.
        """
        path = Path(folder).resolve() / f"{table.sha256}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.parent.chmod(0o700)
            with replacing(path, 0o600) as temporary, temporary.open("wb") as file:
                np.save(file, table.rows, allow_pickle=False)
        about = table.dropped, table.source, table.given_sha256, table.left_out, table.lacking
        return cls(str(path), table.sha256, tuple(table.columns), *about)

    def load(self) -> PublicTable:
        """Load the table, after checking that the rows are those that were stored.

        Raises:
            InvalidInput: the file is missing, damaged, or has other rows.
        """
        where = f"the stored public rows {self.path}"
        try:
            about = self.dropped, self.source, self.given_sha256, self.left_out, self.lacking
            table = PublicTable(self.columns, np.load(self.path, allow_pickle=False), *about)
        except (OSError, EOFError, ValueError) as error:
            raise InvalidInput(f"{where} cannot be read: delete the file and run the flow again") from error
        if table.sha256 != self.sha256:
            raise InvalidInput(f"{where} are not those stored: delete the file and run the flow again")
        return table


def check_crossing(value: Any, admit_handles: bool = True) -> None:
    """Refuse values that may not cross a task boundary.

    Allowed are public values of `pubpriv.data.codec` (with `PublicHandle`), text, numbers, booleans, None,
    tuples of these and, for private tasks, handles of runs and of private tables.

    Raises:
        CrossingError: any other value; the text names only its type.
    """
    if isinstance(value, RunHandle | SimulationHandle | PrivateTable):
        if not admit_handles:
            raise CrossingError(f"{type(value).__name__} may not enter or leave a public task")
    elif isinstance(value, tuple):
        for item in value:
            check_crossing(item, admit_handles)
    elif isinstance(value, list):
        raise CrossingError("list may not cross a task boundary: use a tuple")
    else:
        refusal = None
        try:
            to_json(value)
        except TypeError as error:
            refusal = str(error)
        if refusal is not None:
            raise CrossingError(f"may not cross a task boundary: {refusal}")


def crossing(task: Task[_P, _R], folder: str | os.PathLike[str]) -> Callable[_P, _R]:
    """Wrap a task so that it is called with curators and public tables, like the plain function.

    Args:
        task: a task from `private_task` or `public_task`.
        folder: folder for public rows that tasks read.
    """

    @functools.wraps(task.fn)
    def step(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        named = {name: for_prefect(packed(value, folder)) for name, value in kwargs.items()}
        found: _R = task(*(for_prefect(packed(value, folder)) for value in args), **named)
        return found

    return step


def packed(value: Any, folder: str | os.PathLike[str]) -> Any:
    """Replace curators and public tables by handles; other values stay as they are."""
    if isinstance(value, Curator):
        return value.handle
    return PublicHandle.store(value, folder) if isinstance(value, PublicTable) else value


def for_prefect(value: Any) -> Any:
    """Return a packed value as a task argument, marked so that Prefect does not search it if it is large."""
    return quote(value) if _is_large(value) else value


def _is_large(value: Any) -> bool:
    seen, rest = 0, [value]
    while rest and seen < _LARGE:
        item = rest.pop()
        if is_dataclass(item):
            rest += [getattr(item, field.name) for field in fields(item)]
        elif isinstance(item, tuple):
            seen += len(item)
            rest += item
    return seen >= _LARGE


@contextmanager
def unpacked(values: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Replace handles by opened curators and public tables; curators are left at the end."""
    opened: list[Curator] = []
    try:
        found: list[Any] = []
        for value in values:
            if isinstance(value, RunHandle | SimulationHandle):
                opened.append(value.open())
                found.append(opened[-1])
            else:
                found.append(value.load() if isinstance(value, PublicHandle) else value)
        yield found
    finally:
        for curator in opened:
            curator.leave()
