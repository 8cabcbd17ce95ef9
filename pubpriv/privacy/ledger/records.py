"""Records and what they do to a balance: pure, without a database.

Every record is appended once and never changed. After each, two states are known: the dataset's (spent,
held) and, if it concerns a run, the run's. `apply` is the only place where they move; the store calls it to
write and `verify` calls it again to check.

| kind | says | needs | moves |
|---|---|---|---|
| registered | a dataset, its budget and privacy unit | nothing before it | |
| declared | a table with its columns | | |
| raised | a higher cap, and why | cap >= spent + held | |
| opened | a run with its allotment | room in the cap for the hold | held up |
| started | a method with its settings and share | an open run, room in the allotment | run.started up |
| charged | a question, its event and prices | an open run, room in share, hold and cap | held down, spent up |
| attempted | another try at a charge | a charge | |
| published | the answer | a charge, no answer yet, an open run | |
| closed | the run's end | an open run | the rest of the hold returns |
"""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from pubpriv.errors import BudgetExceeded, LedgerViolation, RunClosed
from pubpriv.privacy.budgets import Amount

NOTHING = Amount(0, 0)


@dataclass(frozen=True)
class DatasetState:
    """Of one dataset, in its ledger currency."""

    cap: Amount = NOTHING
    spent: Amount = NOTHING
    held: Amount = NOTHING

    @property
    def remaining(self) -> Amount:
        """What a new run could hold."""
        return self.cap - self.spent - self.held


@dataclass(frozen=True)
class RunState:
    """Of one run: `allotment`, `started` and `spent` in the run's currency, `hold` and `charged` in the ledger's."""

    allotment: Amount = NOTHING
    hold: Amount = NOTHING
    started: Amount = NOTHING
    spent: Amount = NOTHING
    charged: Amount = NOTHING
    closed: bool = False


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

    def digest(self) -> str:
        """SHA-256 over everything in the row; `previous_hash` chains it to the row before."""
        return hashlib.sha256(canonical(self.__dict__).encode()).hexdigest()


def canonical(data: Any) -> str:
    """One text per JSON value."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def charge_key(dataset: str, release_id: str, label: str) -> str:
    """The name of a charge and of its one answer."""
    return hashlib.sha256(canonical([dataset, release_id, label]).encode()).hexdigest()


def state_text(dataset: DatasetState, run: RunState | None) -> str:
    """Both states as canonical JSON."""

    def plain(state: DatasetState | RunState) -> dict[str, Any]:
        return {k: v.to_json() if isinstance(v, Amount) else v for k, v in state.__dict__.items()}

    return canonical({"dataset": plain(dataset), "run": plain(run) if run else None})


def states_of(text: str) -> tuple[DatasetState, RunState | None]:
    """What `state_text` wrote."""

    def amounts(data: dict[str, Any]) -> dict[str, Any]:
        return {k: Amount.from_json(v) if isinstance(v, dict) else v for k, v in data.items()}

    data = json.loads(text)
    return DatasetState(**amounts(data["dataset"])), RunState(**amounts(data["run"])) if data["run"] else None


def apply(
    kind: str, facts: dict[str, Any], dataset: DatasetState, run: RunState | None
) -> tuple[DatasetState, RunState | None]:
    """The states after a record of `kind` with amounts `facts`.

    Raises:
        BudgetExceeded: no room; the caller says who holds what.
        RunClosed: a charge or an answer on a closed run.
    """
    if kind in ("registered", "raised"):
        cap: Amount = facts["cap"]
        if not (dataset.spent + dataset.held).fits(cap):
            raise BudgetExceeded("the cap would fall below what is spent and held")
        return replace(dataset, cap=cap), run
    if kind == "declared":
        return dataset, run
    if kind == "opened":
        return _open(facts, dataset)
    if run is None:
        raise LedgerViolation(f"a record of kind {kind} stands before its run was opened")
    if kind == "closed":
        return replace(dataset, held=dataset.held - (run.hold - run.charged)), replace(run, closed=True)
    if run.closed:
        raise RunClosed("the run is closed: its answers can be replayed, but nothing new can be charged to it")
    if kind == "started":
        return dataset, _start(facts, run)
    if kind == "charged":
        return _charge(facts, dataset, run)
    if kind in ("attempted", "published"):
        return dataset, run
    raise LedgerViolation(f"unknown record kind {kind}")


def _open(facts: dict[str, Any], dataset: DatasetState) -> tuple[DatasetState, RunState]:
    hold: Amount = facts["hold"]
    if not hold.fits(dataset.remaining):
        raise BudgetExceeded("the allotment does not fit what is left of the cap")
    return replace(dataset, held=dataset.held + hold), RunState(allotment=facts["allotted"], hold=hold)


def _start(facts: dict[str, Any], run: RunState) -> RunState:
    started = run.started + facts["share"]
    if not started.fits(run.allotment):
        raise BudgetExceeded("the method's share does not fit what is left of the run's allotment")
    return replace(run, started=started)


def _charge(facts: dict[str, Any], dataset: DatasetState, run: RunState) -> tuple[DatasetState, RunState]:
    spent, charged = run.spent + facts["price_run"], run.charged + facts["price_ledger"]
    if not (spent.fits(run.allotment) and charged.fits(run.hold)):
        raise BudgetExceeded("the charge does not fit what is left of the run's allotment")
    price: Amount = facts["price_ledger"]
    moved = replace(dataset, spent=dataset.spent + price, held=dataset.held - price)
    if not (moved.spent + moved.held).fits(dataset.cap):
        raise BudgetExceeded("the charge does not fit the dataset's cap")
    return moved, replace(run, spent=spent, charged=charged)
