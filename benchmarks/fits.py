"""Real fits: a Parquet file, a ledger that is thrown away with its folder, and the system's noise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.privacy.budgets import Budget


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


def real_fit(path: Path, names: list[str], budget: Budget, estimate: Callable[[pp.Curator], Any]) -> Any:
    """Let `estimate` ask a real curator of the rows in `path`; its ledger is new, and lies beside them.

    Args:
        path: of a Parquet file.
        names: of its columns.
        budget: of the dataset, and of the run.
        estimate: asks the curator.
    """
    table = pp.PrivateTable.open(path, names)
    ledger_file = path.with_name(f"ledger-{len(list(path.parent.glob('ledger-*.db')))}.db")
    with pp.Ledger.open(f"sqlite:///{ledger_file}") as ledger:
        ledger.register("bench", budget=budget, table=table)
        with pp.Curator(table, ledger, "bench", budget) as curator:
            return estimate(curator)
