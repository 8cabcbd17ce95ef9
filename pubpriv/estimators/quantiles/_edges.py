"""Edges of the cells of each round: the first from public rows, the others from what was released before."""

from collections.abc import Sequence

import numpy as np

from pubpriv.estimators.quantiles._pooling import Pooled
from pubpriv.estimators.quantiles._public import PublicColumn

_INNER = 10
"""Cells of the first round within the public rows, if there are 30 of them."""

_OUTWARD = np.array([0.25, 1, 4, 16, 64, 1e3, 1e6, 1e12, 1e24, 1e48, 1e100, 1e300])
"""Edges of the first round outside of the public rows, in units of their width: in steps of four, then so far that no
float lies beyond. More of them cost more noise than they save later."""

_AROUND = (2.4, 2.0, 0.9)
"""Half widths of the cells about a target in the later rounds, in standard errors of its rank: wide enough to hold it,
and in the last round narrow, so that little is left to interpolate. At 1.2 errors are 1% larger."""

_LADDER = 3.0
"""A second pair of edges about a target, in units of the first pair's distance, where noise is small: a target beside a
border may lie on its other side, in a cell of which nothing is known. Without it intervals of 100,000 rows hold 91%."""

_ENDS = 1.96
"""Sampling errors from a target at which intervals end."""

_QUIET = 1.5
"""Sampling errors per noise from which further cells cost nothing: for that ladder and for ends of intervals."""

INSIDE = 0.3
"""Largest error of a rank that is interpolated in a cell, as a part of its distance to the nearer border."""

_HEAVY, _SURPRISING, _SURE = 0.08, 2.5, 5.0
"""A cell is cut if it has more than this share of the rows, this multiple of its prior mass, and this many sds."""

_MOST_PARTS, _PARTS = 8, 40
"""Parts into which such a cell is cut, at most, and for all rows. With three times as many, the noise of the many cells
made errors 10% larger where public rows were ten sds off."""

_QUARTILES = (0.25, 0.5, 0.75)


def first_edges(public: PublicColumn) -> np.ndarray:
    """Return the edges of the first round."""
    m = len(public.rows)
    inner = np.quantile(public.rows, np.linspace(0, 1, max(min(_INNER, m // 3), 2) + 1)[1:-1])
    low, high = np.quantile(public.rows, [0.05, 0.95])
    with np.errstate(over="ignore"):
        out = np.concatenate([low - public.scale * _OUTWARD, inner, high + public.scale * _OUTWARD])
    return public.grain.edges(np.clip(out, -1e307, 1e307))


def next_edges(public: PublicColumn, known: Pooled, shares: Sequence[float], step: int) -> np.ndarray:
    """Return the edges of a later round.

    Args:
        public: the column.
        known: what was released of it.
        shares: ranks that are wanted, as shares of the rows.
        step: 1 for the second round.
    """
    edges: list[float] = []
    last = step == len(_AROUND)
    for share in shares:
        rank = share * known.total
        sampling, noise = (known.total * share * (1 - share)) ** 0.5, known.sd_near(share, rank)
        inside = INSIDE * distance_inside(public, known, rank)
        width = float(np.hypot(noise, inside)) if last else float(np.hypot(np.hypot(noise, inside), sampling / 2))
        offsets = [-1.0, 1.0] if inside < 1.5 * noise else [-1.0, -0.33, 0.33, 1.0]
        if not last and sampling > _QUIET * noise:
            offsets += [-_LADDER, _LADDER]
        ranks = [rank + each * _AROUND[step - 1] * width for each in offsets]
        if sampling > _QUIET * noise:
            ranks += [rank - _ENDS * sampling, rank + _ENDS * sampling]
        edges += [value_at(public, known, each) for each in ranks]
        if last and public.grain.step:
            value = value_at(public, known, rank)
            edges += [value - public.grain.step / 2 * 0.99, value + public.grain.step / 2 * 0.99]
    if not last:
        edges += _cuts(public, known)
    return public.grain.edges(np.array(edges))


def _cuts(public: PublicColumn, known: Pooled) -> list[float]:
    """Edges that cut cells with many more rows than expected."""
    masses, total = known.masses, known.total
    expected = public.masses(np.array(known.edges)) * total
    sd = np.sqrt(np.maximum(np.array(known.covariance).diagonal(), 0.0))
    heavy = (masses > _HEAVY * total) & (masses > _SURPRISING * expected) & (masses > _SURE * sd)
    cuts: list[float] = []
    for cell in np.flatnonzero(heavy):
        low, high = known.borders(int(cell))
        if not public.grain.is_heap(low, high):
            parts = int(np.clip(np.ceil(_PARTS * masses[cell] / total / heavy.sum()), 4, _MOST_PARTS))
            cuts += [public.value(low, high, each) for each in np.linspace(0, 1, parts + 1)[1:-1]]
    return cuts


def distance_inside(public: PublicColumn, known: Pooled, rank: float) -> float:
    """Return how many rows lie between a rank and the nearer border of its cell, where the shape is not known."""
    cell = known.cell(rank)
    low, high = known.borders(cell)
    if public.grain.is_heap(low, high):
        return 0.0
    listed = public.grain.values_between(max(low, -1e307), min(high, 1e307))
    if listed is not None and len(listed) <= 1:
        return 0.0
    before, after = known.ranks(cell)
    return max(min(rank - before, after - rank), 0.0)


def moved(public: PublicColumn, known: Pooled) -> PublicColumn:
    """Return the public rows, moved and stretched so that their quartiles are the released ones."""
    low, middle, high = (value_at(public, known, share * known.total) for share in _QUARTILES)
    own_low, own_middle, own_high = np.quantile(public.rows, _QUARTILES)
    stretch = (high - low) / (own_high - own_low) if own_high > own_low and high > low else 1.0
    rows = middle + stretch * (public.rows - own_middle)
    return PublicColumn(rows, public.grain) if np.isfinite(rows).all() else public


def value_at(public: PublicColumn, known: Pooled, rank: float) -> float:
    """Return the value at a rank."""
    rank = min(max(rank, 0.0), known.total)
    cell = known.cell(rank)
    before, after = known.ranks(cell)
    return public.value(*known.borders(cell), (rank - before) / max(after - before, 1e-12))
