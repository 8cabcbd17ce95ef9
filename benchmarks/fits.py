"""Real fits: a Parquet file, a ledger beside it that is thrown away with its folder, and the system's noise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.privacy.budgets import Budget

_DATASET = "bench"


def write_rows(rows: np.ndarray, path: Path, row_groups: int = 1) -> list[str]:
    """Write rows (n, d) as columns x0, x1, ... of a Parquet file.

    Args:
        rows: (n, d).
        path: where the file goes.
        row_groups: how many, of the same size but for the last.

    Returns:
        The names of the columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{i}": column for i, column in enumerate(rows.T)}
    pq.write_table(pa.table(columns), path, row_group_size=-(-len(rows) // row_groups))
    return list(columns)


def registered(path: Path, names: list[str]) -> str:
    """Register the rows in `path` in a new ledger beside them, with room for any number of fits; return its URL.

    Args:
        path: of a Parquet file.
        names: of its columns.
    """
    url = f"sqlite:///{path.with_name('ledger.db')}"
    with pp.Ledger.open(url) as ledger:
        ledger.register(_DATASET, budget=pp.ZeroConcentratedDP(10**6), table=pp.PrivateTable.open(path, names))
    return url


def real_fit(url: str, path: Path, names: list[str], budget: Budget, estimate: Callable[[pp.Curator], Any]) -> Any:
    """Let `estimate` ask a real curator of the rows in `path`, as `pubpriv fit` does.

    Args:
        url: of the ledger that `registered` made.
        path: of a Parquet file.
        names: of its columns.
        budget: of the run.
        estimate: asks the curator.
    """
    table = pp.PrivateTable.open(path, names)
    with pp.Ledger.open(url) as ledger, pp.Curator(table, ledger, _DATASET, budget) as curator:
        return estimate(curator)
