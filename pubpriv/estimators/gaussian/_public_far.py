"""What public rows say of rows beyond the last shell that counts, where no law of tails does; public.

Few private rows do not show through the noise what lies far out, as a value that stands for a missing one. But where
public rows lie out there, so do private ones, and nobody measured these; unless so many private rows would have been
seen, so that it is the public ones that are wrong. Laws of tails say what lies near the last shell; beside degenerate
columns none is held against the lengths of rows.
"""

from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.estimators.gaussian._table_moments import lost_entries
from pubpriv.estimators.gaussian._table_release import Table

_SELDOM = 0.05
"""Chance below which a share of rows is not believed."""

_FAR = 2.0
"""Rows are of no tail that a law would know beyond so many times the reach of a release."""


def feared_by_public(table: Table, frame: Frame, rows: np.ndarray, records: float, by_law: bool) -> Table:
    """Add to the errors of clipping what the public rows have beyond the reach of a release, as if none of it counted.

    Args:
        table: as it was released.
        frame: of the release.
        rows: (m, d) public ones.
        records: n, whole private rows.
        by_law: whether laws of tails were held against lengths, and have what lies near.
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
    """Tell whether so many of m public rows agree with at most a `share` of the private ones, which noise hides."""
    from scipy.special import betainc

    return float(betainc(count + 0.5, m - count + 0.5, min(share, 1.0))) > _SELDOM
