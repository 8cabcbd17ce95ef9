"""What the ledger shows: frozen views of a charge, a run and a balance, and what it asks of a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.events import Event
from pubpriv.privacy.ledger.records import DatasetState, RunState
from pubpriv.privacy.units import DELTA_UNIT, UNIT, to_text


class TableIdentity(Protocol):
    """What the ledger knows of a private table."""

    @property
    def uri(self) -> str:
        """Where it is configured to be."""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """Columns of the file that are read."""


@dataclass(frozen=True)
class NamedTable:
    """A table by its name and columns, which was not looked at."""

    uri: str
    source_columns: tuple[str, ...] = ()


class SizedTable(TableIdentity, Protocol):
    """A private table with its number of rows, which is public."""

    @property
    def n_rows(self) -> int:
        """How many."""


@dataclass(frozen=True)
class Asked:
    """What a stored question comes to: the event it must have been charged as, and the sizes its answer must have."""

    event: Event
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Standing:
    """A charge as the ledger has it: what was asked, what it was charged as, and the answer if there is one."""

    question: Any
    answer: dict[str, list[int]] | None
    attempt: str
    event: Event


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


@dataclass(frozen=True)
class Run:
    """A run as the ledger has it; `head` is the hash of its newest answer, or of its opening if there is none."""

    release_id: str
    allotment: Budget
    state: RunState
    methods: dict[str, dict[str, Any]]
    charges: tuple[Charge, ...]
    opened_at: str
    head: str


@dataclass(frozen=True)
class Balance:
    """A dataset's account: amounts in the units of `budget` (epsilon, rho, or mu^2 with failure terms).

    Attributes:
        dataset, unit: its name, and what one record stands for.
        budget: the cap as it was promised last.
        state: cap, spent and held.
        open_runs: what each open run still holds.
        tables: declared tables, uri and columns.
        chain_head: hash of the newest record.
    """

    dataset: str
    unit: str
    budget: Budget
    state: DatasetState
    open_runs: dict[str, Amount]
    tables: tuple[dict[str, Any], ...]
    chain_head: str

    @property
    def cap(self) -> Amount:
        """All there ever is."""
        return self.state.cap

    @property
    def spent(self) -> Amount:
        """Charged, never to return."""
        return self.state.spent

    @property
    def held(self) -> Amount:
        """Set aside by open runs and not charged yet."""
        return self.state.held

    @property
    def remaining(self) -> Amount:
        """What a new run could hold."""
        return self.state.remaining

    def to_json(self) -> dict[str, Any]:
        """Floats in the main unit (epsilon, rho, mu^2), `delta_*` beside them, exact decimals in `exact`."""
        amounts = {"cap": self.cap, "spent": self.spent, "held": self.held, "remaining": self.remaining}
        return {
            "dataset": self.dataset,
            "unit": self.unit,
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
        }
