"""Errors from rows beyond the last shell, by public rows, where no law of tails covers them; public.

With few private rows, the noise hides rows that are far out, such as a value that stands for a missing one. But if
public rows are out there, so are private ones, and they were not measured; unless this many private rows would have
been visible, so that the public rows are wrong. Laws of tails cover what is near the last shell; with degenerate
columns, no law is compared with the lengths of rows.
"""

import math
from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian._hidden_rows import may_hide
from pubpriv.estimators.gaussian._table_moments import lost_entries
from pubpriv.estimators.gaussian._table_release import Table
from pubpriv.estimators.public_rows import LARGEST_UNIT
from pubpriv.released.findings import NOTE, Finding

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
    if not count or not may_hide(count, len(rows), table.hidden / records):
        return table
    off = (rows - np.array(table.fitted.mean)) * beyond[:, None]
    return _with_clipping(table, np.abs(off.mean(axis=0)), np.square(off).mean(axis=0))


def feared_codes(table: Table, frame: Frame, public: PublicTable, records: float) -> tuple[Table, tuple[Finding, ...]]:
    """Add to the clipping errors what private rows would add that noise hides, with the codes of public ones.

    Public rows with a code for a missing value were left out. Private rows are not cleaned: if as many as the noise may
    hide can have the code, by the public share of it, the errors hold what so many add.

    Args:
        table: the released table.
        frame: frame of the release.
        public: the public rows that were kept, and the codes of the others.
        records: n, number of whole private rows.

    Returns:
        The table, and what was found; nothing if nothing is feared.
    """
    mean, hidden, m = np.array(table.fitted.mean), table.hidden / records, len(public.rows)
    means, squares, feared, columns = np.zeros(len(mean)), np.zeros(len(mean)), [], []
    for code in public.left_out:
        at = public.columns.index(code.column)
        off = code.value - mean[at]
        if abs(off) > LARGEST_UNIT:
            continue  # no covariance has it, not that of the table itself either
        beyond = np.linalg.norm(frame.dense()[1][:, at]) * abs(off) > table.reach
        if beyond and may_hide(code.rows, m + code.rows, hidden):
            share = min(hidden, code.rows / (m + code.rows))
            means[at], squares[at] = np.hypot(means[at], share * off), squares[at] + share * off**2
            feared.append(f"{code.value:g} in {code.column}")
            columns.append(code.column)
    if not feared:
        return table, ()
    rows = math.ceil(table.hidden)
    found = Finding(
        "codes-may-hide",
        tuple(dict.fromkeys(columns)),
        NOTE,
        f"private rows may have {' or '.join(feared)}, as public ones do: noise hides up to {rows:,} of them, and the "
        "errors include what these would add",
        {"rows": rows},
        remedy="if the private rows have none, take such rows out of the public file; if they may have some, bound "
        "the column: clip(COLUMN, LOW, HIGH)",
    )
    return _with_clipping(table, means, squares), (found,)


def _with_clipping(table: Table, means: np.ndarray, squares: np.ndarray) -> Table:
    """Add to the clipping errors of means (d,), and what may be missing from second moments (d,)."""
    *others, of_mean = table.mean_errors
    *parts, of_covariance = table.covariance_errors
    return replace(
        table,
        mean_errors=(*others, tuple(np.hypot(of_mean, means).tolist())),
        covariance_errors=(*parts, row_tuples(np.hypot(of_covariance, lost_entries(np.diag(squares))))),
    )
