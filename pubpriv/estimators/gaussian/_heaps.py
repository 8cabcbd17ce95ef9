"""Find columns in which far too many public rows have one value, as in costs that are mostly zero.

No Gaussian is behind such a column. Only public rows are looked at.
"""

import math

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._lattice import lattices

_SURPRISE = 1e-5
"""A value is a heap if rounded Gaussian rows would have one as common with a smaller probability than this."""

_ODD = 0.1
"""Share of the rows furthest from a column's median that its spread leaves out: they may be outliers."""

_MEASURED = 0.05
"""Share of Gaussian rows that may always have one value in common, however finely a column is measured."""


def heap(public: PublicTable) -> str | None:
    """Describe a column of the public rows that heaps on one value; None if no column does.

    Repeated rows are no heap, nor is a value that is as common as all others.
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
    """Decide for each column (d,) of rows (m, d) whether one value is more common than in a rounded Gaussian."""
    from scipy.special import bdtrc

    found = []
    for column, chance in zip(rows.T, _largest_shares(rows), strict=True):
        times = np.sort(np.unique(column, return_counts=True)[1])
        repeated = float(times[:-1].mean()) if len(times) > 1 else len(rows)  # one value for all tells no spread
        seen, of = math.floor(times[-1] / repeated), math.floor(len(rows) / repeated)
        found.append(float(bdtrc(seen - 1, of, chance)) * of * rows.shape[1] < _SURPRISE)
    return np.array(found)


def _largest_shares(rows: np.ndarray) -> np.ndarray:
    """Give the largest share (d,) of Gaussian rows that one value has, where columns are rounded as in rows (m, d)."""
    off = np.abs(rows - np.median(rows, axis=0))
    kept = np.sort(off, axis=0)[: max(math.ceil((1 - _ODD) * len(rows)), 1)]
    widths = np.sqrt((kept**2).mean(axis=0)) * math.sqrt(2 * math.pi)
    steps = lattices(rows)
    shares = np.divide(steps, widths, out=np.where(steps > 0, 1.0, 0.0), where=widths > 0)
    return np.asarray(np.clip(shares, _MEASURED, 1.0))


def check_heaps(public: PublicTable) -> None:
    """Refuse public rows that rule out a Gaussian.

    Raises:
        InvalidInput: with what would do.
    """
    found = heap(public)
    if found is not None:
        raise InvalidInput(
            f"{found}, and no Gaussian is behind such a column: take the target moments, which describes rows of any "
            "law, leave the column out, or force the run to describe a Gaussian anyway"
        )
