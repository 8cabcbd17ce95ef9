"""Tables: the only file that opens private data, and the public rows beside it.

A `PrivateTable` is an opaque handle: where the file is configured to be, the declared columns, and n, which
is public. It has no iteration, no conversion and no representation of values; `blocks` is for `scan` alone.
Of a private file only the declared columns, their types and the row counts are looked at: no statistics, no
key-value metadata, no partition folders, no sizes, no time stamps.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pubpriv.data.arrow import numbers_of
from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.public_columns import PublicColumn, chosen_cells, of_array, of_arrow, of_frame
from pubpriv.data.stores import list_files, locate, read_public
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.places import canonical, is_url, root_and_pattern

T = TypeVar("T")

_CELLS = 1 << 18
"""Cells of a block, at most: two megabytes, long enough for threads not to wait for each other between two calls, and
short enough for a block and its images to stay in a processor's cache."""

_BATCH = 1 << 16
"""Rows that are decoded at a time."""

_READ = 1 << 20
"""Bytes of a column that are fetched at a time: a few pages on a disk, a request to an object store."""


_CONNECTIONS = 16
"""Footers that are fetched side by side from an object store."""


def block_length(dimension: int, rows: int) -> int:
    """Records in each block of `rows` rows of `dimension` columns: public, as the layout of a file is.

    No more than fit the cache, and no more than it takes for the number of blocks that this makes, since what a block
    has beyond its rows is reckoned with too; whole times 64, which suits matrix products.
    """
    most = 4096
    while most * dimension > _CELLS and most > 256:
        most //= 2
    rows = max(rows, 1)
    blocks = -(-rows // most)
    return -(-rows // (64 * blocks)) * 64


@dataclass(frozen=True)
class Chunk:
    """A unit of work: one row group of one file. Knows how to yield its blocks anywhere."""

    path: str
    row_group: int
    columns: tuple[Column, ...]
    rows: int

    @property
    def n_blocks(self) -> int:
        """How many blocks it has."""
        return -(-self.rows // block_length(len(self.columns), self.rows))

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks (d, length) of float64, columns mapped; the last is padded with NaN, each overwrites the last."""
        filesystem, path = locate(self.path)
        sources = sorted({column.source for column in self.columns})
        with filesystem.open_input_file(path) as handle:
            # read as it is decoded: Arrow would else fetch a whole row group first, however long that is
            file = _parquet().ParquetFile(handle, memory_map=False, pre_buffer=False, buffer_size=_READ)
            if file.metadata.row_group(self.row_group).num_rows != self.rows:
                raise InvalidInput("the private table was replaced while it was read")
            batches = file.iter_batches(_BATCH, row_groups=[self.row_group], columns=sources, use_threads=False)
            yield from _reblocked(batches, self.columns, block_length(len(self.columns), self.rows))


@dataclass(frozen=True)
class PrivateTable:
    """An opaque handle on a private Parquet table; open one with `PrivateTable.open`.

    One that is made by hand has the same one name and is held against the files before each look (`chunks`).

    Attributes:
        uri: where it is configured to be: a file, a folder or a glob, local or in an object store.
        columns: declared columns, in order.
        n_rows: the number of records, which is public.

    Raises:
        InvalidInput: no name of a table, no columns or one of them twice, or no positive number of rows.
    """

    uri: str
    columns: tuple[Column, ...]
    n_rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", canonical(self.uri))
        if not isinstance(self.columns, tuple) or not all(type(column) is Column for column in self.columns):
            raise InvalidInput("a private table has a tuple of columns: open it with PrivateTable.open")
        if parse_columns(self.column_names) != self.columns:
            raise InvalidInput("a private table has columns that no text names: open it with PrivateTable.open")
        if type(self.n_rows) is not int or self.n_rows < 1:
            raise InvalidInput("a private table has a positive number of rows: open it with PrivateTable.open")

    @classmethod
    def open(
        cls, uri: str | os.PathLike[str], columns: list[str] | tuple[str, ...], exact: bool = False
    ) -> "PrivateTable":
        """Look at the schema and the row counts, and at nothing else.

        Args:
            uri: Parquet file, folder of Parquet files, or glob; a local path or an object-store URI.
            columns: names, or `log1p(name)` or `log(name)`.
            exact: the table may have no other columns.

        Raises:
            InvalidInput: no such table, not Parquet, no rows, or a column that is missing, duplicated or not
                numeric (integers, floats and decimals are; nulls are always allowed).
            Unavailable: the storage does not answer.
        """
        declared = parse_columns(columns)
        where = canonical(os.fspath(uri))
        files = _files(where)
        rows = 0
        for schema, groups in _footers(files, where):
            _check_schema(schema, declared, where)
            if exact and set(schema.names) != {column.source for column in declared}:
                names = ",".join(column.name for column in declared)
                raise InvalidInput(
                    f"the private table {where} has columns that the public table has not, or not as numbers. "
                    f"Say which columns to use: --columns {names}"
                )
            rows += sum(groups)
        if rows == 0:
            raise InvalidInput(f"the private table {where} has no rows")
        return cls(where, declared, rows)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Columns of the file that are read, sorted."""
        return tuple(sorted({column.source for column in self.columns}))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the estimate, as written."""
        return tuple(column.name for column in self.columns)

    def chunks(self) -> list[Chunk]:
        """The units of a scan, after a check that n and the columns are what they were.

        Raises:
            InvalidInput: the row count changed since the handle was opened, or a column is gone or no number.
        """
        files = _files(self.uri)
        footers = _footers(files, self.uri)
        for schema, _ in footers:
            _check_schema(schema, self.columns, self.uri)
        found = [
            (path, group, rows)
            for path, (_, groups) in zip(files, footers, strict=True)
            for group, rows in enumerate(groups)
        ]
        if sum(rows for _, _, rows in found) != self.n_rows:
            raise InvalidInput(
                f"the private table {self.uri} changed its number of rows: open it again for another release id, or "
                "put back what it was to finish this one"
            )
        return [Chunk(path, group, self.columns, rows) for path, group, rows in found]


@dataclass(frozen=True, eq=False, repr=False)
class ArrayTable:
    """Rows in memory, for simulations: the same interface as `PrivateTable`, and no privacy; shown without a value."""

    rows: np.ndarray
    columns: tuple[Column, ...]
    start: int = 0
    stop: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def chunks(self) -> "list[ArrayTable]":
        """Slices of whole batches."""
        return [
            ArrayTable(self.rows, self.columns, start, min(start + _BATCH, len(self.rows)))
            for start in range(0, len(self.rows), _BATCH)
        ]

    @property
    def n_blocks(self) -> int:
        """How many blocks this slice has."""
        own = self._own
        return -(-len(own) // block_length(own.shape[1], len(own)))

    @property
    def _own(self) -> np.ndarray:
        return self.rows[self.start : self.stop]

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks (d, length) of this slice, the last padded with NaN; each overwrites the one before."""
        own = self._own
        length = block_length(own.shape[1], len(own))
        block = np.empty((own.shape[1], length))
        for start in range(0, len(own), length):
            rows = own[start : start + length]
            block[:, : len(rows)] = rows.T
            block[:, len(rows) :] = np.nan
            yield _mapped(block, self.columns)


class PublicTable:
    """Public rows: anyone may see them, so messages may name values.

    Attributes:
        columns: names, in order.
        rows: (m, d) float64, all finite, read-only.
        sha256: hash of the columns and the bits of the rows.
        dropped: rows left out because a cell was null or not finite after its map.
        source: canonical name of the file, folder or glob that they were read from; None: they were made otherwise.
    """

    def __init__(self, columns: tuple[str, ...], rows: np.ndarray, dropped: int = 0, source: str | None = None) -> None:
        self.columns = columns
        self.source = None if source is None else canonical(source)
        self.rows = np.ascontiguousarray(rows, dtype=np.float64)
        self.rows.flags.writeable = False
        self.dropped = dropped
        digest = hashlib.sha256("\x1f".join(columns).encode() + b"\x1e" + repr(self.rows.shape).encode())
        digest.update(self.rows.tobytes())
        self.sha256 = digest.hexdigest()

    @classmethod
    def open(cls, source: Any, columns: list[str] | tuple[str, ...] | None = None) -> "PublicTable":
        """Public rows from a Parquet or CSV file, a DataFrame, or an (m, d) array.

        Args:
            source: path, `pandas.DataFrame`, array, or a `PublicTable` (returned with `columns` chosen).
            columns: names or expressions; default: all numeric columns in their order (an array's columns
                are the sources of `columns`, in order, or x0, x1, ...).

        Raises:
            InvalidInput: missing or unreadable file, missing, duplicated or non-numeric column, no usable row.
        """
        if isinstance(source, PublicTable):
            return source if columns is None or tuple(columns) == source.columns else source.select(columns)
        where = source_of(source)  # once: a link may lead elsewhere by the time that what it led to was read
        return cls._chosen(_public_columns(source if where is None else where, columns), columns, where)

    @classmethod
    def _chosen(
        cls, found: list[PublicColumn], columns: list[str] | tuple[str, ...] | None, source: str | None
    ) -> "PublicTable":
        if not any(column.rows for column in found):
            raise InvalidInput("the public table has no rows")
        if columns is None:
            numeric = [column.name for column in found if column.numbers is not None]
            if not numeric:
                raise InvalidInput("the public table has no numeric column")
            columns = list(dict.fromkeys(numeric))  # a name that appears twice is refused below
        wanted = parse_columns(columns)
        rows = np.column_stack([chosen_cells(found, column) for column in wanted])
        whole = np.isfinite(rows).all(axis=1)
        if not whole.any():
            raise InvalidInput("the public table has no row in which every column has a finite value")
        return cls(tuple(c.name for c in wanted), rows[whole], int((~whole).sum()), source)

    def select(self, columns: list[str] | tuple[str, ...]) -> "PublicTable":
        """The same rows with `columns`: names of this table's columns, or expressions of them."""
        if set(columns) <= set(self.columns):
            chosen = [self.columns.index(name) for name in columns]
            return PublicTable(tuple(columns), self.rows[:, chosen], self.dropped, self.source)
        return PublicTable._chosen(of_array(self.rows, self.columns), columns, self.source)


def source_of(public: Any) -> str | None:
    """Canonical name of the file, folder or glob that public rows are, or were read from; None for rows in memory.

    Raises:
        InvalidInput: a path that is no name of a table; see `places.canonical`.
    """
    if isinstance(public, str | os.PathLike):
        return canonical(os.fspath(public))
    return public.source if isinstance(public, PublicTable) else None


def _parquet() -> Any:
    import pyarrow.parquet

    return pyarrow.parquet


def _attempt(action: Callable[[], T], where: str, otherwise: str) -> T:
    """The result of `action`, or one of our errors without a trace of the library's own text."""
    failure: PubPrivError
    try:
        return action()
    except FileNotFoundError:
        failure = InvalidInput(f"no private table at {where}: check the path")
    except PermissionError:
        failure = Unavailable(f"the private table {where} may not be read by this user")
    except PubPrivError as error:
        failure = error.with_traceback(None)
    except OSError as error:
        # Arrow calls a footer that it cannot decode an OSError, without a number
        damaged = error.errno is None and not is_url(where)
        failure = (
            InvalidInput(otherwise)
            if damaged
            else Unavailable(
                f"the storage of the private table {where} does not answer, or not to the credentials of this "
                "environment; check them, or try again"
            )
        )
    except Exception:
        failure = InvalidInput(otherwise)
    # raised out here so that the library's exception is not chained to it
    failure.__context__ = None
    raise failure


def _files(uri: str) -> list[str]:
    """Parquet files behind `uri`, sorted."""
    return _attempt(lambda: list_files(uri), uri, f"{uri} cannot be listed as a Parquet table")


def _footer(path: str, where: str) -> tuple[Any, list[int]]:
    """(Arrow schema, rows of each row group) of one file."""

    def read() -> tuple[Any, list[int]]:
        filesystem, inner = locate(path)
        with filesystem.open_input_file(inner) as handle:
            file = _parquet().ParquetFile(handle)
            meta = file.metadata
            return file.schema_arrow, [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]

    return _attempt(read, where, f"{where} is not a Parquet table, or its footer is damaged")


def _footers(paths: list[str], where: str) -> list[tuple[Any, list[int]]]:
    """`_footer` of each file; those of a distant store are fetched side by side, for each takes some round trips."""
    if not is_url(where) or len(paths) == 1:
        return [_footer(path, where) for path in paths]
    with ThreadPoolExecutor(max_workers=min(_CONNECTIONS, len(paths))) as threads:
        return list(threads.map(lambda path: _footer(path, where), paths))


def _check_schema(schema: Any, columns: tuple[Column, ...], where: str) -> None:
    from pyarrow import types

    for name in dict.fromkeys(column.source for column in columns):
        found = schema.get_all_field_indices(name)
        if len(found) != 1:
            problem = "is missing from" if not found else "appears more than once in"
            raise InvalidInput(f"column {name!r} {problem} the private table {where}")
        kind = schema.field(found[0]).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            raise InvalidInput(f"column {name!r} of the private table {where} is {kind}, not a number")


def _reblocked(batches: Any, columns: tuple[Column, ...], length: int) -> Iterator[np.ndarray]:
    """Blocks of the one public length, whatever the batches' lengths are; each overwrites the one before."""
    block, filled = np.empty((len(columns), length)), 0
    for batch in batches:
        cells = [numbers_of(batch.column(batch.schema.get_field_index(column.source))) for column in columns]
        taken = 0
        while taken < batch.num_rows:
            step = min(length - filled, batch.num_rows - taken)
            for row, values in zip(block, cells, strict=True):
                row[filled : filled + step] = values[taken : taken + step]
            filled, taken = filled + step, taken + step
            if filled == length:
                yield _mapped(block, columns)
                filled = 0
    if filled:
        block[:, filled:] = np.nan
        yield _mapped(block, columns)


def _mapped(block: np.ndarray, columns: tuple[Column, ...]) -> np.ndarray:
    for row, column in zip(block, columns, strict=True):
        column.apply(row)
    return block


def _public_columns(source: Any, columns: list[str] | tuple[str, ...] | None) -> list[PublicColumn]:
    """Columns of the table of a canonical name, or of rows in memory."""
    if isinstance(source, str):
        return _read_public_url(source) if is_url(source) else _read_public(source)
    pandas = sys.modules.get("pandas")  # who has a DataFrame has loaded it
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return of_frame(source)
    try:
        rows = np.asarray(source)
    except ValueError:  # lists of unequal length
        rows = np.empty(0)
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.number):
        raise InvalidInput("public rows must be a numeric (m, d) array, a DataFrame, or a Parquet or CSV file")
    names = [f"x{i}" for i in range(rows.shape[1])] if columns is None else [c.source for c in parse_columns(columns)]
    if len(names) != rows.shape[1]:
        raise InvalidInput(f"the public array has {rows.shape[1]} columns, but {len(names)} are named")
    return of_array(rows, names)


def _read_public_url(uri: str) -> list[PublicColumn]:
    """Columns of a CSV file, a Parquet file, or a folder or glob of them, in an object store."""
    import pyarrow as pa

    refused: PubPrivError
    try:
        if uri.lower().endswith(".csv"):
            return _read_csv(read_public(uri))
        tables = [_parquet().read_table(pa.BufferReader(read_public(file))) for file in list_files(uri)]
        return of_arrow(pa.concat_tables(tables, promote_options="default"))
    except InvalidInput:
        raise
    except FileNotFoundError:
        refused = InvalidInput(f"no public table at {uri}: check the URL")
    except OSError:
        refused = Unavailable(
            f"the storage of the public table {uri} does not answer, or not to the credentials of this environment; "
            "check them, or try again"
        )
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"the public table {uri} cannot be read as Parquet or CSV: {reason}") from error
    raise refused


def _read_public(name: str) -> list[PublicColumn]:
    import pyarrow as pa

    root, pattern = root_and_pattern(name)
    path = Path(root)
    if not path.exists():
        raise InvalidInput(f"no public table at {path}: check the path")
    if not path.is_file() and not path.is_dir():
        raise InvalidInput(f"the public table {path} is neither a file nor a folder")
    try:
        if not pattern and path.is_file() and path.suffix.lower() == ".csv":
            return _read_csv(path.read_bytes())
        # listed as a private table is, and as it is held against them
        tables = [_parquet().ParquetFile(file).read() for file in list_files(name)]
        return of_arrow(pa.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0])
    except InvalidInput:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"the public table {path} cannot be read as Parquet or CSV: {reason}") from error


def _read_csv(content: bytes) -> list[PublicColumn]:
    """Columns, with their names as they are written: pandas would rename the second of two equal ones."""
    import pandas as pd

    frame = pd.read_csv(BytesIO(content))
    written = pd.read_csv(BytesIO(content), header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    if len(set(written)) < len(written) == frame.shape[1]:
        frame.columns = pd.Index(written)
    return of_frame(frame)
