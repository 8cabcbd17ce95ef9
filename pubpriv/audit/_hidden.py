"""Does a private number of rows show? Whole drivers run on a table, and with the same answers on other tables.

If the unit is a person, the other tables lack a person with many rows, or all persons; in a run of one period, other
rows or none belong to it. Methods, plans, notes, questions, charges, messages and results must be the same, and no row
may be opened. Handles of tables, and messages of refusals, must not distinguish the tables either.
"""

import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._tape import Driver, Tape, record
from pubpriv.audit._worlds import DATASET, HALVES
from pubpriv.audit.finding import Claims, Finding, judged, promised
from pubpriv.curator import Curator
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.estimator import Estimator, Trial
from pubpriv.estimators.public_rows import NO_PUBLIC
from pubpriv.ledger import Ledger
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger.period_terms import PeriodTerms

MANY = 50
"""Rows of the person who comes and goes."""

NOW = "2026-10"
"""Period of the runs."""

_Period = tuple[str, np.ndarray]


def drivers(seed: int) -> list[Driver]:
    """List the first trial of each estimator, then trials by group, on rows of persons, one of whom has many."""
    trials = [(each, trial) for each in ESTIMATORS for trial in each.trials]
    first = [_driver(each, trial, seed) for each, trial in trials if trial is each.trials[0]]
    return [*first, *(_driver(each, trial, seed) for each, trial in trials if getattr(trial.settings, "by", None))]


def searches(seed: int) -> list[Driver]:
    """List the drivers with questions that are not sums, asked of one row of each person: without public rows."""
    trials = [(each, trial) for each in ESTIMATORS for trial in each.trials]
    return [_driver(each, trial, seed) for each, trial in trials if getattr(trial.settings, "method", "") == NO_PUBLIC]


def _driver(estimator: Estimator, trial: Trial, seed: int) -> Driver:
    k, d, random = trial.components, trial.columns, np.random.default_rng([seed, 3])
    means = trial.apart / 2**0.5 * np.eye(k, d)
    persons = np.repeat(np.arange(3000), np.r_[MANY, random.integers(1, 4, size=2999)])
    persons = random.permutation(persons)
    rows = means[persons % k] + random.normal(size=(len(persons), d))
    seen = means[np.arange(trial.public_rows) % k] + random.normal(size=(trial.public_rows, d))
    public = PublicTable(tuple(f"x{i}" for i in range(d)), seen)
    name = f"estimate_{estimator.name}" + (f", {trial.name}" if trial != estimator.trials[0] else "")
    return Driver.of(name, estimator, trial, public, np.asarray(rows), persons)


def of_persons(driver: Driver, seed: int) -> Finding:
    """Run on D, and with the same answers on D without a person, and on a table of nobody."""
    persons = _persons(driver)
    whole = _Table(driver.rows, persons)
    others = (whole.without(persons == 0), whole.without(persons >= 0))
    return _same("persons", f"{driver.name} of persons", driver, seed, whole, others)


def of_period(driver: Driver, seed: int) -> Finding:
    """Run on rows of a period, and with the same answers where none, or others, are of it."""
    inside = _inside(driver, seed)
    whole = _Table(driver.rows, None, (NOW, inside))
    others = tuple(_Table(driver.rows, None, (NOW, which)) for which in (np.zeros_like(inside), ~inside))
    return _same("periods", f"{driver.name} of a period", driver, seed, whole, others)


def of_persons_of_period(driver: Driver, seed: int) -> Finding:
    """Run on persons of a period, and with the same answers without one of them, and where nobody is of it."""
    persons, inside = _persons(driver), _inside(driver, seed)
    whole = _Table(driver.rows, persons, (NOW, inside))
    others = (whole.without(persons == 0), _Table(driver.rows, persons, (NOW, np.zeros_like(inside))))
    return _same("periods", f"{driver.name} of persons of a period", driver, seed, whole, others)


@dataclass(frozen=True)
class _Table:
    """Rows, their persons (None: the unit is a row), and which of them are in the period that is asked."""

    rows: np.ndarray
    persons: np.ndarray | None
    period: _Period | None = None

    def without(self, which: np.ndarray) -> "_Table":
        """Leave some rows out."""
        period = None if self.period is None else (self.period[0], self.period[1][~which])
        return _Table(self.rows[~which], None if self.persons is None else self.persons[~which], period)

    def recorded(self, driver: Driver, seed: int, frozen: Tape | None = None) -> Tape:
        """Run the driver on it."""
        return record(driver, self.rows, seed, frozen, self.persons, self.period)


def _persons(driver: Driver) -> np.ndarray:
    return np.asarray(driver.persons)


def _inside(driver: Driver, seed: int) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, 7]).random(len(driver.rows)) < 0.8)


def _same(check: str, name: str, driver: Driver, seed: int, whole: _Table, others: tuple[_Table, ...]) -> Finding:
    tape = whole.recorded(driver, seed)
    broken = [] if tape.failure is None else [f"the driver fails on synthetic rows ({tape.failure})"]
    for other in others:
        again = other.recorded(driver, seed, tape)
        if again.failure is not None:
            broken.append(f"the driver fails where it got the same answers ({again.failure})")
        broken += [f"{what} depends on the number of rows" for what in tape.told_apart(again)]
        if again.looks or again.draws:
            broken.append("rows were opened, or noise drawn, although every answer was there")
    how = f"{len(tape.entries)} questions replayed on {len(others)} tables with other numbers of rows"
    return judged(check, f"{name}: the number of rows does not show", broken, how)


# -- handles and refusals -------------------------------------------------------------------------------------------


def of_handles() -> Finding:
    """Handles of tables and runs, and refusals, of persons, of a period and of groups of both."""
    return promised("persons", "handles do not show the number of rows", _handles())


def _handles() -> Claims:
    for name, person, period in (("persons", "who", ""), ("a period", "", NOW), ("persons of a period", "who", NOW)):
        with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
            path, shown = Path(folder) / "t.parquet", []
            terms = PeriodTerms("month", "seen", ZeroConcentratedDP(1))
            with Ledger.open(f"sqlite:///{folder}/l.db") as books:
                books.register(DATASET, ZeroConcentratedDP(1), person=person or (), periods=terms)
                for many in (MANY, 0):
                    _write(path, many)
                    shown.append(list(_shown(path, books, person, period)))
        for what, one, other in zip(("table", "run", "refusal"), *shown, strict=True):
            yield f"{name}: the {what}", one == other


def _shown(path: Path, books: Ledger, person: str, period: str) -> Iterator[Any]:
    """What somebody outside the door sees of a table in a file."""
    how: dict[str, Any] = {"person": person or (), "by": HALVES, "dates": "seen", "period": period}
    table = PrivateTable.open(path, ["x"], **how)
    yield pickle.dumps(table), repr(table)
    handle = Curator(table, books, DATASET, ZeroConcentratedDP("0.5"), "a").handle
    yield pickle.dumps(handle), repr(handle)
    try:
        PrivateTable.open(path, ["missing"], **how)
    except InvalidInput as refused:
        yield str(refused)


def _write(path: Path, many: int) -> None:
    """Make rows of 200 persons, the first of whom has so many more; row groups move with them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 200 + many
    days = pa.array(np.full(n, np.datetime64(f"{NOW}-15"), dtype="datetime64[D]"))
    columns = {"x": np.arange(n, dtype=np.float64), "who": [0] * many + [*range(200)], "seen": days}
    pq.write_table(pa.table(columns | {HALVES.source: ["low"] * n}), path, row_group_size=60)
