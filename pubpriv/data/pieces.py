"""Files of private tables and their pieces: the only code that opens them, through the reader of their format.

It reads only the declared columns, their types and the row counts: no statistics, key-value metadata, partition
folders, sizes or time stamps. Of a version of a table with a log, the files are those of `lakes`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from pubpriv.common.lake_names import LakeName, location_of
from pubpriv.common.tables import Listing, advice_on, is_called_a_table, is_in_memory, is_url, kind_of, without_values
from pubpriv.common.threads import one_ahead
from pubpriv.data._arrow import UNKNOWN_TYPE, is_bytes, is_read_as_number, no_number, numbers_of
from pubpriv.data._dates import check_dates
from pubpriv.data.categories import ByCategory
from pubpriv.data.category_codes import check_kind, check_values, codes_of, level_numbers
from pubpriv.data.columns import Column, map_columns, meant, sources_of, two_meanings
from pubpriv.data.formats import Look, Piece, format_of
from pubpriv.data.formats.cells import number_in, numbers_in
from pubpriv.data.lakes import Fill, LakeFile, LakeVersion, filled, version_of
from pubpriv.data.persons import id_kind, keys_of
from pubpriv.data.stores import listing
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

_T = TypeVar("_T")

_CELLS = 1 << 18
"""Most cells of a block: two megabytes, long enough that threads do not wait for each other between calls, and short
enough for a block and its images to stay in a processor's cache."""

_CONNECTIONS = 16
"""Footers that are fetched from an object store at the same time."""


def longest_block(dimension: int) -> int:
    """Return the most records of `dimension` columns in a block, a multiple of 64, which suits matrix products."""
    most = 4096
    while most * dimension > _CELLS and most > 256:
        most //= 2
    return most


def block_length(dimension: int, rows: int) -> int:
    """Return the length of the blocks for `rows` rows of `dimension` columns: public, like the layout of a file.

    A block fits in the cache, and blocks are no longer than their number requires, since padding costs time too.
    """
    rows = max(rows, 1)
    blocks = -(-rows // longest_block(dimension))
    return -(-rows // (64 * blocks)) * 64


@dataclass(frozen=True)
class Chunk:
    """A unit of work: one piece of one file, which can be read in any process.

    Attributes:
        person: id columns that say whose row it is; () if the unit is a row.
        by: groups of its rows, whose codes become the last row of each block; None: there is no such row.
        fills: columns that are not read from the file, because it lacks them.
    """

    path: str
    piece: Piece
    columns: tuple[Column, ...]
    person: tuple[str, ...] = ()
    by: ByCategory | None = None
    fills: tuple[Fill, ...] = field(default=(), repr=False)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.piece.rows

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.piece.rows // self._length)

    @property
    def _length(self) -> int:
        """Length of blocks. Where cells say in which file a record is, the rows of a file are no public number."""
        d = len(self.columns)
        return longest_block(d) if self.fills else block_length(d, self.piece.rows)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield blocks (d, length), float64, columns mapped, the last padded with NaN; each overwrites the former."""
        return _reblocked(self._batches(self._sources), self.columns, self._length, self.by)

    def keys(self) -> Iterator[np.ndarray]:
        """Yield the person keys of its rows, batch by batch; reads only the columns that keys need."""
        start = 0
        for batch in self._batches(self.key_columns):
            yield self.keys_in(batch, start)
            start += batch.num_rows

    def keyed_blocks(self, length: int, seen: Callable[[np.ndarray], None]) -> Iterator[np.ndarray]:
        """Yield blocks (d, length) as `blocks` does, and pass the keys of their rows to `seen`."""

        def batches() -> Iterator[Any]:
            start = 0
            for batch in self._batches(sorted({*self._sources, *self.key_columns})):
                seen(self.keys_in(batch, start))
                start += batch.num_rows
                yield batch

        return _reblocked(batches(), self.columns, length, self.by)

    @property
    def _sources(self) -> list[str]:
        return sorted({*columns_read(self.columns, by=self.by)})

    @property
    def key_columns(self) -> list[str]:
        """Columns that keys are computed from."""
        return list(self.person)

    def keys_in(self, batch: Any, start: int) -> np.ndarray:  # noqa: ARG002 - for subclasses
        """Return the person keys of a batch whose first row is row `start` of the chunk."""
        return keys_of([_cells(batch, name) for name in self.person])

    def _batches(self, sources: list[str]) -> Iterator[Any]:
        """Record batches of the columns `sources`, in order."""
        lacking = [fill for fill in self.fills if fill.name in sources]
        held = sorted({*sources} - {fill.name for fill in lacking})
        for batch in one_ahead(format_of(self.path).batches(self.path, self.piece, held)):
            yield filled(batch, lacking)


@dataclass(frozen=True)
class _Footer:
    """Layout of a file, read before a scan: names of columns, pieces, kinds of ids, columns that it lacks."""

    path: str
    names: tuple[str, ...]
    pieces: tuple[Piece, ...]
    id_kinds: tuple[str, ...]
    fills: tuple[Fill, ...] = field(default=(), repr=False)

    @property
    def rows(self) -> int:
        """Rows of all pieces."""
        return sum(piece.rows for piece in self.pieces)


def columns_read(
    columns: tuple[Column, ...], person: tuple[str, ...] = (), by: ByCategory | None = None, dates: str = ""
) -> list[str]:
    """Return all columns of a file that an estimate reads: its own, and those of ids, groups and dates."""
    return [*sources_of(columns), *person, *(() if by is None else (by.source,)), *([dates] if dates else [])]


def is_delimited(where: str) -> bool:
    """Return whether a private table is CSV, in which records are lines; lists its files, and opens none.

    Raises:
        InvalidInput: no such table.
        Unavailable: the storage does not answer.
    """
    in_files = not is_in_memory(where) and LakeName.of(where) is None
    return in_files and kind_of(listing_of(where).files[0]) == "CSV"


def listing_of(where: str) -> Listing:
    """List the files of a private table that is in files."""
    return _attempt(lambda: listing(where), where, f"{where} cannot be listed as a table")


def opened_version(where: str) -> LakeVersion | None:
    """Open the version of a table with a log; None if `where` is another name.

    Raises:
        InvalidInput: see `lakes.version_of`; or the log cannot be read.
        Unavailable: the storage does not answer.
    """
    return _attempt(
        lambda: version_of(where),
        where,
        f"{where} cannot be read as a version of a table: there is none, or its log is damaged, or newer than the "
        "library",
    )


def footers(
    where: str,
    columns: tuple[Column, ...],
    person: tuple[str, ...] = (),
    by: ByCategory | None = None,
    dates: str = "",
) -> list[_Footer]:
    """Read the footers of all files of a private table, and check that each has the columns, with usable types.

    Footers in an object store are fetched at the same time, because each takes some round trips.

    Args:
        where: name of the table.
        columns: numeric columns.
        person: id columns.
        by: groups of rows.
        dates: date column; empty: there is none.

    Raises:
        InvalidInput: no such table, not Parquet, or a column that is missing, duplicated or not numeric; id columns
            that are neither integers nor text, or differ between files; a column that cannot make groups; a date
            column without dates.
        Unavailable: the storage does not answer.
    """
    if is_in_memory(where):
        return [_footer(where, where, columns, person, by, dates)]
    version = opened_version(where)
    if version is not None and not version.files:
        whole = Look(version.schema, ())
        return [_footer_of(whole, where, where, columns, person, by, dates)]
    listed = listing_of(where).files if version is None else version.files
    if not is_url(location_of(where)) or len(listed) == 1:
        found = [_footer(each, where, columns, person, by, dates) for each in listed]
    else:
        with ThreadPoolExecutor(max_workers=min(_CONNECTIONS, len(listed))) as threads:
            found = list(threads.map(lambda each: _footer(each, where, columns, person, by, dates), listed))
    if len({footer.id_kinds for footer in found}) > 1:
        raise InvalidInput(
            f"the id columns {', '.join(person)} are integers in some files of the private table {where} and text in "
            "others, so one person would be two: write them alike"
        )
    return found


_DAMAGED = {
    "Parquet": "{where} is not a Parquet table, or its footer is damaged",
    "Feather": "{where} is not a Feather table, in the second version of that format, or its footer is damaged",
    "SPSS": "{where} is not an SPSS file, or it is damaged",
    "Stata": "{where} is not a Stata file, or it is damaged",
    "SAS": "{where} is not a SAS file, a data set or a transport file by its name, or it is damaged",
    "Excel": "{where} is not a workbook of Excel, or it is damaged, or the first row of its sheet names no columns",
    "DuckDB": "{where} cannot be read: there is no such file of DuckDB, or it is damaged, or of a newer version",
    "PostgreSQL": "{where} cannot be read as a table of PostgreSQL",
    "CSV": "{where} is not a CSV table: its first line is no header of names with commas between them, in UTF-8; or "
    "it is damaged, or not compressed as its name says",
}


def _footer(
    file: str | LakeFile,
    where: str,
    columns: tuple[Column, ...],
    person: tuple[str, ...],
    by: ByCategory | None,
    dates: str,
) -> _Footer:
    names = columns_read(columns, person, by, dates)
    path, table = file if isinstance(file, str) else file.path, where
    advice = advice_on(path)
    if path != where:  # where the unit is a person, it is private which files there are
        where = f"{where} (one of its files)" if person else without_values(path)
    damaged = _DAMAGED[kind_of(path)] if is_called_a_table(path) else "{where} cannot be read as a table"
    damaged = damaged.format(where=where) + advice
    look, fills = _attempt(lambda: format_of(path).look(path, names), where, damaged), tuple[Fill, ...]()
    if isinstance(file, LakeFile):
        look, fills = file.completed(look, names, where)
        where = table  # which has the same columns in all files now
    return replace(_footer_of(look, path, where, columns, person, by, dates), fills=fills)


def _footer_of(
    look: Look,
    path: str,
    where: str,
    columns: tuple[Column, ...],
    person: tuple[str, ...],
    by: ByCategory | None,
    dates: str,
) -> _Footer:
    """Check the columns of a file, or of a table without any."""
    _check_schema(look, columns, where)
    if by is not None:
        _check_categories(look, by, where)
    ids = tuple(
        id_kind(name, look.schema.field(_place(look, name, where)).type, where, look.whole_as_floats) for name in person
    )
    dated = look.schema.field(_place(look, dates, where)).type if dates else None
    if dated is not None and dates not in look.untyped:
        check_dates(dates, dated, where)
    return _Footer(path, tuple(look.schema.names), look.pieces, ids)


def _attempt(action: Callable[[], _T], where: str, otherwise: str) -> _T:
    """Run `action`; failures become our own errors, without any of the library's text."""
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
        # for a footer that it cannot decode Arrow raises an OSError without a number
        damaged = error.errno is None and not is_url(location_of(where))
        failure = (
            InvalidInput(otherwise)
            if damaged
            else Unavailable(
                f"the storage of the private table {where} does not answer, or not to the credentials of this "
                "environment; check them, or try again"
            )
        )
    except NotImplementedError:  # Arrow's, of a schema: no cell is read here
        failure = InvalidInput(f"the private table {where} {UNKNOWN_TYPE}")
    except Exception:
        failure = InvalidInput(otherwise)
    # raised outside of `except`, so that the library's exception is not chained to it
    failure.__context__ = None
    raise failure


def _check_schema(look: Look, columns: tuple[Column, ...], where: str) -> None:
    for column in columns:
        own = column.function is not None and column.name in look.schema.names
        if own and not {*column.sources} <= {*look.schema.names}:
            raise InvalidInput(two_meanings(column, f"the private table {where}"))
    simple = [factor for column in columns for factor in column.simple]
    for column in simple:
        if column.of_texts:
            _check_categories(look, column.categories, where)
    for name in sources_of(column for column in simple if not column.of_texts):
        kind = look.schema.field(_place(look, name, where)).type
        if name not in look.untyped and not is_read_as_number(kind):
            raise InvalidInput(f"column {name!r} of the private table {where} {no_number(name, kind)}")


def _check_categories(look: Look, by: ByCategory, where: str) -> None:
    kind = look.schema.field(_place(look, by.source, where)).type
    check_kind(by.column, kind, f"the private table {where}")
    check_values(by, kind, f"the private table {where}")


def _place(look: Look, name: str, where: str) -> int:
    """Index of the one column of that name."""
    found = look.schema.get_all_field_indices(name)
    if len(found) > 1:
        raise InvalidInput(f"column {name!r} appears more than once in the private table {where}")
    if not found:
        # without a header the first line is a record, which must not be shown
        header = not look.names_in_line or all(
            each and np.isnan(number_in(each.encode())) for each in look.schema.names
        )
        hint = meant(name, look.schema.names) if header else ": the first line of a CSV file names its columns"
        if f"/{name}=" in where:
            hint = ": names of folders make no column, so write it into the files"
        raise InvalidInput(f"column {name!r} is missing from the private table {where}{hint}")
    return int(found[0])


def _numbers_of(batch: Any, name: str) -> np.ndarray:
    """Cells of a column as float64; if it has no type each cell is parsed."""
    array = _cells(batch, name)
    return numbers_in(array) if is_bytes(array.type) else numbers_of(array)


def _levels_of(batch: Any, by: ByCategory) -> np.ndarray:
    """Numbers of the levels of a column."""
    return level_numbers(_cells(batch, by.source), by)


def _cells(batch: Any, name: str) -> Any:
    """The column of that name."""
    return batch.column(batch.schema.get_field_index(name))


def _reblocked(batches: Any, columns: tuple[Column, ...], length: int, by: ByCategory | None) -> Iterator[np.ndarray]:
    """Yield blocks of one public length from batches of any lengths; each overwrites the former."""
    d = len(columns)
    block, filled = np.empty((d + (by is not None), length)), 0
    for batch in batches:
        numbers = cache(partial(_numbers_of, batch))
        levels = partial(_levels_of, batch)
        cells = [column.of(numbers, levels) for column in columns]
        cells += [] if by is None else [codes_of(_cells(batch, by.source), by)]
        taken = 0
        while taken < batch.num_rows:
            step = min(length - filled, batch.num_rows - taken)
            for row, values in zip(block, cells, strict=True):
                row[filled : filled + step] = values[taken : taken + step]
            filled, taken = filled + step, taken + step
            if filled == length:
                map_columns(block[:d], columns)
                yield block
                filled = 0
    if filled:
        block[:, filled:] = np.nan
        map_columns(block[:d], columns)
        yield block
