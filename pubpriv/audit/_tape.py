"""Recording of one run of a driver: its questions in order, their answers, and its result.

`record` runs a driver on a table, with new answers or with those of an older tape. It replaces the curator's run: a
charge that the older tape has answered gets that answer at once, so the door itself neither scans nor draws noise. The
table and the noise count how often they are used.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.audit._worlds import HALVES, in_memory
from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.persons import keys_in_memory
from pubpriv.data.tables import ArrayTable, PublicTable
from pubpriv.estimators.estimator import Estimator, Trial
from pubpriv.estimators.steps import plain
from pubpriv.privacy.budgets import Budget, Purse, parse_budget
from pubpriv.privacy.events import Event
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.ledger.views import ChargeView
from pubpriv.privacy.noise import Scale, SimulatedNoise
from pubpriv.privacy.runs import SimulatedRun

_Answer = dict[str, list[int]]


@dataclass(frozen=True)
class Driver:
    """A whole estimate, the synthetic rows it is recorded on, and its budget.

    Attributes:
        name: for the finding.
        estimator: what is estimated.
        run: asks a curator, and returns plain JSON data of everything it found.
        rows: D, (n, d).
        budget: of the run.
        persons: (n,) whose row it is; None: the unit is a row.
        by: groups that are estimated apart; None: none.
    """

    name: str
    estimator: str
    run: Callable[[Curator], Any]
    rows: np.ndarray
    budget: Budget
    persons: np.ndarray | None = None
    by: ByCategory | None = None

    @classmethod
    def of(
        cls,
        name: str,
        estimator: Estimator,
        trial: Trial,
        public: PublicTable,
        rows: np.ndarray,
        persons: np.ndarray | None = None,
    ) -> "Driver":
        """Make it of an estimator, with the settings and the budget of one of its trials."""
        settings = estimator.settings() if trial.settings is None else trial.settings

        def run(curator: Curator) -> Any:
            found = estimator.driver(settings, public, curator, plain).to_json()
            del found["provenance"]["created"]  # the day, which may end meanwhile
            return found

        by = HALVES if getattr(settings, "by", None) else None
        return cls(name, estimator.name, run, rows, parse_budget(trial.budget), persons, by)


@dataclass(frozen=True)
class _Entry:
    """One question as it was charged, and its answer. JSON as canonical text."""

    label: str
    question: str
    event: Event
    answer: _Answer


@dataclass(frozen=True)
class Tape:
    """What one run of a driver did at the door, and what it returned.

    Attributes:
        begun: methods with their configurations and public hashes.
        entries: questions in the order in which they were charged.
        spent: units charged.
        planned: prices of the plans that were rehearsed.
        said: warnings, in the order in which they came.
        looks: how often rows were opened.
        passes: how often the door read them.
        draws: how often noise was drawn.
        result: canonical JSON of what the driver returned; None if it failed.
        failure: type of the exception, if it failed.
    """

    begun: tuple[tuple[str, ...], ...]
    entries: tuple[_Entry, ...]
    spent: int
    planned: tuple[tuple[tuple[Event, ...], ...], ...]
    said: tuple[str, ...]
    looks: int
    passes: int
    draws: int
    result: str | None
    failure: str | None

    def told_apart(self, other: "Tape") -> list[str]:
        """Name what differs from another run that was given the same answers."""
        seen = {
            "what a method begins with": (self.begun, other.begun),
            "a plan": (self.planned, other.planned),
            "a question, or their order": (self.asked, other.asked),
            "what is paid": (self.spent, other.spent),
            "what is said": (self.said, other.said),
            "what is returned": (self.result, other.result),
        }
        return [name for name, (one, another) in seen.items() if one != another]

    @property
    def asked(self) -> list[tuple[str, str, Event]]:
        """List labels, questions and events, in order."""
        return [(entry.label, entry.question, entry.event) for entry in self.entries]


class _TapedRun(SimulatedRun):
    """A simulated run that also keeps what was asked in which order.

    Args:
        budget: of the run.
        frozen: answers by label; a charge under one of them is answered at once, by the kept answer to the kept
            question, and the curator has no reason to look.
    """

    def __init__(self, budget: Budget, frozen: dict[str, _Entry] | None = None) -> None:
        super().__init__(budget)
        self._frozen = frozen or {}
        self.begun: list[tuple[str, ...]] = []
        self.asked: list[tuple[str, str, Event]] = []
        self.answers: dict[str, _Answer] = {}
        self.planned: list[tuple[tuple[Event, ...], ...]] = []

    def begin(self, method: str, configuration: str, public_sha256: str, budget: Budget | None) -> Purse:
        """As a simulation does."""
        purse = super().begin(method, configuration, public_sha256, budget)
        self.begun.append((method, configuration, public_sha256, str(purse.units)))
        return purse

    def afford(self, plans: Sequence[Sequence[Event]]) -> None:
        """As a simulation does."""
        super().afford(plans)
        self.planned.append(tuple(tuple(plan) for plan in plans))

    def charge(self, label: str, question: Any, event: Event) -> ChargeView:
        """Paid as a simulation pays, and answered if an answer was kept."""
        charge = super().charge(label, question, event)
        self.asked.append((label, canonical(question), event))
        kept = self._frozen.get(label)
        if kept is None:
            return charge
        answer = self.publish(label, "kept", kept.answer)
        return ChargeView(json.loads(kept.question), answer, "kept", kept.event)

    def publish(self, label: str, attempt: str, answer: _Answer) -> _Answer:
        """As a simulation does."""
        stored = super().publish(label, attempt, answer)
        self.answers[label] = stored
        return stored

    @property
    def spent(self) -> int:
        """Tell the units charged."""
        return int(self._run.spent.main)


class _WatchedTable:
    """A table that counts how often its rows are opened. Its size and columns are public."""

    def __init__(self, table: ArrayTable) -> None:
        self._table = table
        self.looks = 0

    @property
    def n_rows(self) -> int:
        """n."""
        return self._table.n_rows

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._table.column_names

    @property
    def by(self) -> ByCategory | None:
        """Groups of its rows, if the run estimates them apart."""
        return self._table.by

    @property
    def period(self) -> str:
        """Whose rows are asked."""
        return self._table.period

    @property
    def uri(self) -> str:
        """Where the rows lie; empty: in memory."""
        return ""

    def chunks(self) -> list["_WatchedChunk"]:
        """Where the rows are; none is opened."""
        return [_WatchedChunk(self, chunk) for chunk in self._table.chunks()]

    def __getattr__(self, name: str) -> Any:
        """Anything else is a look at the rows."""
        self.looks += 1
        return getattr(self._table, name)


class _WatchedChunk:
    def __init__(self, table: _WatchedTable, chunk: ArrayTable) -> None:
        self._table, self._chunk = table, chunk
        self.by, self.n_records = chunk.by, chunk.n_records

    def blocks(self) -> Iterator[np.ndarray]:
        self._table.looks += 1
        yield from self._chunk.blocks()

    def keys(self) -> Iterator[np.ndarray]:
        self._table.looks += 1
        yield from self._chunk.keys()

    def keyed_blocks(self, length: int, seen: Callable[[np.ndarray], None]) -> Iterator[np.ndarray]:
        self._table.looks += 1
        yield from self._chunk.keyed_blocks(length, seen)


class _CountedNoise(SimulatedNoise):
    draws = 0

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        self.draws += 1
        return super().draw(label, part, sd, size)


def record(
    driver: Driver,
    rows: np.ndarray,
    seed: int,
    frozen: Tape | None = None,
    persons: np.ndarray | None = None,
    period: tuple[str, np.ndarray] | None = None,
) -> Tape:
    """Run `driver` on `rows`, with new answers or with those of `frozen`.

    Args:
        driver: what to run.
        rows: of the table.
        seed: of the noise.
        frozen: whose answers are given.
        persons: whose rows they are; None: the unit is a row.
        period: its name, and which rows are in it; None: all are asked.
    """
    kept = {entry.label: entry for entry in frozen.entries} if frozen else {}
    terms = None if persons is None else PersonTerms(("who",))
    curator = Curator.simulation(driver.rows, driver.budget, seed)
    keys = None if persons is None else keys_in_memory(persons, len(rows))
    held = replace(in_memory(rows, by=driver.by), persons=keys)
    if period is not None:
        own = np.arange(1, len(rows) + 1, dtype=np.uint64) if keys is None else keys
        held = replace(held, persons=np.where(period[1], own, np.uint64(0)), period=period[0])
    table, books, noise = _WatchedTable(held), _TapedRun(driver.budget, kept), _CountedNoise(seed)
    curator._assemble(table, books, noise, None, terms, 1)
    result, failure = None, None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = canonical(driver.run(curator))
        except Exception as error:  # a driver that fails on some tables only tells them apart
            failure = type(error).__name__
    entries = tuple(_Entry(*asked, books.answers.get(asked[0], {})) for asked in books.asked)
    said = tuple(str(each.message) for each in heard)
    known = tuple(books.begun), entries, books.spent, tuple(books.planned), said
    return Tape(*known, table.looks, curator.passes, noise.draws, result, failure)
