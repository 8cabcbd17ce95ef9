"""Columns of a public table from any source: an array, a DataFrame, an Arrow table, or files.

Loading pandas takes longer than a small fit, so it is used only if a pandas object was given.
"""

import csv
import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from io import BytesIO, TextIOWrapper
from typing import Any

import numpy as np

from pubpriv.common.inner_names import EXCEL
from pubpriv.common.tables import is_in_memory
from pubpriv.data._arrow import (
    UNKNOWN_TYPE,
    is_dataset,
    is_number,
    is_polars,
    is_read_as_number,
    numbers_of,
    validity_of,
)
from pubpriv.data._public_files import PublicFile, check_content, public_files_of, read_arrow, read_frame, unreadable
from pubpriv.data.categories import ByCategory
from pubpriv.data.category_codes import check_kind, level_numbers
from pubpriv.data.columns import Column, called_like, meant, parse_columns, sources_of, two_meanings
from pubpriv.data.formats.cells import numbers_in
from pubpriv.data.formats.memory_table import IN_USE, is_in_use, is_private
from pubpriv.data.formats.pandas_columns import are_numbers, column_of, is_untyped
from pubpriv.data.formats.parquet import TIMES_WRAP, times_that_wrap
from pubpriv.errors import InvalidInput

_SHOWN = 40
"""Most letters of a cell that a message shows."""


@dataclass(frozen=True, eq=False)
class _PublicColumn:
    """A column under its name.

    Attributes:
        name: as in the source.
        kind: type of its cells, as the source calls it.
        rows: number of cells.
        numbers: returns the cells as float64, missing ones as NaN; None if they are not numbers.
        named_only: cells are booleans or times: used as numbers only if somebody names the column.
    """

    name: str
    kind: str
    rows: int
    numbers: Callable[[], np.ndarray] | None
    named_only: bool = False
    other: str = ""
    """The first cell that is no number, of a column in which some are."""
    cells: Callable[[], Sequence[Any]] | None = None
    """Returns its cells as Arrow arrays, one after the other, for levels; None: it has no texts."""


def read_rows(source: Any, columns: Sequence[str | Column] | None) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Read columns of a public table by its canonical name, or of rows in memory; keep rows whose cells are all finite.

    Args:
        source: a canonical name, a DataFrame, an object with Arrow's C stream, or an (m, d) array.
        columns: names or expressions; None: all numeric columns, in their order.

    Returns:
        Names of the columns as written, rows (m, d), and which columns each row lacks that was left out, (any, d).

    Raises:
        InvalidInput: no such table, no row, no numeric column, no usable row, or a column that is missing, duplicated
            or not numeric.
        Unavailable: the storage does not answer.
    """
    found = columns_of_source(source, columns)
    try:
        return _chosen_rows(found, columns)
    except InvalidInput as error:
        if not isinstance(source, str) or source in str(error):
            raise
        raise InvalidInput(f"{error} (public table: {source})") from None


def select_rows(
    rows: np.ndarray, names: Sequence[str], columns: Sequence[str | Column]
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Compute `columns`, texts, from rows (m, d) whose columns are the texts `names`; see `read_rows`."""
    known = parse_columns(tuple(names))
    found = _of_array(rows, [column.source if column.function is None else "" for column in known])
    plain = [cells for cells, column in zip(found, known, strict=True) if column.function is None]
    computed = {column: cells for cells, column in zip(found, known, strict=True) if column.function is not None}
    return _chosen_rows(plain, columns, computed)


def columns_of_source(source: Any, columns: Sequence[str | Column] | None) -> list[_PublicColumn]:
    """Find the columns of a table by its canonical name, or of rows in memory.

    Raises:
        InvalidInput: no such table, or no rows of numbers.
        Unavailable: the storage does not answer.
    """
    if isinstance(source, str):
        if is_in_memory(source):
            raise InvalidInput(f"{source} is the name of a private table: give the public rows themselves")
        return _read_public(source)
    if is_private(source):
        raise InvalidInput("this table in memory was opened as a private one: give public rows")
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _of_frame(source)
    if is_polars(source):
        return [_of_polars(column) for column in source.get_columns()]
    if is_dataset(source) or hasattr(source, "__arrow_c_stream__"):
        return _of_arrow_stream(source)
    try:
        rows = np.asarray(source)
    except ValueError:  # lists of unequal length
        rows = np.empty(0)
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.number):
        given = type(source).__name__
        lazy = ": collect() it first" if given == "LazyFrame" else ""
        raise InvalidInput(
            "public rows must be a numeric (m, d) array, a DataFrame, or a file of Parquet, CSV, Feather, Excel, SPSS, "
            f"Stata or SAS; this is a {given}{lazy}"
        )
    names = [f"x{i}" for i in range(rows.shape[1])] if columns is None else list(sources_of(parse_columns(columns)))
    if len(names) != rows.shape[1]:
        raise InvalidInput(f"the public array has {rows.shape[1]} columns, but {len(names)} are named")
    return _of_array(rows, names)


def _chosen_rows(
    found: Sequence[_PublicColumn],
    columns: Sequence[str | Column] | None,
    computed: Mapping[Column, _PublicColumn] | None = None,
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Compute the chosen columns, and keep rows whose cells are all finite.

    Args:
        found: columns of the table.
        columns: texts or parsed columns; None: all numeric columns that have a name, in their order.
        computed: expressions of the table that are known already.

    Returns:
        Names of the columns as written, rows (m, d), and which columns each row lacks that was left out, (any, d).

    Raises:
        InvalidInput: no row, no numeric column, no usable row, or a column that is missing, duplicated or not numeric.
    """
    computed = computed or {}
    if not any(column.rows for column in (*found, *computed.values())):
        raise InvalidInput("the public table has no rows")
    if columns is None:
        numeric = [
            Column(column.name)
            for column in found
            if column.name and column.numbers is not None and not column.named_only
        ]
        if not numeric:
            names = [column.name for column in found]
            raise InvalidInput(
                f"the public table has no numeric column; its columns are: {', '.join(names)}{meant('', names)}"
            )
        columns = list(dict.fromkeys(numeric))  # a name that appears twice is refused below
    chosen = parse_columns(columns if isinstance(columns, str) else tuple(columns))
    own = called_like(columns, (column.name for column in found))
    if own is not None and {*own.sources} <= {column.name for column in found}:
        warnings.warn(f"the expression is used: {two_meanings(own, 'the public table')}", stacklevel=4)
    rows = np.column_stack(
        [_numbers_in(computed[column]) if column in computed else _cells_of(found, column) for column in chosen]
    )
    finite = np.isfinite(rows)
    whole = finite.all(axis=1)
    if not whole.any():
        empty = [repr(column.name) for column, cells in zip(chosen, finite.T, strict=True) if not cells.any()]
        named = f": of {', '.join(empty)} none is, so name other columns" if empty else ""
        raise InvalidInput(f"the public table has no row in which every column has a finite value{named}")
    return tuple(column.name for column in chosen), rows[whole], ~finite[~whole]


def _of_array(rows: np.ndarray, names: Sequence[str]) -> list[_PublicColumn]:
    """Columns of an (m, d) array."""
    real, kind = rows.dtype.kind in "iuf", str(rows.dtype)

    def column(i: int) -> _PublicColumn:
        numbers = (lambda: rows[:, i].astype(np.float64)) if real else None
        return _PublicColumn(names[i], kind, len(rows), numbers)

    return [column(i) for i in range(len(names))]


def _of_frame(frame: Any) -> list[_PublicColumn]:
    """Columns of a DataFrame, read as those of a private one."""
    return [_of_series(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)]


def _of_series(name: str, series: Any) -> _PublicColumn:
    kind = str(series.dtype)
    try:
        cells = column_of(series)
    except Exception:  # Arrow has no such type
        return _PublicColumn(name, kind, len(series), None)
    if is_untyped(series):
        return _of_cells(name, kind, cells, named_only=not are_numbers(series))
    return replace(_of_arrow_column(name, cells.type, getattr(cells, "chunks", [cells])), kind=kind)


def _of_cells(name: str, kind: str, cells: Any, named_only: bool) -> _PublicColumn:
    """A column without a type: numbers if every cell that is there reads as one."""
    numbers, known = numbers_in(cells), validity_of(cells)
    odd = np.flatnonzero(known & np.isnan(numbers))
    real = known.any() and not len(odd)
    other = cells[int(odd[0])].as_py() if 0 < len(odd) < known.sum() else b""
    shown = other.decode(errors="replace")[:_SHOWN] if isinstance(other, bytes) else ""
    made = numbers.copy if real else None
    return _PublicColumn(name, kind, len(cells), made, named_only, shown, lambda: [cells])


def _of_polars(series: Any) -> _PublicColumn:
    """A column of polars; if Arrow does not know its type, it is no number."""
    import pyarrow as pa

    try:
        (cells,) = pa.table(series.to_frame()).columns
    except pa.ArrowException:
        return _PublicColumn(series.name, str(series.dtype), len(series), None)
    return _of_arrow_column(series.name, cells.type, cells.chunks)


def _of_arrow_stream(source: Any) -> list[_PublicColumn]:
    """Columns of a dataset of pyarrow, or an object with an Arrow C stream: a table of polars, a relation of DuckDB."""
    try:
        wrapping = times_that_wrap(source, source.schema.names) if is_dataset(source) else []
        table = source.to_table(use_threads=False) if is_dataset(source) else _read_once(source)
    except Exception as error:
        if is_in_use(error):
            raise InvalidInput(f"the public table in memory cannot be read: {IN_USE}") from error
        raise InvalidInput(f"the public table in memory cannot be read: {' '.join(str(error).split())}") from error
    if wrapping:
        raise InvalidInput(f"column {wrapping[0]!r} of the public table in memory {TIMES_WRAP}")
    return _of_arrow_table(table)


_read: dict[int, tuple[weakref.ref[Any], Any]] = {}
"""Tables that were read of streams which are still there, by the identity of the stream."""


def _read_once(stream: Any) -> Any:
    """Read an object with an Arrow C stream, or return what was read of it before.

    A run opens its public rows several times. A relation of DuckDB is a query, and with `USING SAMPLE` it has other
    rows each time that it is run; a reader of batches is empty the second time.
    """
    import pyarrow as pa

    if isinstance(stream, pa.Table | pa.RecordBatch):
        return pa.table(stream)
    known = _read.get(id(stream))
    if known is not None and known[0]() is stream:
        return known[1]
    table, key = pa.table(stream), id(stream)
    with suppress(TypeError):  # objects of some classes cannot be referenced weakly
        _read[key] = weakref.ref(stream, lambda _: _read.pop(key, None)), table
    return table


def _of_arrow_table(table: Any) -> list[_PublicColumn]:
    """Columns of an Arrow table, except those that pandas wrote as its row index."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in index if isinstance(name, str)]
    return [
        _of_arrow_column(field.name, field.type, table.column(i).chunks)
        for i, field in enumerate(table.schema)
        if field.name not in names
    ]


def _of_arrow_column(name: str, kind: Any, chunks: Sequence[Any]) -> _PublicColumn:
    def numbers() -> np.ndarray:
        return np.concatenate([np.empty(0), *(numbers_of(chunk) for chunk in chunks)])

    made = numbers if is_read_as_number(kind) else None
    return _PublicColumn(name, str(kind), sum(map(len, chunks)), made, not is_number(kind), cells=lambda: chunks)


def _cells_of(columns: Sequence[_PublicColumn], wanted: Column) -> np.ndarray:
    """One column as float64, mapped.

    Raises:
        InvalidInput: no such column, two of them, or one that is not numeric.
    """
    cells = wanted.of(
        lambda name: _numbers_in(_named(columns, name, wanted)),
        lambda by: _levels_in(_named(columns, by.source, wanted), by),
    )
    with np.errstate(all="ignore"):
        wanted.apply(cells)
    return cells


_MOST_LISTED = 10
"""Columns that a message names all, if it also says which one was probably meant."""


def _named(columns: Sequence[_PublicColumn], name: str, wanted: Column) -> _PublicColumn:
    """The column of that name, for `wanted`; raises as `_cells_of` does."""
    matches = [column for column in columns if column.name == name]
    if len(matches) != 1:
        problem = "is missing from" if not matches else "appears more than once in"
        names = [column.name for column in columns]
        if not matches and wanted.function is not None and wanted.name in names:
            raise InvalidInput(two_meanings(wanted, "the public table"))
        hint = "" if matches else meant(name, names)
        # nobody reads on to a hint that stands behind dozens of names
        listed = "" if hint and len(names) > _MOST_LISTED else f", whose columns are: {', '.join(names)}"
        raise InvalidInput(f"column {name!r} {problem} the public table{listed}{hint}")
    return matches[0]


def _levels_in(found: _PublicColumn, by: ByCategory) -> np.ndarray:
    """Numbers of a column's levels."""
    if found.cells is None:
        raise InvalidInput(f"column {found.name!r} of the public table is {found.kind}, and has no levels of texts")
    parts = found.cells()
    for part in parts:
        check_kind(by.column, part.type, "the public table")
    return np.concatenate([np.empty(0), *(level_numbers(part, by) for part in parts)])


def _numbers_in(found: _PublicColumn) -> np.ndarray:
    if found.numbers is None:
        cell = f"; its first cell that is none is {found.other!r}" if found.other else ""
        raise InvalidInput(
            f"column {found.name!r} of the public table is {found.kind}, not a number: name other columns, or write "
            f"its cells as numbers{cell}"
        )
    return found.numbers()


def _read_public(name: str) -> list[_PublicColumn]:
    """Columns of a file, or of all files of a folder or glob."""
    files = public_files_of(name)
    return _joined(name, {file.name: _columns_in(file) for file in files})


def _columns_in(file: PublicFile) -> list[_PublicColumn]:
    """Columns of one file."""
    check_content(file)
    try:
        if file.kind == EXCEL:
            return _of_frame(read_frame(file))
        return _read_csv(file) if file.kind == "CSV" else _of_arrow_table(read_arrow(file))
    except InvalidInput:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the public table {file.name} is no text in UTF-8: save it in that encoding") from error
    except NotImplementedError as error:  # Arrow's
        raise InvalidInput(f"the public table {file.name} {UNKNOWN_TYPE}") from error
    except Exception as error:
        raise unreadable(file.name, error, file.kind) from error


def _joined(name: str, files: Mapping[str, Sequence[_PublicColumn]]) -> list[_PublicColumn]:
    """Columns of all files of a table, one file below the other. Using one that a file lacks is an error."""
    if len(files) == 1:
        return [*next(iter(files.values()))]
    by_file = {file: _by_name(columns) for file, columns in files.items()}
    names = dict.fromkeys(key for columns in by_file.values() for key in columns)
    rows = {file: max((column.rows for column in columns), default=0) for file, columns in files.items()}
    return [_joined_column(name, key[0], {file: by_file[file].get(key) for file in files}, rows) for key in names]


def _by_name(columns: Sequence[_PublicColumn]) -> dict[tuple[str, int], _PublicColumn]:
    """Columns by their names, and by how many columns of that name are before them."""
    counted: Counter[str] = Counter()
    found = {}
    for column in columns:
        found[column.name, counted[column.name]] = column
        counted[column.name] += 1
    return found


def _joined_column(
    table: str, name: str, parts: Mapping[str, _PublicColumn | None], rows: Mapping[str, int]
) -> _PublicColumn:
    """One column of all files, of which some may lack it, or have no number in it."""
    there = {file: part for file, part in parts.items() if part is not None}
    numbers = {file: part for file, part in there.items() if part.numbers is not None}
    odd = next((file for file, part in parts.items() if part is None), None)
    words = next((file for file, part in there.items() if file not in numbers and part.kind != "null"), None)

    def joined() -> np.ndarray:
        if odd is not None:
            raise InvalidInput(
                f"column {name!r} is missing from {odd}, and other files of the public table {table} have it: write it "
                "there too, name other columns, or name the files that have it by a glob"
            )
        if words is not None:
            raise InvalidInput(
                f"column {name!r} is {there[words].kind} in {words}, and a number in other files of the public table "
                f"{table}: write its cells alike, or name other columns"
            )
        return np.concatenate([_numbers_or_none(part, rows[file]) for file, part in there.items()])

    def cells() -> list[Any]:
        return [array for part in there.values() if part.cells is not None for array in part.cells()]

    known = words is None or any(np.isfinite(part.numbers()).any() for part in numbers.values() if part.numbers)
    first = next(iter(there.values())) if words is None else there[words]
    named_only = all(part.named_only for part in numbers.values())
    made = joined if numbers and known else None
    texts = None if odd is not None or any(part.cells is None for part in there.values()) else cells
    return _PublicColumn(name, first.kind, sum(rows.values()), made, named_only, cells=texts)


def _numbers_or_none(column: _PublicColumn, rows: int) -> np.ndarray:
    """Cells of a column of one file; in one without a type all are missing."""
    return np.full(rows, np.nan) if column.numbers is None else column.numbers()


def _read_csv(file: PublicFile) -> list[_PublicColumn]:
    """Columns with their names as written; pandas would rename the second of two equal names, and an empty one."""
    import pandas as pd

    lines = filter(None, csv.reader(TextIOWrapper(BytesIO(file.content), "utf-8-sig", newline="")))
    header, first = next(lines, []), next(lines, [])
    if len(header) < len(first):  # pandas would take the first cells as row names
        raise InvalidInput(
            f"lines of the public table {file.name} have more cells than its header"
            f"{meant('', header) or ': name each column, or leave out commas at the ends of lines'}"
        )
    frame = pd.read_csv(BytesIO(file.content))
    written = (
        pd.read_csv(BytesIO(file.content), header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    )
    if len(written) == frame.shape[1]:
        frame.columns = pd.Index(written)
    texts = cache(lambda: pd.read_csv(BytesIO(file.content), dtype=str, keep_default_na=False))
    columns = [
        column if column.numbers else _of_cells(column.name, column.kind, _texts_of(frame.iloc[:, i]), True)
        for i, column in enumerate(_of_frame(frame))
    ]
    # levels are texts as they are written, as those of a private file are
    return [replace(column, cells=partial(_cells_in, texts, i)) for i, column in enumerate(columns)]


def _cells_in(texts: Callable[[], Any], i: int) -> list[Any]:
    """Cells of a column of a CSV file as they are written."""
    return [_texts_of(texts().iloc[:, i])]


def _texts_of(series: Any) -> Any:
    """Cells that pandas read as texts, in bytes, as those of a private file are: an empty one is missing."""
    import pyarrow as pa

    texts = series.fillna("").astype(str)  # pandas itself leaves some missing cells empty
    return pa.array([text.encode() or None for text in texts], pa.binary())
