"""Private tables in the memory of this process, by the names that their owners gave them.

A handle contains the table's name and no rows, like the handle of a file. The rows stay here until another table gets
that name, or until the process ends. The ledger knows only the name, and cannot check that a table always has the same
one.
"""

import re
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from pubpriv.common.tables import IN_MEMORY
from pubpriv.data._arrow import is_dataset, is_polars
from pubpriv.data.formats._layout import BATCH, Look, Piece, check_rows
from pubpriv.data.formats.pandas_columns import column_of, is_untyped
from pubpriv.data.formats.parquet import TIMES_WRAP, times_that_wrap
from pubpriv.errors import InvalidInput

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_WHAT = (
    "a private table is the path of a file (Parquet, CSV, Feather, Excel, SPSS, Stata, SAS), of a folder or a glob, or "
    "a table in memory: a DataFrame of pandas or polars, a table or dataset of pyarrow, a relation of DuckDB"
)


@dataclass(frozen=True, eq=False, repr=False)
class _Kept:
    """A table under its name.

    Attributes:
        table: Arrow table.
        untyped: columns whose cells are bytes, read one by one.
    """

    table: Any
    untyped: frozenset[str] = frozenset()


_tables: dict[str, _Kept] = {}
_columns: dict[str, frozenset[str]] = {}
"""Columns with which handles of a table were ever opened: a later handle does not remove those of earlier ones."""

_frames: "WeakValueDictionary[int, Any]" = WeakValueDictionary()
"""The original objects, as long as somebody else references them."""


IN_USE = (
    "the connection of this relation has a result that was not read to its end. Fetch all of it, or make the relation "
    "from a connection of its own, cursor()"
)
"""What is wrong with a relation whose connection is in use, for messages."""


def keep(frame: Any, name: str | None, columns: Sequence[str]) -> str:
    """Keep the columns of a table under a name.

    Args:
        frame: a DataFrame of pandas, a dataset of pyarrow, or an object with Arrow's C stream.
        name: the table's name in the ledger.
        columns: names of the columns to keep, in addition to those of earlier handles.

    Returns:
        The canonical name.

    Raises:
        InvalidInput: not a table, no name, or columns that Arrow cannot name or type.
    """
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    ours = pandas is not None and isinstance(frame, pandas.DataFrame)
    if not (ours or is_dataset(frame) or hasattr(frame, "__arrow_c_stream__")):
        raise InvalidInput(f"{_WHAT}; this is a {type(frame).__name__}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            'a private table in memory needs a name by which the ledger knows it, of letters, digits, ".", "_" and '
            '"-", always the same one: PrivateTable.open(frame, columns, name="patients")'
        )
    table, read, in_use = None, _columns.get(name, frozenset()).union(columns), False
    wrapping: list[str] = []
    try:
        wrapping = times_that_wrap(frame, read) if is_dataset(frame) else []
        table = _of_pandas(frame, read) if ours else _of_arrow(frame, read)
    except Exception as error:  # the cause may quote a cell, so it ends here; its class is that of a state
        in_use = is_in_use(error)
    if in_use:
        raise InvalidInput(f"the private table {name!r} in memory cannot be read: {IN_USE}")
    if wrapping:
        raise InvalidInput(f"column {wrapping[0]!r} of the private table {name!r} in memory {TIMES_WRAP}")
    if table is None:
        raise InvalidInput(
            f"the private table {name!r} in memory has columns that Arrow has no types for: give each column one type"
        )
    _tables[name], _columns[name] = table, read
    with suppress(TypeError):  # objects of some classes cannot be referenced weakly
        _frames[id(frame)] = frame
    return f"{IN_MEMORY}{name}"


def is_in_use(error: BaseException) -> bool:
    """Return whether an error says that the connection of a relation is in use."""
    return type(error).__name__ == "ResourceInUseException"


def is_private(frame: Any) -> bool:
    """Return whether this very object was opened as a private table; a copy is not recognised."""
    return id(frame) in _frames and _frames[id(frame)] is frame


def untyped_columns(path: str) -> frozenset[str]:
    """Return the columns without a type of a table in memory: pandas calls them `object`."""
    return _found(path).untyped


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Return the schema and the number of rows."""
    kept = _found(path)
    rows = kept.table.num_rows
    pieces = tuple(Piece(i, min(BATCH, rows - start)) for i, start in enumerate(range(0, rows, BATCH)))
    return Look(kept.table.schema, pieces, kept.untyped)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: there are fewer rows now.
    """
    found = _found(path).table.select(list(columns)).slice(piece.number * BATCH, piece.rows)
    check_rows(found.num_rows, piece)
    yield from found.to_batches()


def _found(path: str) -> _Kept:
    name = path.removeprefix(IN_MEMORY)
    if name not in _tables:
        raise InvalidInput(
            f"the private table {path} is in the memory of the Python program that opened it, and not in this one: "
            f'open it here with PrivateTable.open(frame, columns, name="{name}")'
        )
    return _tables[name]


def _of_arrow(frame: Any, columns: Set[str]) -> _Kept:
    """A table with these columns; of the other columns it has only the names, and they may have any type."""
    import pyarrow as pa

    if is_dataset(frame):
        names = frame.schema.names
        table = frame.to_table([name for name in names if name in columns], use_threads=False)
    elif is_polars(frame):
        names = frame.columns
        table = pa.table(frame.select([name for name in names if name in columns]))
    else:
        table = pa.table(frame)
        names = table.column_names
        table = table.select([place for place, name in enumerate(names) if name in columns])
    kept, nothing = iter(table.columns), pa.nulls(len(table))
    return _Kept(pa.Table.from_arrays([next(kept) if name in columns else nothing for name in names], names=names))


def _of_pandas(frame: Any, columns: Set[str]) -> _Kept:
    """The same from pandas, by type of column."""
    import pyarrow as pa

    names, read, untyped = [str(name) for name in frame.columns], [], set()
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        kept = frame.columns[place] in columns
        read.append(column_of(series) if kept else pa.nulls(len(series)))
        if kept and is_untyped(series):
            untyped.add(name)
    return _Kept(pa.Table.from_arrays(read, names=names), frozenset(untyped))
