"""The rows of a simulation, for estimators that have no private form.

In a real run there are none to give: its curator holds only a handle of a table, and `data.scan` reads the rows from
files only for the door. The check here is on the table's class, which callers cannot choose: `Curator` takes a
`PrivateTable` only, and `Curator.simulation` makes an `ArrayTable` only.
"""

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import ArrayTable
from pubpriv.errors import InvalidInput


def simulated_rows(simulation: Curator, why: str) -> np.ndarray:
    """Give the rows (n, d) of a simulation, as a copy; columns are mapped as by a scan.

    Args:
        simulation: made by `Curator.simulation`.
        why: reason why the estimator has no private form; the end of a sentence, for people.

    Raises:
        InvalidInput: the run is real, so its rows are not available.
    """
    table = simulation._table  # for a real curator this is a handle without rows
    if type(table) is not ArrayTable:
        raise InvalidInput(f"this estimator runs in a simulation only, Curator.simulation(rows, budget, seed): {why}")
    return table.mapped()
