"""The tables and runs of which the files in `tests/released/old` are releases, made by the version before states.

`ledger.sql` there is that version's ledger, and `<run>-<release>.json` are its models, of format 1. They are not made
again: every later version must open, compare and replay them as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pubpriv as pp

FILES = Path(__file__).parents[1] / "released" / "old"


def _frame(seed: int, rows: int) -> pd.DataFrame:
    """Rounded rows, so that the same are drawn on every machine."""
    generator = np.random.default_rng(seed)
    ages, costs, others = generator.standard_normal((3, rows))
    half = np.arange(rows) % 2
    columns = {"age": ages, "cost": np.exp(0.6 * costs), "u": ages + 9 * half, "v": others + 9 * half}
    return pd.DataFrame(columns).round(3)


@dataclass(frozen=True)
class Run:
    """A run: its columns, its number of rows, and what it estimates from public rows and a curator."""

    columns: list[str]
    rows: int
    estimate: Callable[[Any, pp.Curator], Any]

    def release(self, ledger: pp.Ledger, dataset: str, number: int) -> Any:
        """Make the first or the second release, of other rows each."""
        table = pp.PrivateTable.open(_frame(number, self.rows)[self.columns], self.columns, name=dataset)
        with pp.Curator(table, ledger, dataset, "zcdp:1", release_id=f"r{number}") as curator:
            return self.estimate(_frame(0, 40)[self.columns], curator)


RUNS = {
    "mean": Run(["age", "cost"], 400, pp.estimate_mean),
    "gaussian": Run(["age", "cost"], 401, lambda public, curator: pp.estimate_gaussian(public, curator, force=True)),
    "mixture": Run(["u", "v"], 402, lambda public, curator: pp.estimate_mixture(public, curator, n_components=2)),
}
