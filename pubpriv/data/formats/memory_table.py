"""Private tables in the memory of this process, by the names that their owners gave them.

A handle contains the table's name and no rows, like the handle of a file. The rows stay here until another table gets
that name, or until the process ends. The ledger knows only the name, and cannot check that a table always has the same
one.
"""

import re
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from pubpriv.common.tables import IN_MEMORY
from pubpriv.data.formats._layout import BATCH, Look, Piece
from pubpriv.errors import InvalidInput

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_WHAT = (
    "a private table is the path of a Parquet, CSV or Feather file, of a folder or a glob, or a table in memory: a "
    "DataFrame of pandas or polars, a table of pyarrow, a relation of DuckDB"
)

_tables: dict[str, Any] = {}
_columns: dict[str, frozenset[str]] = {}
"""Columns with which handles of a table were ever opened: a later handle does not remove those of earlier ones."""

_frames: "WeakValueDictionary[int, Any]" = WeakValueDictionary()
"""The original objects, as long as somebody else references them."""


def keep(frame: Any, name: str | None, columns: Sequence[str]) -> str:
    """Keep the columns of a table under a name.

    Args:
        frame: a DataFrame of pandas, or an object with Arrow's C stream.
        name: the table's name in the ledger.
        columns: names of the columns to keep, in addition to those of earlier handles.

    Returns:
        The canonical name.

    Raises:
        InvalidInput: not a table, no name, or columns that Arrow cannot name or type.
    """
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    ours = pandas is not None and isinstance(frame, pandas.DataFrame)
    if not ours and not hasattr(frame, "__arrow_c_stream__"):
        raise InvalidInput(f"{_WHAT}; this is a {type(frame).__name__}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            'a private table in memory needs a name by which the ledger knows it, of letters, digits, ".", "_" and '
            '"-", always the same one: PrivateTable.open(frame, columns, name="patients")'
        )
    table, read = None, _columns.get(name, frozenset()).union(columns)
    with suppress(Exception):  # the cause may quote a cell, so it ends here
        table = _of_pandas(frame, read) if ours else _of_arrow(frame, read)
    if table is None:
        raise InvalidInput(
            f"the private table {name!r} in memory has columns that Arrow has no types for: give each column one type"
        )
    _tables[name], _columns[name] = table, read
    with suppress(TypeError):  # objects of some classes cannot be referenced weakly
        _frames[id(frame)] = frame
    return f"{IN_MEMORY}{name}"


def is_private(frame: Any) -> bool:
    """Return whether this very object was opened as a private table; a copy is not recognised."""
    return id(frame) in _frames and _frames[id(frame)] is frame


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Return the schema and the number of rows."""
    table = _found(path)
    starts = range(0, table.num_rows, BATCH)
    return Look(table.schema, tuple(Piece(i, min(BATCH, table.num_rows - start)) for i, start in enumerate(starts)))


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: there are fewer rows now.
    """
    found = _found(path).select(list(columns)).slice(piece.number * BATCH, piece.rows)
    if found.num_rows != piece.rows:
        raise InvalidInput("the private table was replaced while it was read")
    yield from found.to_batches()


def _found(path: str) -> Any:
    name = path.removeprefix(IN_MEMORY)
    if name not in _tables:
        raise InvalidInput(
            f"the private table {path} is in the memory of the Python program that opened it, and not in this one: "
            f'open it here with PrivateTable.open(frame, columns, name="{name}")'
        )
    return _tables[name]


def _of_arrow(frame: Any, columns: Set[str]) -> Any:
    """An Arrow table with these columns; of the other columns it has only the names."""
    import pyarrow as pa

    table = pa.table(frame)
    read = [table.column(i) if name in columns else pa.nulls(len(table)) for i, name in enumerate(table.column_names)]
    return pa.Table.from_arrays(read, names=table.column_names)


def _of_pandas(frame: Any, columns: Set[str]) -> Any:
    """The same from pandas, by type of column: objects, texts and categories of these are kept if they may be ids."""
    import pandas as pd
    import pyarrow as pa

    def is_text(kind: Any) -> bool:
        return pd.api.types.is_object_dtype(kind) or isinstance(kind, pd.StringDtype)

    def column(place: int) -> Any:
        series = frame.iloc[:, place]
        if frame.columns[place] not in columns:
            return pa.nulls(len(series))
        if is_text(series.dtype):
            return _texts(series)
        if isinstance(series.dtype, pd.CategoricalDtype) and is_text(series.cat.categories.dtype):
            codes = series.cat.codes.to_numpy()
            return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _texts(series.cat.categories))
        return pa.Array.from_pandas(series)

    names = [str(name) for name in frame.columns]
    return pa.Table.from_arrays([column(place) for place in range(len(names))], names=names)


def _texts(cells: Any) -> Any:
    """Make an Arrow array of ids as bytes."""
    import pyarrow as pa

    return pa.array([_text(cell) for cell in cells], pa.binary())


def _text(cell: Any) -> bytes | None:
    """Convert an id to bytes; None if it is not text, bytes or an integer. Never fails on a value."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogatepass")
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return str(int(cell)).encode()
    return cell if isinstance(cell, bytes) else None
