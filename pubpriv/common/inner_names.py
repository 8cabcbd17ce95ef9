"""Names of tables inside of something: a sheet of a workbook, or a table of a database.

`BOOK.xlsx#SHEET` is a sheet, `duckdb:///FILE#TABLE` a table in a file of DuckDB, whose path is relative unless it
begins with a further slash, and `postgresql://HOST:PORT/DATABASE#TABLE` one of PostgreSQL. A table may be in a schema,
`SCHEMA.TABLE`; that of DuckDB is `main` if none is said, and that of PostgreSQL is `public`.

Such a name has no user, password or settings in it: those come from the environment, as for PostgreSQL's own tools.
"""

import re
from dataclasses import dataclass

from pubpriv.errors import InvalidInput

EXCEL, DUCKDB, POSTGRES = "Excel", "DuckDB", "PostgreSQL"
"""Kinds of what has tables inside."""

WORKBOOKS = (".xlsx", ".xlsm")
"""Endings of the names of workbooks."""

_DATABASE = re.compile(r"(duckdb|postgres(?:ql)?(?:\+\w+)?)://(.*)", re.DOTALL | re.IGNORECASE)
_SHEET = re.compile(rf"(.+?(?:{'|'.join(map(re.escape, WORKBOOKS))}))#(.+)", re.DOTALL | re.IGNORECASE)
_SERVER = re.compile(r"([A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::([0-9]+))?/([A-Za-z0-9_$.-]+)")
_TABLE = re.compile(r"(?:([^.#\0]+)\.)?([^.#\0]+)")
_HERE = ("", "localhost", "127.0.0.1", "[::1]")
_USUAL_PORT = "5432"

_HOW = {
    DUCKDB: "duckdb:///FILE#TABLE, or duckdb:////FILE#TABLE for a path from the root",
    POSTGRES: "postgresql://HOST/DATABASE#TABLE, or ...#SCHEMA.TABLE",
}


def names_database(name: str) -> bool:
    """Return whether a name has the scheme of a database, whatever follows."""
    return _DATABASE.fullmatch(name) is not None


@dataclass(frozen=True)
class InnerName:
    """Name of a table inside of something.

    Attributes:
        kind: `Excel`, `DuckDB` or `PostgreSQL`.
        location: path or URL of a workbook, path of a file of DuckDB, or `HOST:PORT/DATABASE`.
        table: name of the sheet or table.
        schema: schema of the table; empty for a sheet.
    """

    kind: str
    location: str
    table: str
    schema: str = ""

    @classmethod
    def of(cls, name: str) -> "InnerName | None":
        """Take a name apart; None if it is that of another table.

        Raises:
            InvalidInput: it is that of a table in a database, and written otherwise.
        """
        found = _DATABASE.fullmatch(name)
        if found is None:
            sheet = _SHEET.fullmatch(name)
            return None if sheet is None else cls(EXCEL, sheet[1], sheet[2])
        kind = DUCKDB if found[1].lower() == "duckdb" else POSTGRES
        location, _, inside = found[2].partition("#") if kind == POSTGRES else found[2].rpartition("#")
        table, server = _TABLE.fullmatch(inside), _SERVER.fullmatch(location)
        local = location.startswith("/") and len(location.strip("/")) > 0
        # what is wrong is not repeated: it may be a password
        if table is None or not (local if kind == DUCKDB else server):
            raise InvalidInput(f"the name of a table in {kind} is written {_HOW[kind]}")
        if kind == DUCKDB:
            # names are the same in small and capital letters there
            return cls(kind, location[1:], table[2].lower(), (table[1] or "main").lower())
        assert server is not None  # checked above
        host, port = server[1].lower(), server[2] or _USUAL_PORT
        usual = int(port) == int(_USUAL_PORT)
        place = f"{host}/{server[3]}" if usual else f"{host}:{int(port)}/{server[3]}"
        return cls(kind, place, table[2], table[1] or "public")

    @property
    def is_database(self) -> bool:
        """Whether it is a table of a database."""
        return self.kind != EXCEL

    @property
    def compared(self) -> list[str]:
        """Parts by which names of tables of databases are compared: one spelling for each host."""
        place = self.location
        if self.kind == POSTGRES:
            server, _, database = place.partition("/")
            host, _, port = server.partition(":") if not server.startswith("[") else (server, "", "")
            place = f"{'localhost' if host in _HERE else host.removesuffix('.')}:{port}/{database}"
        return [self.kind, *place.split("/"), f"#{self.schema}.{self.table}"]

    def __str__(self) -> str:
        if self.kind == EXCEL:
            return f"{self.location}#{self.table}"
        scheme = "duckdb:///" if self.kind == DUCKDB else "postgresql://"
        return f"{scheme}{self.location}#{self.schema}.{self.table}"
