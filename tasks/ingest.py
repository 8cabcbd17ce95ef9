"""Ingest and validate: the tables of a run, opened and held against their schemas."""

from pubpriv import ingest as plain
from pubpriv.data.tables import PrivateTable, PublicTable
from schemas.private import validate_private_declaration
from schemas.public import validate_public


def ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """Open the public table and validate its rows."""
    table = plain.ingest_public(path, content, columns)
    validate_public(table, table.columns)
    return table


def ingest_private(uri: str, columns: tuple[str, ...], exact: bool) -> PrivateTable:
    """Open a handle on the private table and validate what it declares, as an empty frame: rows are not read."""
    table = plain.ingest_private(uri, columns, exact)
    validate_private_declaration(table, columns)
    return table
