"""Tables in files of DuckDB, read in the order in which DuckDB keeps their rows.

The order is that of `rowid`, by which rows are numbered as they are inserted: what is deleted leaves a gap, so a row
that goes moves no other one. DuckDB keeps it in a query of one table; each pass checks that it did. A file is opened
to be read only, by one thread, without extensions, other files, or a folder for what does not fit into memory. Views
are refused: they are queries, in which one record may change many rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.common.inner_names import InnerName
from pubpriv.common.tables import root_and_pattern
from pubpriv.data.formats._layout import BATCH, Look, Piece, check_rows, replaced
from pubpriv.data.formats._queries import quoted
from pubpriv.errors import InvalidInput, Unavailable

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "arrow_large_buffer_size": True,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "preserve_insertion_order": True,
    "temp_directory": "",
}

_LONG = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")
"""Types of integers that Arrow has not: they are read as texts."""

_NUMBER = "rowid"


@dataclass(frozen=True)
class _Table:
    """A table of an open file.

    Attributes:
        connection: connection to the file.
        name: name of the table in queries.
        kinds: types of its columns, by name.
    """

    connection: Any
    name: str
    kinds: dict[str, str]

    def reader(self, columns: Sequence[str], rows: str = "") -> Any:
        """Return a reader of record batches of columns, and of the numbers of their rows first."""
        chosen = [f"{quoted(each)}::VARCHAR" if self.kinds[each] in _LONG else quoted(each) for each in columns]
        relation = self.connection.sql(f"SELECT {', '.join([_NUMBER, *chosen])} FROM {self.name} {rows}")  # noqa: S608 - quoted
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        return read(BATCH)

    def cells(self, name: str, array: Any) -> Any:
        """Return the cells of a column as they are read: of long integers, as bytes."""
        import pyarrow as pa

        return array.cast(pa.large_binary()) if self.kinds[name] in _LONG else array


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read names and types, and count the rows.

    Raises:
        InvalidInput: no such table, a view, or a column that is called as DuckDB calls the numbers of rows.
        Unavailable: another program has the file open.
    """
    import pyarrow as pa

    with _opened(path) as table:
        read = table.reader([*table.kinds], "LIMIT 0").schema
        (rows,) = table.connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()  # noqa: S608 - quoted
        long = frozenset(name for name, kind in table.kinds.items() if kind in _LONG)
        types = [pa.large_binary() if name in long else read.field(i + 1).type for i, name in enumerate(table.kinds)]
    schema = pa.schema([*zip(table.kinds, types, strict=True)])
    return Look(schema, (Piece(0, rows),) if rows else (), long)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: there are other rows now, or they are not in the order of their numbers.
    """
    import pyarrow as pa

    read, last, sorted_ = 0, -1, True
    with _opened(path) as table:
        for batch in table.reader(columns):
            numbers = np.asarray(batch.column(0))
            if len(numbers):
                sorted_ = sorted_ and bool(numbers[0] > last and np.all(np.diff(numbers) > 0))
                read, last = read + len(numbers), int(numbers[-1])
            cells = [table.cells(name, batch.column(i + 1)) for i, name in enumerate(columns)]
            yield pa.RecordBatch.from_arrays(cells, list(columns))
    if not sorted_:
        raise replaced()
    check_rows(read, piece)


@contextmanager
def _opened(path: str) -> Iterator[_Table]:
    try:
        import duckdb
    except ImportError:
        raise InvalidInput("tables of DuckDB need: pip install 'pubpriv[databases]'") from None
    inner = InnerName.of(path)
    assert inner is not None  # the format is chosen by the form of the name
    file = root_and_pattern(inner.location)[0]
    with open(file, "rb"):  # raises if there is no such file, or it may not be read
        pass
    busy = False
    try:
        connection = duckdb.connect(file, read_only=True, config=_SETTINGS)
    except (duckdb.ConnectionException, duckdb.IOException):
        busy = True  # of another program, or of this one with other settings
    if busy:
        raise Unavailable(
            f"the file of {path} is open elsewhere, in a program that may write to it, or is no file of DuckDB: close "
            "it there, and try again"
        )
    try:
        yield _table(connection, inner, path)
    finally:
        connection.close()


def _table(connection: Any, inner: InnerName, path: str) -> _Table:
    (catalog,) = connection.execute("SELECT current_database()").fetchone()
    found = connection.execute(
        "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_catalog = ?", [catalog]
    ).fetchall()
    kinds = {(schema.lower(), name.lower()): kind for schema, name, kind in found}
    kind = kinds.get((inner.schema, inner.table))
    if kind is None:
        names = ", ".join(sorted(f"{schema}.{name}" for (schema, name), each in kinds.items() if each == "BASE TABLE"))
        raise InvalidInput(f"there is no table {inner.schema}.{inner.table} in {inner.location}; its tables: {names}")
    if kind != "BASE TABLE":
        raise InvalidInput(
            f"{path} is a view, in which one record may change many rows: name a table, or make one, CREATE TABLE ... "
            "AS FROM the view"
        )
    name = ".".join(map(quoted, (catalog, inner.schema, inner.table)))
    described = connection.execute(f"DESCRIBE {name}").fetchall()
    types = {row[0]: row[1] for row in described}
    if any(each.lower() == _NUMBER for each in types):
        raise InvalidInput(f"{path} has a column {_NUMBER}, as DuckDB calls the numbers of rows: give it another name")
    return _Table(connection, name, types)
