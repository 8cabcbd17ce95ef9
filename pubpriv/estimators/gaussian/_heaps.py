"""Columns whose public rows heap on one value, as costs do that are mostly nothing: no Gaussian is behind these.

Public: nothing here sees a private row.
"""

import math

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lattice import lattices

_SURPRISE = 1e-5
"""A heap is no chance if Gaussian rows, rounded as these are, have one as large less often than this."""

_ODD = 0.1
"""Rows that are left out of a column's spread, the furthest from its middle: they may be odd ones."""

_MEASURED = 0.05
"""However finely a column seems to be measured, so large a share of a Gaussian's rows may share a value."""


def heap(public: PublicTable) -> str | None:
    """Say which column of the public rows heaps on a value more than a Gaussian that is rounded; None if none does.

    A row that is there more than once makes no heap, nor does a value that a column has as often as all others.
    """
    heaped = _heaped(public.rows)
    if len(heaped) > 1:
        heaped &= _heaped(np.unique(public.rows, axis=0))
    if not heaped.any():
        return None
    at = int(np.argmax(heaped))
    values, times = np.unique(public.rows[:, at], return_counts=True)
    most = int(np.argmax(times))
    return f"column {public.columns[at]} is {values[most]:.6g} in {times[most]} of {len(public.rows)} public rows"


def _heaped(rows: np.ndarray) -> np.ndarray:
    """Tell of which columns (d,) so many of `rows` (m, d) have one value that no Gaussian's would."""
    from scipy.special import bdtrc

    found = []
    for column, chance in zip(rows.T, _largest_shares(rows), strict=True):
        times = np.sort(np.unique(column, return_counts=True)[1])
        repeated = float(times[:-1].mean()) if len(times) > 1 else len(rows)  # one value for all tells no spread
        seen, of = math.floor(times[-1] / repeated), math.floor(len(rows) / repeated)
        found.append(float(bdtrc(seen - 1, of, chance)) * of * rows.shape[1] < _SURPRISE)
    return np.array(found)


def _largest_shares(rows: np.ndarray) -> np.ndarray:
    """Give the largest share (d,) of Gaussian rows that may have one value, as columns of `rows` (m, d) are rounded."""
    off = np.abs(rows - np.median(rows, axis=0))
    kept = np.sort(off, axis=0)[: max(math.ceil((1 - _ODD) * len(rows)), 1)]
    widths = np.sqrt((kept**2).mean(axis=0)) * math.sqrt(2 * math.pi)
    steps = lattices(rows)
    shares = np.divide(steps, widths, out=np.where(steps > 0, 1.0, 0.0), where=widths > 0)
    return np.asarray(np.clip(shares, _MEASURED, 1.0))


def check_heaps(public: PublicTable) -> None:
    """Refuse public rows that show that there is no Gaussian.

    Raises:
        InvalidInput: with what would do.
    """
    found = heap(public)
    if found is not None:
        raise InvalidInput(
            f"{found}, and no Gaussian is behind such a column: take the target moments, which describes rows of any "
            "law, leave the column out, or force the run to describe a Gaussian anyway"
        )
