"""Export a ledger, and restore one from exports."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.ledger import bundle, schema
from pubpriv.privacy.ledger._access import Access, lacking, names, rows_of
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._declared import refuse_foreign
from pubpriv.privacy.ledger._stamps import installed_version
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.views import Asked

_BATCH = 1000
"""Records that are stored with one statement."""


def export(access: Access, path: Path, datasets: Sequence[str], after: Path | None) -> dict[str, bundle.End]:
    """Write a bundle; see `Ledger.export`."""
    before = bundle.ends(after) if after else {}
    if after and (datasets or path.resolve() == after.resolve()):
        raise InvalidInput(
            f"an export that continues {after} has all its datasets and is a file of its own: name no datasets, and "
            "another file"
        )
    with access.database.transaction(write=False) as connection:
        for dataset, reason in lacking(connection, before).items():
            raise LedgerViolation(f"the ledger cannot continue {after}: dataset {dataset!r}: {reason}")
        every = names(connection)
        for dataset in datasets:
            if dataset not in every:
                access.refuse_unknown(connection, dataset)
        chosen = [dataset for dataset in every if not datasets or dataset in datasets]
        if path.exists():
            _check_replaceable(connection, path, chosen, before)
        heads = {dataset: Book(connection, dataset).head for dataset in chosen}
        ends = {dataset: bundle.End(head.seq + 1, head.digest()) for dataset, head in heads.items()}
        first = {dataset: end.records - 1 for dataset, end in before.items()}
        rows = (row for dataset in chosen for row in rows_of(connection, dataset, first.get(dataset, 0)))
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        bundle.save(path, rows, ends, at, installed_version(), before)
    return ends


def restore(
    access: Access,
    asked: Callable[[Any], Asked | None],
    path: Path,
    datasets: Sequence[str],
    after: Sequence[Path],
) -> dict[str, int]:
    """Append the records that bundles have and the ledger lacks; see `Ledger.restore`."""
    if access.unguarded is not None:
        raise LedgerViolation(access.unguarded)
    bundle.verify(path, asked, after)
    ends = bundle.ends(path)
    unknown = sorted({*datasets} - {*ends})
    if unknown:
        raise InvalidInput(f"{path} has no dataset {', '.join(unknown)}; it has {', '.join(sorted(ends))}")
    appended = {dataset: 0 for dataset in ends if not datasets or dataset in datasets}
    for each in (*after, path):
        reached = bundle.ends(each)
        for dataset, rows in bundle.chains(each):
            if dataset in appended:
                appended[dataset] += _catch_up(access, dataset, reached[dataset], rows)
    access.watch({dataset: ends[dataset] for dataset in access.read_only if dataset in ends}, path)
    return appended


def _catch_up(access: Access, dataset: str, end: bundle.End, rows: Iterator[tuple[Record, str]]) -> int:
    lacking = access.lacks({dataset: end}).get(dataset)
    if lacking is None:
        return 0
    with access.database.transaction() as connection:
        access.hold(connection, dataset, create=True, tables=True)
        book = Book(connection, dataset)
        first = 0 if book.state is None else book.head.seq + 1
        last = None if book.state is None else book.head.digest()
        if first >= end.records:
            raise LedgerViolation(f"the ledger and the export have gone different ways: dataset {dataset!r}: {lacking}")
        appended = _append_all(book, rows, first, last)
        if Book(connection, dataset).head.digest() != end.head:  # it was read twice
            raise LedgerViolation(f"the export changed while it was restored: nothing of {dataset!r} is taken")
        return appended


def _append_all(book: Book, rows: Iterator[tuple[Record, str]], first: int, previous: str | None) -> int:
    """Store checked records from number `first` on; returns how many.

    Raises:
        LedgerViolation: the record before the first one differs from the ledger's.
        SpecMismatch: a record declares a table of another dataset.
    """
    appended = 0
    while batch := list(islice(rows, _BATCH)):
        for record, stored in batch:
            if record.seq == first - 1 and stored != previous:
                raise LedgerViolation(
                    f"the ledger and the export have gone different ways: record {record.seq} of dataset "
                    f"{book.dataset!r} is another one than in the export"
                )
            if record.seq >= first and record.kind == "declared":
                refuse_foreign(book, str(record.facts()["uri"]))
        lacking = [(record, stored) for record, stored in batch if record.seq >= first]
        if lacking:
            if lacking[0][0].seq != first + appended:  # it was read twice
                raise LedgerViolation(f"the export changed while it was restored: nothing of {book.dataset!r} is taken")
            schema.insert(book.connection, lacking)
        appended += len(lacking)
    return appended


def _check_replaceable(
    connection: sa.Connection, path: Path, chosen: Sequence[str], before: Mapping[str, bundle.End]
) -> None:
    """Check that an existing export may be replaced: the new one must have all its datasets and records."""
    ends = bundle.ends(path)
    if before and bundle.continues(path) != before:
        raise InvalidInput(f"{path} is an export that does not continue the same one: choose another file")
    for dataset, reason in lacking(connection, ends).items():
        raise LedgerViolation(f"{path} is not replaced: dataset {dataset!r}: {reason}")
    left_out = sorted({*ends} - {*chosen})
    if left_out:
        raise InvalidInput(f"{path} also has the datasets {', '.join(left_out)}: export them too, or to another file")
