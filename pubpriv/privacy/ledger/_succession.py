"""Close a ledger's books and carry them on in a new ledger: balances are transferred, records stay in the archive.

There are four steps; each is done completely or not at all, even if the machine stops:

| after | the old ledger | the new one |
|---|---|---|
| `_reserve`, one transaction | open | waits: each dataset has one record, `awaited`, and only `carried` may follow |
| `_close`, one transaction | closed: each dataset ends with `sealed`, and nothing may follow | waits |
| the archive is on disk | closed | waits |
| `_carry`, one transaction a dataset | closed | open, dataset by dataset |

**The two ledgers never both charge.** A dataset of the new ledger takes a charge only after `carried`, which is written
after `sealed` is durable in the old one. Nothing undoes `sealed`: `apply` and a trigger refuse any later record.
**Only one ledger continues the books.** `_reserve` makes a random name, the succession, which `sealed` repeats: closed
books are continued in the ledger that waits under this name, and in no other, even if a URL leads elsewhere meanwhile.
In a ledger that waits, or is closed, no other dataset can be registered. If the command is run again, the missing steps
are done: existing records are compared with what would be written, and nothing is written twice.

**The archive determines what is transferred.** It is replayed from its first record to `sealed` before it is used, and
`check` does the same at any later time. So cap, spent, each period's spent, terms and tables are those of the old
books, and every later charge is refused where the old books would have refused it. While a dataset waits, its private
tables are not known yet, so no run of another dataset begins (`declared.private_owner`).
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation, SpecMismatch
from pubpriv.privacy.ledger import _custody, bundle, schema
from pubpriv.privacy.ledger._access import Access, names
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._names import check_text
from pubpriv.privacy.ledger._opening import Entry, Opening
from pubpriv.privacy.ledger._replay import replay
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.texts import body_text
from pubpriv.privacy.ledger.views import Asked

_Asking = Callable[[Any], Asked | None]


def carry_on(old: Access, new: Access, archive: Path, asked: _Asking) -> dict[str, int]:
    """Close the books of `old`, export them to `archive`, and continue them in `new`; called again, finish the rest.

    Args:
        old: a ledger without open runs.
        new: an empty ledger, or one for which an earlier call was interrupted.
        archive: file to which all records are exported.
        asked: computes the event of a stored question again; see `replay`.

    Returns:
        Number of runs that the new ledger remembers, by dataset.

    Raises:
        InvalidInput: a run is open, a role that does not own the ledgers, nothing to close, or the archive cannot be
            at that path.
        SpecMismatch: `new` has datasets of its own, or is not the ledger that continues these books.
        LedgerViolation: records of one of them are wrong, or somebody wrote meanwhile.
        Unavailable: a ledger or the archive cannot be written; the same call again continues.
    """
    for reason in old.read_only.values():
        raise LedgerViolation(reason)
    for access in (old, new):
        _check_owned(access)
        check_text(access.url, "ledger URL")
    ends = _custody.export(old, archive, (), None)
    if not ends:
        raise InvalidInput(f"the ledger {old.url} has no dataset: there are no books to close")
    first = {dataset: opening.first for dataset, opening in _read(archive, asked)}
    with old.database.transaction(write=False) as connection:
        _refuse_open_runs(connection)
    succession = _reserve(new, first, _succession_of(old), old.url)
    _close(old, ends, succession, new.url)
    _custody.export(old, archive, (), None)
    return {dataset: _carry(new, dataset, opening) for dataset, opening in _read(archive, asked)}


def check(access: Access, archive: Path, asked: _Asking) -> dict[str, int]:
    """Compare the first records of books with the archive of the books that they continue.

    Returns:
        Number of runs that they remember, by dataset.

    Raises:
        InvalidInput: see `bundle.ends`.
        LedgerViolation: the archive is wrong, its books were not closed, or the ledger continues other books.
    """
    with access.database.transaction(write=False) as connection:
        missing = sorted({*bundle.ends(archive)} - {*names(connection)})
        if missing:
            raise LedgerViolation(
                f"the archive {archive} has the datasets {', '.join(missing)}, and the ledger has not"
            )
        return {dataset: _compare(connection, dataset, opening) for dataset, opening in _read(archive, asked)}


def _read(archive: Path, asked: _Asking) -> Iterator[tuple[str, Opening]]:
    """Replay an archive dataset by dataset, and collect what is carried on of each.

    Raises:
        InvalidInput: no file, or not an export.
        LedgerViolation: a record does not follow, or the records are not those that its last line names.
    """
    ends, found = bundle.ends(archive), 0
    for dataset, rows in bundle.chains(archive):
        opening = Opening()
        summary = replay(dataset, opening.gather(rows), asked=asked)
        if ends.get(dataset) != bundle.End(summary.records, summary.head):
            raise LedgerViolation(f"the records in {archive} are not those that its last line names")
        found += 1
        yield dataset, opening
    if found != len(ends):
        raise LedgerViolation(f"the records in {archive} are not those that its last line names")


def _succession_of(old: Access) -> str | None:
    """Name of the succession in a ledger's closed books; None: the books are open."""
    with old.database.transaction(write=False) as connection:
        sealed = [Book(connection, dataset).find("sealed") for dataset in names(connection)]
    found = {str(record.facts()["succession"]) for record in sealed if record is not None}
    if len(found) > 1 or (found and None in sealed):
        raise LedgerViolation(f"the books of {old.url} are closed in part: this ledger was put together from several")
    return next(iter(found), None)


def _reserve(new: Access, first: Mapping[str, str], known: str | None, place: str) -> str:
    """Let the new ledger wait for these books; returns the name of the succession, made now or by an earlier call."""
    with new.database.transaction() as connection:
        _hold_all(connection)
        begun = {dataset: _awaited(Book(connection, dataset).find("awaited")) for dataset in names(connection)}
        if any(body is None or body["first"] != first.get(dataset) for dataset, body in begun.items()):
            raise SpecMismatch(
                f"the ledger {new.url} has datasets that are not of these books: name an empty database, or the one in "
                "which an earlier call did not come to its end"
            )
        successions = {body["succession"] for body in begun.values() if body is not None}
        if len(successions) > 1 or (known is not None and (successions, {*begun}) != ({known}, {*first})):
            raise SpecMismatch(
                f"these books are closed already, and {new.url} is not the ledger in which they go on: that one has "
                "their charges since. If it was lost, restore its exports; `pubpriv budget show` of the old ledger "
                "says where it was"
            )
        succession = str(next(iter(successions), None) or secrets.token_hex(16))
        for dataset in sorted({*first} - {*begun}):
            new.hold(connection, dataset, create=True, tables=False)
            body = {"succession": succession, "first": first[dataset], "ledger": place}
            Book(connection, dataset).append("awaited", body)
    return succession


def _close(old: Access, ends: Mapping[str, bundle.End], succession: str, place: str) -> None:
    """Close the books of all datasets at once, if nothing was written since they were verified."""
    with old.database.transaction() as connection:
        _hold_all(connection)
        books = {dataset: Book(connection, dataset) for dataset in names(connection)}
        if {dataset: bundle.End(book.head.seq + 1, book.head.digest()) for dataset, book in books.items()} != ends:
            raise LedgerViolation(
                f"somebody wrote to the ledger {old.url} while it was verified, so its books are not closed: stop what "
                "charges it, then try again"
            )
        _refuse_open_runs(connection)
        for book in books.values():
            if book.head.kind != "sealed":
                book.append("sealed", {"succession": succession, "to": place})


def _carry(new: Access, dataset: str, opening: Opening) -> int:
    """Continue the books of one dataset, unless that is done already; returns the number of remembered runs."""
    entries = opening.entries()
    with new.database.transaction() as connection:
        new.hold(connection, dataset, create=False, tables=True)
        book = Book(connection, dataset)
        if book.head.kind == "awaited":
            for kind, body in entries:
                book.append(kind, body)
        return _compare(connection, dataset, opening)


def _compare(connection: sa.Connection, dataset: str, opening: Opening) -> int:
    """Compare the first records of a dataset with those that follow from its old books."""
    entries: list[Entry] = opening.entries()
    rows = connection.execute(Book(connection, dataset).rows().limit(len(entries) + 1))
    found = [schema.whole(row) for row in rows]
    waited = _awaited(found[0]) if found else None
    begun = [(record.kind, record.body) for record in found[1:]]
    right = waited is not None and (waited["first"], waited["succession"]) == (opening.first, opening.succession)
    if not right or begun != [(kind, body_text(body)) for kind, body in entries]:
        raise LedgerViolation(
            f"dataset {dataset!r} does not carry on the books of the archive: what it begins with is not what they "
            "come to. Stop charging this ledger, and compare it with its exports"
        )
    return int(entries[0][1]["runs"])


def _awaited(record: Record | None) -> dict[str, Any] | None:
    """Body of an `awaited` record; None if the record is another one."""
    return record.facts() if record is not None and record.kind == "awaited" else None


def _refuse_open_runs(connection: sa.Connection) -> None:
    open_ = {dataset: list(Book(connection, dataset).open_runs()) for dataset in names(connection)}
    runs = [f"{name} of dataset {dataset!r}" for dataset, ids in open_.items() for name in ids]
    if runs:
        more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
        raise InvalidInput(
            f"runs are open: {', '.join(runs[:3])}{more}. Finish them, or end them with `pubpriv budget recover "
            "RELEASE_ID --dataset NAME`: nothing is held and nothing answered in books that are closed"
        )


def _hold_all(connection: sa.Connection) -> None:
    """Let nobody else register or charge until this transaction ends; in SQLite the whole file is locked anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE datasets IN EXCLUSIVE MODE"))


_OWNED = sa.text("SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'records'::regclass")


def _check_owned(access: Access) -> None:
    """Refuse a role that may only append, and a ledger without its triggers."""
    if access.unguarded is not None:
        raise LedgerViolation(access.unguarded)
    with access.database.transaction(write=False) as connection:
        if connection.dialect.name == "postgresql" and not connection.execute(_OWNED).scalar_one():
            raise InvalidInput(f"books are closed by the owner of the ledger: {access.url} is another role's")
