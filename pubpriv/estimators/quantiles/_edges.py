"""Edges of the cells of each round: the first from public rows, the others from what was released before."""

from collections.abc import Sequence

import numpy as np

from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn

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


def next_edges(column: Distribution, shares: Sequence[float], step: int) -> np.ndarray:
    """Return the edges of a later round.

    Args:
        column: what was released of it.
        shares: ranks that are wanted, as shares of the rows.
        step: 1 for the second round.
    """
    public, known, edges = column.public, column.known, list[float]()
    last = step == len(_AROUND)
    for share in shares:
        rank = share * known.total
        sampling, noise = (known.total * share * (1 - share)) ** 0.5, known.sd_near(share, rank)
        inside = INSIDE * column.distance_inside(rank)
        width = float(np.hypot(noise, inside)) if last else float(np.hypot(np.hypot(noise, inside), sampling / 2))
        offsets = [-1.0, 1.0] if inside < 1.5 * noise else [-1.0, -0.33, 0.33, 1.0]
        if not last and sampling > _QUIET * noise:
            offsets += [-_LADDER, _LADDER]
        ranks = [rank + each * _AROUND[step - 1] * width for each in offsets]
        if sampling > _QUIET * noise:
            ranks += [rank - _ENDS * sampling, rank + _ENDS * sampling]
        edges += [column.value_at(each) for each in ranks]
        if last and public.grain.step:
            value = column.value_at(rank)
            edges += [value - public.grain.step / 2 * 0.99, value + public.grain.step / 2 * 0.99]
    if not last:
        edges += _cuts(column)
    return public.grain.edges(np.array(edges))


def _cuts(column: Distribution) -> list[float]:
    """Edges that cut cells with many more rows than expected."""
    public, known = column.public, column.known
    masses, total = known.masses, known.total
    expected = public.masses(np.array(known.edges)) * total
    heavy = (masses > _HEAVY * total) & (masses > _SURPRISING * expected) & (masses > _SURE * known.mass_sds)
    cuts: list[float] = []
    for cell in np.flatnonzero(heavy):
        low, high = known.borders(int(cell))
        if not public.grain.is_heap(low, high):
            parts = int(np.clip(np.ceil(_PARTS * masses[cell] / total / heavy.sum()), 4, _MOST_PARTS))
            cuts += [public.value(low, high, each) for each in np.linspace(0, 1, parts + 1)[1:-1]]
    return cuts


def moved(column: Distribution) -> PublicColumn:
    """Return the public rows, moved and stretched so that their quartiles are the released ones."""
    public = column.public
    low, middle, high = (column.value_at(share * column.known.total) for share in _QUARTILES)
    own_low, own_middle, own_high = np.quantile(public.rows, _QUARTILES)
    stretch = (high - low) / (own_high - own_low) if own_high > own_low and high > low else 1.0
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of a group of a few rows a quartile may be at the end of floats
        rows = middle + stretch * (public.rows - own_middle)
    return PublicColumn(rows, public.grain) if np.isfinite(rows).all() else public
