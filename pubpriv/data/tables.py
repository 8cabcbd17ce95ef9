"""Handles of private tables, and public tables with their rows.

A `PrivateTable` is an opaque handle: the configured location of the file, the declared columns, and n, which is public.
It has no iteration, no conversion and no representation of values; only `scan` uses its chunks. `data.pieces` opens
private files, and its docstring says what is read there.
"""

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from pubpriv.common.column_names import join_columns, name_of
from pubpriv.common.lake_names import LakeName
from pubpriv.common.layouts import TableLayout
from pubpriv.common.periods import Span
from pubpriv.common.tables import canonical
from pubpriv.data._dated import DatedChunk
from pubpriv.data._public_columns import read_rows, select_rows
from pubpriv.data.categories import ByCategory, check_groups
from pubpriv.data.category_codes import codes_in_memory
from pubpriv.data.codec import public_value
from pubpriv.data.columns import Column, called_like, map_columns, parse_columns, sources_of, two_meanings
from pubpriv.data.formats import BATCH, memory_table
from pubpriv.data.persons import id_columns, keys_in_memory, person_names
from pubpriv.data.pieces import Chunk, block_length, columns_read, footers, is_delimited, opened_version
from pubpriv.errors import InvalidInput


@dataclass(frozen=True)
class PrivateTable:
    """An opaque handle on a private table; open one with `PrivateTable.open`.

    A handle that is built directly gets the same canonical name, and is compared with the files before each scan
    (`chunks`).

    Attributes:
        uri: configured location: a file, a folder or a glob, local or in an object store; a version of a table with a
            log, `delta:FOLDER@VERSION`; a sheet or a table of a database (`common.inner_names`); or the name of a table
            in the memory of this process.
        columns: declared columns, in order.
        n_rows: number of records, which is public; None if the unit is a person, or if only rows of one period are
            asked, since the number is private then.
        person: id columns that say whose row it is; () if the unit is a row.
        by: groups of rows, by a column that is not in the estimate; None: there are none.
        dates: column that says in which period a row lies, if the dataset has periods.
        period: the period whose rows are asked; empty: all rows.
        newest: the version is the newest that there was when the table was opened; nobody named it.

    Raises:
        InvalidInput: not the name of a table, no columns or one of them twice, or no positive number of rows; id
            columns or the column of groups among those of the estimate.

    Example:
        >>> import pubpriv as pp
        >>> table = pp.PrivateTable.open("patients.csv", ["visits", "log1p(diseases)"])
        >>> table.n_rows
        3871
    """

    uri: str
    columns: tuple[Column, ...]
    n_rows: int | None
    person: tuple[str, ...] = ()
    by: ByCategory | None = None
    dates: str = ""
    period: str = ""
    newest: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", canonical(self.uri))
        lake = LakeName.of(self.uri)
        if lake is not None and not lake.version:
            raise InvalidInput(f"{self.uri} names no version: open it with PrivateTable.open")
        if not isinstance(self.columns, tuple) or not all(type(column) is Column for column in self.columns):
            raise InvalidInput("a private table has a tuple of columns: open it with PrivateTable.open")
        if parse_columns(self.column_names) != self.columns:
            raise InvalidInput("a private table has columns that no text names: open it with PrivateTable.open")
        object.__setattr__(self, "person", id_columns(self.person, self.source_columns))
        check_groups(self.by, (*self.source_columns, *self.person))
        if not (isinstance(self.dates, str) and isinstance(self.period, str)) or (self.period and not self.dates):
            raise InvalidInput("the period of a row is read from a date column: open it with PrivateTable.open")
        if self.person or self.period:
            if self.n_rows is not None:
                raise InvalidInput("the number of rows is private where the unit is a person, or in a period")
            if self.period:
                Span.of(self.period)
        elif type(self.n_rows) is not int or self.n_rows < 1:
            raise InvalidInput("a private table has a positive number of rows: open it with PrivateTable.open")

    @classmethod
    def open(
        cls,
        source: Any,
        columns: Sequence[str | Column],
        exact: bool = False,
        person: str | Sequence[str] = (),
        by: ByCategory | None = None,
        name: str | None = None,
        dates: str = "",
        period: str = "",
    ) -> "PrivateTable":
        """Open a private table; reads the schema and the row counts, and nothing else.

        Args:
            source: file of Parquet, CSV, Feather, Excel, SPSS, Stata or SAS, folder of files of one kind, or glob; a
                local path or an object-store URI. Or a version of a table with a log, `delta:FOLDER@VERSION` or
                `iceberg:FOLDER@VERSION` (the extra `lake`); `delta:FOLDER` is its newest version, and a run goes on
                with the version that it began with. Or a sheet, `BOOK.xlsx#SHEET`, or a table of a database,
                `duckdb:///FILE#TABLE` or `postgresql://HOST/DATABASE#TABLE` (the extra `databases`).
                Or a table in memory: a DataFrame of pandas or polars, a table or dataset of pyarrow, a relation of
                DuckDB.
            columns: names or expressions; a name in backticks or double quotes is never an expression. Integers, floats
                and decimals are numbers; booleans are 1 and 0; dates and times are days since the beginning of 1970,
                durations are days. In a CSV file, and in a column of pandas of the type `object`, each cell is parsed
                by itself, and is missing if it is none of these.
            exact: refuse a table with other columns than these, ids and dates.
            person: id column or columns, if the unit is a person: integers, texts or UUIDs. A row without an id is not
                counted.
            by: groups of rows, for estimates by group.
            name: name of a table in memory in the ledger; the rows stay in this process. The program cannot check that
                a table always has the same name, or that it is not a copy of a file.
            dates: date column, if the dataset has periods: dates, times, or seconds since 1970.
            period: ask only the rows of this period (`2026-11`), whose number is private.

        Raises:
            InvalidInput: no such table, no rows, or a column that is missing, duplicated or not numeric (nulls are
                always allowed); an expression that is also the name of a column; a table in memory without a name, or a
                file with one. If the unit is a person, a table without rows is accepted.
            Unavailable: the storage does not answer.

        Warns:
            UserWarning: an id column of pandas has the type `object`, so ids are compared as they are written.
        """
        declared = parse_columns(columns)
        ids = id_columns(person_names(person), sources_of(declared))
        dates = name_of(dates, "the date column") if dates else ""
        check_groups(by, (*sources_of(declared), *ids))
        read = columns_read(declared, ids, by, dates)
        if isinstance(source, str | os.PathLike):
            if name is not None:
                raise InvalidInput("a private table in a file has the name of that file: leave out name=")
            where, newest = _version_named(canonical(os.fspath(source)))
        else:
            newest = False
            where = memory_table.keep(source, name, read)
            _warn_of_untyped(where, ids)
        rows, sources = 0, {*sources_of(declared)}
        for footer in footers(where, declared, ids, by, dates):
            if own := called_like(columns, footer.names):
                raise InvalidInput(two_meanings(own, f"the private table {where}"))
            if exact and set(footer.names) - ({*read} - sources) != sources:
                names = join_columns([column.name for column in declared])
                raise InvalidInput(
                    f"the private table {where} has columns that the public table has not, or not as numbers. "
                    f"Say which columns to use: --columns {names}"
                )
            rows += footer.rows
        if ids or period:
            return cls(where, declared, None, ids, by, dates, period, newest)
        if rows == 0:
            raise InvalidInput(f"the private table {where} has no rows")
        return cls(where, declared, rows, (), by, dates, newest=newest)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Column of the file that makes the groups, if there are groups."""
        return () if self.by is None else (self.by.source,)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Columns of the file that are read, sorted."""
        return tuple(sorted(sources_of(self.columns)))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the estimate, as written."""
        return tuple(column.name for column in self.columns)

    @property
    def layout(self) -> TableLayout:
        """What is public of its layout, by which a copy is recognised; asks the storage for its columns."""
        first, *_ = footers(self.uri, self.columns, self.person, self.by, self.dates)
        return TableLayout.of(first.names, self.n_rows)

    @property
    def delimited(self) -> bool:
        """Whether its files are CSV, in which records are lines; asks the storage for their names."""
        return is_delimited(self.uri)

    def chunks(self) -> list[Chunk]:
        """Return the units of a scan, after a check that n and the columns are unchanged.

        Raises:
            InvalidInput: the row count changed since the handle was opened, or a column is missing or not numeric now.
        """
        found = footers(self.uri, self.columns, self.person, self.by, self.dates)
        if self.n_rows is not None and sum(footer.rows for footer in found) != self.n_rows:
            raise InvalidInput(
                f"the private table {self.uri} changed its number of rows: open it again for another release id, or "
                "put back what it was to finish this one"
            )
        chunks = [
            Chunk(footer.path, piece, self.columns, self.person, self.by, footer.fills)
            for footer in found
            for piece in footer.pieces
        ]
        if not self.period:
            return chunks
        firsts = accumulate((chunk.piece.rows for chunk in chunks), initial=0)
        return [
            DatedChunk.of(chunk, self.dates, Span.of(self.period), first)
            for chunk, first in zip(chunks, firsts, strict=False)
        ]


def _version_named(where: str) -> tuple[str, bool]:
    """Name the version of a table with a log; and whether it is the newest, because `where` names none."""
    lake = LakeName.of(where)
    if lake is None or lake.version:
        return where, False
    version = opened_version(where)
    return (where, False) if version is None else (str(version.name), True)


def _warn_of_untyped(where: str, ids: tuple[str, ...]) -> None:
    """Say of id columns without a type by what their ids are compared: one person may be written in several ways."""
    for name in sorted({*ids} & memory_table.untyped_columns(where)):
        warnings.warn(
            f"column {name!r} of the private table {where} has the type object, so each id is compared as it is "
            "written: 5, 5.0 and '5' are one person, 5 and '05' are two. Give it one type, for example "
            f"frame.astype({{{name!r}: 'string'}})",
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ArrayTable:
    """Rows in memory, for simulations: the interface of `PrivateTable`, without privacy; its repr has no values."""

    rows: np.ndarray
    columns: tuple[Column, ...]
    start: int = 0
    stop: int | None = None
    persons: np.ndarray | None = None
    """(n,) person keys, if the unit is a person or only rows of one period are asked."""
    by: ByCategory | None = None
    codes: np.ndarray | None = None
    """(n,) index of each row's category in the list of `by`, NaN for none; None: there are no groups."""
    period: str = ""
    """Period whose rows are asked; rows of other periods belong to nobody."""

    @classmethod
    def of(
        cls, rows: Any, columns: Sequence[str] | None = None, persons: Any = None, groups: Any = None
    ) -> "ArrayTable":
        """Check the rows of a simulation, and make a table of them.

        Args:
            rows: (n, d) array of numbers.
            columns: names or expressions; default x0, x1, ...
            persons: (n,) integers that say whose row it is; None: the unit is a row.
            groups: (groups, the category of each row); None: there are none.

        Raises:
            InvalidInput: not such an array, no rows, or more or fewer names than columns; see also `keys_in_memory`.
        """
        try:
            found = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim != 2 or not len(found):
            raise InvalidInput("simulated rows must be a non-empty (n, d) array of numbers")
        names = [f"x{i}" for i in range(found.shape[1])] if columns is None else columns
        if len(names) != found.shape[1]:
            raise InvalidInput(f"the simulated rows have {found.shape[1]} columns, but {len(names)} are named")
        mapped = parse_columns(list(names))
        if computed := [column.name for column in mapped if column.is_computed]:
            raise InvalidInput(
                f"simulated rows have one array column for {computed[0]}: compute it before, and name it so"
            )
        keys = None if persons is None else keys_in_memory(persons, len(found))
        by, categories = (None, None) if groups is None else groups
        codes = None if by is None else codes_in_memory(by, categories, len(found))
        return cls(found, mapped, persons=keys, by=by, codes=codes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def chunks(self) -> "list[ArrayTable]":
        """Return slices of the table, of whole batches."""
        return [
            replace(self, start=start, stop=min(start + BATCH, len(self.rows)))
            for start in range(0, len(self.rows), BATCH)
        ]

    def mapped(self) -> np.ndarray:
        """Return a copy of all rows (n, d), with columns mapped."""
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(map_columns(self.rows.T.copy(), self.columns).T)

    @property
    def n_records(self) -> int:
        """Number of records of this slice."""
        return len(self._own)

    @property
    def n_blocks(self) -> int:
        """Number of blocks of this slice."""
        own = self._own
        return -(-len(own) // block_length(own.shape[1], len(own)))

    @property
    def _own(self) -> np.ndarray:
        return self.rows[self.start : self.stop]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (d, length) of this slice, the last padded with NaN; each overwrites the former."""
        return self._blocks(block_length(self.rows.shape[1], len(self._own)))

    def keys(self) -> Iterator[np.ndarray]:
        """Yield the person keys of its rows."""
        yield np.asarray(self.persons)[self.start : self.stop]

    def keyed_blocks(self, length: int, seen: Callable[[np.ndarray], None]) -> Iterator[np.ndarray]:
        """Yield blocks (d, length) as `blocks` does, and pass the keys of their rows to `seen`."""
        for keys in self.keys():
            seen(keys)
        return self._blocks(length)

    def _blocks(self, length: int) -> Iterator[np.ndarray]:
        own, d = self._own, self._own.shape[1]
        if self.codes is not None:
            own = np.column_stack([own, self.codes[self.start : self.stop]])
        block = np.empty((own.shape[1], length))
        for start in range(0, len(own), length):
            rows = own[start : start + length]
            block[:, : len(rows)] = rows.T
            block[:, len(rows) :] = np.nan
            map_columns(block[:d], self.columns)
            yield block


_COSTLY = 0.05
"""A column is named if at least this share of the public rows lacks it alone: fewer make next to no difference."""


class PublicTable:
    """Public rows: anyone may see them, so messages may contain values.

    Attributes:
        columns: names, in order.
        rows: (m, d) float64, all finite, read-only.
        sha256: hash of the columns and the bits of the rows.
        dropped: number of rows left out because a mapped cell was null or not finite.
        source: canonical name of the file, folder or glob that they were read from; None: rows from memory.
        given_sha256: hash of the table before rows were left out by `without`; `sha256` if none were.
        left_out: values for which rows were left out.
        lacking: columns that many of the dropped rows lack.

    Example:
        >>> import pubpriv as pp
        >>> table = pp.PublicTable.open("volunteers.csv", ["visits", "diseases"])
        >>> table.rows.shape
        (100, 2)
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        rows: np.ndarray,
        dropped: int = 0,
        source: str | None = None,
        given_sha256: str | None = None,
        left_out: "tuple[LeftOut, ...]" = (),
        lacking: "tuple[Lacking, ...]" = (),
    ) -> None:
        self.columns = columns
        self.source = None if source is None else canonical(source)
        self.rows = np.ascontiguousarray(rows, dtype=np.float64)
        self.rows.flags.writeable = False
        self.dropped = dropped
        digest = hashlib.sha256("\x1f".join(columns).encode() + b"\x1e" + repr(self.rows.shape).encode())
        digest.update(self.rows.tobytes())
        self.sha256 = digest.hexdigest()
        self.given_sha256 = given_sha256 or self.sha256
        self.left_out = left_out
        self.lacking = lacking

    @classmethod
    def none(cls, columns: list[str] | tuple[str, ...]) -> "PublicTable":
        """Return a table without rows, for methods that work without public rows."""
        names = tuple(column.name for column in parse_columns(columns))
        return cls(names, np.empty((0, len(names))))

    @classmethod
    def open(cls, source: Any, columns: Sequence[str | Column] | None = None) -> "PublicTable":
        """Read public rows from a Parquet or CSV file, a DataFrame, or an (m, d) array.

        Args:
            source: path, `pandas.DataFrame`, array, or a `PublicTable` (returned with `columns` chosen).
            columns: names or expressions; default: all numeric columns in their order (an array's columns
                are the sources of `columns`, in order, or x0, x1, ...).

        Raises:
            InvalidInput: missing or unreadable file, missing, duplicated or non-numeric column, no usable row.
        """
        if isinstance(source, PublicTable):
            return source if columns is None else source.select(columns)
        where = source_of(source)  # before reading: a link may change meanwhile
        return cls._of(*read_rows(source if where is None else where, columns), where)

    @classmethod
    def _of(cls, names: tuple[str, ...], rows: np.ndarray, lacks: np.ndarray, source: str | None) -> "PublicTable":
        """Make the table of whole rows, and of which columns (any, d) each row lacks that was left out."""
        return cls(names, rows, len(lacks), source, lacking=Lacking.of_each(names, lacks, len(rows) + len(lacks)))

    def select(self, columns: Sequence[str | Column]) -> "PublicTable":
        """Return the same rows with other `columns`: those of this table, or expressions of them."""
        names = tuple(column.name for column in parse_columns(columns))
        if names == self.columns:
            return self
        if set(names) <= set(self.columns):
            chosen = [self.columns.index(name) for name in names]
            lacking = tuple(each for each in self.lacking if each.column in names)
            return PublicTable(names, self.rows[:, chosen], self.dropped, self.source, lacking=lacking)
        return PublicTable._of(*select_rows(self.rows, self.columns, columns), self.source)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say why rows were left out, for the reader."""
        return *(each.note for each in self.lacking), *(each.note for each in self.left_out)

    def missing_cells(self) -> np.ndarray:
        """Count the rows that have no finite cell in each column, (d,); reads the file once more. 0 without a file."""
        if self.source is None or not self.dropped:
            return np.zeros(len(self.columns), dtype=int)
        _, _, lacks = read_rows(self.source, self.columns)
        return np.asarray(lacks.sum(axis=0))

    def without(self, out: np.ndarray, why: "tuple[LeftOut, ...]" = ()) -> "PublicTable":
        """Return the table without the rows `out` (m,), booleans, left out for some values."""
        about = self.dropped, self.source, self.given_sha256, (*self.left_out, *why)
        return PublicTable(self.columns, self.rows[~np.asarray(out)], *about, self.lacking)


@public_value
@dataclass(frozen=True)
class Lacking:
    """A column that many public rows lack, or have an infinite value in: what it costs to ask for it.

    Attributes:
        column: name of the column.
        rows: number of rows that lack it, and so were left out.
        alone: number of these that have all other columns.
        of: number of rows that were read.
    """

    column: str
    rows: int
    alone: int
    of: int

    @classmethod
    def of_each(cls, columns: tuple[str, ...], lacks: np.ndarray, of: int) -> "tuple[Lacking, ...]":
        """List the columns that cost many rows, most first.

        Args:
            columns: names (d,).
            lacks: which of them each row lacks that was left out, (any, d).
            of: number of rows that were read.
        """
        only = lacks & (lacks.sum(axis=1) == 1)[:, None]
        counts = zip(columns, lacks.sum(axis=0).tolist(), only.sum(axis=0).tolist(), strict=True)
        found = [cls(name, rows, alone, of) for name, rows, alone in counts if alone >= max(_COSTLY * of, 2)]
        return tuple(sorted(found, key=lambda each: -each.alone))

    @property
    def note(self) -> str:
        """Say what the column costs, and what to do."""
        return (
            f"{self.rows} of {self.of} public rows lack {self.column}, {self.alone} of them nothing else, and are left "
            "out, as such private rows are: ask without that column, or use what they have (fit gaussian --missing)"
        )


@public_value
@dataclass(frozen=True)
class LeftOut:
    """A value for which public rows were left out.

    Attributes:
        column: name of its column.
        value: the value.
        rows: number of rows that have it there.
        note: sentence for the reader.
    """

    column: str
    value: float
    rows: int
    note: str


def source_of(public: Any) -> str | None:
    """Return the name of the file, folder or glob that public rows come from; None for rows in memory.

    Raises:
        InvalidInput: a path that cannot name a table; see `common.tables.canonical`.
    """
    if isinstance(public, str | os.PathLike):
        return canonical(os.fspath(public))
    return public.source if isinstance(public, PublicTable) else None
