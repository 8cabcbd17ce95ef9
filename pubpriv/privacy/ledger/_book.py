"""Read and append one dataset's records within one transaction."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from pubpriv.errors import BooksClosed, InvalidInput, LedgerViolation, SpecMismatch
from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.events import Event, event_from_json
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._answers import check_answer
from pubpriv.privacy.ledger._no_room import NoRoom
from pubpriv.privacy.ledger._old_books import OldBooks
from pubpriv.privacy.ledger._period_books import balances, in_period
from pubpriv.privacy.ledger._refusals import Refused
from pubpriv.privacy.ledger._stamps import stamp
from pubpriv.privacy.ledger.facts import facts_of
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.records import (
    FAILURES,
    DatasetState,
    Record,
    RunState,
    apply,
    awaiting,
    charge_key,
    period_of,
    state_text,
    states_of,
    without_records,
)
from pubpriv.privacy.ledger.terms import ONE_RECORD, PersonTerms
from pubpriv.privacy.ledger.texts import body_text, canonical
from pubpriv.privacy.ledger.views import Balance, Charge, ChargeView, RunView, current_tables

_table = schema.records
_SELECT = sa.select(_table)


class Book:
    """One dataset's records within one transaction.

    Args:
        connection: connection in a transaction that locks the dataset, or in one that only reads.
        dataset: name of the dataset.
        locked: why nothing may be appended; None: appending is allowed.
    """

    def __init__(self, connection: sa.Connection, dataset: str, locked: str | None = None) -> None:
        self.connection = connection
        self.dataset = dataset
        self.old = OldBooks(connection, dataset)
        self._why_not = locked
        self._head = self._read(schema.newest(), dataset=self.dataset)
        self.state: DatasetState | None = states_of(self._head.state)[0] if self._head else None

    # -- reading

    def rows(self, *where: Any) -> sa.Select[Any]:
        """Select records of the dataset, oldest first; the caller checks each row (`schema.whole`)."""
        return _SELECT.where(_table.c.dataset == self.dataset, *where).order_by(_table.c.seq)

    def last(self, *where: Any) -> Record | None:
        """Read the newest record that meets these conditions from the database."""
        return self._read(self.rows(*where).order_by(None).order_by(_table.c.seq.desc()).limit(1))

    def _read(self, query: sa.Select[Any], **values: Any) -> Record | None:
        row = self.connection.execute(query, values).first()
        return schema.whole(row) if row else None

    def _newest(self, kind: str | None = None, **columns: str) -> Record | None:
        """The newest record with these values; the head is not read again if it was read before."""
        head = self._head
        known = columns if kind is None else {"kind": kind, **columns}
        if head is not None and all(getattr(head, name) == value for name, value in known.items()):
            return head
        return self._read(schema.newest(*columns, kind=kind), dataset=self.dataset, **columns)

    def all(self, *kinds: str, **columns: str) -> list[Record]:
        """Records of these kinds, oldest first."""
        where = [_table.c[name] == value for name, value in columns.items()]
        if kinds:
            where.append(_table.c.kind.in_(kinds))
        return [schema.whole(row) for row in self.connection.execute(self.rows(*where))]

    def find(self, kind: str, **columns: str) -> Record | None:
        """The last record of a kind."""
        return self._newest(kind=kind, **columns)

    @property
    def head(self) -> Record:
        """The newest record."""
        if self._head is None:
            raise without_records(self.dataset)
        return self._head

    def notes(self, release_id: str) -> dict[str, Any]:
        """Noted values of a run, by label."""
        facts = (record.facts() for record in self.all("noted", release_id=release_id))
        return {str(note["label"]): note["value"] for note in facts}

    def noted(self, release_id: str, label: str) -> Any:
        """The noted value of a run under `label`, or None. Values are long, so other notes are not parsed."""
        start = canonical({"label": label})[:-1]  # beginning of the body, whose keys are sorted
        wanted = {"dataset": self.dataset, "release_id": release_id, "start": start, "length": len(start)}
        rows = self.connection.execute(schema.NOTED, wanted)
        facts = (schema.whole(row).facts() for row in rows)
        return next((note["value"] for note in facts if note["label"] == label), None)

    def known_state(self) -> DatasetState:
        """The dataset's state.

        Raises:
            LedgerViolation: there are no records.
        """
        return states_of(self.head.state)[0]

    def state_in_force(self) -> DatasetState:
        """The dataset's state under the caps that hold now.

        A waived cap holds again while the dataset has several tables, which an earlier version allowed: what all
        periods together show of a record is within the cap of one, but somebody may have a record in each table.
        """
        state = self.known_state()
        if state.periods is None or state.periods.lifetime or len(self.tables()) < 2:
            return state
        return replace(state, periods=replace(state.periods, lifetime=True))

    def check_hold(self, hold: Amount) -> None:
        """Refuse a hold without room under the caps in force; `apply` does so for the caps in the records.

        Raises:
            NoRoom: the same error as that of `apply`.
        """
        state = self.state_in_force()
        if not hold.fits(state.remaining):
            amounts = {"spent": state.spent, "held": state.held, "remaining": state.remaining}
            raise NoRoom("the allotment does not fit what is left of the cap", "dataset", requested=hold, **amounts)

    @property
    def terms(self) -> dict[str, Any]:
        """The newest terms: budget (as JSON), unit and further terms."""
        last = self.find("raised") or self.find("registered") or self.find("carried")
        if last is None:
            raise LedgerViolation(f"dataset {self.dataset!r} has records, and none registers it")
        return last.facts()

    @property
    def registered(self) -> Budget:
        """The first registered budget, which prices every charge."""
        first = self.find("registered")
        if first is None and (carried := self.find("carried")) is not None:
            return budget_from_json(carried.facts()["registered"])
        if first is None:
            raise LedgerViolation(f"dataset {self.dataset!r} has records, and none registers it")
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
    def person(self) -> PersonTerms | None:
        """Terms of a dataset whose unit is a person; None: the unit is a row."""
        return PersonTerms.of(self.terms)

    @property
    def periods(self) -> PeriodTerms | None:
        """Terms of the dataset's periods, each with a cap of its own; None: there are no periods."""
        return PeriodTerms.of(self.terms)

    def tables(self) -> list[dict[str, Any]]:
        """Read declared tables: uri and columns; a later declaration of a uri replaces an earlier one."""
        return list(current_tables(record.facts() for record in self.all("declared")).values())

    def balance(self) -> Balance:
        """Read the amounts spent, held and left."""
        terms, state, tables = self.terms, self.state_in_force(), tuple(self.tables())
        budget = budget_from_json(terms["budget"])
        unit, person, periods = str(terms["unit"]), PersonTerms.of(terms), PeriodTerms.of(terms)
        known = self.open_runs(), tables, self.head.digest()
        by_period = balances(self.connection, self.dataset, state)
        return Balance(self.dataset, unit, budget, state, *known, person, periods, by_period)

    def opened(self, release_id: str) -> Record:
        """The record that opened a run."""
        opened = self.find("opened", release_id=release_id)
        if opened is None:
            self.refuse_old(release_id)
            raise InvalidInput(f"dataset {self.dataset!r} has no run with release id {release_id!r}")
        return opened

    def refuse_awaiting(self) -> None:
        """Refuse books that wait to continue others.

        Raises:
            BooksClosed: they wait.
        """
        if self.state is not None and self.state.awaits is not None:
            raise BooksClosed(awaiting(self.state.awaits))

    def refuse_old(self, release_id: str) -> None:
        """Refuse a run of the earlier books that these continue.

        Raises:
            BooksClosed: it is such a run.
        """
        if self.old.known((release_id,)):
            raise BooksClosed(
                f"release id {release_id!r} of dataset {self.dataset!r} was released in books that are closed, those "
                f"of the ledger {self.old.place}, which still has its answers and "
                "charges, as their archive has: nothing is asked again under it. Use another release id"
            )

    def allotment(self, release_id: str) -> Budget:
        """The budget a run was opened with."""
        return budget_from_json(self.opened(release_id).facts()["allotment"])

    def run_state(self, release_id: str) -> RunState:
        """A run's state after its last record."""
        last = self._newest(release_id=release_id)
        run = states_of(last.state)[1] if last else None
        if run is None:
            self.refuse_old(release_id)
            raise InvalidInput(f"dataset {self.dataset!r} has no run with release id {release_id!r}")
        return run

    def open_runs(self) -> dict[str, Amount]:
        """Amount that each open run still holds, by release id, oldest first."""
        found = self.connection.execute(schema.OPEN_RUNS, {"dataset": self.dataset})
        runs = {str(row.release_id): states_of(schema.whole(row).state)[1] for row in found}
        return {release_id: run.hold - run.charged for release_id, run in runs.items() if run is not None}

    def charge(self, release_id: str, label: str, allotment: Budget, registered: Budget) -> ChargeView | None:
        """The charge under `label` of a run, and its answer if there is one.

        Args:
            release_id: release id of the run.
            label: label of the question.
            allotment: allotment of the run.
            registered: the dataset's first budget. The charge is priced again in both currencies.

        Raises:
            LedgerViolation: the stored record is not a charge of this run under this label, or not an answer to it;
                its prices are not those of its event, or balances did not change accordingly.
        """
        charged = self.find("charged", key=charge_key(self.dataset, release_id, label))
        if charged is None:
            return None
        published = self.find("published", key=str(charged.key))
        try:
            facts = charged.facts()
            event = event_from_json(facts["event"])
            answer = check_answer(published.facts()["answer"], event) if published else None
            own = (charged.release_id, facts["label"]) == (release_id, label)
            due = {"price_run": allotment.price(event), "price_ledger": registered.price(event)}
            periods = self.periods if "price_period" in facts else None
            due |= {} if periods is None else {"price_period": periods.budget.price(event)}
            if own and self._was_paid(charged, facts, due):
                return ChargeView(facts["question"], answer, str(facts["attempt"]), event)
        except FAILURES:
            pass
        raise self._not_charged(charged, label)

    def answer(
        self, release_id: str, label: str, known: MutableMapping[str, Charge]
    ) -> tuple[Event, dict[str, list[int]] | None] | None:
        """The charge under `label` of a run, and the answer if there is one; None if nothing was charged.

        Raises:
            LedgerViolation: the stored record is not a charge of this run under this label, or not an answer to it.
        """
        charged = self.find("charged", key=charge_key(self.dataset, release_id, label))
        if charged is None:
            return None
        published = self.find("published", key=str(charged.key))
        try:
            paid = Charge.of(charged, known)
            if (charged.release_id, paid.label) == (release_id, label):
                return paid.event, check_answer(published.facts()["answer"], paid.event) if published else None
        except FAILURES:
            pass
        raise self._not_charged(charged, label)

    def read_back(self) -> Record:
        """Read the newest record from the database again, in case it differs from what was appended."""
        self._head = self._read(schema.newest(), dataset=self.dataset)
        return self.head

    def _was_paid(self, charged: Record, facts: dict[str, Any], due: dict[str, Amount]) -> bool:
        """Check that a charge has these prices, and follows from the records before it."""
        stated = facts_of("charged", facts)
        before = self.last(_table.c.seq < charged.seq)
        run = self.last(_table.c.seq < charged.seq, _table.c.release_id == charged.release_id)
        if before is None or run is None or charged.previous_hash != before.digest():
            return False
        state, own = states_of(before.state)[0], states_of(run.state)[1]
        moved = apply("charged", stated, self.in_period(state, "charged", charged.period, charged.seq), own)
        named = own is not None and charged.period == (own.period.name if own.period else None)
        return named and state_text(*moved) == charged.state and stated == stated | due

    def _not_charged(self, charged: Record, label: str) -> LedgerViolation:
        return LedgerViolation(
            f"record {charged.seq} of dataset {self.dataset!r}, the charge under {label!r}, is not one that this "
            "ledger made: nothing is answered. Stop charging this ledger, find out what was written there with "
            "`pubpriv ledger verify`, and compare with the last export"
        )

    def in_period(self, state: DatasetState, kind: str, period: str | None, before: int | None = None) -> DatasetState:
        """Add the balance of the period that a record belongs to; see `period_books`."""
        return in_period(self.connection, self.dataset, state, kind, period, before)

    def run(self, release_id: str, known: MutableMapping[str, Charge] | None = None) -> RunView:
        """One run with its bill; see `RunView.of`."""
        state = self.run_state(release_id)
        return RunView.of(self.all(*RunView.BILLED, release_id=release_id), state, known)

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
        period = period_of(facts, run)
        before = self.in_period(self.state or DatasetState(), kind, period)
        state, run = apply(kind, facts_of(kind, facts), before, run)
        record = Record(
            dataset=self.dataset,
            seq=self._head.seq + 1 if self._head else 0,
            kind=kind,
            release_id=release_id,
            key=key,
            body=body_text(facts),
            state=state_text(state, run),
            previous_hash=self._head.digest() if self._head else "",
            period=period,
            **stamp(),
        )
        schema.insert(self.connection, [(record, record.digest())])
        self._head, self.state = record, state

    def raise_cap(self, budget: Budget, unit: str, raise_: bool, reason: str | None) -> None:
        """Record a higher cap, or refuse."""
        terms = self.terms
        known = budget_from_json(terms["budget"])
        if unit not in (terms["unit"], ONE_RECORD):
            raise SpecMismatch(
                f"dataset {self.dataset!r} is registered with unit {terms['unit']!r}, not {unit!r}: "
                "a unit never changes once a run was opened"
            )
        if budget.kind != known.kind:
            raise InvalidInput(
                f"dataset {self.dataset!r} keeps its budget in {known.kind}, so its cap cannot become {budget.kind}"
            )
        if not raise_ or not reason:
            raise SpecMismatch(
                f"dataset {self.dataset!r} has the cap {known.describe()}; "
                f"to change it to {budget.describe()} "
                "say --raise and --reason TEXT, in Python raise_=True and reason=TEXT (a cap never falls below what is "
                "spent and held)"
            )
        self.change_terms(budget, PeriodTerms.of(terms), reason)

    def change_terms(
        self,
        budget: Budget,
        periods: PeriodTerms | None,
        reason: str | None,
        unit: str | None = None,
        person: PersonTerms | None = None,
    ) -> None:
        """Record another cap, other periods, or another unit where no run was opened yet; other terms stay."""
        if unit is None:
            unit, person = self.unit, self.person
        body = {"budget": budget.to_json(), "reason": reason, "unit": unit, **(person.to_json() if person else {})}
        body |= {} if periods is None else {**periods.to_json(), "period_cap": periods.cap(person is not None)}
        with self.explaining(budget):
            self.append("raised", body | {"cap": budget.cap_since(self.registered)})

    def begun(self, release_id: str) -> tuple[str, int | None] | None:
        """Name of the table with which a run's first method began, and its number of rows if that is public.

        None if no method began, or if an earlier version began it, which did not record the table.
        """
        facts = (record.facts() for record in self.all("started", release_id=release_id))
        return next(((str(fact["table"]), fact.get("n_rows")) for fact in facts if "table" in fact), None)

    @contextmanager
    def explaining(self, asked: Budget, release_id: str = "") -> Iterator[None]:
        """Turn a `NoRoom` into a `Refused` with all data for its text, which is written after the lock is released."""
        refused: NoRoom | None = None
        try:
            yield
        except NoRoom as error:
            refused = error
        if refused is not None:
            run = self.run_state(release_id) if refused.of in ("run", "method") else None
            terms, state, holders = self.terms, self.state_in_force(), self.open_runs()
            known = terms["budget"], asked, state, run, holders, self.find("charged"), PeriodTerms.of(terms)
            raise Refused(refused, self.dataset, release_id, *known)
