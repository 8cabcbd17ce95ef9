"""What public rows say of rows beyond the last shell that counts, where no law of tails says it; public.

Beside degenerate columns no law is held against the lengths of rows, and a few hundred rows do not show a long column
through the noise. But where public rows lie out there, so do private ones, and nobody measured these.
"""

from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._table_release import Table


def feared_by_public(table: Table, frame: Frame, rows: np.ndarray) -> Table:
    """Add to the errors of clipping what the public rows have beyond the reach of a release, as if none of it counted.

    Args:
        table: as it was released.
        frame: of the release.
        rows: (m, d) public ones.
    """
    center, matrix = frame.dense()
    beyond = np.linalg.norm((rows - center) @ matrix.T, axis=1) > table.reach
    if not beyond.any():
        return table
    off = (rows - np.array(table.fitted.mean)) * beyond[:, None]
    means, squares = np.abs(off.mean(axis=0)), np.square(off).mean(axis=0)
    lost = np.sqrt((np.outer(squares, squares) + np.diag(squares**2)) / 2)
    *others, of_mean = table.mean_errors
    *parts, of_covariance = table.covariance_errors
    return replace(
        table,
        mean_errors=(*others, tuple(np.hypot(of_mean, means).tolist())),
        covariance_errors=(*parts, row_tuples(np.hypot(of_covariance, lost))),
    )
