"""Environments for audits: synthetic records in memory, or in a file with a real ledger in a folder of its own.

Nothing here is real data. A world with a ledger is made for one check and deleted afterwards.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.category_codes import codes_in_memory
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import ArrayTable, PrivateTable
from pubpriv.ledger import Ledger
from pubpriv.privacy.budgets import Budget, ZeroConcentratedDP
from pubpriv.privacy.noise import NoiseSource, OperatingSystemNoise, Scale

DATASET = "audited"


HALVES = ByCategory("half", ("low", "high"))
"""Groups of synthetic rows, by the sign of their first cell, so that a row knows its own; none where it is missing."""


def in_memory(rows: Any, columns: tuple[str, ...] | None = None, by: ByCategory | None = None) -> ArrayTable:
    """Make a table of rows (n, d) as the scan sees one; columns are x0, x1, ... unless they are named.

    Args:
        rows: (n, d).
        columns: names.
        by: `HALVES`, or None for no groups.
    """
    cells = np.asarray(rows, dtype=np.float64)
    table = ArrayTable(cells, parse_columns(list(columns or (f"x{i}" for i in range(cells.shape[1])))))
    return table if by is None else replace(table, by=by, codes=codes_in_memory(by, _halves(cells), len(cells)))


def _halves(cells: np.ndarray) -> list[str | None]:
    low, high = HALVES.values
    first = cells[:, 0]
    halves = np.where(first >= 0, high, low).astype(object)
    halves[np.isnan(first)] = None
    found: list[str | None] = halves.tolist()
    return found


@dataclass(frozen=True)
class World:
    """A private file of synthetic rows, and the ledger in which it is registered."""

    rows: np.ndarray
    table: PrivateTable
    ledger: Ledger
    url: str

    def overwrite(self, rows: np.ndarray) -> None:
        """Put other rows, as many, in the place of the private ones."""
        _write(Path(self.table.uri.removeprefix("file://")), rows, self.table.by)

    def enter(self, release_id: str, budget: Budget, noise: NoiseSource | None = None) -> Curator:
        """Open the real curator of a run; `noise` takes the place of the system's in this curator only."""
        curator = Curator(self.table, self.ledger, DATASET, budget, release_id)
        if noise is not None:
            curator._noise = noise  # where an audit makes a private step fail, or watches it
        return curator

    def new_release_id(self) -> str:
        """Make a release id that no run has yet."""
        return f"run-{len(self.ledger.history(DATASET))}"

    @property
    def spent(self) -> int:
        """Units charged to the dataset so far."""
        return int(self.ledger.balance(DATASET).spent.main)

    def kinds(self, release_id: str) -> list[str]:
        """List the kinds of a run's records, oldest first."""
        return [record.kind for record in self.ledger.records(DATASET) if record.release_id == release_id]


@contextmanager
def world(rows: np.ndarray, cap: Budget | None = None, by: ByCategory | None = None) -> Iterator[World]:
    """Make a world around `rows` (n, d) in a temporary folder.

    Args:
        rows: of its table.
        cap: of its dataset; by default a very large rho.
        by: `HALVES`, or None for no groups.
    """
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        names = [f"x{i}" for i in range(rows.shape[1])]
        path = Path(folder) / "table" / "records.parquet"
        path.parent.mkdir()
        _write(path, rows, by)
        table = PrivateTable.open(path, names, by=by)
        url = f"sqlite:///{folder}/ledger.db"
        with Ledger.open(url) as ledger:
            ledger.register(DATASET, cap or ZeroConcentratedDP(10**6), table)
            yield World(rows, table, ledger, url)


def _write(path: Path, rows: np.ndarray, by: ByCategory | None = None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{i}": pa.array(column) for i, column in enumerate(rows.T)}
    columns |= {} if by is None else {by.source: pa.array(_halves(rows), pa.string())}
    pq.write_table(pa.table(columns), path)


class WatchedNoise:
    """The system's noise, with something happening first; remembers what it drew.

    Args:
        before: called at each draw, between the charge and the answer.
    """

    private = True

    def __init__(self, before: Callable[[], Any] = lambda: None) -> None:
        self._before, self._source = before, OperatingSystemNoise()
        self.drawn: list[list[int]] = []

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """Draw as the system does: int64 (size,)."""
        self._before()
        values = self._source.draw(label, part, sd, size)
        self.drawn.append(values.tolist())
        return values
