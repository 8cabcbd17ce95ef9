"""Tables of the ledger for SQLAlchemy statements; `migrations` makes the tables."""

from collections.abc import Sequence
from functools import cache
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
            "version", "period",
        )
    ),
)  # fmt: skip


_LAST = "SELECT * FROM records WHERE dataset = :dataset AND kind = 'opened' ORDER BY seq DESC LIMIT :most"
_NEWEST_OF = (
    "JOIN records r ON r.dataset = :dataset AND r.seq = (SELECT MAX(s.seq) FROM records s "
    "WHERE s.dataset = :dataset AND s.release_id = o.release_id)"
)
# by NOT EXISTS, not by EXCEPT: for that SQLite reads the index of all records, to have runs in the order of their ids
_NOT_CLOSED = (
    "o.dataset = :dataset AND o.kind = 'opened' AND NOT EXISTS (SELECT 1 FROM records c "
    "WHERE c.dataset = :dataset AND c.release_id = o.release_id AND c.kind = 'closed')"
)

OPEN_RUNS = sa.text(f"SELECT r.* FROM records o {_NEWEST_OF} WHERE {_NOT_CLOSED} ORDER BY o.seq")  # noqa: S608
"""The newest record of each open run, in the order of opening."""

NEWEST_RUNS = sa.text(f"SELECT r.* FROM ({_LAST}) o {_NEWEST_OF} ORDER BY o.seq")  # noqa: S608
"""The newest record of each of the :most runs that were opened last, in the order of opening."""

NEWEST_OPENED = sa.text(f"SELECT * FROM ({_LAST}) o ORDER BY o.seq")  # noqa: S608
"""The records that opened these runs."""


def is_kind(kind: str) -> sa.ColumnElement[bool]:
    """Compare the kind with a literal: partial indexes are not used for bound parameters."""
    return records.c.kind == sa.bindparam(None, kind, sa.Text, literal_execute=True)


@cache
def newest(*columns: str, kind: str | None = None) -> sa.Select[Any]:
    """Select the newest record of :dataset and a kind, in which these columns equal the parameters of their names.

    Statements are cached: making one takes SQLAlchemy five times as long as running it.
    """
    where = [records.c[name] == sa.bindparam(name) for name in ("dataset", *columns)]
    if kind is not None:
        where.append(is_kind(kind))
    return sa.select(records).where(*where).order_by(records.c.seq.desc()).limit(1)


NOTED = sa.select(records).where(
    records.c.dataset == sa.bindparam("dataset"),
    records.c.release_id == sa.bindparam("release_id"),
    is_kind("noted"),
    sa.func.substr(records.c.body, 1, sa.bindparam("length")) == sa.bindparam("start"),
)
"""Notes of a run whose bodies begin with :start, which has :length characters."""

DATASET = sa.select(datasets.c.name).where(datasets.c.name == sa.bindparam("name"))
LOCKED_DATASET = DATASET.with_for_update()
"""A dataset by its :name, without and with a lock until the transaction ends."""

_INSERT = sa.insert(records)


def insert(connection: sa.Connection, rows: Sequence[tuple[Record, str]]) -> None:
    """Store records, each with its hash."""
    connection.execute(_INSERT, [record.columns() | {"hash": stored} for record, stored in rows])


def record_of(row: Any) -> tuple[Record, str]:
    """Convert a row to a record and its stored hash."""
    values = dict(row._mapping)
    stored = values.pop("hash")
    return Record(**values), stored


def whole(row: Any) -> Record:
    """Convert a row to a record, after checking that it still has its stored hash.

    Raises:
        LedgerViolation: somebody changed the record.
    """
    record, stored = record_of(row)
    if record.digest() != stored:
        raise LedgerViolation(
            f"record {record.seq} of dataset {record.dataset!r} was changed after it was written: stop charging this "
            "ledger, keep a copy of it, and compare with its last export (`pubpriv ledger verify`)"
        )
    return record
