"""Replay: check that every record follows from those before it, with the prices of its event.

Pure, like `records`: it uses rows, not a database. The prices of questions are known in another package, so the caller
passes a function that computes a stored question's event again; questions that it does not know count as unchecked.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pubpriv.errors import BooksClosed, LedgerViolation
from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.events import Event, event_from_json
from pubpriv.privacy.ledger._answers import check_answer, waiting_from, waiting_json
from pubpriv.privacy.ledger._names import is_name
from pubpriv.privacy.ledger._old_runs import runs_in
from pubpriv.privacy.ledger._period_states import PeriodsState, fullest
from pubpriv.privacy.ledger.facts import OF_SUCCESSION, facts_of
from pubpriv.privacy.ledger.period_terms import PeriodTerms, agreed
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
from pubpriv.privacy.ledger.summary import Checkpoint, Summary
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.ledger.views import Asked

_OF_THE_DATASET = ("registered", "declared", "raised", *OF_SUCCESSION)
_REMEMBERED = 1024


def replay(
    dataset: str,
    rows: Iterable[tuple[Record, str]],
    expected_head: str | None = None,
    asked: Callable[[Any], Asked | None] | None = None,
    since: Checkpoint | None = None,
) -> Summary:
    """Check the chain, the balances, the prices and the order of a dataset's records.

    Records that are missing at the end leave no trace within the ledger; a chain head kept elsewhere
    (model files contain one) reveals this.

    Args:
        dataset: name of the dataset.
        rows: all records in order, each with its stored hash.
        expected_head: a hash that the chain must contain.
        asked: computes the event and the sizes of a stored question again. It returns None for an unknown question,
            and raises a ValueError for a question without a price.
        since: a trusted checkpoint: `rows` begin with the record at which it ended, and earlier records are not
            checked.

    Returns:
        The summary of the records.

    Raises:
        LedgerViolation: names the first record that does not follow.
        BooksClosed: these books wait to continue others.
    """
    replayed, previous, hashes = _Replay(dataset, asked), "", set[str]()
    rows, first = iter(rows), 0
    if since is not None:
        _refuse_other(dataset, next(rows, None), since)
        replayed.remember(since.memory)
        previous, hashes, first = since.head, {since.head}, since.records
    for number, (record, stored) in enumerate(rows, start=first):
        where = f"record {record.seq} of dataset {dataset!r}"
        failure: str | None = None
        try:
            if record.seq != number:
                failure = f"is where record {number} should be"
            elif record.previous_hash != previous or stored != record.digest():
                failure = "breaks the hash chain"
            else:
                failure = replayed.follow(record)
        except FAILURES as error:
            failure = f"does not follow from the records before it: {error or type(error).__name__}"
        if failure:
            raise LedgerViolation(f"{where} {failure}")
        previous = stored
        hashes.add(stored)
    replayed.refuse_awaiting()
    if not hashes:
        raise without_records(dataset)
    if expected_head is not None and expected_head not in hashes:
        raise LedgerViolation(
            f"dataset {dataset!r} has no record with the hash {expected_head}: "
            "records are missing at the end, or this is another ledger"
        )
    return replace(replayed.summary(previous), trusted=first, memory=replayed.memory())


def _refuse_other(dataset: str, row: tuple[Record, str] | None, since: Checkpoint) -> None:
    """Raise if the record at which a checkpoint ended is missing or differs."""
    here = row is not None and row[0].seq == since.records - 1 and row[0].digest() == row[1] == since.head
    if not here:
        raise LedgerViolation(
            f"record {since.records - 1} of dataset {dataset!r} is gone, or is another one than when it was verified "
            "last: the chain was cut or written anew. Stop charging this ledger and compare with its last export"
        )


class _Replay:
    """State of a replay after some records."""

    def __init__(self, dataset: str, asked: Callable[[Any], Asked | None] | None) -> None:
        self._dataset = dataset
        # scheduled runs ask the same questions again and again
        self._asked = lru_cache(_REMEMBERED)(lambda text: asked(json.loads(text)) if asked else None)
        self._price = lru_cache(_REMEMBERED)(lambda event, budget: budget.price(event))
        self._recomputed = 0
        self._unknown: dict[str, int] = {}
        self._registered: Budget | None = None
        self._unit = ""
        self._person: PersonTerms | None = None
        self._terms: PeriodTerms | None = None
        self._periods: dict[str, PeriodsState] = {}
        self._state = DatasetState()
        self._runs: dict[str, tuple[Budget, RunState]] = {}
        self._charged: dict[str, str] = {}
        self._waiting: dict[str, Event | Asked] = {}
        self._noted: set[tuple[str | None, str]] = set()
        self._followed = self._charges = self._answers = 0
        self._carried: Amount | None = None
        self._checks: dict[str, Callable[[Record, dict[str, Any]], str | None]] = {
            "registered": self._register,
            "raised": self._raise,
            "declared": self._declare,
            "opened": self._open,
            "started": self._start,
            "charged": self._charge,
            "attempted": self._attempt,
            "published": self._publish,
            "noted": self._note,
            "sealed": self._seal,
            "carried": self._carry,
            "carried_period": self._carry_period,
            "remembered": self._remember_runs,
        }

    def follow(self, record: Record) -> str | None:
        """Take one record; returns what is wrong with it, or None."""
        self._followed += 1
        body = record.facts()
        begins = record.kind in ("registered", "awaited", "carried")
        if begins != (self._registered is None) or (record.kind != "carried" and begins != (record.seq == 0)):
            return "does not follow from the records before it: a dataset is registered once, and first"
        if (record.release_id is None) != (record.kind in _OF_THE_DATASET):
            return "is of no run and should be, or the other way round"
        run = self._runs[record.release_id][1] if record.release_id in self._runs else None
        if record.period != period_of(body if record.kind in ("opened", "carried_period") else {}, run):
            return "is not of the period of its run"
        check = self._checks.get(record.kind)
        wrong = check(record, body) if check else None
        if wrong:
            return wrong
        self._state, run = apply(record.kind, facts_of(record.kind, body), self._before(record), run)
        if record.period is not None and self._state.periods is not None:
            self._periods[record.period] = self._state.periods
        if record.release_id is not None and run is not None:
            new = record.kind == "opened"
            allotment = budget_from_json(body["allotment"]) if new else self._runs[record.release_id][0]
            self._runs[record.release_id] = allotment, run
        same = state_text(self._state, run) == record.state
        return None if same else "does not follow from the records before it: its balance differs"

    def _before(self, record: Record) -> DatasetState:
        """The balance of the dataset, with that of the record's period."""
        if self._state.periods is None:
            return self._state
        known = None if record.period is None else self._periods.get(record.period)
        if record.period is None and record.kind == "opened":
            known = fullest(list(self._periods.values()))
        return replace(self._state, periods=self._state.periods.of(known))

    def refuse_awaiting(self) -> None:
        """Raise if these books still wait to continue others."""
        if self._state.awaits is not None:
            raise BooksClosed(awaiting(self._state.awaits))

    def summary(self, head: str) -> Summary:
        """Summary of all records so far."""
        counts = self._followed, self._charges, self._answers
        known = dict(self._unknown)
        return Summary(
            *counts, head, self._registered_budget(), self._state, self._recomputed, known, carried=self._carried
        )

    def memory(self) -> dict[str, Any]:
        """Return what `remember` needs. A closed run gets no more records, so its name is enough."""
        open_ = {name: run for name, run in self._runs.items() if not run[1].closed}
        return {
            "budget": self._registered_budget().to_json(),
            "unit": self._unit,
            "terms": (self._person.to_json() if self._person else {}) | (self._terms.to_json() if self._terms else {}),
            "periods": {name: state.to_json() for name, state in self._periods.items()},
            "state": state_text(self._state, None),
            "counts": [self._followed, self._charges, self._answers, self._recomputed],
            "unknown": self._unknown,
            "carried": self._carried and self._carried.to_json(),
            "closed": sorted(self._runs.keys() - open_.keys()),
            "open": {name: [budget.to_json(), state_text(self._state, run)] for name, (budget, run) in open_.items()},
            "charged": {key: name for key, name in self._charged.items() if name in open_},
            "waiting": {key: waiting_json(self._waiting[key]) for key in self._waiting if self._charged[key] in open_},
            "noted": [[name, label] for name, label in sorted(self._noted, key=str) if name in open_],
        }

    def remember(self, memory: Mapping[str, Any]) -> None:
        """Continue from the result of `memory`."""
        self._registered, self._unit = budget_from_json(memory["budget"]), memory["unit"]
        self._person, self._terms = PersonTerms.of(memory["terms"]), PeriodTerms.of(memory["terms"])
        self._periods = {name: PeriodsState.from_json(state) for name, state in memory["periods"].items()}
        self._state = states_of(memory["state"])[0]
        self._followed, self._charges, self._answers, self._recomputed = memory["counts"]
        self._unknown = dict(memory["unknown"])
        self._carried = memory["carried"] and Amount.from_json(memory["carried"])
        ended = self._registered, RunState(closed=True)
        self._runs = dict.fromkeys(memory["closed"], ended)
        for name, (allotment, state) in memory["open"].items():
            run = states_of(state)[1]
            assert run is not None  # every such record was written with a run
            self._runs[name] = budget_from_json(allotment), run
        self._charged = dict(memory["charged"])
        self._waiting = {key: waiting_from(data) for key, data in memory["waiting"].items()}
        self._noted = {(name, label) for name, label in memory["noted"]}

    def _registered_budget(self) -> Budget:
        assert self._registered is not None
        return self._registered

    def _register(self, _: Record, body: dict[str, Any]) -> str | None:
        if not (is_name(self._dataset) and isinstance(body["unit"], str)):
            return "registers a dataset without a name or a unit"
        self._registered, self._unit = budget_from_json(body["budget"]), body["unit"]
        self._person = PersonTerms.of(body)
        return self._take_periods(body, body.get("reason")) or _differs("cap", body, self._registered.cap)

    def _take_periods(self, body: dict[str, Any], reason: str | None) -> str | None:
        """Take over the periods in a record; returns what is wrong with them, or None."""
        asked = PeriodTerms.of(body)
        persons = self._person is not None
        if asked is None:
            return "says nothing of the dataset's periods" if self._terms else None
        self._terms = agreed(self._dataset, self._terms, asked, self._registered_budget(), persons, reason)
        if asked != self._terms:
            return "changes the periods of the dataset"
        return _differs("period_cap", body, asked.cap(persons))

    def _raise(self, _: Record, body: dict[str, Any]) -> str | None:
        budget = budget_from_json(body["budget"])
        if budget.kind != self._registered_budget().kind:
            return "changes the kind of the budget"
        person = PersonTerms.of(body)
        if (body["unit"] != self._unit or person != self._person) and (self._runs or self._carried is not None):
            return "changes the unit of the dataset, of which runs were opened"
        self._unit, self._person = body["unit"], person
        wrong = self._take_periods(body, body["reason"])
        return wrong or _differs("cap", body, budget.cap_since(self._registered_budget()))

    def _seal(self, _: Record, __: dict[str, Any]) -> str | None:
        return None if all(run.closed for _, run in self._runs.values()) else "closes the books while a run is open"

    def _carry(self, _: Record, body: dict[str, Any]) -> str | None:
        self._registered, self._unit = budget_from_json(body["registered"]), body["unit"]
        self._person, self._terms = PersonTerms.of(body), PeriodTerms.of(body)
        self._carried = Amount.from_json(body["spent"])
        budget = budget_from_json(body["budget"])
        if budget.kind != self._registered.kind:
            return "changes the kind of the budget"
        cap = None if self._terms is None else self._terms.cap(self._person is not None)
        wrong = None if cap is None else _differs("period_cap", body, cap)
        return wrong or _differs("cap", body, budget.cap_since(self._registered))

    def _carry_period(self, record: Record, _: dict[str, Any]) -> str | None:
        if self._terms is None or record.period is None or record.period in self._periods:
            return "carries on a period that there is not, or a second time"
        self._terms.check_named(record.period)
        return None

    def _remember_runs(self, _: Record, body: dict[str, Any]) -> str | None:
        names = [run.release_id for run in runs_in(body)]
        if not all(map(is_name, names)) or len({*names, *self._runs}) < len(names) + len(self._runs):
            return "remembers a run that was opened before, or has no name"
        self._runs |= dict.fromkeys(names, (self._registered_budget(), RunState(closed=True)))
        return None

    def _declare(self, _: Record, body: dict[str, Any]) -> str | None:
        columns = body["columns"]
        named = isinstance(body["uri"], str) and isinstance(columns, list)
        named &= isinstance(body.get("no_line_breaks", True), bool) and isinstance(body.get("layout", {}), dict)
        moved = body.get("moved_from", [])
        texts = named and isinstance(moved, list) and all(isinstance(name, str) for name in (*columns, *moved))
        return None if texts else "declares no table with columns"

    def _open(self, record: Record, body: dict[str, Any]) -> str | None:
        if not is_name(record.release_id) or record.release_id in self._runs:
            return "opens a run that was opened before, or has no name"
        allotment, state = budget_from_json(body["allotment"]), self._state
        hold = allotment.hold_on(self._registered_budget(), state.cap, state.remaining)
        wrong = _differs("allotted", body, allotment.cap) or _differs("hold", body, hold)
        if wrong or self._terms is None:
            return wrong
        self._terms.check_named(record.period)
        return _differs("hold_period", body, self._terms.hold(allotment, self._person is not None))

    def _start(self, _: Record, body: dict[str, Any]) -> str | None:
        settings = is_name(body["method"]) and isinstance(json.loads(body["configuration"]), dict)
        return None if settings else "starts a method without a name or settings"

    def _charge(self, record: Record, body: dict[str, Any]) -> str | None:
        release_id, key = str(record.release_id), str(record.key)
        if key != charge_key(self._dataset, release_id, body["label"]):
            return "has a key that is not its label's"
        if key in self._charged:
            return "charges a key that was charged before"
        self._charged[key] = release_id
        self._charges += 1
        event = event_from_json(body["event"])
        asked = self._asked(canonical(body["question"]))
        if asked is None:
            kind = body["question"].get("type") if isinstance(body["question"], dict) else None
            self._unknown[str(kind)] = self._unknown.get(str(kind), 0) + 1
        elif asked.event != event:
            return "was not charged as its question costs: its event is not the question's"
        elif asked.per_person != (self._person is not None):
            return "asks a question that does not protect the dataset's privacy unit"
        elif asked.period != record.period:
            return "asks rows of another period than that of its run"
        else:
            self._recomputed += 1
        self._waiting[key] = asked or event
        due = {"price_run": self._runs[release_id][0], "price_ledger": self._registered_budget()}
        if self._terms is not None and self._runs[release_id][1].period is not None:
            due["price_period"] = self._terms.budget
        wrong = (_differs(name, body, self._price(event, budget)) for name, budget in due.items())
        return next((text for text in wrong if text), None)

    def _note(self, record: Record, body: dict[str, Any]) -> str | None:
        step = record.release_id, str(body["label"])
        if step in self._noted:
            return "notes a step that was noted before"
        self._noted.add(step)
        return None

    def _paid(self, record: Record) -> bool:
        return record.release_id is not None and self._charged.get(str(record.key)) == record.release_id

    def _attempt(self, record: Record, _: dict[str, Any]) -> str | None:
        if not self._paid(record) or record.key not in self._waiting:
            return "tries a key that was not charged, or has its answer"
        return None

    def _publish(self, record: Record, body: dict[str, Any]) -> str | None:
        if not self._paid(record):
            return "answers a key that was not charged"
        if record.key not in self._waiting:
            return "is a second answer"
        check_answer(body["answer"], self._waiting.pop(str(record.key)))
        self._answers += 1
        return None


def _differs(name: str, body: dict[str, Any], right: Amount) -> str | None:
    found = Amount.from_json(body[name])
    return None if found == right else f"has a wrong {name.replace('_', ' ')}: {found}, and it comes to {right}"
