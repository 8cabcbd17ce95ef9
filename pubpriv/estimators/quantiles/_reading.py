"""Read quantiles off a column's distribution, with intervals and what is not certain about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators.quantiles._column import Column
from pubpriv.estimators.quantiles._edges import distance_inside, value_at
from pubpriv.estimators.quantiles._pooling import Pooled
from pubpriv.estimators.quantiles._public import PublicColumn

Z = 1.959963984540054
"""Standard errors on both sides that a 95% interval has."""

_SLACK = 0.25
"""Part of a cell's rows beside an end of an interval, by which the end moves outward: the shape inside is not known."""

_INSIDE = 0.15
"""Typical error of a rank that is interpolated in a cell, as a part of its distance to the nearer border."""


_VAGUE = 0.5
"""Part of the other two errors from which the third makes a run flagged. In sound runs it is below 0.1."""


@public_value
@dataclass(frozen=True)
class Quantile:
    """A quantile of a column.

    Attributes:
        share: rows at or below it, as a share.
        value: the estimate.
        low, high: ends of its 95% interval.
        sampling, noise, grid: standard errors of its rank: from sampling, from privacy noise, and from the unknown
            shape inside its cell.
    """

    share: float
    value: float
    low: float
    high: float
    sampling: float
    noise: float
    grid: float


def read(column: Column, shares: Sequence[float], widening: float = 1.0) -> tuple[Quantile, ...]:
    """Read quantiles, which rise with their shares.

    Args:
        column: the column.
        shares: ranks, rising, as shares of the rows that have the column.
        widening: factor of sampling errors where rows are not independent; see `Size.widening`.
    """
    public, known = column.public, column.known
    found, least = [], -math.inf
    for share in shares:
        rank = share * known.total
        sampling = widening * math.sqrt(known.total * share * (1 - share))
        noise = known.sd_near(share, rank)
        grid = _INSIDE * distance_inside(public, known, rank)
        reach = Z * math.sqrt(sampling**2 + noise**2 + grid**2)
        value = max(value_at(public, known, rank), least)
        low, high = (_end(public, known, rank, sign * reach) for sign in (-1.0, 1.0))
        found.append(Quantile(share, value, min(low, value), max(high, value), sampling, noise, grid))
        least = value
    return tuple(found)


def _end(public: PublicColumn, known: Pooled, rank: float, reach: float) -> float:
    """An end of an interval, moved outward within its cell."""
    at = rank + reach
    slack = math.copysign(_SLACK * distance_inside(public, known, at), reach)
    return value_at(public, known, at + slack)


@public_value
@dataclass(frozen=True)
class Share:
    """A share of the rows that have a column.

    Attributes:
        value: the estimate.
        low, high: ends of its 95% interval, between 0 and 1.
    """

    value: float
    low: float
    high: float


def share_up_to(column: Column, value: float, widening: float = 1.0) -> Share:
    """Estimate the share of rows at or below a value; for arguments see `read`.

    The interval is Wilson's, with the variance of noise and of what is not known inside the cell beside that of
    sampling: it is no empty one for values that few rows have, and never leaves 0 to 1.
    """
    known = column.known
    cell = int(np.searchsorted(known.edges, value, side="left"))
    before, after = known.ranks(cell)
    rank = before + _share_inside(column, cell, value) * (after - before)
    share, total = rank / known.total, known.total
    sds = known.rank_sds(share)
    noise = sds[cell] if rank == after and cell < len(sds) else sds[max(cell - 1, 0) : cell + 1].max()
    grid = _INSIDE * min(rank - before, after - rank)
    of_law, beside = (Z * widening) ** 2 / total, Z**2 * (noise**2 + grid**2) / total**2
    middle, whole = share + of_law / 2, 1 + of_law
    reach = math.sqrt(max(middle**2 - whole * (share**2 - beside), 0.0))
    low, high = (middle - reach) / whole, (middle + reach) / whole
    return Share(share, max(min(low, share), 0.0), min(max(high, share), 1.0))


def _share_inside(column: Column, cell: int, value: float) -> float:
    """Find the part of a cell's rows at or below a value in it, by halving."""
    borders = column.known.borders(cell)
    low, high = 0.0, 1.0
    if value >= column.public.value(*borders, 1.0):
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if column.public.value(*borders, middle) <= value else (low, middle)
    return low


_HALVINGS = 30
"""Halvings to find a share: to a millionth of a thousandth."""


def is_vague(quantile: Quantile) -> bool:
    """Return whether a quantile's rank is to a large part a matter of the shape inside its cell."""
    return quantile.grid > _VAGUE * math.hypot(quantile.sampling, quantile.noise)
