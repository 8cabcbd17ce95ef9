"""Declared private tables of a dataset, and refusals that follow from them.

One table has one budget, so no two datasets share a table, and no private file may be read as public rows.
"""

import os
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import sqlalchemy as sa

from pubpriv.common.column_names import join_in_command
from pubpriv.common.lake_names import location_of
from pubpriv.common.layouts import TableLayout
from pubpriv.common.tables import identified, is_in_memory, is_url, root_and_pattern, sharing
from pubpriv.errors import BooksClosed, InvalidInput, SpecMismatch, nearest
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._old_books import awaited_from
from pubpriv.privacy.ledger.records import Record, awaiting
from pubpriv.privacy.ledger.terms import person_columns_of
from pubpriv.privacy.ledger.views import NamedTable, TableIdentity

WHOLE_LINES = "no_line_breaks"
"""Field of a declared table: its owner said that no cell contains a line break."""

LAYOUT = "layout"
"""Field of a declared table: what is public of its layout."""

ANOTHER = "another_table"
"""Field of a declared table: its owner said that it is no copy of another dataset's."""


def declare(
    book: Book,
    table: NamedTable,
    no_line_breaks: bool = False,
    moved_from: str | None = None,
    another_table: bool = False,
) -> None:
    """Record a table with its columns, unless they are declared already.

    Args:
        book: book of the dataset.
        table: the table.
        no_line_breaks: its owner declares that no cell of it contains a line break.
        moved_from: name that this table had before it was moved; the dataset no longer asks a table of that name.
        another_table: its owner says that it is no copy of a table of another dataset.

    Raises:
        SpecMismatch: the table belongs to another dataset, or it is a second table of a dataset whose cap is waived;
            it has the layout of a table of another dataset, and nobody said that it is another table.
        InvalidInput: an id column among its columns; no table of the dataset was called `moved_from`; lines of text as
            records of persons, without that declaration.
    """
    uri = identified(table.uri)
    refuse_foreign(book, uri)
    moved = _moved(book, uri, moved_from)
    ids = sorted({*person_columns_of(book.person)} & {*table.source_columns})
    if ids:
        raise InvalidInput(
            f"column {', '.join(ids)} says whose row it is in dataset {book.dataset!r}, so it cannot be a column of "
            "the estimate: leave it out of --columns"
        )
    names = uri, *moved
    whole = no_line_breaks or any(has_whole_lines(book, name) for name in names)
    if table.delimited and book.person is not None and not whole:
        raise InvalidInput(
            f"{_why_lines(book.dataset, uri)} Say so with --no-line-breaks, in Python no_line_breaks=True, in a "
            "dataset's file no_line_breaks: true"
        )
    known = [each for each in book.tables() if each["uri"] in names]
    columns = sorted({*table.source_columns}.union(*(each["columns"] for each in known)))
    groups = sorted({*table.group_columns}.union(*(each.get("groups", ()) for each in known)))
    another = another_table or any(each.get(ANOTHER) for each in known)
    if table.layout is not None and not another and is_new(book, *names):
        _refuse_copy(book, uri, table.layout)
    layout = table.layout.to_json() if table.layout else next((each[LAYOUT] for each in known if LAYOUT in each), None)
    optional = {"groups": groups, "moved_from": moved, WHOLE_LINES: whole, ANOTHER: another, LAYOUT: layout}
    body: dict[str, Any] = {"uri": uri, "columns": columns} | {name: each for name, each in optional.items() if each}
    if body in known:
        return
    _check_only_one(book, uri, moved)
    book.append("declared", body)


def layout_of(book: Book, uri: str) -> TableLayout | None:
    """Return the layout that is recorded of a declared table; None: none is."""
    recorded = next((each.get(LAYOUT) for each in book.tables() if each["uri"] == identified(uri)), None)
    return None if recorded is None else TableLayout.from_json(recorded)


def is_new(book: Book, *names: str) -> bool:
    """Return whether it was not asked yet if a table of these names is a copy of another dataset's.

    Datasets of older versions, which never asked, go on if they have runs.
    """
    known = [each for each in book.tables() if each["uri"] in names]
    return not known or (book.find("opened") is None and not any(LAYOUT in each for each in known))


def _refuse_copy(book: Book, uri: str, layout: TableLayout) -> None:
    """Refuse a new table that may be a copy of another dataset's: its rows would have two budgets.

    Raises:
        SpecMismatch: one has its layout.
    """
    for record in _declarations(book.connection, besides=book.dataset):
        table = record.facts()
        if LAYOUT in table and layout.may_be_copy_of(TableLayout.from_json(table[LAYOUT])):
            raise SpecMismatch(
                f"is {uri} another copy of the table of dataset {record.dataset!r}, {table['uri']}? It has {layout}. "
                "Rows have one budget, so a copy is released from that dataset (its table may move there: "
                f"--moved-from). If these are other rows, say --another-table with `pubpriv budget set "
                f"{book.dataset} ... --private {quote(uri)}` (Python: another_table=True; in a dataset's file "
                "another_table: true)"
            )


def has_whole_lines(book: Book, uri: str) -> bool:
    """Return whether its owner declared that no cell of a table contains a line break."""
    return any(table["uri"] == identified(uri) and table.get(WHOLE_LINES) is True for table in book.tables())


def check_lines(book: Book, table: NamedTable, url: str) -> None:
    """Refuse a table of persons whose records are lines of text, unless each line is declared to be a whole record.

    Raises:
        InvalidInput: nothing declares it; the message has the command that does.
    """
    if table.delimited and book.person is not None and not has_whole_lines(book, table.uri):
        how = _command(book, table, url, table.source_columns, " --no-line-breaks")
        raise InvalidInput(f"{_why_lines(book.dataset, table.uri)} It is said once, with {how}")


def _why_lines(dataset: str, uri: str) -> str:
    return (
        f"the unit of dataset {dataset!r} is a person, and {uri} is CSV, where a line is a record: a cell with m line "
        "breaks would be m + 1 records, of any persons. The program may not look for one, since that would tell of a "
        "row. If a cell can contain one, write the table as Parquet; if none can, its owner has to say so."
    )


def _moved(book: Book, uri: str, moved_from: str | None) -> list[str]:
    """Names of the tables that moved to `uri`, now or before."""
    current = [table["uri"] for table in book.tables()]
    known = _declared_as(book, uri, "moved_from") or []
    if moved_from is None:
        return [old for old in known if old not in current]
    old = identified(moved_from)
    if old in known:
        return known
    if old not in current or old == uri:
        raise InvalidInput(
            f"no other table of dataset {book.dataset!r} is called {old}, so none moved from there: it declares "
            f"{'; '.join(current) or 'no table yet'}"
        )
    return sorted({*known, old} - ({*current} - {old}))


def _check_only_one(book: Book, uri: str, moved: list[str]) -> None:
    """Refuse a second table of a dataset whose cap is waived.

    Raises:
        SpecMismatch: it is one.
    """
    current = [str(table["uri"]) for table in book.tables()]
    others = [] if uri in current else [name for name in current if name not in moved]
    if others and book.periods is not None and not book.periods.lifetime:
        raise SpecMismatch(
            f"dataset {book.dataset!r} has no cap for all periods together, so it has one table, {', '.join(others)}: "
            "somebody with a row in each of two tables would lose the cap of two periods. If the table moved, say "
            f"--moved-from {quote(others[0])} (Python: moved_from=). If {uri} has other rows of the same kind, put its "
            "files into the folder of that table. Otherwise give it a dataset of its own, and add the two promises"
        )


def check_waived_for_one(book: Book) -> None:
    """Refuse to waive the cap of a dataset with several tables.

    Raises:
        InvalidInput: it has several.
    """
    tables = [str(table["uri"]) for table in book.tables()]
    if len(tables) > 1:
        raise InvalidInput(
            f"dataset {book.dataset!r} has {len(tables)} tables ({'; '.join(tables)}), and somebody with a row in each "
            "would lose the cap of a period in each: its own cap stays, so leave out --lifetime none"
        )


def check_declared(book: Book, table: TableIdentity, url: str, first: bool = False) -> None:
    """Refuse a table or columns that were not declared; the message has the command that declares them.

    Args:
        book: book of the dataset.
        table: the table, perhaps known only by name.
        url: URL of the ledger.
        first: if no table is declared yet, accept any that does not belong to another dataset.

    Raises:
        SpecMismatch: not declared, or of another dataset.
    """
    uri = identified(table.uri)
    refuse_foreign(book, uri)
    tables = book.tables()
    if first and not tables:
        return
    known = _declared_as(book, uri, "columns")
    missing = sorted({*table.source_columns} - {*(known or ())})
    groups = sorted({*_group_columns(table)} - {*(_declared_as(book, uri, "groups") or ())})
    if known is not None and not missing and not groups:
        return
    named = [f"columns {', '.join(missing)}"] * bool(missing) + [f"groups by {', '.join(groups)}"] * bool(groups)
    what = f"the table {table.uri}" if known is None else f"{' and '.join(named)} of {table.uri}"
    declared = "; ".join(f"{t['uri']} ({', '.join(t['columns'])})" for t in tables) or "no table yet"
    columns = table.source_columns or sorted({column for t in tables for column in t["columns"]})
    how = _command(book, table, url, columns, "".join(f" --by {quote(join_in_command([name]))}" for name in groups))
    near = nearest(missing[0], known) if known and missing else None
    hint = "D" if near is None else f"Did you mean {near!r}? If not, d"
    if known is None and _nothing_at(uri):
        what, hint = f"{what}, and nothing is at that path", "Check the path; if it is right, d"
    raise SpecMismatch(
        f"dataset {book.dataset!r} does not declare {what}; it declares {declared}. {hint}eclare it with {how}"
    )


def _command(book: Book, table: TableIdentity, url: str, columns: Sequence[str], options: str) -> str:
    """Give the command that declares columns of a table, with further options."""
    if is_in_memory(table.uri):
        return f"`ledger.register({book.dataset!r}, {book.budget.written()!r}, table=...)` in Python"
    return (
        f"`pubpriv budget set {book.dataset} {book.budget.written()} --ledger {quote(url)} --private "
        f"{quote(table.uri)} --columns {quote(join_in_command(columns))}{options}`"
    )


def _nothing_at(uri: str) -> bool:
    """Check whether a canonical name is that of a local file or folder that does not exist, or a glob in such one."""
    place = location_of(uri)
    return not is_url(place) and not is_in_memory(place) and not os.path.exists(root_and_pattern(place)[0])


def _declared_as(book: Book, uri: str, which: str) -> list[str] | None:
    """Read a list in the declaration of a table, empty if it is not there; None if the table is not declared."""
    return next((list(table.get(which, ())) for table in book.tables() if table["uri"] == uri), None)


def _group_columns(table: TableIdentity) -> tuple[str, ...]:
    """Columns of groups; none for a table known only by name."""
    return getattr(table, "group_columns", ())


def refuse_foreign(book: Book, uri: str) -> None:
    """Refuse a table that could share a file with a table of another dataset.

    Raises:
        SpecMismatch: it could.
    """
    found = private_owner(book.connection, uri, besides=book.dataset)
    if found is not None:
        raise SpecMismatch(
            f"the table {uri} belongs to dataset {found[0]!r} (declared as {found[1]}): "
            f"one table has one budget, so it cannot be used as {book.dataset!r}"
        )


def private_owner(connection: sa.Connection, uri: str, besides: str | None = None) -> tuple[str, str] | None:
    """Find the first declared table that could share a file with `uri`: its dataset, and its name.

    Args:
        connection: connection in a transaction.
        uri: canonical name of a table or of public rows.
        besides: a dataset whose own tables are ignored.

    Raises:
        BooksClosed: a dataset waits for its earlier books, which contain its tables.
    """
    place = awaited_from(connection)
    if place is not None:
        raise BooksClosed(awaiting(place))
    shared = sharing(uri)
    for record in _declarations(connection, besides):
        theirs = str(record.facts()["uri"])
        if shared(theirs):
            return record.dataset, theirs
    return None


def _declarations(connection: sa.Connection, besides: str | None) -> Iterator[Record]:
    """Yield the records that declare tables, of all datasets but one."""
    table = schema.records
    names = sa.select(schema.datasets.c.name).where(schema.datasets.c.name != (besides or ""))
    query = sa.select(table).where(table.c.dataset.in_(names), schema.is_kind("declared"))
    yield from map(schema.whole, connection.execute(query.order_by(table.c.dataset, table.c.seq)))
