"""Parquet files. From the footer only schema and row counts are used, not statistics or key-value metadata.

Times in INT96, as Spark, Hive and Impala write them, hold a day and its nanoseconds. They are read in microseconds, as
Spark reads them: 64 bits of nanoseconds end in the year 2262, and Arrow lets later times wrap to earlier centuries.
Times beyond 64 bits of microseconds become the largest or smallest one, which is an infinite cell.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import wait
from functools import partial
from typing import Any

import numpy as np

from pubpriv.common.tables import is_url
from pubpriv.common.threads import kept_threads
from pubpriv.data._arrow import counts_of, validity_of
from pubpriv.data.formats._layout import Look, Piece, check_rows
from pubpriv.data.stores import locate

_FETCHED, _READ = 1 << 20, 1 << 16
"""Bytes of a column that are asked for at a time: in a request to an object store, and from a disk, where only a long
page is read at once."""

_CONNECTIONS = 16
"""Parts of a row group that are fetched from an object store at the same time."""

_ROWS = 1 << 14
"""Rows that are decoded at a time; all columns of so many stay in a processor's cache until they are in a block."""

_PRECISE, _WIDE = "us", "ms"
"""Units in which times in INT96 are read: milliseconds hold every day that INT96 does."""

_LAST = np.iinfo(np.int64).max


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read the footer; its row groups are the pieces."""
    filesystem, inner = locate(path)
    with filesystem.open_input_file(inner) as handle:
        file = _opened(handle, _PRECISE)
        meta = file.metadata
        pieces = tuple(Piece(i, meta.row_group(i).num_rows) for i in range(meta.num_row_groups))
        return Look(file.schema_arrow, pieces)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: the row group has another number of rows now.
    """
    filesystem, inner = locate(path)
    far = is_url(path)
    with filesystem.open_input_file(inner) as handle:
        # read while decoding: otherwise Arrow fetches a whole row group first, however long it is
        how = {"memory_map": False, "pre_buffer": False, "buffer_size": _FETCHED if far else _READ}
        metadata = _opened(handle, _PRECISE, **how).metadata
        check_rows(metadata.row_group(piece.number).num_rows, piece)

        def rows(some: list[str]) -> Iterator[Any]:
            precise, wide = (partial(_opened, handle, unit, metadata=metadata, **how) for unit in (_PRECISE, _WIDE))
            return _batches(precise(), wide, some, [piece.number])

        yield from _side_by_side(rows, columns) if far else rows(list(columns))


def _side_by_side(rows: Callable[[list[str]], Iterator[Any]], columns: Sequence[str]) -> Iterator[Any]:
    """Record batches of columns that threads fetch at the same time: each takes round trips to an object store."""
    import pyarrow as pa

    some = [rows(list(columns[start::_CONNECTIONS])) for start in range(min(_CONNECTIONS, len(columns)))]
    with kept_threads(len(some)) as threads:
        coming = [threads.submit(next, batches, None) for batches in some]
        held: list[Any] = [None] * len(some)
        while True:
            for place, batches in enumerate(some):  # long texts make batches shorter
                if not held[place]:
                    held[place] = coming[place].result()
                    coming[place] = threads.submit(next, batches, None)
            if not all(held):
                wait(coming)
                if any(held):
                    raise ValueError("columns of a row group have other numbers of rows")
                return
            length = min(batch.num_rows for batch in held)
            own = {name: batch.column(i) for batch in held for i, name in enumerate(batch.schema.names)}
            yield pa.RecordBatch.from_arrays([own[name].slice(0, length) for name in columns], list(columns))
            held = [batch.slice(length) for batch in held]


def read_all(content: bytes) -> Any:
    """Read a public file into an Arrow table, in this thread."""
    import pyarrow as pa

    file = _opened(pa.BufferReader(content), _PRECISE)
    names, groups = file.schema_arrow.names, [*range(file.metadata.num_row_groups)]
    if not times_in_int96(file.metadata, names):
        return file.read(use_threads=False)
    wide = partial(_opened, pa.BufferReader(content), _WIDE)
    return pa.Table.from_batches(_batches(file, wide, names, groups), file.schema_arrow)


def times_in_int96(metadata: Any, names: Collection[str]) -> list[str]:
    """Return the columns among `names` that a footer has once, as times in INT96.

    The schema of a footer would tell too, but PyArrow lets it and the footer hold each other in memory.
    """
    if not metadata.num_row_groups:
        return []
    group = metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    paths = [column.path_in_schema for column in columns]
    times = [column.path_in_schema for column in columns if column.physical_type == "INT96"]
    return [path for path in times if path in names and paths.count(path) == 1]


def times_that_wrap(dataset: Any, columns: Collection[str]) -> list[str]:
    """Return the columns of a dataset of PyArrow that are times in INT96, and that it reads in nanoseconds.

    Opens the footers of the dataset's files if it has a column of times in nanoseconds.
    """
    from pyarrow import types

    of_type = {field.name for field in dataset.schema if types.is_timestamp(field.type) and field.type.unit == "ns"}
    times = sorted(of_type.intersection(columns))
    for part in dataset.get_fragments() if times else ():
        how = getattr(getattr(part, "format", None), "read_options", None)
        if getattr(how, "coerce_int96_timestamp_unit", "") == "ns":  # Parquet's format alone has it
            found = times_in_int96(part.metadata, times)
            if found:
                return found
    return []


TIMES_WRAP = (
    "holds its times in INT96, as Spark, Hive and Impala write them, and those after 2262 would wrap: name its folder, "
    'or make the dataset with ParquetReadOptions(coerce_int96_timestamp_unit="us"), which are read_options of '
    "PyArrow's ParquetFileFormat, and parquet_read_options of deltalake's to_pyarrow_dataset"
)
"""What is wrong with a dataset with such a column, for messages."""


def _opened(handle: Any, unit: str, **how: Any) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(handle, coerce_int96_timestamp_unit=unit, **how)


def _batches(file: Any, wide: Callable[[], Any], columns: Sequence[str], groups: list[int]) -> Iterator[Any]:
    """Record batches of some columns and row groups.

    Args:
        file: the file, times in INT96 in microseconds.
        wide: opens it with these in milliseconds.
        columns: names of columns.
        groups: numbers of row groups.
    """
    precise = file.iter_batches(_ROWS, row_groups=groups, columns=list(columns), use_threads=False)
    times = times_in_int96(file.metadata, columns)
    if not times:
        yield from precise
        return
    far = _Rows(wide().iter_batches(_ROWS, row_groups=groups, columns=times, use_threads=False))
    for batch in precise:
        found, held = far.next(batch.num_rows), batch
        for name in times:
            place = held.schema.get_field_index(name)
            held = held.set_column(place, held.schema.field(place), _held(held.column(place), found.column(name)))
        yield held


class _Rows:
    """Rows of record batches, as many at a time as another reader has: long texts make its batches shorter.

    Args:
        batches: record batches.
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches: list[Any] = []
        self._coming = batches

    def next(self, rows: int) -> Any:
        """Return the next rows, an Arrow table."""
        import pyarrow as pa

        while sum(batch.num_rows for batch in self._batches) < rows:
            self._batches.append(next(self._coming))
        kept = pa.Table.from_batches(self._batches)
        self._batches = kept.slice(rows).to_batches()
        return kept.slice(0, rows)


def _held(precise: Any, wide: Any) -> Any:
    """Times in microseconds; those that wrapped, as their milliseconds show, are the largest or smallest one."""
    import pyarrow as pa

    counts = counts_of(precise)
    far = np.concatenate([np.empty(0, np.int64), *map(counts_of, wide.chunks)])
    counts = np.where(far > _LAST // 1000, _LAST, np.where(far < -(_LAST // 1000), -_LAST, counts))
    return pa.array(counts, mask=~validity_of(precise)).view(precise.type)
