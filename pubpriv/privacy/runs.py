"""Runs as the door uses them: recorded in a ledger, or simulated, with an enforced budget and no record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from pubpriv.errors import BudgetExceeded, InvalidInput, RunClosed, SpecMismatch
from pubpriv.privacy.budgets import Amount, Budget, BudgetLike, Purse, budget_of
from pubpriv.privacy.events import Event
from pubpriv.privacy.ledger.facts import facts_of
from pubpriv.privacy.ledger.records import DatasetState, RunState, apply, share_of
from pubpriv.privacy.ledger.terms import person_columns_of
from pubpriv.privacy.ledger.views import ChargeView, SizedTable, kind_of
from pubpriv.privacy.statement import Statement, line_of

if TYPE_CHECKING:
    from pubpriv.privacy.ledger.run import LedgerRun
    from pubpriv.privacy.ledger.store import Ledger


class Run(Protocol):
    """What `Curator` needs from the account of a run."""

    @property
    def name(self) -> tuple[str, ...]:
        """Name that distinguishes the run from all others; () for a simulation."""

    @property
    def allotment(self) -> Budget:
        """The run's budget."""

    def refuse_private(self, public: str) -> None:
        """Refuse a public file that could belong to a private table."""

    def begin(self, method: str, configuration: str, public_sha256: str, budget: Budget | None) -> Purse:
        """See `Curator.begin`."""

    def afford(self, plans: Sequence[Sequence[Event]]) -> None:
        """Refuse if the events of a plan together do not fit the run, before the first is charged."""

    def find(self, label: str) -> ChargeView | None:
        """Return the charge under a label, with its answer if there is one."""

    def charge(self, label: str, question: Any, event: Event) -> ChargeView:
        """Pay, or resume."""

    def publish(self, label: str, attempt: str, answer: dict[str, list[int]]) -> dict[str, list[int]]:
        """Store the answer unless there is one already; return the stored one."""

    def noted(self, label: str) -> Any:
        """Return the value that was noted under a label, or None."""

    def note(self, label: str, value: Any) -> None:
        """Note a value, which is stored with the next charge at the latest."""

    def keep(self) -> None:
        """Store notes that are not stored yet."""

    def statement(self) -> Statement:
        """Return the privacy statement of all charges."""

    def close(self, reason: str) -> None:
        """End the run."""

    def leave(self) -> None:
        """Let go of the ledger if it was opened for this run alone."""

    def describe(self) -> str:
        """Describe the run, for `repr`."""


class RecordedRun:
    """One run of one dataset in a persistent ledger.

    Args:
        ledger: ledger in which the run is open.
        run: the run.
        owned: close the ledger when the run is left.
        table: the private table that methods begin with.
        new: nothing was charged to the run yet. If somebody else charges it meanwhile, `charge` notices that.
    """

    def __init__(
        self,
        ledger: "Ledger",
        run: "LedgerRun",
        owned: bool = False,
        table: "SizedTable | None" = None,
        new: bool = False,
    ) -> None:
        self._ledger, self._run, self._owned, self._table = ledger, run, owned, table
        self._unwritten: dict[str, Any] = {}
        self._charged: set[str] | None = set() if new else None

    @property
    def name(self) -> tuple[str, ...]:
        """Ledger, dataset and release id."""
        return self._ledger.reference, self._run.dataset, self._run.release_id

    @property
    def allotment(self) -> Budget:
        """The run's budget, as it was opened."""
        return self._run.allotment

    def refuse_private(self, public: str) -> None:
        """Refuse a public file that could belong to any private table that the ledger knows."""
        self._ledger.refuse_private(public)

    def begin(self, method: str, configuration: str, public_sha256: str, budget: Budget | None) -> Purse:
        """Bind the run to the method's settings, and set its share aside."""
        allotment = self.allotment
        share = _share(budget, allotment)
        given = self._run.start(method, configuration, public_sha256, share, self._table)
        tails = [allotment.tails_within(given.delta)]
        for other, hold in self._holds():
            tails.append(other.tails_within(hold.delta * given.main // allotment.cap.main))
        return Purse(given.main, allotment.kind, min(tails))

    def _holds(self) -> list[tuple[Budget, Amount]]:
        """Amounts that the run holds of the ledger and its period, each with the budget that prices charges there."""
        state, balance = self._run.bill().state, self._ledger.balance(self._run.dataset)
        holds = [(balance.budget, state.hold)]
        if balance.periods is not None and state.period is not None:
            holds.append((balance.periods.budget, state.period.hold))
        return holds

    def afford(self, plans: Sequence[Sequence[Event]]) -> None:
        """Refuse plans that do not fit, in the run's currency, in the ledger's and in that of its period's cap."""
        _afford(plans, self.allotment, self.allotment.cap)
        for budget, hold in self._holds():
            _afford(plans, budget, hold)

    def find(self, label: str) -> ChargeView | None:
        """Look up a charge without paying; the ledger is not read if only this object could have charged it."""
        if self._charged is not None and label not in self._charged:
            return None
        return self._run.find(label)

    def charge(self, label: str, question: Any, event: Event) -> ChargeView:
        """Pay, or resume; the charge is on disk when this returns."""
        if self._charged is not None:
            self._charged.add(label)
        charge = self._run.charge(label, question, event, self._unwritten)
        self._unwritten = {}
        return charge

    def publish(self, label: str, attempt: str, answer: dict[str, list[int]]) -> dict[str, list[int]]:
        """Store the answer unless there is one already; return the stored one."""
        return self._run.publish(label, attempt, answer)

    def noted(self, label: str) -> Any:
        """Look up a note. All notes are read once, since a run's notes never change."""
        return self._known_notes.get(label)

    def note(self, label: str, value: Any) -> None:
        """Note a value, to be stored with the next charge: until then no question depended on it."""
        self._known_notes[label] = self._unwritten[label] = value

    def keep(self) -> None:
        """Store the notes since the last charge, so that another process can continue the run."""
        self._charged = None
        if self._unwritten:
            self._run.keep(self._unwritten)
            self._unwritten = {}

    @cached_property
    def _known_notes(self) -> dict[str, Any]:
        return self._run.notes()

    def statement(self) -> Statement:
        """Make the statement from the ledger's records, after storing notes."""
        self.keep()
        run = self._run.bill()
        balance = self._ledger.balance(self._run.dataset)
        return Statement(
            private=True,
            dataset=self._run.dataset,
            release_id=self._run.release_id,
            unit=balance.unit,
            kind=run.allotment.kind,
            guarantee=run.allotment.guarantee([charge.event for charge in run.charges]),
            spent=run.allotment.amount_text(run.state.spent),
            charges=tuple(
                line_of(charge.label, charge.question, charge.event, charge.price_run, run.allotment)
                for charge in run.charges
            ),
            chain_head=run.head,  # the run's own, so that a replay gives the same file
            person=person_columns_of(balance.person),
            period=None if run.state.period is None else run.state.period.name,
            periods=None if run.state.period is None else balance.periods,
        )

    def close(self, reason: str) -> None:
        """End the run; the rest of its hold returns to the dataset."""
        self.keep()
        self._run.close(reason)

    def leave(self) -> None:
        """Close the ledger if it was opened for this curator only."""
        if self._owned:
            self._ledger.close()

    def describe(self) -> str:
        """Name the run, for `repr`."""
        return f"dataset={self._run.dataset!r}, release_id={self._run.release_id!r}"


@dataclass(frozen=True)
class _SimulatedCharge:
    question: Any
    cost: Amount
    event: Event
    answer: dict[str, list[int]] | None = None


class SimulatedRun:
    """A run with an enforced budget and no record, for simulations, which are not private.

    The rules are those of the ledger (`ledger.records.apply`), for a dataset with only this run.
    """

    def __init__(self, given: BudgetLike) -> None:
        budget = self._budget = budget_of(given)
        self._dataset = DatasetState(cap=budget.cap, held=budget.cap)
        self._run = RunState(allotment=budget.cap, hold=budget.cap)
        self._methods: dict[str, tuple[str, str, Purse]] = {}
        self._lines: dict[str, _SimulatedCharge] = {}

    @property
    def name(self) -> tuple[str, ...]:
        """(): a simulation has one curator and needs no name."""
        return ()

    @property
    def allotment(self) -> Budget:
        """The budget, as it was given."""
        return self._budget

    def refuse_private(self, public: str) -> None:
        """Refuse nothing: there is no private table."""

    def begin(self, method: str, configuration: str, public_sha256: str, budget: Budget | None) -> Purse:
        """Bind the run to the method's settings and set its share aside, as a ledger would."""
        known = self._methods.get(method)
        if known is not None:
            if known[:2] != (configuration, public_sha256):
                raise SpecMismatch(f"this simulation ran {method} with other settings: make another one")
            return known[2]
        share = share_of(self._run, _share(budget, self._budget))
        if not self._run.closed and share.main < 1:
            raise BudgetExceeded(f"nothing is left of the simulated budget for {method}")
        self._apply("started", method, {"method": method, "share": share.to_json()})
        purse = Purse(share.main, self._budget.kind, self._budget.tails_within(share.delta))
        self._methods[method] = (configuration, public_sha256, purse)
        return purse

    def afford(self, plans: Sequence[Sequence[Event]]) -> None:
        """Refuse plans that do not fit, as a ledger would."""
        _afford(plans, self._budget, self._budget.cap)

    def find(self, label: str) -> ChargeView | None:
        """Look up a charge in memory."""
        line = self._lines.get(label)
        return ChargeView(line.question, line.answer, "simulated", line.event) if line else None

    def charge(self, label: str, question: Any, event: Event) -> ChargeView:
        """Pay, refuse or resume, as a ledger would."""
        charge = self.find(label)
        if charge is not None:
            return charge
        cost = self._budget.price(event)
        price = cost.to_json()
        self._apply("charged", label, {"label": label, "price_run": price, "price_ledger": price})
        self._lines[label] = _SimulatedCharge(question, cost, event)
        return ChargeView(question, None, "simulated", event)

    def publish(self, label: str, attempt: str, answer: dict[str, list[int]]) -> dict[str, list[int]]:  # noqa: ARG002
        """Keep the answer for replays within the simulation; the first one counts."""
        line = self._lines.get(label)
        if line is None:
            raise InvalidInput(f"nothing was charged under {label!r}, so nothing can be published under it")
        stored = answer if line.answer is None else line.answer
        self._lines[label] = replace(line, answer=stored)
        return stored

    def noted(self, label: str) -> Any:  # noqa: ARG002
        """Return None: a simulation computes everything again."""
        return None

    def note(self, label: str, value: Any) -> None:
        """Do nothing: a simulation computes everything again."""

    def keep(self) -> None:
        """Do nothing: a simulation has no ledger."""

    def _apply(self, kind: str, what: str, body: dict[str, Any]) -> None:
        refused: BudgetExceeded | None = None
        try:
            self._dataset, run = apply(kind, facts_of(kind, body), self._dataset, self._run)
        except RunClosed:
            raise RunClosed("this simulation is closed") from None
        except BudgetExceeded as error:
            refused = error
        if refused is not None:
            amounts = {"spent": refused.spent, "requested": refused.requested, "remaining": refused.remaining}
            raise BudgetExceeded(f"the simulated budget has no room for {what}: {refused}", **amounts)
        assert run is not None
        self._run = run

    def statement(self) -> Statement:
        """Make a statement that says that nothing here is private."""
        lines = tuple(
            line_of(label, kind_of(line.question), line.event, line.cost, self._budget)
            for label, line in self._lines.items()
        )
        guarantee = {"kind": self._budget.kind, "text": "none (simulation)"}
        return Statement(
            False,
            None,
            None,
            "none (simulation)",
            self._budget.kind,
            guarantee,
            self._budget.amount_text(self._run.spent),
            lines,
        )

    def close(self, reason: str) -> None:  # noqa: ARG002
        """End the run: no more charges."""
        self._run = replace(self._run, closed=True)

    def leave(self) -> None:
        """Do nothing: there are no resources."""

    def describe(self) -> str:
        """Say that this is a simulation, for `repr`."""
        return "simulation: NOT private"


def _share(budget: Budget | None, allotment: Budget) -> Amount | None:
    """A method's budget in the currency of its run."""
    if budget is None:
        return None
    if budget.kind != allotment.kind:
        raise InvalidInput(f"the run has a {allotment.kind} allotment, so its methods take {allotment.kind} budgets")
    return budget.cap


def _afford(plans: Sequence[Sequence[Event]], budget: Budget, room: Amount) -> None:
    prices = {event: budget.price(event) for event in set(chain.from_iterable(plans))}
    for plan in plans:
        _fits(sum((prices[event] for event in plan), Amount(0)), budget, room)


def _fits(total: Amount, budget: Budget, room: Amount) -> None:
    if total.main > room.main:
        raise BudgetExceeded(
            f"the steps of this method cost more than its run may spend: requested {budget.amount_text(total)}, "
            f"remaining {budget.amount_text(room)}. Nothing was charged: give the run a larger budget",
            requested=total,
            remaining=room,
        )
    if total.delta > room.delta:
        raise InvalidInput(
            f"{budget.describe()} leaves too little room for the failure terms of this method: "
            "choose a larger delta or a smaller epsilon"
        )
