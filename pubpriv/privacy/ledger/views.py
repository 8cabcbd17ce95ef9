"""Frozen views of a charge, a run and a balance; reading a run's bill from its records; protocols of tables."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from pubpriv.common.layouts import TableLayout
from pubpriv.errors import LedgerViolation
from pubpriv.privacy.budgets import Amount, Budget, budget_from_json
from pubpriv.privacy.events import Event, event_from_json
from pubpriv.privacy.ledger._period_states import PeriodBalance
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.records import FAILURES, DatasetState, Record, RunState, states_of
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.units import DELTA_UNIT, UNIT, to_text


class TableIdentity(Protocol):
    """The parts of a private table that the ledger knows."""

    @property
    def uri(self) -> str:
        """Its configured location."""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Columns of the file that are read."""


@dataclass(frozen=True)
class NamedTable:
    """What the ledger knows of a table.

    Attributes:
        uri: its name.
        source_columns, group_columns: columns of estimates, and those that make groups.
        delimited: whether its records are lines of text.
        layout: what is public of its layout; None: not known.
    """

    uri: str
    source_columns: tuple[str, ...] = ()
    group_columns: tuple[str, ...] = ()
    delimited: bool = False
    layout: TableLayout | None = None

    @classmethod
    def of(cls, table: TableIdentity, of_persons: bool) -> "NamedTable":
        """Look these up in an opened table, but for the layout; its storage is asked only if the unit is a person."""
        delimited = of_persons and getattr(table, "delimited", False)
        return cls(table.uri, tuple(table.source_columns), tuple(getattr(table, "group_columns", ())), delimited)

    def with_layout(self, table: TableIdentity, of_persons: bool) -> "NamedTable":
        """Look up the layout, too, for which the table's storage is asked.

        Raises:
            InvalidInput, Unavailable: see `PrivateTable.open`.
        """
        layout = getattr(table, "layout", None)
        if layout is not None and of_persons:
            layout = replace(layout, rows=None)  # private, even if the handle knows it
        return replace(self, layout=layout)


class SizedTable(TableIdentity, Protocol):
    """A private table with its number of rows, if that is public."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if it is private."""


@dataclass(frozen=True)
class Asked:
    """Facts computed from a stored question: the event as which it must be charged, and the sizes of its answer.

    Attributes:
        event, sizes: event, and sizes of the parts of the answer.
        per_person: whether the question protects all rows of a person together.
        period: period whose rows it asks; None: all rows.
    """

    event: Event
    sizes: Mapping[str, int]
    per_person: bool = False
    period: str | None = None


@dataclass(frozen=True)
class ChargeView:
    """A charge in the ledger: the question, its event, and the answer if there is one.

    Attributes:
        others: whether the run has charges that the object that charged now did not make.
    """

    question: Any
    answer: dict[str, list[int]] | None
    attempt: str
    event: Event
    others: bool = False


@dataclass(frozen=True)
class Charge:
    """One line of a run's bill."""

    label: str
    question: str
    price_run: Amount
    price_ledger: Amount
    event: Event
    at: str
    user: str
    answered: bool

    @classmethod
    def of(cls, record: Record, known: MutableMapping[str, "Charge"]) -> "Charge":
        """Read a line of a bill from its record, without its answer; `known` as in `RunView.of`.

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


@dataclass(frozen=True)
class RunView:
    """A run in the ledger; `head` is the hash of its newest answer, or of its opening if there is none."""

    release_id: str
    allotment: Budget
    state: RunState
    methods: dict[str, dict[str, Any]]
    charges: tuple[Charge, ...]
    opened_at: str
    head: str

    BILLED: ClassVar = ("opened", "started", "charged", "published")
    """Kinds of records that are needed for a bill."""

    @classmethod
    def of(
        cls, records: Sequence[Record], state: RunState | None, known: MutableMapping[str, Charge] | None = None
    ) -> "RunView":
        """Read a run with its bill from its records.

        Args:
            records: records of the run, beginning with `opened`; those of `BILLED` kinds are enough.
            state: state after its last record.
            known: lines by the digest of the charge's record, which are not parsed again: bodies contain questions,
                which are long, and the digest, computed again from the row, shows that the record is the same.

        Raises:
            LedgerViolation: a record that cannot be read, or of a run that was never opened.
        """
        opened = records[0]
        if opened.kind != "opened" or state is None:
            raise LedgerViolation(
                f"record {opened.seq} of dataset {opened.dataset!r} is of a run that was never opened: it was not "
                "written by this ledger. Find out more with `pubpriv ledger verify`"
            )
        kinds = {kind: [record for record in records if record.kind == kind] for kind in ("started", "charged")}
        published = [record for record in records if record.kind == "published"]
        answered = {record.key for record in published}
        known = {} if known is None else known
        return cls(
            release_id=str(opened.release_id),
            allotment=budget_from_json(opened.facts()["allotment"]),
            state=state,
            methods={facts["method"]: facts for facts in (record.facts() for record in kinds["started"])},
            charges=tuple(
                replace(Charge.of(record, known), answered=record.key in answered) for record in kinds["charged"]
            ),
            opened_at=opened.at,
            head=(published or [opened])[-1].digest(),
        )

    @classmethod
    def all_of(cls, records: Iterable[Record]) -> "list[RunView]":
        """Read all runs from their records, in the order in which they were opened.

        Args:
            records: all records of a dataset, or of one of its runs, oldest first.

        Raises:
            LedgerViolation: a record that cannot be read.
        """
        of_run: dict[str, list[Record]] = {}
        for record in records:
            if record.release_id is not None:
                of_run.setdefault(record.release_id, []).append(record)
        return [cls.of(own, states_of(own[-1].state)[1]) for own in of_run.values()]


def spent_before(records: Iterable[Record]) -> int:
    """Return the amount spent in earlier books, in the ledger's units, from records, oldest first."""
    for record in records:
        if record.kind == "carried":
            return states_of(record.state)[0].spent.main
        if record.kind != "awaited":
            break
    return 0


@dataclass(frozen=True)
class Balance:
    """A dataset's account: amounts in the units of `budget` (epsilon, rho, or mu^2 with failure terms).

    Attributes:
        dataset, unit: name of the dataset, and what one record stands for.
        budget: the newest promised cap.
        state: cap, spent and held.
        open_runs: amount that each open run still holds.
        tables: declared tables, uri and columns.
        chain_head: hash of the newest record.
        person: terms if the unit is a person; None: the unit is a row.
        periods: terms of periods; None: there are none.
        by_period: amounts spent and held of the periods' cap: by runs without a period first, then by period.
    """

    dataset: str
    unit: str
    budget: Budget
    state: DatasetState
    open_runs: dict[str, Amount]
    tables: tuple[dict[str, Any], ...]
    chain_head: str
    person: PersonTerms | None = None
    periods: PeriodTerms | None = None
    by_period: tuple[PeriodBalance, ...] = ()

    @property
    def cap(self) -> Amount:
        """The most that may ever be spent."""
        return self.state.cap

    @property
    def spent(self) -> Amount:
        """Charged; never returned."""
        return self.state.spent

    @property
    def held(self) -> Amount:
        """Set aside by open runs and not charged yet."""
        return self.state.held

    @property
    def remaining(self) -> Amount:
        """The most that a new run could hold."""
        return self.state.remaining

    @property
    def capped(self) -> bool:
        """Whether the cap holds for all periods together; true without periods."""
        return self.state.capped

    @property
    def period_cap(self) -> Amount:
        """The cap of each period; zero without periods."""
        return Amount(0) if self.periods is None else self.periods.cap(self.person is not None)

    @property
    def promised(self) -> Budget:
        """The bound for all runs together, for one unit: the cap, or the cap of a period if the former is waived."""
        return self.budget if self.capped or self.periods is None else self.periods.budget

    def to_json(self) -> dict[str, Any]:
        """Return floats in the main unit (epsilon, rho, mu^2), with `delta_*`, and exact decimals in `exact`."""
        amounts = {"cap": self.cap, "spent": self.spent, "held": self.held, "remaining": self.remaining}
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            **(self.person.to_json() if self.person else {}),
            "kind": self.budget.kind,
            **{name: amount.main / UNIT for name, amount in amounts.items()},
            **{f"delta_{name}": amount.delta / DELTA_UNIT for name, amount in amounts.items()},
            "exact": {
                **{name: to_text(amount.main) for name, amount in amounts.items()},
                **{f"delta_{name}": to_text(amount.delta, DELTA_UNIT) for name, amount in amounts.items()},
            },
            "open_runs": {release_id: held.main / UNIT for release_id, held in self.open_runs.items()},
            "tables": [dict(table) for table in self.tables],
            "chain_head": self.chain_head,
            **({} if self.state.sealed is None else {"goes_on_in": self.state.sealed}),
            **({} if self.periods is None else self._of_periods(self.periods)),
        }

    def _of_periods(self, terms: PeriodTerms) -> dict[str, Any]:
        """The cap of each period, and amounts spent and held of it, in the main unit."""
        cap = self.period_cap
        common, *each = self.by_period
        every = common.spent + common.held
        named = {
            period.name: {
                "spent": period.spent.main / UNIT,
                "held": period.held.main / UNIT,
                "remaining": (cap - every - period.spent - period.held).main / UNIT,
            }
            for period in each
        }
        caps = {"cap": cap.main / UNIT, "spent_in_every": common.spent.main / UNIT, "each": named}
        return {"periods": terms.to_json()["periods"] | caps | {"held_in_every": common.held.main / UNIT}}


def current_tables(declared: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the newest declaration of each table by its name, without those that moved to another one.

    Args:
        declared: bodies of the records that declare a dataset's tables, oldest first.
    """
    tables: dict[str, dict[str, Any]] = {}
    for table in declared:
        for old in table.get("moved_from", ()):
            tables.pop(old, None)
        tables[table["uri"]] = table
    return tables


def kind_of(question: Mapping[str, Any]) -> str:
    """Return the kind of a stored question for people, with wrappers: `Counts per person`, `Radial(Counts)`."""
    kind, inner = str(question["type"]), question.get("inner")
    if not isinstance(inner, Mapping):
        return kind
    if kind == "InPeriod":
        return f"{kind_of(inner)} in {question.get('period')}"
    if kind == "OfSample":
        return f"{kind_of(inner)} of a sample"
    return f"{kind_of(inner)} per person" if kind == "PerPerson" else f"{kind}({kind_of(inner)})"


def _charge(record: Record, facts: Mapping[str, Any]) -> Charge:
    return Charge(
        label=facts["label"],
        question=kind_of(facts["question"]),
        price_run=Amount.from_json(facts["price_run"]),
        price_ledger=Amount.from_json(facts["price_ledger"]),
        event=event_from_json(facts["event"]),
        at=record.at,
        user=record.user,
        answered=False,
    )
