"""Rows of a simulation, for estimators that have no private form.

A real run has none to give: its curator holds a handle of a table, and its rows are in files that `data.scan` reads
for the door alone. What is asked here is the kind of the table, which nobody chooses: `Curator` takes a `PrivateTable`
only, and `Curator.simulation` makes an `ArrayTable` only.
"""

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import ArrayTable
from pubpriv.errors import InvalidInput


def simulated_rows(simulation: Curator, why: str) -> np.ndarray:
    """Give the rows (n, d) of a simulation, a copy; columns are mapped as a scan maps them.

    Args:
        simulation: of `Curator.simulation`.
        why: the estimator has no private form; the end of a sentence, for people.

    Raises:
        InvalidInput: it is a real run, whose rows nobody sees.
    """
    table = simulation._table  # of a real curator this is a handle without rows
    if type(table) is not ArrayTable:
        raise InvalidInput(f"this estimator runs in a simulation only, Curator.simulation(rows, budget, seed): {why}")
    return table.mapped()
