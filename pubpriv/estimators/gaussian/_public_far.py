"""Errors from rows beyond the last shell, by public rows, where no law of tails covers them; public.

With few private rows, the noise hides rows that are far out, such as a value that stands for a missing one. But if
public rows are out there, so are private ones, and they were not measured; unless this many private rows would have
been visible, so that the public rows are wrong. Laws of tails cover what is near the last shell; with degenerate
columns, no law is compared with the lengths of rows.
"""

from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._table_moments import lost_entries
from pubpriv.estimators.gaussian._table_release import Table

_SELDOM = 0.05
"""Probability below which a share of rows is not believed."""

_FAR = 2.0
"""Rows beyond this many times the reach of a release belong to no tail that a law covers."""


def feared_by_public(table: Table, frame: Frame, rows: np.ndarray, records: float, by_law: bool) -> Table:
    """Add to the clipping errors what public rows have beyond the reach of a release, as if none of it were measured.

    Args:
        table: the released table.
        frame: frame of the release.
        rows: (m, d) public rows.
        records: n, number of whole private rows.
        by_law: whether laws of tails were compared with lengths, and so cover what is near.
    """
    center, matrix = frame.dense()
    beyond = np.linalg.norm((rows - center) @ matrix.T, axis=1) > table.reach * (_FAR if by_law else 1.0)
    count = int(beyond.sum())
    if not count or not _may_hide(count, len(rows), table.hidden / records):
        return table
    off = (rows - np.array(table.fitted.mean)) * beyond[:, None]
    means, squares = np.abs(off.mean(axis=0)), np.square(off).mean(axis=0)
    *others, of_mean = table.mean_errors
    *parts, of_covariance = table.covariance_errors
    return replace(
        table,
        mean_errors=(*others, tuple(np.hypot(of_mean, means).tolist())),
        covariance_errors=(*parts, row_tuples(np.hypot(of_covariance, lost_entries(np.diag(squares))))),
    )


def _may_hide(count: int, m: int, share: float) -> bool:
    """Decide whether `count` of m public rows agree with at most a `share` of the private ones, which noise hides."""
    from scipy.special import betainc

    return float(betainc(count + 0.5, m - count + 0.5, min(share, 1.0))) > _SELDOM
