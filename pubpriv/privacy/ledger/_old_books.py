"""Facts about earlier books in the books that continue them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from os.path import commonprefix
from typing import Any

import sqlalchemy as sa

from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._old_runs import OldRun, OldStart, runs_in, starts_in

_table = schema.records


@dataclass(frozen=True)
class OldBooks:
    """The closed books that a dataset's books continue, read in a transaction."""

    connection: sa.Connection
    dataset: str

    @property
    def place(self) -> str | None:
        """Return the ledger whose books are continued; None if these are the first."""
        return next((str(body["ledger"]) for body in self._bodies("awaited")), None)

    def count(self) -> int:
        """Count the runs of all earlier books."""
        return next((int(body["runs"]) for body in self._bodies("carried")), 0)

    def known(self, release_ids: Collection[str]) -> set[str]:
        """Return those of these release ids that runs in earlier books have."""
        same = commonprefix(list(release_ids))  # noqa: RUF071 - of characters; bodies without it are not even read
        found = self._bodies("remembered", _table.c.body.contains(f'"{same}', autoescape=True))
        return {run.release_id for body in found for run in runs_in(body)}.intersection(release_ids)

    def newest(self, most: int) -> list[OldRun]:
        """Read the newest runs of earlier books, at most this many, oldest first."""
        found = (run for body in self._bodies("remembered") for run in reversed(runs_in(body)))
        return list(islice(found, most))[::-1]

    def starts(self) -> Iterator[OldStart]:
        """Read the methods that runs of earlier books began, newest first."""
        for body in self._bodies("remembered"):
            yield from reversed(starts_in(body))

    def _bodies(self, kind: str, *where: Any) -> Iterator[dict[str, Any]]:
        """Read bodies of records of a kind, newest first."""
        query = sa.select(_table).where(_table.c.dataset == self.dataset, schema.is_kind(kind), *where)
        return (schema.whole(row).facts() for row in self.connection.execute(query.order_by(_table.c.seq.desc())))


_WAITING = sa.text(
    "SELECT d.name FROM datasets d "
    "WHERE EXISTS (SELECT 1 FROM records r WHERE r.dataset = d.name AND r.kind = 'awaited') "
    "AND NOT EXISTS (SELECT 1 FROM records r WHERE r.dataset = d.name AND r.kind = 'carried') LIMIT 1"
)


def awaited_from(connection: sa.Connection) -> str | None:
    """Return the ledger whose books are to be continued here but are not yet; None if there is none."""
    dataset = connection.execute(_WAITING).scalar()
    return None if dataset is None else OldBooks(connection, str(dataset)).place
