"""Tables of the ledger as statements see them; `migrations` makes them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.ledger.records import Record

_metadata = sa.MetaData()
datasets = sa.Table("datasets", _metadata, sa.Column("name", sa.Text, primary_key=True))
records = sa.Table(
    "records",
    _metadata,
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    *(
        sa.Column(name, sa.Text)
        for name in (
            "kind", "release_id", "key", "body", "state", "previous_hash", "hash", "at", "user", "host",
            "version",
        )
    ),
)  # fmt: skip


OPEN_RUNS = sa.text(
    "SELECT r.* FROM records o JOIN records r ON r.dataset = o.dataset AND r.seq = (SELECT MAX(s.seq) "
    "FROM records s WHERE s.dataset = o.dataset AND s.release_id = o.release_id) "
    "WHERE o.dataset = :dataset AND o.kind = 'opened' AND NOT EXISTS (SELECT 1 FROM records c "
    "WHERE c.dataset = o.dataset AND c.release_id = o.release_id AND c.kind = 'closed') ORDER BY o.seq"
)
"""The newest record of each run that was opened and not closed."""


def is_kind(kind: str) -> sa.ColumnElement[bool]:
    """The kind, written into the statement: partial indexes are used for literals only."""
    return records.c.kind == sa.bindparam(None, kind, sa.Text, literal_execute=True)


_INSERT = sa.insert(records)


def insert(connection: sa.Connection, rows: Sequence[tuple[Record, str]]) -> None:
    """Store records, each with its hash."""
    connection.execute(_INSERT, [record.columns() | {"hash": stored} for record, stored in rows])


def record_of(row: Any) -> tuple[Record, str]:
    """A row as a record, and the hash that is stored beside it."""
    values = dict(row._mapping)
    stored = values.pop("hash")
    return Record(**values), stored


def whole(row: Any) -> Record:
    """A row as a record, if it still has the hash that it was stored with.

    Raises:
        LedgerViolation: somebody changed it.
    """
    record, stored = record_of(row)
    if record.digest() != stored:
        raise LedgerViolation(
            f"record {record.seq} of dataset {record.dataset!r} was changed after it was written: stop charging this "
            "ledger, keep a copy of it, and compare with its last export (`pubpriv ledger verify`)"
        )
    return record
