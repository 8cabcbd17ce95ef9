"""One dataset's records within one transaction: what stands there, and how one more is appended."""

import getpass
import os
import socket
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import InvalidInput, LedgerViolation, SpecMismatch
from pubpriv.places import canonical as table_name
from pubpriv.places import sharing
from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.events import Event, event_from_json
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger.names import printable
from pubpriv.privacy.ledger.records import (
    DatasetState,
    NoRoom,
    Record,
    RunState,
    apply,
    canonical,
    charge_key,
    facts_of,
    state_text,
    states_of,
)
from pubpriv.privacy.ledger.refusals import Refusal, Refused
from pubpriv.privacy.ledger.replay import FAILURES, check_answer
from pubpriv.privacy.ledger.runs import BILLED, charge_of, run_of
from pubpriv.privacy.ledger.views import Charge, Run, Standing, TableIdentity

_table = schema.records
_SELECT, _INSERT = sa.select(_table), sa.insert(_table)

_BATCH = 1000
"""Records that are stored with one statement, or read at a time."""


class Book:
    """One dataset's records within one transaction.

    Args:
        connection: in a transaction that holds the dataset, or in one that reads.
        dataset: its name.
        locked: why nothing may be appended; None: it may.
    """

    def __init__(self, connection: sa.Connection, dataset: str, locked: str | None = None) -> None:
        self._connection = connection
        self._dataset = dataset
        self._why_not = locked
        self._head = self._last()
        self.state: DatasetState | None = states_of(self._head.state)[0] if self._head else None

    # -- reading

    def _rows(self, *where: Any) -> sa.Select[Any]:
        return _SELECT.where(_table.c.dataset == self._dataset, *where).order_by(_table.c.seq)

    def _last(self, *where: Any) -> Record | None:
        query = self._rows(*where).order_by(None).order_by(_table.c.seq.desc()).limit(1)
        row = self._connection.execute(query).first()
        return schema.whole(row) if row else None

    def _newest(self, **columns: str) -> Record | None:
        """The newest record with these values; the head, which was read already, is not read twice."""
        head = self._head
        if head is not None and all(getattr(head, name) == value for name, value in columns.items()):
            return head
        equal = (_table.c[name] == value for name, value in columns.items() if name != "kind")
        return self._last(*([schema.is_kind(columns["kind"])] if "kind" in columns else []), *equal)

    def all(self, *kinds: str, **columns: str) -> list[Record]:
        """Records of these kinds, oldest first."""
        where = [_table.c[name] == value for name, value in columns.items()]
        if kinds:
            where.append(_table.c.kind.in_(kinds))
        return [schema.whole(row) for row in self._connection.execute(self._rows(*where))]

    def find(self, kind: str, **columns: str) -> Record | None:
        """The last record of a kind."""
        return self._newest(kind=kind, **columns)

    @property
    def head(self) -> Record:
        """The newest record."""
        if self._head is None:
            raise LedgerViolation(f"dataset {self._dataset!r} is in the ledger, and its records are not")
        return self._head

    def notes(self, release_id: str) -> dict[str, Any]:
        """Noted values of a run, by label."""
        facts = (record.facts() for record in self.all("noted", release_id=release_id))
        return {str(note["label"]): note["value"] for note in facts}

    def noted(self, release_id: str, label: str) -> Any:
        """The noted value of a run under `label`, or None. Values are long, so the others are not even parsed."""
        start = canonical({"label": label})[:-1]  # of the body: keys are sorted
        begins = sa.func.substr(_table.c.body, 1, len(start)) == start
        rows = self._connection.execute(self._rows(_table.c.release_id == release_id, schema.is_kind("noted"), begins))
        facts = (schema.whole(row).facts() for row in rows)
        return next((note["value"] for note in facts if note["label"] == label), None)

    def known_state(self) -> DatasetState:
        """The dataset's state."""
        assert self.state is not None
        return self.state

    @property
    def terms(self) -> dict[str, Any]:
        """Budget (as JSON) and unit, as they were told last."""
        last = self.find("raised") or self.find("registered")
        if last is None:
            raise LedgerViolation(f"dataset {self._dataset!r} has records, and none registers it")
        return last.facts()

    @property
    def registered(self) -> Budget:
        """The first budget, which prices every charge."""
        first = self.find("registered")
        if first is None:
            raise LedgerViolation(f"dataset {self._dataset!r} has records, and none registers it")
        return budget_from_json(first.facts()["budget"])

    @property
    def budget(self) -> Budget:
        """The cap as a budget."""
        return budget_from_json(self.terms["budget"])

    @property
    def unit(self) -> str:
        """What one record stands for."""
        return str(self.terms["unit"])

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Declared tables: uri and columns; a later declaration of a uri replaces the earlier."""
        found = [record.facts() for record in self.all("declared")]
        return list({table["uri"]: table for table in found}.values())

    def opened(self, release_id: str) -> Record:
        """The record that opened a run."""
        opened = self.find("opened", release_id=release_id)
        if opened is None:
            raise InvalidInput(f"dataset {self._dataset!r} has no run with release id {release_id!r}")
        return opened

    def allotment(self, release_id: str) -> Budget:
        """The budget a run was opened with."""
        return budget_from_json(self.opened(release_id).facts()["allotment"])

    def run_state(self, release_id: str) -> RunState:
        """A run's state after its last record."""
        last = self._newest(release_id=release_id)
        run = states_of(last.state)[1] if last else None
        if run is None:
            raise InvalidInput(f"dataset {self._dataset!r} has no run with release id {release_id!r}")
        return run

    def open_runs(self) -> dict[str, Amount]:
        """What each open run still holds, by release id, oldest first."""
        found = self._connection.execute(schema.OPEN_RUNS, {"dataset": self._dataset})
        runs = {str(row.release_id): states_of(schema.whole(row).state)[1] for row in found}
        return {release_id: run.hold - run.charged for release_id, run in runs.items() if run is not None}

    def standing(self, release_id: str, label: str) -> Standing | None:
        """The charge under `label` of a run, and its answer if there is one.

        Raises:
            LedgerViolation: what stands there is no charge of this run under this label, or no answer to it.
        """
        charged = self.find("charged", key=charge_key(self._dataset, release_id, label))
        if charged is None:
            return None
        published = self.find("published", key=str(charged.key))
        try:
            facts = charged.facts()
            event = event_from_json(facts["event"])
            answer = check_answer(published.facts()["answer"], event) if published else None
            standing = Standing(facts["question"], answer, str(facts["attempt"]), event)
            if (charged.release_id, facts["label"]) == (release_id, label):
                return standing
        except FAILURES:
            pass
        raise self._not_charged(charged, label)

    def answer(
        self, release_id: str, label: str, known: MutableMapping[str, Charge]
    ) -> tuple[Event, dict[str, list[int]] | None] | None:
        """What was paid for under `label` of a run, and the answer if there is one; None if nothing was charged.

        Raises:
            LedgerViolation: see `standing`.
        """
        charged = self.find("charged", key=charge_key(self._dataset, release_id, label))
        if charged is None:
            return None
        published = self.find("published", key=str(charged.key))
        try:
            paid = charge_of(charged, known)
            if (charged.release_id, paid.label) == (release_id, label):
                return paid.event, check_answer(published.facts()["answer"], paid.event) if published else None
        except FAILURES:
            pass
        raise self._not_charged(charged, label)

    def read_back(self) -> Record:
        """The newest record as it stands in the database now, and not as it was appended."""
        self._head = self._last()
        return self.head

    def check_paid(self, release_id: str, label: str, allotment: Budget, registered: Budget) -> None:
        """Price the charge under `label` again, and let it follow from the records before it.

        Raises:
            LedgerViolation: it has other prices than its event, or did not move what it says.
        """
        charged = self.find("charged", key=charge_key(self._dataset, release_id, label))
        assert charged is not None
        try:
            facts = charged.facts()
            event, told = event_from_json(facts["event"]), facts_of("charged", facts)
            before = self._last(_table.c.seq < charged.seq)
            run = self._last(_table.c.seq < charged.seq, _table.c.release_id == release_id)
            if before is not None and run is not None and charged.previous_hash == before.digest():
                moved = apply("charged", told, states_of(before.state)[0], states_of(run.state)[1])
                due = {"price_run": allotment.price(event), "price_ledger": registered.price(event)}
                if state_text(*moved) == charged.state and told == told | due:
                    return
        except FAILURES:
            pass
        raise self._not_charged(charged, label)

    def _not_charged(self, charged: Record, label: str) -> LedgerViolation:
        return LedgerViolation(
            f"record {charged.seq} of dataset {self._dataset!r}, the charge under {label!r}, is not one that this "
            "ledger made: nothing is answered. Stop charging this ledger, find out what was written there with "
            "`pubpriv ledger verify`, and compare with the last export"
        )

    def follow_from(self, anchor: int) -> None:
        """Let every record after number `anchor` follow from those before it, in chain and balance.

        A witness answers for the record at `anchor`. Prices are not worked out again here: `check_paid` does that for
        a charge that is answered, and `replay` for all.

        Raises:
            LedgerViolation: the first that does not follow.
        """
        before = self._last(_table.c.seq == anchor)
        assert before is not None
        runs: dict[str, RunState | None] = {}
        state, previous = states_of(before.state)[0], before.digest()
        later = self._rows(_table.c.seq > anchor).execution_options(yield_per=_BATCH)
        for row in self._connection.execute(later):
            record = schema.whole(row)
            name, run = record.release_id, None
            if name is not None and record.kind != "opened":
                run = runs[name] if name in runs else self._run_before(name, anchor)
            try:
                state, run = apply(record.kind, facts_of(record.kind, record.facts()), state, run)
                right = record.previous_hash == previous and state_text(state, run) == record.state
            except FAILURES:
                right = False
            if not right:
                raise LedgerViolation(
                    f"record {record.seq} of dataset {self._dataset!r} does not follow from those before it: nothing "
                    "is charged. Find out what was written there with `pubpriv ledger verify`"
                )
            previous = record.digest()
            if name is not None:
                runs[name] = run

    def _run_before(self, release_id: str, last: int) -> RunState | None:
        record = self._last(_table.c.release_id == release_id, _table.c.seq <= last)
        return states_of(record.state)[1] if record else None

    def run(self, release_id: str, known: MutableMapping[str, Charge] | None = None) -> Run:
        """One run with its bill; see `run_of`."""
        state = self.run_state(release_id)
        return run_of(self.all(*BILLED, release_id=release_id), state, known)

    # -- writing

    def append(self, kind: str, body: dict[str, Any], release_id: str | None = None, key: str | None = None) -> None:
        """Apply and store one record; amounts in the body are `Amount`s.

        Raises:
            LedgerViolation: the ledger is open for reading only.
        """
        if self._why_not is not None:
            raise LedgerViolation(self._why_not)
        facts = {k: v.to_json() if isinstance(v, Amount) else v for k, v in body.items()}
        run = None if release_id is None or kind == "opened" else self.run_state(release_id)
        state, run = apply(kind, facts_of(kind, facts), self.state or DatasetState(), run)
        record = Record(
            dataset=self._dataset,
            seq=self._head.seq + 1 if self._head else 0,
            kind=kind,
            release_id=release_id,
            key=key,
            body=canonical(facts),
            state=state_text(state, run),
            previous_hash=self._head.digest() if self._head else "",
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            user=printable(_user()),
            host=printable(socket.gethostname()),
            version=installed_version(),
        )
        self._connection.execute(_INSERT, schema.row_of(record, record.digest()))
        self._head, self.state = record, state

    def append_all(self, rows: Iterable[tuple[Record, str]], first: int, previous: str | None) -> int:
        """Store records that were checked elsewhere, from number `first` on; returns how many.

        Raises:
            LedgerViolation: the record before them is another one than here.
            SpecMismatch: one of them declares a table of another dataset.
        """
        waiting: list[dict[str, Any]] = []
        appended = 0
        for record, stored in rows:
            if record.seq == first - 1 and stored != previous:
                raise LedgerViolation(
                    f"the ledger and the export have gone different ways: record {record.seq} of dataset "
                    f"{self._dataset!r} is another one than in the export"
                )
            if record.seq < first:
                continue
            if record.kind == "declared":
                self._refuse_foreign(str(record.facts()["uri"]))
            waiting.append(schema.row_of(record, stored))
            appended += 1
            if len(waiting) == _BATCH:
                self._connection.execute(_INSERT, waiting)
                waiting.clear()
        if waiting:
            self._connection.execute(_INSERT, waiting)
        return appended

    def raise_cap(self, budget: Budget, unit: str, raise_: bool, reason: str | None) -> None:
        """Record a higher cap, or refuse."""
        terms = self.terms
        known = budget_from_json(terms["budget"])
        if unit not in (terms["unit"], "one record"):
            raise SpecMismatch(
                f"dataset {self._dataset!r} is registered with unit {terms['unit']!r}, not {unit!r}: "
                "a unit never changes"
            )
        if budget.kind != known.kind:
            raise InvalidInput(
                f"dataset {self._dataset!r} keeps its books in {known.kind}, so its cap cannot become {budget.kind}"
            )
        if not raise_ or not reason:
            raise SpecMismatch(
                f"dataset {self._dataset!r} has the cap {known.describe()}; "
                f"to change it to {budget.describe()} "
                "say --raise and --reason TEXT (a cap never falls below what is spent and held)"
            )
        body = {"budget": budget.to_json(), "unit": terms["unit"], "reason": reason}
        with self.explaining(budget):
            self.append("raised", body | {"cap": budget.cap_since(self.registered)})

    def declare(self, table: TableIdentity) -> None:
        """Record a table with its columns, unless it is known or another dataset's."""
        self._refuse_foreign(table_name(table.uri))
        uri = table_name(table.uri)
        known = self._declared(uri)
        columns = sorted({*table.source_columns, *(known["columns"] if known else ())})
        if known is None or columns != known["columns"]:
            self.append("declared", {"uri": uri, "columns": columns})

    def check_declared(self, table: TableIdentity, url: str, first: bool = False) -> None:
        """Refuse a table or columns that were not declared, with the line that declares them.

        Args:
            table: of which nothing but its name may be known.
            url: of the ledger.
            first: where nothing is declared yet, any table will do that is not another dataset's.
        """
        self._refuse_foreign(table_name(table.uri))
        if first and not self.tables:
            return
        known = self._declared(table_name(table.uri))
        missing = sorted(set(table.source_columns) - set(known["columns"] if known else ()))
        if known is not None and not missing:
            return
        what = f"columns {', '.join(missing)} of {table.uri}" if known else f"the table {table.uri}"
        declared = "; ".join(f"{t['uri']} ({', '.join(t['columns'])})" for t in self.tables) or "no table yet"
        raise SpecMismatch(
            f"dataset {self._dataset!r} does not declare {what}; it declares {declared}. Declare it with "
            f"`pubpriv budget set {self._dataset} {self.budget.written()} --ledger {url} "
            f"--private {table.uri} --columns {','.join(table.source_columns or self._columns())}`"
        )

    def _columns(self) -> list[str]:
        """Columns of the tables that are declared."""
        return sorted({column for table in self.tables for column in table["columns"]})

    def begun(self, release_id: str) -> tuple[str, int] | None:
        """The table that a run's first method began with, by name and number of rows.

        None where no method began, or where an earlier version began it, which did not write that down.
        """
        facts = (record.facts() for record in self.all("started", release_id=release_id))
        return next(((str(fact["table"]), int(fact["n_rows"])) for fact in facts if "table" in fact), None)

    def _declared(self, uri: str) -> dict[str, Any] | None:
        return next((table for table in self.tables if table["uri"] == uri), None)

    def _refuse_foreign(self, uri: str) -> None:
        found = private_owner(self._connection, uri, besides=self._dataset)
        if found is not None:
            raise SpecMismatch(
                f"the table {uri} belongs to dataset {found[0]!r} (declared as {found[1]}): "
                f"one table has one budget, so it cannot be used as {self._dataset!r}"
            )

    @contextmanager
    def explaining(self, asked: Budget, release_id: str = "") -> Iterator[None]:
        """Send out a bare refusal with all that its text needs; it is written without the lock."""
        refused: NoRoom | None = None
        try:
            yield
        except NoRoom as error:
            refused = error
        if refused is not None:
            run = self.run_state(release_id) if refused.of in ("run", "method") else None
            terms, state, holders = self.terms["budget"], self.known_state(), self.open_runs()
            last = self.find("charged")
            raise Refused(Refusal(refused, self._dataset, release_id, terms, asked, state, run, holders, last))


def private_owner(connection: sa.Connection, uri: str, besides: str | None = None) -> tuple[str, str] | None:
    """Of the first declared table that could share a file with `uri`: its dataset, and its name.

    Args:
        connection: in a transaction.
        uri: canonical name of a table or of public rows.
        besides: a dataset whose own tables are not looked at.
    """
    names = sa.select(schema.datasets.c.name).where(schema.datasets.c.name != (besides or ""))
    query = sa.select(_table).where(_table.c.dataset.in_(names), schema.is_kind("declared"))
    shared = sharing(uri)
    for row in connection.execute(query.order_by(_table.c.dataset, _table.c.seq)):
        record = schema.whole(row)
        theirs = str(record.facts()["uri"])
        if shared(theirs):
            return record.dataset, theirs
    return None


@lru_cache(maxsize=1)
def installed_version() -> str:
    """Of pubpriv, as every record tells it."""
    try:
        return version("pubpriv")
    except PackageNotFoundError:
        return "unknown"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
