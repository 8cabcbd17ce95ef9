"""A dataset's balance as its owner needs it: how many more runs fit, who is at work, who spent most.

Everything is read from the newest states by indexed queries, so the number of charges does not matter.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._old_runs import OldRun
from pubpriv.privacy.ledger._refusals import what_fits
from pubpriv.privacy.ledger.past import count_of_runs
from pubpriv.privacy.ledger.records import Record, states_of
from pubpriv.privacy.ledger.views import Balance
from pubpriv.privacy.units import UNIT

_NEWEST_RUNS = 2000
"""Number of newest runs whose spending is compared; earlier runs are only counted."""

_DESCRIBED = 100
"""Number of newest open runs that are described: who opened them, and who is at work."""

_WINDOW = 64
"""Number of newest records of an open run that are read, enough to find unanswered charges: answers follow quickly."""


@dataclass(frozen=True)
class Work:
    """A charge that has no answer yet.

    Attributes:
        label: label of the question.
        since: when its last attempt began (UTC, ISO 8601), by `user` at `host`.
        lease_until: when that attempt is expected to be over.
        running: whether the lease has not run out.
    """

    label: str
    since: str
    user: str
    host: str
    lease_until: str
    running: bool

    @classmethod
    def of_run(cls, book: Book, release_id: str) -> "tuple[Work, ...]":
        """Read unanswered charges among the newest records of a run, newest first."""
        table = schema.records
        newest = book.rows(table.c.release_id == release_id).order_by(None).order_by(table.c.seq.desc())
        rows = [schema.whole(row) for row in book.connection.execute(newest.limit(_WINDOW))]
        answered = {record.key for record in rows if record.kind == "published"}
        attempts: dict[str, Record] = {}
        for record in rows:
            if record.kind in ("charged", "attempted") and record.key is not None and record.key not in answered:
                attempts.setdefault(record.key, record)
        return tuple(cls._of(book, key, record) for key, record in attempts.items())

    @classmethod
    def _of(cls, book: Book, key: str, attempt: Record) -> "Work":
        charged = attempt if attempt.kind == "charged" else book.find("charged", key=key)
        label = str(charged.facts()["label"]) if charged else key
        until = str(attempt.facts()["lease_until"])
        running = datetime.fromisoformat(until) > datetime.now(UTC)
        return cls(label, attempt.at, attempt.user, attempt.host, until, running)


@dataclass(frozen=True)
class _OpenRun:
    """A run that holds part of the budget, opened at `since` by `user` at `host`; `work` has unanswered charges."""

    release_id: str
    held: Amount
    since: str
    user: str
    host: str
    work: tuple[Work, ...]


@dataclass(frozen=True)
class _LastRun:
    """The run that was opened last, with its allotment and what it held and charged, in the ledger's units."""

    release_id: str
    allotment: Budget
    hold: Amount
    charged: Amount
    closed: bool
    opened_at: str
    user: str


@dataclass(frozen=True)
class _Spender:
    """A run's charges so far, in the ledger's units, and who opened it."""

    release_id: str
    user: str
    spent: Amount


@dataclass(frozen=True)
class Outlook:
    """A balance, and figures that follow from it.

    Attributes:
        balance: the dataset's balance.
        last: the run opened last; None before the first.
        fitting: number of runs with the allotment of `last` that could be opened now; None without `last`.
        hint: what to do if none fits.
        open_runs: the newest open runs, oldest first.
        runs: number of runs ever opened.
        compared: number of newest runs whose spending was compared.
        spenders: the runs among these that spent most, largest first.
        people: the same by person who opened them.
    """

    balance: Balance
    last: _LastRun | None
    fitting: int | None
    hint: str
    open_runs: tuple[_OpenRun, ...]
    runs: int
    compared: int
    spenders: tuple[_Spender, ...]
    people: tuple[tuple[str, Amount], ...]

    @classmethod
    def of(cls, book: Book) -> "Outlook":
        """Read all figures within one transaction."""
        balance = book.balance()
        last, spenders = _last_run(book), _spenders(book)
        fitting = last.allotment.how_many(book.registered, balance.cap, balance.remaining) if last else None
        people: dict[str, Amount] = {}
        for run in spenders:
            people[run.user] = people.get(run.user, Amount(0)) + run.spent
        newest = list(balance.open_runs.items())[-_DESCRIBED:]
        return cls(
            balance=balance,
            last=last,
            fitting=fitting,
            hint=_hint(last, book.registered, balance) if last and not fitting else "",
            open_runs=tuple(_open_run(book, release_id, held) for release_id, held in newest),
            runs=count_of_runs(book),
            compared=len(spenders),
            spenders=tuple(sorted(spenders, key=lambda run: -run.spent.main)[:3]),
            people=tuple(sorted(people.items(), key=lambda item: -item[1].main)[:3]),
        )

    @property
    def guarantee(self) -> dict[str, Any]:
        """Return the guarantee of the cap, the formal claim."""
        return self.balance.promised.guarantee()

    def epsilon(self) -> dict[str, Any]:
        """Cap, spent, held and remaining, each converted to an epsilon by itself; see `Budget.as_epsilon`."""
        balance = self.balance
        amounts = {"cap": balance.cap, "spent": balance.spent, "held": balance.held, "remaining": balance.remaining}
        epsilons: dict[str, Any] = {name: balance.budget.as_epsilon(amount) for name, amount in amounts.items()}
        delta = balance.budget.report_delta
        return epsilons | {"delta": float(delta)} if delta else epsilons

    def to_json(self) -> dict[str, Any]:
        """`Balance.to_json` with the outlook added; amounts as floats in the main unit."""
        last = self.last
        last_run = last and {
            "release_id": last.release_id,
            "allotment": last.allotment.describe(),
            "hold": last.hold.main / UNIT,
            "charged": last.charged.main / UNIT,
            "closed": last.closed,
            "opened_at": last.opened_at,
            "user": last.user,
        }
        return self.balance.to_json() | {
            "guarantee": self.guarantee,
            "epsilon": self.epsilon(),
            "last_run": last_run,
            "runs_that_fit": self.fitting,
            "hint": self.hint or None,
            "open_run_details": [asdict(run) | {"held": run.held.main / UNIT} for run in self.open_runs],
            "runs": self.runs,
            "runs_compared": self.compared,
            "spent_most": [
                {"release_id": run.release_id, "user": run.user, "spent": run.spent.main / UNIT}
                for run in self.spenders
            ],
            "spent_by_user": {user: spent.main / UNIT for user, spent in self.people},
        }


def _last_run(book: Book) -> _LastRun | None:
    opened = book.find("opened")
    if opened is None or opened.release_id is None:
        known = book.old.newest(1)
        return _old_run(known[0]) if known else None
    run, allotment = book.run_state(opened.release_id), budget_from_json(opened.facts()["allotment"])
    return _LastRun(opened.release_id, allotment, run.hold, run.charged, run.closed, opened.at, opened.user)


def _old_run(run: OldRun) -> _LastRun:
    allotment = budget_from_json(run.allotment)
    return _LastRun(run.release_id, allotment, run.hold, run.charged, True, run.opened_at, run.user)


def _hint(last: _LastRun, registered: Budget, balance: Balance) -> str:
    budget, state = balance.budget, balance.state
    hold = last.allotment.hold_on(registered, state.cap, Amount(0))
    short = "the reserve for failure terms lacks room"
    if hold.main > state.remaining.main:
        short = f"it holds {budget.amount_text(hold)}, and {budget.amount_text(state.remaining)} remain"
    return f"{short}. {what_fits(last.allotment, budget, state)}"


def _open_run(book: Book, release_id: str, held: Amount) -> _OpenRun:
    opened = book.opened(release_id)
    return _OpenRun(release_id, held, opened.at, opened.user, opened.host, Work.of_run(book, release_id))


def _spenders(book: Book) -> list[_Spender]:
    opened, later = schema.records, schema.records.alias()
    newest = (
        sa.select(later.c.state)
        .where(later.c.dataset == opened.c.dataset, later.c.release_id == opened.c.release_id)
        .order_by(later.c.seq.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = sa.select(opened.c.release_id, opened.c.user, newest).where(
        opened.c.dataset == book.dataset, schema.is_kind("opened")
    )
    found = book.connection.execute(query.order_by(opened.c.seq.desc()).limit(_NEWEST_RUNS))
    runs = [(str(release_id), str(user), states_of(state)[1]) for release_id, user, state in found]
    own = [_Spender(release_id, user, run.charged) for release_id, user, run in runs if run is not None]
    old = book.old.newest(_NEWEST_RUNS - len(own))
    return own + [_Spender(run.release_id, run.user, run.charged) for run in reversed(old)]
