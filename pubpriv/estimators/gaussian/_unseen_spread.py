"""Errors of a column that almost no private row varies in, so that it keeps the one value of most public rows.

The noise of its estimate is no measure of what is unknown there: a few private rows with another value move its mean
and its variance, and were not counted. Fewer than `Scale.hidden` rows have one, or else they had been seen; and by the
public rows it is a share that their number does not contradict. As far out as the furthest public one, so many rows
move the mean by share x size, and the variance by share x size^2: these are the ends of 95% intervals. (So that of a
rare yes among few rows has no zero width, as Wilson's has none.) Bounds are in the place of public rows where they are
declared or plain. Where all public rows have one value no size is known, and the numbers are doubtful.
"""

from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian._column_scales import Scale
from pubpriv.estimators.gaussian._degenerate_columns import Layout
from pubpriv.estimators.gaussian._table_moments import lost_entries
from pubpriv.estimators.gaussian._table_release import Table
from pubpriv.estimators.gaussian.bounded import bounds_of_columns
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding
from pubpriv.released.numbers import Z95

_END = 0.975
"""The end of a 95% interval."""

_SEVERAL = 2.0
"""Rows of one size are seen if they are five sds of the noise; of sizes that differ by a factor of 2.5, as those of
most columns that are mostly zero, twice as many are."""


def with_unseen_spreads(
    table: Table, layout: Layout, scales: tuple[Scale, ...], public: PublicTable, records: float
) -> tuple[Table, tuple[Finding, ...]]:
    """Add what rows that were not seen may add to columns whose spread was not seen.

    Args:
        table: the release.
        layout: which columns have a scale of their own.
        scales: their scales.
        public: public rows, all columns.
        records: n, number of whole private rows.

    Returns:
        The release with these errors, and which columns they are of.
    """
    bounds, center = bounds_of_columns(public), np.array(layout.center)
    means, squares = np.zeros(layout.dimension), np.zeros(layout.dimension)
    unknown, known = list[str](), list[str]()
    for index in table.faint:
        column, scale = layout.degenerate[index - len(layout.regular)], scales[index - len(layout.regular)]
        at, off = column.index, np.abs((public.rows - center) @ np.array(column.weights))
        ends = np.abs(bounds[at] - center[at])
        bounded = bool(np.isfinite(ends).all()) and column.weights[at] == 1 and np.count_nonzero(column.weights) == 1
        size = float(ends.max()) if bounded else float(off.max())
        hidden = scale.hidden * (1.0 if bounded else _SEVERAL)
        share = min(_most(int((off > 0).sum()), len(off)), hidden / records)
        means[at], squares[at] = share * size / Z95, share * size**2 / Z95
        (known if size > 0 else unknown).append(layout.columns[at])
    if not table.faint:
        return table, ()
    return _with_errors(table, means, squares), tuple(
        _finding(names, told) for names, told in ((unknown, False), (known, True)) if names
    )


def _most(count: int, m: int) -> float:
    """Give the upper end of the 95% interval of a share, of which m public rows have `count`."""
    from scipy.special import betaincinv

    return float(betaincinv(count + 1, m - count, _END)) if count < m else 1.0


def _finding(names: list[str], known: bool) -> Finding:
    text = "too few private rows show its spread: only a guess is given"
    if known:
        text += ", and the interval holds what rows that are too few to be seen could add"
    return Finding(
        "unseen-spread",
        tuple(names),
        NOTE if known else DOUBTFUL,
        text,
        remedy="a larger budget, bounds that are known without the private rows (clip), or its scale (--scale)",
    )


def _with_errors(table: Table, means: np.ndarray, squares: np.ndarray) -> Table:
    """Add to the clipping errors of means (d,) and of variances (d,)."""
    *others, of_mean = table.mean_errors
    *parts, of_covariance = table.covariance_errors
    lost = lost_entries(np.diag(squares))
    np.fill_diagonal(lost, squares)
    return replace(
        table,
        mean_errors=(*others, tuple(np.hypot(of_mean, means).tolist())),
        covariance_errors=(*parts, row_tuples(np.hypot(of_covariance, lost))),
    )
