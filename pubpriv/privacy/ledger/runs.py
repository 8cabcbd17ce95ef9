"""Runs with their bills from one pass over their records, which is what a long history is told from."""

from collections.abc import Iterable
from typing import Any

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount, budget_from_json
from pubpriv.privacy.events import event_from_json
from pubpriv.privacy.ledger.records import Record, states_of
from pubpriv.privacy.ledger.replay import FAILURES
from pubpriv.privacy.ledger.views import Charge, Run


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
    return [_run(release_id, own) for release_id, own in of_run.items()]


def _run(release_id: str, records: list[Record]) -> Run:
    opened, kinds = records[0], {kind: [r for r in records if r.kind == kind] for kind in ("started", "charged")}
    published = [record for record in records if record.kind == "published"]
    answered = {record.key for record in published}
    state = states_of(records[-1].state)[1]
    assert state is not None
    return Run(
        release_id=release_id,
        allotment=budget_from_json(opened.facts()["allotment"]),
        state=state,
        methods={facts["method"]: facts for facts in (record.facts() for record in kinds["started"])},
        charges=tuple(_charge(record, record.key in answered) for record in kinds["charged"]),
        opened_at=opened.at,
        head=(published or [opened])[-1].digest(),
    )


def _charge(record: Record, answered: bool) -> Charge:
    try:
        return _charge_of(record, record.facts(), answered)
    except FAILURES:
        pass
    raise LedgerViolation(
        f"record {record.seq} of dataset {record.dataset!r} is a charge that cannot be read: it was not written by "
        "this ledger. Find out more with `pubpriv ledger verify`"
    )


def _charge_of(record: Record, facts: dict[str, Any], answered: bool) -> Charge:
    return Charge(
        label=facts["label"],
        question=str(facts["question"]["type"]),
        price_run=Amount.from_json(facts["price_run"]),
        price_ledger=Amount.from_json(facts["price_ledger"]),
        event=event_from_json(facts["event"]),
        at=record.at,
        user=record.user,
        answered=answered,
    )
