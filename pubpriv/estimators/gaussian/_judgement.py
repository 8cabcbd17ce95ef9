"""What a release in shells says of its own numbers: which column's may lie outside their intervals, and why.

All errors that are known of are in the intervals, clipping's too. Where what may lie beyond the last shell makes most
of an error, the number is wide, and a note says why (`long-tail`): on 25 open tables and 28 laws, numbers of columns
whose tail hardly falls where rows are last seen were no further off, by their errors, than others. A number is doubtful
only where its interval cannot be believed to hold what is there:

| code | because | numbers |
|---|---|---|
| `could-hide` | public rows lie very far out, and what noise hides of such would move it past twice its interval | it |
| `boundless` | rows were counted beyond the last edge of all shells: nothing bounds what they add | all columns' |
| `beyond-bounds` | the variance is more than the bounds of the column's values allow | the column's |
| `drowned` | the noise is as large as the rows are wide in some direction, and beside its variance | the column's |

What noise could hide is no reason by itself: it hides some rows of any table, and a Gaussian has none to hide. Public
rows very far out say that there are some. A column of bounded values has neither of the first two, nor the note: none
of its rows lies out there; see `bounded`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian._hidden_rows import may_hide
from pubpriv.estimators.gaussian._table_release import Known, Table
from pubpriv.estimators.gaussian.bounded import bounds_of_columns
from pubpriv.estimators.gaussian.hints import tail_remedy
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding

_VERY_FAR = 6.0
"""Public rows that lie so many standard deviations out are those of a long tail: a Gaussian has one in a billion there.
With a smaller number, counts and mild skewness among few rows are doubted; with a larger one, fewer wrong numbers are
found."""

_TWICE = 4.0
"""A number is doubtful if rows that could hide would move it by so many of its errors: twice as far as the interval
goes. On 25 open tables, seeds 100 to 111 (where it was set) and 0 to 9: a run in nine has a doubtful number, one in
four of these is outside its interval, and of good ones one in forty. With 3 one run in seven has, with 5 one in 14."""

_REFUTED, _ABSURD = 1.1, 10.0
"""Bounds that public rows show are not those of the private ones if the released variance is so many times the largest
that such values can have; from the second number on noise made it."""

_LOUD = 0.3
"""Where noise drowns a direction it drowns a column if its sd is this part of the column's variance. With a fifth, as
many runs are doubted as without this, and no more of the doubted numbers are wrong (25 tables, seeds 500 to 505)."""

_MOST_OF = 1.25
"""A column has a long tail if the error from clipping is so many times all others of its mean or its variance."""


def judge_table(table: Table, known: Known, public: PublicTable, of_mean: bool) -> tuple[Finding, ...]:
    """Judge the means and covariances of a release in shells.

    Args:
        table: the release.
        known: what was known before it.
        public: public rows, all columns.
        of_mean: whether only the mean is reported.
    """
    bounds = bounds_of_columns(public)
    most = (bounds[:, 1] - bounds[:, 0]) ** 2 / 4
    variances = np.diag(np.array(table.fitted.covariance))
    bounds[(variances > _REFUTED * most) & (variances <= _ABSURD * most)] = -math.inf, math.inf
    unbounded = ~np.isfinite(bounds).all(axis=1)
    tails = (
        *_boundless(table, known, public, bounds),
        *_outgrown(table, public, bounds),
        *_beyond(table, known, public, unbounded, of_mean),
    )
    return (*tails, *_drowned(table, public))


def _boundless(table: Table, known: Known, public: PublicTable, bounds: np.ndarray) -> Iterator[Finding]:
    """Find that rows lie where nothing is measured. Which columns bring them there is not seen, but which cannot is."""
    edge = known.where.edges[-1] if known.where.edges else known.where.radii[-1]
    center, matrix = known.frame.dense()
    furthest = np.abs(bounds - center[:, None]).max(axis=1) * np.linalg.norm(matrix, axis=0)
    if not (table.boundless and (furthest > edge).any()):
        return
    yield Finding(
        "boundless",
        tuple(name for name, far in zip(public.columns, furthest, strict=True) if far > edge),
        DOUBTFUL,
        f"some rows seem to lie more than {edge:,.0f} standard deviations out, where nothing is measured",
        {"beyond": edge},
        remedy="look for a value that stands for a missing one (clip(column, low, high) bounds them)",
    )


def _outgrown(table: Table, public: PublicTable, bounds: np.ndarray) -> Iterator[Finding]:
    """Find bounded columns whose variance is impossible."""
    most = (bounds[:, 1] - bounds[:, 0]) ** 2 / 4
    for j in np.flatnonzero(np.diag(np.array(table.fitted.covariance)) > _ABSURD * most).tolist():
        yield Finding(
            "beyond-bounds",
            (public.columns[j],),
            DOUBTFUL,
            f"its variance is more than values from {bounds[j, 0]:g} to {bounds[j, 1]:g} can have",
            {"low": float(bounds[j, 0]), "high": float(bounds[j, 1])},
            remedy="a larger budget, or public rows that show what other values it has",
        )


@dataclass(frozen=True)
class _Errors:
    """Errors (sources, d) of the means or variances that are released, and of what: `mean` or `covariance`."""

    quantity: str
    parts: np.ndarray

    @property
    def whole(self) -> np.ndarray:
        """(d,), of all sources."""
        return np.asarray(np.maximum(np.linalg.norm(self.parts, axis=0), np.finfo(float).tiny))

    @property
    def clipped(self) -> np.ndarray:
        """Whether (d,) most of an error is from clipping."""
        sampling, privacy, clipping = self.parts
        return np.asarray(clipping > _MOST_OF * np.hypot(sampling, privacy), dtype=bool)


def _beyond(table: Table, known: Known, public: PublicTable, unbounded: np.ndarray, of_mean: bool) -> Iterator[Finding]:
    """Find columns whose rows lie, or could lie, where nothing is measured."""
    center, spreads = np.array(table.fitted.mean), np.sqrt(np.diag(np.array(table.fitted.covariance)))
    errors = [_Errors("mean", np.array(table.mean_errors))]
    if not of_mean:
        errors.append(_Errors("covariance", np.array([np.diag(np.array(part)) for part in table.covariance_errors])))
    far = np.abs(public.rows - center).max(axis=0)
    share = table.hidden / known.records
    moved = {"mean": share * far, "covariance": share * far**2}
    counts = (np.abs(public.rows - center) > _VERY_FAR * spreads).sum(axis=0)
    very_far = [count > 0 and may_hide(count, len(public.rows), share) for count in counts.tolist()]
    for j in np.flatnonzero(unbounded).tolist():
        name, remedy = public.columns[j], tail_remedy(public.columns[j], public.rows[:, j])
        for each in errors:
            by = float(moved[each.quantity][j])
            if very_far[j] and by > _TWICE * each.whole[j]:
                distance = float(far[j] / spreads[j])
                yield _could_hide(name, each.quantity, distance, by, math.ceil(table.hidden), remedy)
        if any(each.clipped[j] for each in errors):
            fading = ", and its tail hardly falls there" if table.endless else ""
            text = (
                f"most of its error is for rows more than {table.reach:.3g} standard deviations out, where noise hides "
                f"them{fading}: the interval holds what is expected of them"
            )
            figures = {"reach": table.reach} | ({"share": float(table.further[j])} if table.further else {})
            yield Finding("long-tail", (name,), NOTE, text, figures, remedy=remedy)


def _could_hide(name: str, quantity: str, distance: float, by: float, rows: int, remedy: str) -> Finding:
    """Describe what rows as far out as the furthest public one could do to a number, if noise hides them."""
    number = "mean" if quantity == "mean" else "variance"
    text = (
        f"a public row lies {distance:.2g} standard deviations out, and up to {rows:,} private ones like it, which "
        f"noise would hide, could move its {number} by {by:.3g}, more than twice what the interval allows"
    )
    figures = {"rows": rows, "distance": distance, "moved": by}
    return Finding("could-hide", (name,), DOUBTFUL, text, figures, (quantity,), remedy)


def _drowned(table: Table, public: PublicTable) -> Iterator[Finding]:
    """Find that noise drowns a direction of the rows, and which columns' variances with it."""
    if table.quiet:
        return
    privacy, variances = (np.diag(np.array(each)) for each in (table.covariance_errors[1], table.fitted.covariance))
    columns = tuple(name for name, loud in zip(public.columns, privacy > _LOUD * variances, strict=True) if loud)
    yield Finding(
        "drowned",
        columns,
        DOUBTFUL if columns else NOTE,
        "the noise is as large as the rows are wide in some direction, where the covariance is floored",
        {"noise": table.edge},
        ("covariance",),
        "a larger budget, more rows or fewer columns",
    )
