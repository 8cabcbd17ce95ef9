"""Runs with their bills from one pass over their records, which is what a long history is told from."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount, budget_from_json
from pubpriv.privacy.events import event_from_json
from pubpriv.privacy.ledger.records import Record, RunState, states_of
from pubpriv.privacy.ledger.replay import FAILURES
from pubpriv.privacy.ledger.views import Charge, Run

BILLED = ("opened", "started", "charged", "published")
"""Kinds of records that a bill is made of."""


def runs_of(records: Iterable[Record]) -> list[Run]:
    """Runs, in the order in which they were opened.

    Args:
        records: all records of a dataset, or of one of its runs, oldest first.

    Raises:
        LedgerViolation: a record that cannot be read.
    """
    of_run: dict[str, list[Record]] = {}
    for record in records:
        if record.release_id is not None:
            of_run.setdefault(record.release_id, []).append(record)
    return [run_of(own, states_of(own[-1].state)[1]) for own in of_run.values()]


def run_of(records: Sequence[Record], state: RunState | None, known: MutableMapping[str, Charge] | None = None) -> Run:
    """A run with its bill.

    Args:
        records: of the run, the one that opened it first; those of `BILLED` kinds are enough.
        state: after its last record.
        known: lines by the digest of the charge's record. What is there is not read again: bodies hold questions,
            which are long, and a digest, worked out anew from what was read, says that the record is the same.

    Raises:
        LedgerViolation: a record that cannot be read, or that is not of a run which was opened.
    """
    opened = records[0]
    if opened.kind != "opened" or state is None:
        raise LedgerViolation(
            f"record {opened.seq} of dataset {opened.dataset!r} is of a run that was never opened: it was not written "
            "by this ledger. Find out more with `pubpriv ledger verify`"
        )
    kinds = {kind: [record for record in records if record.kind == kind] for kind in ("started", "charged")}
    published = [record for record in records if record.kind == "published"]
    answered = {record.key for record in published}
    known = {} if known is None else known
    return Run(
        release_id=str(opened.release_id),
        allotment=budget_from_json(opened.facts()["allotment"]),
        state=state,
        methods={facts["method"]: facts for facts in (record.facts() for record in kinds["started"])},
        charges=tuple(
            replace(charge_of(record, known), answered=record.key in answered) for record in kinds["charged"]
        ),
        opened_at=opened.at,
        head=(published or [opened])[-1].digest(),
    )


def charge_of(record: Record, known: MutableMapping[str, Charge]) -> Charge:
    """A line of a bill, as if it were not answered; see `run_of`.

    Raises:
        LedgerViolation: the record cannot be read.
    """
    found = known.get(record.digest())
    if found is not None:
        return found
    try:
        known[record.digest()] = made = _charge(record, record.facts())
    except FAILURES:
        pass
    else:
        return made
    raise LedgerViolation(
        f"record {record.seq} of dataset {record.dataset!r} is a charge that cannot be read: it was not written by "
        "this ledger. Find out more with `pubpriv ledger verify`"
    )


def _charge(record: Record, facts: Mapping[str, Any]) -> Charge:
    return Charge(
        label=facts["label"],
        question=str(facts["question"]["type"]),
        price_run=Amount.from_json(facts["price_run"]),
        price_ledger=Amount.from_json(facts["price_ledger"]),
        event=event_from_json(facts["event"]),
        at=record.at,
        user=record.user,
        answered=False,
    )
