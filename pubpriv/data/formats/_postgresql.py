"""Tables in PostgreSQL, by ADBC, in the order of their primary key.

A table in PostgreSQL has no order of its own: a row that is changed or goes may move others, and two passes may see
rows in two orders. Which rows of a person count depends on their order, and so does whose weight a row gets. So a table
is read in the order of its primary key, which no row shares with another: where a row stands among others depends on
the keys of these rows alone. A table without a primary key is refused.

Integers, floats and truth values come as they are stored. Numbers with decimals, dates and times come as the text that
PostgreSQL writes of them, and each is read as a cell of a CSV file: nothing is converted by the server or the driver
that could fail for a value. A database in another encoding than UTF-8 is refused for that reason. Who connects, and
with what password, libpq reads from its environment.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pubpriv.common.inner_names import InnerName
from pubpriv.data.formats._layout import Look, Piece, check_rows
from pubpriv.data.formats._queries import quoted
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

_AS_STORED = {
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "real": "float32",
    "double precision": "float64",
    "boolean": "bool_",
}
"""Types that are read as they are stored, and Arrow's names of them."""

_WRITTEN = ("numeric", "date", "timestamp without time zone", "timestamp with time zone")
"""Types whose cells are read as the texts that PostgreSQL writes. Those of all others are texts, and no numbers."""

_SETTINGS = (
    "SET default_transaction_read_only = on",
    "SET row_security = off",  # an error where a policy would leave out rows
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET client_encoding = 'UTF8'",
    "SET statement_timeout = 0",
)

_TABLE = """
SELECT c.relkind::text, pg_encoding_to_char(d.encoding)::text,
       EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_database d
WHERE n.nspname = $1 AND c.relname = $2 AND d.datname = current_database()
"""

_COLUMNS = """
SELECT a.attname::text, format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid), NULL),
       coalesce(array_position(x.indkey::int2[], a.attnum), -1)::int
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index x ON x.indrelid = c.oid AND x.indisprimary AND x.indisvalid
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


@dataclass(frozen=True)
class _Table:
    """A table of an open connection.

    Attributes:
        cursor: cursor of the connection.
        name: name of the table in queries.
        kinds: types of its columns, by name.
        key: columns of its primary key, in order.
    """

    cursor: Any
    name: str
    kinds: dict[str, str]
    key: tuple[str, ...]

    @property
    def written(self) -> frozenset[str]:
        """Columns whose cells are read as texts of numbers, dates and times."""
        return frozenset(name for name, kind in self.kinds.items() if kind in _WRITTEN)

    def type(self, name: str) -> Any:
        """Return the Arrow type of a column."""
        import pyarrow as pa

        kind = self.kinds[name]
        if kind in _WRITTEN:
            return pa.large_binary()
        return getattr(pa, _AS_STORED[kind])() if kind in _AS_STORED else pa.large_string()

    def query(self, columns: Sequence[str]) -> str:
        """Return the query of columns, in the order of the key."""
        chosen = [quoted(each) + ("" if self.kinds[each] in _AS_STORED else "::text") for each in columns]
        return f"SELECT {', '.join(chosen)} FROM {self.name} ORDER BY {', '.join(map(quoted, self.key))}"  # noqa: S608 - quoted


def look(path: str, columns: Sequence[str]) -> Look:  # noqa: ARG001 - the shape of a `Format`
    """Read names, types and the primary key, and count the rows.

    Raises:
        InvalidInput: no such table, a view, a table without a primary key, or a database that is not in UTF-8.
        Unavailable: the server does not answer, or not to this user.
    """
    import pyarrow as pa

    with _opened(path) as table:
        ((rows,),) = _asked(table.cursor, f"SELECT count(*) FROM {table.name}")  # noqa: S608 - quoted
    schema = pa.schema([(name, table.type(name)) for name in table.kinds])
    return Look(schema, (Piece(0, rows),) if rows else (), table.written)


def batches(path: str, piece: Piece, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of `columns`, in order.

    Raises:
        InvalidInput: there are other rows now.
    """
    import pyarrow as pa

    read = 0
    with _opened(path) as table:
        schema = pa.schema([(name, table.type(name)) for name in columns])
        table.cursor.execute(table.query(columns))
        for batch in table.cursor.fetch_record_batch():
            read += batch.num_rows
            cells = [batch.column(i).cast(field.type) for i, field in enumerate(schema)]
            yield pa.RecordBatch.from_arrays(cells, schema=schema)
    check_rows(read, piece)


@contextmanager
def _opened(path: str) -> Iterator[_Table]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise InvalidInput("tables of PostgreSQL need: pip install 'pubpriv[databases]'") from None
    inner = InnerName.of(path)
    assert inner is not None  # the format is chosen by the form of the name
    refused: PubPrivError | None = None
    connection = None
    try:
        connection = dbapi.connect(f"postgresql://{inner.location}?connect_timeout=10", autocommit=True)
        cursor = connection.cursor()
        for setting in _SETTINGS:
            cursor.execute(setting)
        table = _table(cursor, inner, path)
    except PubPrivError as error:
        refused = error.with_traceback(None)
    except dbapi.Error:
        refused = Unavailable(
            f"the server of {path} does not answer, or not to the user of this environment: check PGUSER, PGPASSWORD "
            "or ~/.pgpass, or try again"
        )
    try:
        if refused is not None:  # raised here, so that the driver's exception is not chained to it
            raise refused
        yield table
    finally:
        if connection is not None:
            connection.close()


def _table(cursor: Any, inner: InnerName, path: str) -> _Table:
    names = (inner.schema, inner.table)
    found = _asked(cursor, _TABLE, names)
    if not found:
        raise InvalidInput(f"there is no table {inner.schema}.{inner.table} at {path}: small and capital letters count")
    kind, encoding, parent = found[0]
    if kind not in ("r", "p"):
        raise InvalidInput(
            f"{path} is a view, or no table of this server, and one record may change many rows of it: name a table"
        )
    if kind == "r" and parent:
        raise InvalidInput(f"{path} has tables that inherit from it, whose rows no key of its own tells apart")
    if encoding != "UTF8":
        raise InvalidInput(f"the database of {path} is in {encoding}: only those in UTF-8 are read")
    columns = _asked(cursor, _COLUMNS, names)
    key = tuple(name for name, _, place in sorted(columns, key=lambda column: column[2]) if place >= 0)
    if not key:
        raise InvalidInput(
            f"{path} has no primary key, so its rows have no order that stays: ALTER TABLE ... ADD PRIMARY KEY (the "
            "column that numbers its rows), or export it as Parquet"
        )
    return _Table(cursor, ".".join(map(quoted, names)), {name: kind for name, kind, _ in columns}, key)


def _asked(cursor: Any, query: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    """Answer to a query of the catalogue."""
    cursor.execute(query, parameters=list(values)) if values else cursor.execute(query)
    found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
