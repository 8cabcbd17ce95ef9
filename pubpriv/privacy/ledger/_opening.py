"""First records of books that continue others, computed from all records of those: pure, like `replay`.

The earlier books are in an archive, an export that ends with the record that closed them. Continuing the books, and
checking later that this was done correctly, compute the same records from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger._old_runs import OldRun, OldStart, runs_in, starts_in, to_bodies
from pubpriv.privacy.ledger.records import Record, states_of

_TERMS = ("budget", "unit", "person", "persons", "periods")
"""Fields with the terms in a record that registers a dataset, changes its terms or carries them on."""

Entry = tuple[str, dict[str, Any]]
"""Kind and body of a record, its amounts as JSON data."""


class Opening:
    """Collects from all records of one dataset what is carried on."""

    def __init__(self) -> None:
        self._first = ""
        self._registered: Any = None
        self._terms: Mapping[str, Any] = {}
        self._tables: dict[str, dict[str, Any]] = {}
        self._runs: dict[str, OldRun] = {}
        self._starts: list[OldStart] = []
        self._periods: dict[str, Record] = {}
        self._last: tuple[Record, str] | None = None

    def gather(self, rows: Iterable[tuple[Record, str]]) -> Iterator[tuple[Record, str]]:
        """Yield all records of a dataset in order, and note what is carried on; the consumer checks the records."""
        for record, stored in rows:
            self._first = self._first or stored
            self._note(record)
            self._last = record, stored
            yield record, stored

    def _note(self, record: Record) -> None:
        if record.period is not None:
            self._periods[record.period] = record
        if record.kind in ("registered", "raised", "carried"):
            self._terms = record.facts()
            if record.kind != "raised":
                self._registered = self._terms["registered" if record.kind == "carried" else "budget"]
        elif record.kind == "declared":
            table = record.facts()
            if any("moved_from" in each for each in (table, *self._tables.values())):
                self._tables.pop(table["uri"], None)  # so that what moved comes after the table that it was
            self._tables[table["uri"]] = table
        elif record.kind == "remembered":
            body = record.facts()
            self._runs |= {run.release_id: run for run in runs_in(body)}
            self._starts += starts_in(body)
        elif record.kind in ("opened", "started", "closed"):
            self._note_run(record, str(record.release_id))

    def _note_run(self, record: Record, release_id: str) -> None:
        if record.kind == "started":
            facts = record.facts()
            self._starts.append(OldStart(release_id, facts["method"], facts["configuration"]))
            return
        if record.kind == "opened":
            facts = record.facts()
            hold = Amount.from_json(facts["hold"])
            allotment = facts["allotment"]
            self._runs[release_id] = OldRun(release_id, record.at, record.user, allotment, hold, Amount(0))
            return
        run, known = states_of(record.state)[1], self._runs[release_id]
        if run is not None:
            names = known.release_id, known.opened_at, known.user
            self._runs[release_id] = OldRun(*names, known.allotment, known.hold, run.charged)

    @property
    def succession(self) -> str:
        """Name of the succession, from the record that closed the books.

        Raises:
            LedgerViolation: the books were not closed.
        """
        return str(self._sealed()[0].facts()["succession"])

    @property
    def first(self) -> str:
        """Hash of the first record, which identifies the books."""
        return self._first

    def _sealed(self) -> tuple[Record, str]:
        if self._last is None or self._last[0].kind != "sealed":
            raise LedgerViolation("the books of this export were never closed: nothing carries them on")
        return self._last

    def entries(self) -> list[Entry]:
        """Return the records that follow the record `awaited` in the new books.

        Raises:
            LedgerViolation: the books were not closed.
        """
        sealed, head = self._sealed()
        state = states_of(sealed.state)[0]
        carried = {
            "succession": self.succession,
            "head": head,
            "records": sealed.seq + 1,
            "registered": self._registered,
            **{name: self._terms[name] for name in _TERMS if name in self._terms},
            "cap": state.cap.to_json(),
            "spent": state.spent.to_json(),
            "runs": len(self._runs),
        }
        if state.periods is not None:
            carried |= {"period_cap": state.periods.cap.to_json(), "common_spent": state.periods.common_spent.to_json()}
        entries: list[Entry] = [("carried", carried)]
        entries += [("declared", table) for table in self._tables.values()]
        entries += [("carried_period", body) for body in map(_spent_in, self._periods, self._periods.values()) if body]
        return entries + [("remembered", body) for body in to_bodies([*self._runs.values()], self._starts)]


def _spent_in(period: str, newest: Record) -> dict[str, Any]:
    """Amount that a period spent, from its newest record."""
    state = states_of(newest.state)[0].periods
    return {} if state is None else {"period": period, "spent": state.spent.to_json()}
