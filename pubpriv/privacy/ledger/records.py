"""Records and their effect on balances: pure, without a database.

Every record is appended once and never changed. After each record two states are known: the dataset's (cap, spent,
held) and, if it belongs to a run, the run's. Only `apply` changes them; the book calls it to write and `replay`
calls it again to check.

| kind | content | `apply` requires | changes |
|---|---|---|---|
| registered | a dataset, its budget, privacy unit and periods | | cap |
| declared | a table, its columns, what its owner says of it | | |
| raised | another cap, or periods, and why | cap >= spent + held | cap |
| opened | a run with its allotment and period | room in the cap, and in the period's, for the hold | held up |
| started | a method with its settings and share | room in the allotment | the method's share |
| charged | a question, its event and prices | room in share, allotment and holds | held down, spent up |
| attempted | another try at a charge | | |
| published | the answer | | |
| noted | the result of a step on public rows and answers | | |
| closed | the run's end | | the rest of the hold returns |
| sealed | the ledger that continues the books | no open run | every later record is refused |
| awaited | the ledger whose books are continued here | an empty account | only `carried` may follow |
| carried | the terms and balance of these books | room in the cap for what is spent | cap and spent |
| carried_period | the amount a period spent in them | room in the period's cap | the period's spent up |
| remembered | names, prices and settings of their runs | | |

The records from `started` to `closed` need an open run. The last five close a ledger's books and carry them on in
another one (`succession`). `apply` sees only the two states; other rules are checked where keys are known, before
writing (`book`, and unique indexes of the database) and again on `replay`: a dataset is registered once and first, an
id is opened once, a method starts once in a run, a key has at most one charge, attempts and the one answer follow a
charge, and a step is noted once in a run. No amount is negative; no price, hold or share is zero.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from pubpriv.errors import BooksClosed, InvalidInput, LedgerViolation, PubPrivError, RunClosed
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger._no_room import NoRoom
from pubpriv.privacy.ledger._period_states import PeriodsState, RunPeriod
from pubpriv.privacy.ledger.facts import OF_SUCCESSION, check_amounts
from pubpriv.privacy.ledger.texts import canonical, escaped

_NOTHING = Amount(0, 0)

FAILURES = (PubPrivError, ValueError, KeyError, TypeError, ArithmeticError, AttributeError, IndexError, RecursionError)
"""Exceptions that reading a changed record can cause."""


@dataclass(frozen=True)
class DatasetState:
    """The balance of a dataset, in its ledger's currency, and that of a record's period.

    `sealed` is the ledger that continues closed books; `awaits` is the ledger whose books are to be continued here.
    """

    cap: Amount = _NOTHING
    spent: Amount = _NOTHING
    held: Amount = _NOTHING
    periods: PeriodsState | None = None
    sealed: str | None = None
    awaits: str | None = None

    @property
    def capped(self) -> bool:
        """Whether the cap holds for all periods together."""
        return self.periods is None or self.periods.lifetime

    @property
    def remaining(self) -> Amount:
        """The most that a new run could hold, apart from the cap of its period."""
        return self.cap - self.spent - self.held if self.capped else self.cap


@dataclass(frozen=True)
class _MethodState:
    """The balance of a method in a run, in the run's currency."""

    share: Amount
    spent: Amount = _NOTHING


@dataclass(frozen=True)
class RunState:
    """The balance of a run: `hold` and `charged` are in the ledger's currency, other amounts in the run's."""

    allotment: Amount = _NOTHING
    hold: Amount = _NOTHING
    spent: Amount = _NOTHING
    charged: Amount = _NOTHING
    methods: Mapping[str, _MethodState] = field(default_factory=dict)
    closed: bool = False
    period: RunPeriod | None = None

    @property
    def unassigned(self) -> Amount:
        """The most that a new method could get: the allotment minus all shares and minus charges outside of methods."""
        own = sum((method.spent for method in self.methods.values()), _NOTHING)
        shares = sum((method.share for method in self.methods.values()), _NOTHING)
        return self.allotment - shares - (self.spent - own)


@dataclass(frozen=True)
class Record:
    """One row of the ledger."""

    dataset: str
    seq: int
    kind: str
    release_id: str | None
    key: str | None
    body: str
    state: str
    previous_hash: str
    at: str
    user: str
    host: str
    version: str
    period: str | None = None

    def columns(self) -> dict[str, Any]:
        """Return everything in the row except its hash, by column."""
        return {name: getattr(self, name) for name in _COLUMNS}

    def digest(self) -> str:
        """Return SHA-256 over everything in the row; `previous_hash` chains it to the row before."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # cached for each row: bodies are up to megabytes long
        columns = self.columns()
        if self.period is None:
            del columns["period"]  # so that older chains, without this column, keep their hashes
        return hashlib.sha256(escaped(columns)).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Return the body as data.

        Raises:
            LedgerViolation: the body is not a JSON object.
        """
        return _object(self.body, f"record {self.seq} of dataset {self.dataset!r}")


_COLUMNS = tuple(column.name for column in fields(Record))


def charge_key(dataset: str, release_id: str, label: str) -> str:
    """Return the name of a charge and of its one answer."""
    return hashlib.sha256(canonical([dataset, release_id, label]).encode()).hexdigest()


def state_text(dataset: DatasetState, run: RunState | None) -> str:
    """Write both states as canonical JSON."""
    return canonical({"dataset": _plain(dataset), "run": _plain(run) if run else None})


def states_of(text: str) -> tuple[DatasetState, RunState | None]:
    """Read what `state_text` wrote.

    Raises:
        LedgerViolation: the text is something else.
    """
    data = _object(text, "a balance in the ledger")
    try:
        run = data["run"]
        methods = {name: _MethodState(**_amounts(m)) for name, m in run["methods"].items()} if run else {}
        state = RunState(**_amounts(run) | {"methods": methods}) if run else None
        return DatasetState(**_amounts(data["dataset"])), state
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LedgerViolation("a balance in the ledger cannot be read: it was changed") from None


def period_of(facts: Mapping[str, Any], run: RunState | None) -> str | None:
    """Return the period of a record: that of its run, which is named in the record that opens the run."""
    if run is None:
        return facts.get("period")
    return run.period.name if run.period else None


def share_of(run: RunState, asked: Amount | None) -> Amount:
    """Return a method's share: all that is left, or `asked` with its part of the run's failure reserve.

    Failure terms of a Gaussian shrink with its price, so the reserve is divided like mu^2, rounded down.
    """
    if asked is None:
        return run.unassigned
    return Amount(asked.main, asked.main * run.allotment.delta // run.allotment.main)


def apply(
    kind: str, facts: Mapping[str, Any], dataset: DatasetState, run: RunState | None
) -> tuple[DatasetState, RunState | None]:
    """Return the states after a record of `kind`, given `facts_of` its body.

    Raises:
        NoRoom: a BudgetExceeded without a text; the caller adds who holds what.
        RunClosed: a new record on a closed run.
        BooksClosed: a new record in books that are closed, or not carried on yet.
        InvalidInput: a negative or zero amount.
        LedgerViolation: a record without its run, or of an unknown kind.
    """
    check_amounts(kind, facts)
    _check_books(kind, dataset)
    if kind in ("registered", "raised"):
        return _cap(facts["cap"], _with_periods(facts, dataset)), run
    if kind == "declared":
        return dataset, run
    if kind == "opened":
        return _open(facts, dataset)
    if kind in OF_SUCCESSION:
        return _succeed(kind, facts, dataset), run
    if run is None:
        raise LedgerViolation(f"a record of kind {kind} comes before its run was opened")
    return _apply_to_run(kind, facts, dataset, run)


def _check_books(kind: str, dataset: DatasetState) -> None:
    if dataset.sealed is not None:
        raise BooksClosed(f"the books are closed: nothing is charged here, they go on in the ledger {dataset.sealed}")
    if dataset.awaits is not None and kind != "carried":
        raise BooksClosed(awaiting(dataset.awaits))
    if (kind == "awaited" and dataset != DatasetState()) or (kind == "carried" and dataset.awaits is None):
        raise LedgerViolation("books that begin already cannot carry on others")


def awaiting(place: str) -> str:
    """Return the message for books that wait to continue those of another ledger."""
    return f"the books of the ledger {place} are to go on here and do not yet: run `pubpriv ledger close` there again"


def without_records(dataset: str) -> LedgerViolation:
    """Return the error for a registered dataset whose records are missing."""
    return LedgerViolation(
        f"the ledger lists the dataset {dataset!r} but has no record of it: records were deleted. Stop charging this "
        "ledger, and bring it back with `pubpriv ledger restore EXPORT`"
    )


def _succeed(kind: str, facts: Mapping[str, Any], dataset: DatasetState) -> DatasetState:
    if kind == "sealed":
        if dataset.held != _NOTHING:
            raise InvalidInput("runs are open: close them first")
        return replace(dataset, sealed=facts["to"])
    if kind == "awaited":
        return replace(dataset, awaits=facts["ledger"])
    if kind == "carried":
        return _cap(facts["cap"], _with_periods(facts, DatasetState(spent=facts["spent"])))
    if kind == "carried_period":
        if dataset.periods is None:
            raise LedgerViolation("there are no periods that could have spent anything")
        return replace(dataset, periods=dataset.periods.carried(facts["period"], facts["spent"]))
    return dataset


def _apply_to_run(
    kind: str, facts: Mapping[str, Any], dataset: DatasetState, run: RunState
) -> tuple[DatasetState, RunState]:
    if run.closed:
        raise RunClosed("the run is closed: its answers can be replayed, but nothing new can be charged to it")
    if kind == "closed":
        periods = dataset.periods.closed(run.period) if dataset.periods and run.period else dataset.periods
        held = dataset.held - (run.hold - run.charged)
        return replace(dataset, held=held, periods=periods), replace(run, closed=True)
    if kind == "started":
        return dataset, _start(facts, run)
    if kind == "charged":
        return _charge(facts, dataset, run)
    if kind in ("attempted", "published", "noted"):
        return dataset, run
    raise LedgerViolation(f"unknown record kind {kind}")


def _with_periods(facts: Mapping[str, Any], dataset: DatasetState) -> DatasetState:
    """Set the cap of each period, if the record has one; earlier spending counts in every period."""
    if "period_cap" not in facts:
        return dataset
    if dataset.periods is None and dataset.held.main:
        raise InvalidInput("runs are open that hold nothing of a period's cap: close them first")
    known = dataset.periods or PeriodsState(facts["period_cap"], facts.get("common_spent", dataset.spent))
    return replace(dataset, periods=known.capped(facts["period_cap"], facts["lifetime"]))


def _cap(cap: Amount, dataset: DatasetState) -> DatasetState:
    moved = replace(dataset, cap=cap)
    if dataset.capped and not (dataset.spent + dataset.held).fits(cap):
        amounts = {"spent": dataset.spent, "held": dataset.held, "remaining": dataset.remaining}
        raise NoRoom("the cap would fall below what is spent and held", "cap", requested=cap, **amounts)
    return moved


def _open(facts: Mapping[str, Any], dataset: DatasetState) -> tuple[DatasetState, RunState]:
    hold: Amount = facts["hold"]
    if not hold.fits(dataset.remaining):
        amounts = {"spent": dataset.spent, "held": dataset.held, "remaining": dataset.remaining}
        raise NoRoom("the allotment does not fit what is left of the cap", "dataset", requested=hold, **amounts)
    opened = replace(dataset, held=dataset.held + hold)
    run = RunState(allotment=facts["allotted"], hold=hold)
    if dataset.periods is None and facts.keys().isdisjoint({"hold_period", "period"}):
        return opened, run
    if dataset.periods is None or "hold_period" not in facts:
        raise LedgerViolation("a run holds nothing of its period's cap, or there are no periods")
    periods, own = dataset.periods.opened(facts.get("period"), facts["hold_period"])
    return replace(opened, periods=periods), replace(run, period=own)


def _start(facts: Mapping[str, Any], run: RunState) -> RunState:
    method, share = facts["method"], facts["share"]
    if method in run.methods:
        raise LedgerViolation(f"the method {method} started twice")
    if not share.fits(run.unassigned):
        why = "the method's share does not fit what is left of the run's allotment"
        held = run.allotment - run.spent - run.unassigned
        raise NoRoom(why, "run", spent=run.spent, held=held, requested=share, remaining=run.unassigned)
    return replace(run, methods={**run.methods, method: _MethodState(share)})


def _charge(facts: Mapping[str, Any], dataset: DatasetState, run: RunState) -> tuple[DatasetState, RunState]:
    price: Amount = facts["price_ledger"]
    run = _charge_run(facts["price_run"], facts["method"], run)
    left = run.hold - run.charged
    if not price.fits(left):
        why = "the charge does not fit what the run still holds of the dataset's budget"
        raise NoRoom(why, "hold", spent=run.charged, held=left, requested=price, remaining=left)
    moved = replace(dataset, spent=dataset.spent + price, held=dataset.held - price)
    if dataset.capped and not (moved.spent + moved.held).fits(dataset.cap):
        raise LedgerViolation("more is spent and held than the cap")
    run = replace(run, charged=run.charged + price)
    if dataset.periods is None and run.period is None and "price_period" not in facts:
        return moved, run
    if dataset.periods is None or run.period is None or "price_period" not in facts:
        raise LedgerViolation("a charge is not made against its period's cap, or there are no periods")
    periods, own = dataset.periods.charged(run.period, facts["price_period"])
    return replace(moved, periods=periods), replace(run, period=own)


def _charge_run(price: Amount, name: str, run: RunState) -> RunState:
    method = run.methods.get(name)
    if method is not None:
        left = method.share - method.spent
        if not price.fits(left):
            why = f"the charge does not fit what is left of the share of {name}"
            raise NoRoom(why, "method", spent=method.spent, held=_NOTHING, requested=price, remaining=left)
        run = replace(run, methods={**run.methods, name: replace(method, spent=method.spent + price)})
    left = run.allotment - run.spent
    if not price.fits(left):
        why = "the charge does not fit what is left of the run's allotment"
        raise NoRoom(why, "run", spent=run.spent, held=_NOTHING, requested=price, remaining=left)
    return replace(run, spent=run.spent + price)


def _plain(state: DatasetState | RunState | _MethodState) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, Amount | PeriodsState | RunPeriod):
            return value.to_json()
        return {name: _plain(method) for name, method in value.items()} if isinstance(value, Mapping) else value

    return {name: plain(value) for name, value in state.__dict__.items() if value is not None}


def _amounts(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a state, with amounts parsed."""
    readers: dict[str, Any] = {"periods": PeriodsState.from_json, "period": RunPeriod.from_json, "methods": dict}
    return {
        name: readers.get(name, Amount.from_json)(value) if isinstance(value, dict) else value
        for name, value in data.items()
    }


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise LedgerViolation(f"{where} cannot be read: it was changed")
    return data
