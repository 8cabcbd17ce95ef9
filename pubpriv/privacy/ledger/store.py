"""The ledger as its users call it: every method is one committed transaction, or nothing happened."""

import getpass
import json
import os
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from importlib.metadata import version
from typing import Any, Protocol, Self

import sqlalchemy as sa

from pubpriv.errors import BudgetExceeded, InvalidInput, LedgerViolation, RunClosed, SpecMismatch
from pubpriv.privacy.budgets import (
    Amount,
    Budget,
    amount_text,
    budget_from_json,
    budget_to_json,
)
from pubpriv.privacy.events import GaussianEvent, event_from_json, hold_for, price
from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger.records import (
    DatasetState,
    Record,
    RunState,
    apply,
    canonical,
    charge_key,
    state_text,
    states_of,
)

LEASE = timedelta(minutes=10)
"""How long an attempt at a charged question is expected to take; told to readers, enforced by no clock."""

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")
_table = schema.records


class TableIdentity(Protocol):
    """What the ledger knows of a private table."""

    @property
    def uri(self) -> str:
        """Where it is configured to be."""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Columns of the file that are read."""


@dataclass(frozen=True)
class Standing:
    """A charge as the ledger has it."""

    question: Any
    answer: dict[str, list[int]] | None
    attempt: str


@dataclass(frozen=True)
class Charge:
    """One line of a run's bill."""

    label: str
    question: str
    price_run: Amount
    price_ledger: Amount
    event: GaussianEvent
    at: str
    user: str
    answered: bool


@dataclass(frozen=True)
class Run:
    """A run as the ledger has it."""

    release_id: str
    allotment: Budget
    state: RunState
    methods: dict[str, dict[str, Any]]
    charges: tuple[Charge, ...]
    opened_at: str


@dataclass(frozen=True)
class Balance:
    """A dataset's account: amounts in the units of `budget`."""

    dataset: str
    unit: str
    budget: Budget
    state: DatasetState
    open_runs: dict[str, Amount]
    tables: tuple[dict[str, Any], ...]
    chain_head: str


class Ledger:
    """Append-only books of datasets' budgets; open one with `Ledger.open`."""

    def __init__(self, engine: sa.Engine, url: str) -> None:
        self._engine = engine
        self.url = url

    @classmethod
    def open(cls, url: str, create: bool = True) -> Self:
        """The ledger at `url` (`sqlite:///PATH`), migrated forwards if it is older.

        Args:
            url: where it is.
            create: make an empty one if there is none; otherwise that is an error.

        Raises:
            InvalidInput: not a ledger URL, or none there and `create` is false.
            Unavailable: it cannot be read or written now.
        """
        path = schema.sqlite_path(url)
        return cls(schema.connect(url, create), f"sqlite:///{path}")

    @property
    def reference(self) -> str:
        """How another process finds this ledger; carries no password."""
        return self.url

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- datasets --------------------------------------------------------------------------------------------

    def register(
        self,
        dataset: str,
        budget: Budget,
        table: TableIdentity | None = None,
        unit: str = "one record",
        raise_: bool = False,
        reason: str | None = None,
    ) -> None:
        """Give `dataset` a budget that all its snapshots share; again with the same budget: nothing happens.

        Args:
            dataset: its name, letters, digits and `._:-`.
            budget: the cap, kept forever; its kind is the ledger's currency for this dataset.
            table: a private table of this dataset; more may be declared by calling again.
            unit: what one record stands for, in words (`one patient`).
            raise_: a higher cap is meant; needs `reason`.
            reason: recorded with a raised cap.

        Raises:
            SpecMismatch: another budget or unit without `raise_`, or a table of another dataset.
            InvalidInput: a bad name, another kind of budget, a raise without a reason.
            BudgetExceeded: the cap would fall below what is spent and held.
        """
        _check_name(dataset, "dataset")
        with self._locked(dataset, create=True) as book:
            if book.state is None:
                facts = {"budget": budget_to_json(budget), "unit": unit}
                book.append("registered", facts, {"cap": budget.cap})
            elif budget_to_json(budget) != budget_to_json(book.budget) or unit not in (book.unit, "one record"):
                book.raise_cap(budget, unit, raise_, reason)
            if table is not None:
                book.declare(table, self.url)

    def bind(self, dataset: str, table: TableIdentity) -> None:
        """Check that `table` is a declared table of `dataset`; a dataset that has none yet takes this one.

        Raises:
            SpecMismatch: a table, or columns, that were not declared, or a table of another dataset.
        """
        with self._locked(dataset) as book:
            if not book.tables:
                book.declare(table, self.url)
                return
            book.check_declared(table, self.url)

    def datasets(self) -> list[str]:
        """Names of all datasets."""
        with schema.transaction(self._engine, write=False) as connection:
            return sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())

    def balance(self, dataset: str) -> Balance:
        """What is spent, held and left."""
        with self._reading(dataset) as book:
            state = book.known_state()
            return Balance(
                dataset, book.unit, book.budget, state, book.open_runs(), tuple(book.tables), book.head.digest()
            )

    # -- runs ------------------------------------------------------------------------------------------------

    def open_run(self, dataset: str, release_id: str, allotment: Budget) -> None:
        """Hold the whole allotment for a run; the same id again re-enters it.

        Raises:
            SpecMismatch: the id was opened with another allotment.
            InvalidInput: the allotment's kind cannot be charged to this ledger.
            BudgetExceeded: no room; nothing is held.
        """
        _check_name(release_id, "release id")
        with self._locked(dataset) as book:
            opened = book.find("opened", release_id=release_id)
            if opened is not None:
                known = budget_from_json(json.loads(opened.body)["allotment"])
                if budget_to_json(known) != budget_to_json(allotment):
                    raise SpecMismatch(
                        f"release id {release_id!r} of dataset {dataset!r} was opened with {known.describe()}, "
                        f"not {allotment.describe()}: use another release id"
                    )
                return
            hold = hold_for(allotment, book.budget)
            amounts = {"allotted": allotment.cap, "hold": hold}
            with book.explaining(allotment, hold):
                book.append("opened", {"allotment": budget_to_json(allotment)}, amounts, release_id)

    def start(
        self,
        dataset: str,
        release_id: str,
        method: str,
        configuration: str,
        public_sha256: str,
        share: Amount | None,
    ) -> Amount:
        """Bind a run to one configuration of `method` and set its share aside; again: the same share.

        Raises:
            SpecMismatch: other settings or other public rows than the run began the method with.
            RunClosed: the run is closed and never began this method.
            BudgetExceeded: less is left than `share`.
        """
        with self._locked(dataset) as book:
            for record in book.all("started", release_id=release_id):
                known = json.loads(record.body)
                if known["method"] != method:
                    continue
                same = known["configuration"] == configuration and known["public_sha256"] == public_sha256
                if not same or (share is not None and known["asked"] != share.to_json()):
                    raise SpecMismatch(
                        f"release id {release_id!r} of dataset {dataset!r} ran {method} with other settings or other "
                        f"public rows ({_difference(known, configuration, public_sha256)}): use another release id"
                    )
                return Amount.from_json(known["share"])
            run = book.run_state(release_id)
            given = share if share is not None else run.allotment - run.started
            if not run.closed and given.main < 1:
                raise BudgetExceeded(f"nothing is left of the allotment of release id {release_id!r} for {method}")
            facts = {
                "method": method,
                "configuration": configuration,
                "public_sha256": public_sha256,
                "asked": share.to_json() if share else None,
                "share": given.to_json(),
            }
            book.append("started", facts, {"share": given}, release_id)
            return given

    def find(self, dataset: str, release_id: str, label: str) -> Standing | None:
        """The charge under this label, with its answer if there is one; None if nothing was charged."""
        with self._reading(dataset) as book:
            return book.standing(charge_key(dataset, release_id, label))

    def charge(self, dataset: str, release_id: str, label: str, question: Any, event: GaussianEvent) -> Standing:
        """Pay for one question before it is asked; a charge that stands already is resumed, never recomputed.

        Raises:
            BudgetExceeded, RunClosed: and nothing was charged.
            InvalidInput: the event has no price in the run's or the ledger's currency.
        """
        key = charge_key(dataset, release_id, label)
        attempt = {"attempt": secrets.token_hex(16), "lease_until": (datetime.now(UTC) + LEASE).isoformat()}
        with self._locked(dataset) as book:
            standing = book.standing(key)
            if standing is not None:
                if standing.answer is None:
                    book.append("attempted", attempt, {}, release_id, key)
                return Standing(standing.question, standing.answer, attempt["attempt"])
            allotment = book.allotment(release_id)
            amounts = {"price_run": price(event, allotment), "price_ledger": price(event, book.budget)}
            facts = {"label": label, "question": question, "event": event.to_json(), **attempt}
            facts |= {name: amount.to_json() for name, amount in amounts.items()}
            with book.explaining(allotment, amounts["price_ledger"]):
                book.append("charged", facts, amounts, release_id, key)
            return Standing(question, None, attempt["attempt"])

    def publish(
        self, dataset: str, release_id: str, label: str, attempt: str, answer: Mapping[str, list[int]]
    ) -> dict[str, list[int]]:
        """Store the answer of a charge unless it has one, and return the one that stands.

        Raises:
            RunClosed: the run was closed meanwhile and no answer stands: a late draw is dropped.
        """
        key = charge_key(dataset, release_id, label)
        with self._locked(dataset) as book:
            if book.find("published", key=key) is None:
                book.append("published", {"attempt": attempt, "answer": dict(answer)}, {}, release_id, key)
        with self._reading(dataset) as book:
            standing = book.standing(key)
            assert standing is not None
            assert standing.answer is not None
            return standing.answer

    def close_run(self, dataset: str, release_id: str, reason: str) -> None:
        """End a run: what it held and did not charge returns. A closed run stays closed."""
        with self._locked(dataset) as book:
            if not book.run_state(release_id).closed:
                book.append("closed", {"reason": reason}, {}, release_id)

    def run(self, dataset: str, release_id: str) -> Run:
        """One run with its bill."""
        with self._reading(dataset) as book:
            return book.run(release_id)

    def history(self, dataset: str) -> list[Run]:
        """All runs of a dataset, oldest first."""
        with self._reading(dataset) as book:
            return [book.run(str(record.release_id)) for record in book.all("opened")]

    def records(self, dataset: str) -> list[Record]:
        """All records of a dataset, oldest first."""
        with self._reading(dataset) as book:
            return book.all()

    def verify(self, dataset: str) -> None:
        """Replay every record and compare chain, states and prices.

        Raises:
            LedgerViolation: the first record that does not follow from those before it.
        """
        with self._reading(dataset) as book:
            book.verify()

    @contextmanager
    def _locked(self, dataset: str, create: bool = False) -> "Iterator[_Book]":
        with schema.transaction(self._engine) as connection:
            if not schema.lock(connection, dataset):
                if not create:
                    self._unknown(connection, dataset)
                connection.execute(sa.insert(schema.datasets).values(name=dataset))
            yield _Book(connection, dataset)

    @contextmanager
    def _reading(self, dataset: str) -> "Iterator[_Book]":
        with schema.transaction(self._engine, write=False) as connection:
            book = _Book(connection, dataset)
            if book.state is None:
                self._unknown(connection, dataset)
            yield book

    def _unknown(self, connection: sa.Connection, dataset: str) -> None:
        names = sorted(connection.execute(sa.select(schema.datasets.c.name)).scalars())
        known = f"it knows {', '.join(names)}" if names else "it knows none yet"
        raise InvalidInput(
            f"dataset {dataset!r} is not registered in the ledger ({known}): register it with "
            f"`pubpriv budget set {dataset} zcdp:RHO --ledger {self.url}`"
        )


class _Book:
    """One dataset's records within one transaction."""

    def __init__(self, connection: sa.Connection, dataset: str) -> None:
        self._connection = connection
        self._dataset = dataset
        last = self._last()
        self._head = last
        self.state: DatasetState | None = states_of(last.state)[0] if last else None

    # -- reading

    def _rows(self, *where: Any, columns: Any = (_table,)) -> sa.Select[Any]:
        return sa.select(*columns).where(_table.c.dataset == self._dataset, *where).order_by(_table.c.seq)

    def _last(self, *where: Any) -> Record | None:
        query = self._rows(*where).order_by(None).order_by(_table.c.seq.desc()).limit(1)
        row = self._connection.execute(query).first()
        return _record(row) if row else None

    def all(self, *kinds: str, **columns: str) -> list[Record]:
        """Records of these kinds, oldest first."""
        where = [_table.c[name] == value for name, value in columns.items()]
        if kinds:
            where.append(_table.c.kind.in_(kinds))
        return [_record(row) for row in self._connection.execute(self._rows(*where))]

    def find(self, kind: str, **columns: str) -> Record | None:
        """The last record of a kind."""
        return self._last(_table.c.kind == kind, *(_table.c[name] == value for name, value in columns.items()))

    @property
    def head(self) -> Record:
        """The newest record."""
        assert self._head is not None
        return self._head

    def known_state(self) -> DatasetState:
        """The dataset's state."""
        assert self.state is not None
        return self.state

    @property
    def _terms(self) -> dict[str, Any]:
        last = self._last(_table.c.kind.in_(("registered", "raised")))
        assert last is not None
        terms: dict[str, Any] = json.loads(last.body)
        return terms

    @property
    def budget(self) -> Budget:
        """The cap as a budget."""
        return budget_from_json(self._terms["budget"])

    @property
    def unit(self) -> str:
        """What one record stands for."""
        return str(self._terms["unit"])

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Declared tables: uri and columns; a later declaration of a uri replaces the earlier."""
        found = [json.loads(record.body) for record in self.all("declared")]
        return list({table["uri"]: table for table in found}.values())

    def allotment(self, release_id: str) -> Budget:
        """The budget a run was opened with."""
        opened = self.find("opened", release_id=release_id)
        if opened is None:
            raise InvalidInput(f"dataset {self._dataset!r} has no run with release id {release_id!r}")
        return budget_from_json(json.loads(opened.body)["allotment"])

    def run_state(self, release_id: str) -> RunState:
        """A run's state after its last record."""
        last = self._last(_table.c.release_id == release_id)
        run = states_of(last.state)[1] if last else None
        if run is None:
            raise InvalidInput(f"dataset {self._dataset!r} has no run with release id {release_id!r}")
        return run

    def open_runs(self) -> dict[str, Amount]:
        """What each open run still holds, by release id."""
        ids = self._connection.execute(
            self._rows(_table.c.kind == "opened", columns=(_table.c.release_id,))
        ).scalars()
        states = {release_id: self.run_state(release_id) for release_id in ids}
        return {release_id: s.hold - s.charged for release_id, s in states.items() if not s.closed}

    def standing(self, key: str) -> Standing | None:
        """The charge under `key`."""
        charged = self.find("charged", key=key)
        if charged is None:
            return None
        published = self.find("published", key=key)
        facts = json.loads(charged.body)
        answer = json.loads(published.body)["answer"] if published else None
        return Standing(facts["question"], answer, facts["attempt"])

    def run(self, release_id: str) -> Run:
        """One run with its bill."""
        opened = self.find("opened", release_id=release_id)
        allotment = self.allotment(release_id)
        assert opened is not None
        answered = {record.key for record in self.all("published", release_id=release_id)}
        charges = []
        for record in self.all("charged", release_id=release_id):
            facts = json.loads(record.body)
            charges.append(
                Charge(
                    facts["label"],
                    str(facts["question"]["type"]),
                    Amount.from_json(facts["price_run"]),
                    Amount.from_json(facts["price_ledger"]),
                    event_from_json(facts["event"]),  # type: ignore[arg-type]
                    record.at,
                    record.user,
                    record.key in answered,
                )
            )
        started = [json.loads(record.body) for record in self.all("started", release_id=release_id)]
        methods = {facts["method"]: facts for facts in started}
        return Run(release_id, allotment, self.run_state(release_id), methods, tuple(charges), opened.at)

    # -- writing

    def append(
        self,
        kind: str,
        body: dict[str, Any],
        amounts: dict[str, Amount],
        release_id: str | None = None,
        key: str | None = None,
    ) -> None:
        """Apply and store one record."""
        run = None if release_id is None or kind == "opened" else self.run_state(release_id)
        state, run = apply(kind, amounts, self.state or DatasetState(), run)
        facts = body | {name: amount.to_json() for name, amount in amounts.items()}
        record = Record(
            dataset=self._dataset,
            seq=self._head.seq + 1 if self._head else 0,
            kind=kind,
            release_id=release_id,
            key=key,
            body=canonical(facts),
            state=state_text(state, run),
            previous_hash=self._head.digest() if self._head else "",
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            user=_user(),
            host=socket.gethostname(),
            version=version("pubpriv"),
        )
        self._connection.execute(sa.insert(_table).values(**record.__dict__, hash=record.digest()))
        self._head, self.state = record, state

    def raise_cap(self, budget: Budget, unit: str, raise_: bool, reason: str | None) -> None:
        """Record a higher cap, or refuse."""
        if unit not in (self.unit, "one record"):
            raise SpecMismatch(
                f"dataset {self._dataset!r} is registered with unit {self.unit!r}, not {unit!r}: a unit never changes"
            )
        if budget.kind != self.budget.kind:
            raise InvalidInput(
                f"dataset {self._dataset!r} keeps its books in {self.budget.kind}, so its cap cannot become {budget.kind}"
            )
        if not raise_ or not reason:
            raise SpecMismatch(
                f"dataset {self._dataset!r} has the cap {self.budget.describe()}; to change it to {budget.describe()} "
                "say --raise and --reason TEXT (a cap never falls below what is spent and held)"
            )
        self.append("raised", {"budget": budget_to_json(budget), "unit": self.unit, "reason": reason}, {"cap": budget.cap})

    def declare(self, table: TableIdentity, url: str) -> None:
        """Record a table with its columns, unless it is known or another dataset's."""
        self._refuse_foreign(table.uri)
        known = next((t for t in self.tables if t["uri"] == table.uri), None)
        columns = sorted({*table.source_columns, *(known["columns"] if known else ())})
        if known is None or columns != known["columns"]:
            self.append("declared", {"uri": table.uri, "columns": columns}, {})

    def check_declared(self, table: TableIdentity, url: str) -> None:
        """Refuse a table or columns that were not declared, with the line that declares them."""
        self._refuse_foreign(table.uri)
        known = next((t for t in self.tables if t["uri"] == table.uri), None)
        missing = sorted(set(table.source_columns) - set(known["columns"] if known else ()))
        if known is not None and not missing:
            return
        what = f"columns {', '.join(missing)} of {table.uri}" if known else f"the table {table.uri}"
        declared = "; ".join(f"{t['uri']} ({', '.join(t['columns'])})" for t in self.tables)
        raise SpecMismatch(
            f"dataset {self._dataset!r} does not declare {what}; it declares {declared}. Declare it with "
            f"`pubpriv budget set {self._dataset} {_written(self.budget)} --ledger {url} --private {table.uri} "
            f"--columns {','.join(table.source_columns)}`"
        )

    def _refuse_foreign(self, uri: str) -> None:
        rows = self._connection.execute(
            sa.select(_table.c.dataset, _table.c.body).where(
                _table.c.kind == "declared", _table.c.dataset != self._dataset
            )
        )
        for dataset, body in rows:
            theirs = json.loads(body)["uri"]
            if _overlap(uri, theirs):
                raise SpecMismatch(
                    f"the table {uri} belongs to dataset {dataset!r} (declared as {theirs}): one table has one budget, "
                    f"so it cannot be used as {self._dataset!r}"
                )

    @contextmanager
    def explaining(self, asked: Budget, requested: Amount) -> Iterator[None]:
        """Turn a bare refusal into one that says who has the money and what would fit."""
        refused: BudgetExceeded | None = None
        try:
            yield
        except BudgetExceeded as error:
            refused = error
        if refused is not None:
            raise BudgetExceeded(self._refusal(str(refused), asked, requested))

    def _refusal(self, why: str, asked: Budget, requested: Amount) -> str:
        state, budget = self.known_state(), self.budget
        holders = [f"{run} holds {amount_text(budget, amount)}" for run, amount in self.open_runs().items()]
        last = self.find("charged")
        spender = f"; last spent by {last.user} in {last.release_id} at {last.at}" if last else ""
        return (
            f"{why}. Dataset {self._dataset!r}: spent {amount_text(budget, state.spent)}, "
            f"held {amount_text(budget, state.held)}, requested {amount_text(budget, requested)}, "
            f"remaining {amount_text(budget, state.remaining)} of {amount_text(budget, state.cap)}"
            f"{' (' + '; '.join(holders) + ')' if holders else ''}{spender}. {_would_fit(state.remaining, budget, asked)}"
        )

    def verify(self) -> None:
        """Replay and compare."""
        state, runs, previous = DatasetState(), dict[str, RunState | None](), ""
        for row in self._connection.execute(self._rows()):
            record = _record(row)
            where = f"record {record.seq} of dataset {self._dataset!r}"
            if record.previous_hash != previous or row.hash != record.digest():
                raise LedgerViolation(f"{where} breaks the hash chain")
            previous = row.hash
            facts = json.loads(record.body)
            amounts = {k: Amount.from_json(v) for k, v in facts.items() if k in _AMOUNTS and v}
            run = runs.get(record.release_id) if record.release_id else None
            state, run = apply(record.kind, amounts, state, run)
            if record.release_id:
                runs[record.release_id] = run
            if state_text(state, run) != record.state:
                raise LedgerViolation(f"{where} does not follow from the records before it")


_AMOUNTS = ("cap", "hold", "share", "price_run", "price_ledger", "allotted")


def _record(row: Any) -> Record:
    return Record(**{name: value for name, value in row._mapping.items() if name != "hash"})


def _overlap(ours: str, theirs: str) -> bool:
    """One of two URIs is the other, lies in its folder, or matches its glob."""

    def covers(outer: str, inner: str) -> bool:
        return outer == inner or inner.startswith(outer.rstrip("/") + "/") or fnmatch(inner, outer)

    return covers(ours, theirs) or covers(theirs, ours)


def _difference(known: dict[str, Any], configuration: str, public_sha256: str) -> str:
    if known["public_sha256"] != public_sha256:
        return "the public rows differ"
    old, new = json.loads(known["configuration"]), json.loads(configuration)
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return ", ".join(f"{name}: {old.get(name)} then, {new.get(name)} now" for name in names) or "another budget"


def _would_fit(remaining: Amount, budget: Budget, asked: Budget) -> str:
    if remaining.main <= 0:
        return "Nothing more fits: close runs that are done (`pubpriv budget recover`), or raise the cap"
    if asked.kind == budget.kind == "approx":
        from pubpriv.privacy.conversions import epsilon_gaussian
        from fractions import Fraction

        delta = Fraction(asked.delta) - Fraction(asked.failure_delta or 0)  # type: ignore[union-attr]
        epsilon = epsilon_gaussian(Fraction(remaining.main, 10**12), delta)
        return f"What fits: approx:{epsilon * 0.9999:.4g},{float(asked.delta):g}"  # type: ignore[union-attr]
    if asked.kind == "zcdp":
        rho = remaining.main / 10**12 / (1 if budget.kind == "zcdp" else 2)
        return f"What fits: zcdp:{rho * 0.999999:.6g}"
    return f"What fits: {amount_text(budget, remaining)}"


def _written(budget: Budget) -> str:
    names = {"pure": ("epsilon",), "zcdp": ("rho",), "approx": ("epsilon", "delta")}[budget.kind]
    return f"{budget.kind}:" + ",".join(f"{float(getattr(budget, name)):g}" for name in names)


def _check_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidInput(f"a {what} is 1 to 100 letters, digits and ._:- starting with a letter or digit, not {name!r}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
