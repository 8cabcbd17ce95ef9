"""What a dataset's books say of those that they carry on."""

from collections.abc import Collection, Iterator
from itertools import islice
from os.path import commonprefix
from typing import Any

import sqlalchemy as sa

from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger.old_runs import OldRun, OldStart, runs_in, starts_in

_table = schema.records


def place_of(connection: sa.Connection, dataset: str) -> str | None:
    """Name the ledger whose books are carried on; None: these are the first."""
    return next((str(body["ledger"]) for body in _bodies(connection, dataset, "awaited")), None)


_WAITING = sa.text(
    "SELECT d.name FROM datasets d "
    "WHERE EXISTS (SELECT 1 FROM records r WHERE r.dataset = d.name AND r.kind = 'awaited') "
    "AND NOT EXISTS (SELECT 1 FROM records r WHERE r.dataset = d.name AND r.kind = 'carried') LIMIT 1"
)


def awaited_from(connection: sa.Connection) -> str | None:
    """Name the ledger some of whose books are to go on here, and do not yet; None: there is none."""
    dataset = connection.execute(_WAITING).scalar()
    return None if dataset is None else place_of(connection, str(dataset))


def count(connection: sa.Connection, dataset: str) -> int:
    """Count the runs of all books before these."""
    return next((int(body["runs"]) for body in _bodies(connection, dataset, "carried")), 0)


def known(connection: sa.Connection, dataset: str, release_ids: Collection[str]) -> set[str]:
    """Tell which of these ids a run was opened under in books before these."""
    same = commonprefix(list(release_ids))  # noqa: RUF071 - of characters; bodies without it are not even read
    named = _table.c.body.contains(f'"{same}', autoescape=True)
    found = _bodies(connection, dataset, "remembered", named)
    return {run.release_id for body in found for run in runs_in(body)}.intersection(release_ids)


def newest(connection: sa.Connection, dataset: str, most: int) -> list[OldRun]:
    """Read at most so many runs of books before these, the newest, oldest first."""
    found = (run for body in _bodies(connection, dataset, "remembered") for run in reversed(runs_in(body)))
    return list(islice(found, most))[::-1]


def newest_starts(connection: sa.Connection, dataset: str) -> Iterator[OldStart]:
    """Read what runs of books before these began, the newest first."""
    for body in _bodies(connection, dataset, "remembered"):
        yield from reversed(starts_in(body))


def _bodies(connection: sa.Connection, dataset: str, kind: str, *where: Any) -> Iterator[dict[str, Any]]:
    """Read bodies of records of a kind, the newest first."""
    query = sa.select(_table).where(_table.c.dataset == dataset, schema.is_kind(kind), *where)
    return (schema.whole(row).facts() for row in connection.execute(query.order_by(_table.c.seq.desc())))
