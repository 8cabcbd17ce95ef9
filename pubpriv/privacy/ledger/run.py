"""One run in a ledger, identified by dataset and release id, from its hold to its close."""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch, Unavailable
from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.events import Event
from pubpriv.privacy.ledger._access import Access
from pubpriv.privacy.ledger._answers import check_answer
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._names import check_name, check_text
from pubpriv.privacy.ledger._outlook import Work
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.records import Record, RunState, charge_key, share_of
from pubpriv.privacy.ledger.views import Asked, Charge, ChargeView, RunView, SizedTable, kind_of

_LEASE = timedelta(minutes=10)
"""Expected time of an attempt at a charged question; only shown, never enforced."""

_LONGEST_LABEL = 300
"""Longest label, in characters."""


class LedgerRun:
    """A run of one dataset under its release id; each method is one transaction, which is committed or has no effect.

    Args:
        access: transactions of the ledger.
        asked: computes the event of a stored question again; returns None for an unknown question.
        dataset: name of the dataset.
        release_id: release id of the run.

    Raises:
        InvalidInput: an invalid name.
    """

    def __init__(self, access: Access, asked: Callable[[Any], Asked | None], dataset: str, release_id: str) -> None:
        check_name(dataset, "dataset")
        check_name(release_id, "release id")
        self.dataset, self.release_id = dataset, release_id
        self._access, self._asked = access, asked
        self._known: dict[str, Charge] = {}  # charges by the digest of their records
        self._spent_here = RunState().spent  # by charges of this object, if it made all of them

    @cached_property
    def allotment(self) -> Budget:
        """The budget with which the run was opened; it never changes."""
        with self._access.reading(self.dataset) as book:
            return book.allotment(self.release_id)

    @cached_property
    def _periods(self) -> PeriodTerms | None:
        """Terms of the dataset's periods, which never change while the run is open."""
        with self._access.reading(self.dataset) as book:
            return book.periods

    @cached_property
    def period(self) -> str | None:
        """Period of the run, which never changes after opening; None: all rows."""
        with self._access.reading(self.dataset) as book:
            own = book.run_state(self.release_id).period
            return None if own is None else own.name

    def check_period(self, period: str | None) -> None:
        """Refuse rows of another period than the run was opened for; before opening any period is accepted.

        Raises:
            SpecMismatch: the run was opened for other rows.
        """
        with self._access.reading(self.dataset) as book:
            if book.find("opened", release_id=self.release_id) is not None:
                _check_same_period(book.run_state(self.release_id), period, self.release_id)

    # -- what can be read ------------------------------------------------------------------------------------

    def bill(self) -> RunView:
        """Read the run's state and its charges."""
        with self._access.reading(self.dataset) as book:
            return book.run(self.release_id, self._known)

    def begun(self) -> tuple[str, int | None] | None:
        """Name of the table with which the run began, and its number of rows if that is public.

        None if it did not begin, or if an earlier version began it, which did not record the table.
        """
        with self._access.reading(self.dataset) as book:
            return book.begun(self.release_id)

    def find(self, label: str) -> ChargeView | None:
        """Return the charge under this label, with its answer if there is one; None if nothing was charged.

        Raises:
            InvalidInput: a dataset or a run that does not exist, or an invalid label.
            LedgerViolation: the stored record is not a charge of this ledger.
        """
        _check_label(label)
        terms = self.allotment, self._access.registered(self.dataset)
        with self._access.reading(self.dataset) as book:
            return book.charge(self.release_id, label, *terms)

    def notes(self) -> dict[str, Any]:
        """Return the noted results of steps, by label."""
        with self._access.reading(self.dataset) as book:
            book.opened(self.release_id)
            return book.notes(self.release_id)

    def at_work(self) -> tuple[Work, ...]:
        """Return attempts of an open run whose lease has not run out: somebody may be working on them."""
        with self._access.reading(self.dataset) as book:
            closed = book.run_state(self.release_id).closed
            return () if closed else tuple(work for work in Work.of_run(book, self.release_id) if work.running)

    # -- from its hold to its close ---------------------------------------------------------------------------

    def open(self, allotment: Budget, period: str | None = None) -> None:
        """Hold the whole allotment; with an id that exists already, enter that run again.

        Args:
            allotment: the run's allotment.
            period: the run's period, if the dataset has periods; None: all rows, which count in every period.

        Raises:
            SpecMismatch: the id was opened with another allotment, or for another period.
            InvalidInput: the allotment's kind cannot be charged to this ledger, or not a period of this dataset.
            BudgetExceeded: no room; nothing is held.
        """
        registered = self._access.registered(self.dataset)
        allotment.hold_on(registered)  # refuses wrong kinds; the slow part runs before the lock
        with self._access.locked(self.dataset) as book:
            if book.find("opened", release_id=self.release_id) is not None:
                known = book.allotment(self.release_id)
                if known != allotment:
                    raise SpecMismatch(
                        f"release id {self.release_id!r} of dataset {self.dataset!r} was opened with "
                        f"{known.written()}, not {allotment.written()}: use another release id"
                    )
                _check_same_period(book.run_state(self.release_id), period, self.release_id)
                return
            book.refuse_old(self.release_id)
            state = book.known_state()
            hold = allotment.hold_on(registered, state.cap, state.remaining)
            body = {"allotment": allotment.to_json(), "allotted": allotment.cap, "hold": hold}
            body |= _held_in_period(book, allotment, period)
            with book.explaining(allotment):
                book.check_hold(hold)
                book.append("opened", body, self.release_id)

    def start(
        self,
        method: str,
        configuration: str,
        public_sha256: str,
        share: Amount | None,
        table: SizedTable | None = None,
    ) -> Amount:
        """Bind a run to one configuration of `method` and to its table, and set its share aside; repeatable.

        Raises:
            SpecMismatch: other settings, public rows, private table or number of rows than those with which the run
                began.
            RunClosed: the run is closed and never began this method.
            BudgetExceeded: less is left than `share`.
            InvalidInput: an invalid name, or a share of zero.
        """
        check_name(method, "method")
        allotment = self.allotment
        with self._access.locked(self.dataset) as book:
            if table is not None:
                _check_same(book.begun(self.release_id), table, self.release_id)
            for record in book.all("started", release_id=self.release_id):
                known = record.facts()
                if known["method"] != method:
                    continue
                same = known["configuration"] == configuration and known["public_sha256"] == public_sha256
                if not same or (share is not None and known["asked"] != share.to_json()):
                    raise SpecMismatch(
                        f"release id {self.release_id!r} of dataset {self.dataset!r} was run with other settings "
                        f"or other public rows ({_difference(known, configuration, public_sha256)}): "
                        "use another release id"
                    )
                return Amount.from_json(known["share"])
            run = book.run_state(self.release_id)
            given = share_of(run, share)
            body = {
                "method": method,
                "configuration": configuration,
                "public_sha256": public_sha256,
                "asked": share,
                "share": given,
                **({} if table is None else {"table": table.uri}),
                **({} if table is None or table.n_rows is None else {"n_rows": table.n_rows}),
            }
            if share is None and not run.closed and given.main < 1:
                raise BudgetExceeded(
                    f"nothing is left of the allotment of release id {self.release_id!r} for {method}",
                    spent=run.spent,
                    held=run.allotment - run.spent - run.unassigned,
                    remaining=run.unassigned,
                )
            with book.explaining(allotment, self.release_id):
                book.append("started", body, self.release_id)
            return given

    def charge(
        self, label: str, question: Any, event: Event, notes: Mapping[str, Any] = MappingProxyType({})
    ) -> ChargeView:
        """Pay for one question before it is asked; an existing charge is resumed, never computed again.

        Args:
            label: label of the question.
            question: question as JSON data.
            event: event of the question.
            notes: results on which the question depends, stored in the same transaction as the charge; see `keep`.

        Raises:
            Unavailable: see `keep`.
            BudgetExceeded, RunClosed: nothing was charged.
            InvalidInput: the event has no price in the run's or the ledger's currency, or is not the question's.
            LedgerViolation: the charge under this label was not made by this ledger.
        """
        _check_label(label)
        asked = self._asked(question)
        if asked is not None and asked.event != event:
            raise InvalidInput(f"the event under {label!r} is not what its question costs: the door makes one of it")
        if asked is not None and asked.per_person != self._access.protects_persons(self.dataset):
            raise InvalidInput(f"the question under {label!r} does not protect the privacy unit of {self.dataset!r}")
        periods = self._periods
        if asked is not None and asked.period != self.period:
            raise InvalidInput(f"the question under {label!r} is not asked of the period of its run")
        key = charge_key(self.dataset, self.release_id, label)
        attempt = {"attempt": secrets.token_hex(16), "lease_until": (datetime.now(UTC) + _LEASE).isoformat()}
        allotment, registered = self.allotment, self._access.registered(self.dataset)
        prices = _priced(event, allotment, registered, periods)  # before locking
        with self._access.locked(self.dataset) as book:
            stands = book.charge(self.release_id, label, allotment, registered)
            others = book.run_state(self.release_id).spent != self._spent_here
            if notes and not book.run_state(self.release_id).closed:
                self._keep(book, notes)
            if stands is not None:
                if stands.answer is None:
                    book.append("attempted", attempt, self.release_id, key)
                return replace(stands, attempt=attempt["attempt"], others=others)
            if isinstance(prices, InvalidInput):
                raise prices
            body = {"label": label, "question": question, "event": event.to_json(), **attempt, **prices}
            with book.explaining(allotment, self.release_id):
                book.append("charged", body, self.release_id, key)
            self._remember(book.head, label, question, event, prices)
            self._spent_here = book.run_state(self.release_id).spent
            return ChargeView(question, None, attempt["attempt"], event, others)

    def publish(self, label: str, attempt: str, answer: Mapping[str, list[int]]) -> dict[str, list[int]]:
        """Store the answer of a charge unless it has one already; return the stored one.

        Raises:
            InvalidInput: nothing was charged under this label in this run, or the answer does not have the sizes
                that were paid for.
            RunClosed: the run was closed meanwhile without an answer: a late answer is dropped.
        """
        _check_label(label)
        with self._access.locked(self.dataset) as book:
            paid = book.answer(self.release_id, label, self._known)
            if paid is None:
                raise InvalidInput(
                    f"nothing was charged under {label!r} in run {self.release_id!r} of dataset {self.dataset!r}, "
                    "so nothing can be published under it"
                )
            event, stands = paid
            if stands is not None:
                return stands
            key, body = charge_key(self.dataset, self.release_id, label), {"attempt": attempt}
            book.append("published", body | {"answer": _checked(answer, event, label)}, self.release_id, key)
            stored: dict[str, list[int]] = book.read_back().facts()["answer"]
        return stored

    def keep(self, notes: Mapping[str, Any]) -> None:
        """Store results of steps, by label, unless they are stored already: post-processing, which costs nothing.

        A closed run stores nothing more.

        Raises:
            Unavailable: another result is stored under one of these labels.
        """
        with self._access.locked(self.dataset) as book:
            if not book.run_state(self.release_id).closed:
                self._keep(book, notes)

    def _keep(self, book: Book, notes: Mapping[str, Any]) -> None:
        for label, value in notes.items():
            _check_label(label)
            known = book.noted(self.release_id, label)
            if known is None:
                book.append("noted", {"label": label, "value": value}, self.release_id)
            elif known != value:
                raise Unavailable(
                    f"another process is at work at run {self.release_id!r} of dataset {self.dataset!r}, and "
                    f"{label!r} came out otherwise there: run the same release id again, which goes on from what stands"
                )

    def close(self, reason: str) -> None:
        """End the run; the rest of its hold returns. A closed run stays closed."""
        check_text(reason, "reason")
        with self._access.locked(self.dataset) as book:
            if not book.run_state(self.release_id).closed:
                book.append("closed", {"reason": reason}, self.release_id)

    def _remember(self, record: Record, label: str, question: Any, event: Event, prices: Mapping[str, Amount]) -> None:
        """Keep a charge made here as a line of the bill; if the data is not a question, the record is read later."""
        if isinstance(question, Mapping) and isinstance(question.get("type"), str):
            paid = prices["price_run"], prices["price_ledger"]
            line = Charge(label, kind_of(question), *paid, event=event, at=record.at, user=record.user, answered=False)
            self._known[record.digest()] = line


def _check_same_period(run: RunState, period: str | None, release_id: str) -> None:
    known = None if run.period is None else run.period.name
    if known != period:
        was, now = (f"{name} only" if name else "all rows" for name in (known, period))
        raise SpecMismatch(f"release id {release_id!r} was opened for {was}, not for {now}: use another release id")


def _held_in_period(book: Book, allotment: Budget, period: str | None) -> dict[str, Any]:
    """The part of an `opened` record about the run's period."""
    terms = book.periods
    if terms is None:
        if period is not None:
            raise InvalidInput(
                f"dataset {book.dataset!r} has no periods: leave out --period, or give it some with `pubpriv budget "
                "set --period UNIT:COLUMN --per-period BUDGET`"
            )
        return {}
    terms.check_named(period)
    return {"period": period, "hold_period": terms.hold(allotment, book.person is not None)}


def _priced(
    event: Event, allotment: Budget, registered: Budget, periods: PeriodTerms | None
) -> "dict[str, Amount] | InvalidInput":
    """The prices of an event in all currencies, or an error if it has none."""
    own = {} if periods is None else {"price_period": periods.budget}
    try:
        budgets = {"price_run": allotment, "price_ledger": registered, **own}
        return {name: budget.price(event) for name, budget in budgets.items()}
    except InvalidInput as refusal:
        return refusal


def _check_same(begun: tuple[str, int | None] | None, table: SizedTable, release_id: str) -> None:
    if begun is not None and begun != (table.uri, table.n_rows):
        was, now = (
            f"{uri}" if rows is None else f"{uri} of {rows} rows" for uri, rows in (begun, (table.uri, table.n_rows))
        )
        raise SpecMismatch(
            f"release id {release_id!r} began with the table {was}, not with {now}: use another release id"
        )


def _checked(answer: Mapping[str, list[int]], event: Event, label: str) -> dict[str, list[int]]:
    try:
        return check_answer(answer, event)
    except ValueError as error:
        why = str(error)
    raise InvalidInput(f"nothing is published under {label!r}: {why}")


def _difference(known: dict[str, Any], configuration: str, public_sha256: str) -> str:
    old, new = json.loads(known["configuration"]), json.loads(configuration)
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    if names:  # first, because other columns also mean other public rows
        return ", ".join(f"{name}: {old.get(name)} then, {new.get(name)} now" for name in names)
    return "another budget" if known["public_sha256"] == public_sha256 else "the public rows differ"


def _check_label(label: object) -> None:
    """Refuse an invalid label of a question or a step; see `check_text`."""
    check_text(label, "label", _LONGEST_LABEL)
