"""The first steps of every estimate from files: open the public table, look at the private one's schema."""

from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.estimators.steps import opening_step, step


@step(title="ingest public table")
def ingest_public(path: str, content: str, columns: tuple[str, ...] | None) -> PublicTable:
    """The public rows in `path`; `content` is the file's hash, so that nothing stale is taken for it."""
    del content
    return PublicTable.open(path, columns)


@opening_step(title="ingest private table")
def ingest_private(uri: str, columns: tuple[str, ...], exact: bool) -> PrivateTable:
    """A handle on the private table: schema and row count are looked at, rows are not."""
    return PrivateTable.open(uri, columns, exact)
