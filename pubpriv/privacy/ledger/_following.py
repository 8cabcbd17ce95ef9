"""Check that a dataset's records follow from those before them, beginning at the end of a witness."""

from pubpriv.errors import LedgerViolation
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger.facts import facts_of
from pubpriv.privacy.ledger.records import FAILURES, RunState, apply, state_text, states_of

_table = schema.records

_BATCH = 1000
"""Records read at a time."""


def follow_from(book: Book, anchor: int) -> None:
    """Check that every record after number `anchor` follows from those before it, in chain and balance.

    The record at `anchor` is in the witness. Prices are not computed again here: `charge` does that for a charge that
    is answered, and `replay` for all.

    Raises:
        LedgerViolation: names the first record that does not follow.
    """
    before = book.last(_table.c.seq == anchor)
    if before is None:
        raise LedgerViolation(
            f"dataset {book.dataset!r} has lost record {anchor}, which its witness has: nothing is charged. Find "
            "out what happened to it with `pubpriv ledger verify`"
        )
    runs: dict[str, RunState | None] = {}
    state, previous = states_of(before.state)[0], before.digest()
    later = book.rows(_table.c.seq > anchor).execution_options(yield_per=_BATCH)
    for row in book.connection.execute(later):
        record = schema.whole(row)
        name, run = record.release_id, None
        if name is not None and record.kind != "opened":
            run = runs[name] if name in runs else _run_before(book, name, anchor)
        try:
            state = book.in_period(state, record.kind, record.period, record.seq)
            state, run = apply(record.kind, facts_of(record.kind, record.facts()), state, run)
            right = record.previous_hash == previous and state_text(state, run) == record.state
        except FAILURES:
            right = False
        if not right:
            raise LedgerViolation(
                f"record {record.seq} of dataset {book.dataset!r} does not follow from those before it: nothing "
                "is charged. Find out what was written there with `pubpriv ledger verify`"
            )
        previous = record.digest()
        if name is not None:
            runs[name] = run


def _run_before(book: Book, release_id: str, last: int) -> RunState | None:
    record = book.last(_table.c.release_id == release_id, _table.c.seq <= last)
    return states_of(record.state)[1] if record else None
