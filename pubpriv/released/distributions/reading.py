"""Read quantiles off a column's distribution, with intervals and what is not certain about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.distributions.distribution import Distribution

Z = 1.959963984540054
"""Standard errors on both sides that a 95% interval has."""

_SLACK = 0.25
"""Part of a cell's rows beside an end of an interval, by which the end moves outward: the shape inside is not known."""

_INSIDE = 0.15
"""Typical error of a rank that is interpolated in a cell, as a part of its distance to the nearer border."""


MOST_RANKS = 50
"""Most ranks: each needs cells of its own."""

_VAGUE = 0.5
"""Part of the other two errors from which the third makes a run flagged. In sound runs it is below 0.1."""


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


def read(column: Distribution, shares: Sequence[float], widening: float = 1.0) -> tuple[Quantile, ...]:
    """Read quantiles, which rise with their shares.

    Args:
        column: the column.
        shares: ranks, rising, as shares of the rows that have the column.
        widening: factor of sampling errors where rows are not independent; see `Size.widening`.
    """
    known, found, least = column.known, list[Quantile](), -math.inf
    for share in shares:
        rank = share * known.total
        sampling = widening * math.sqrt(known.total * share * (1 - share))
        noise = known.sd_near(share, rank)
        grid = _INSIDE * column.distance_inside(rank)
        reach = Z * math.sqrt(sampling**2 + noise**2 + grid**2)
        value = max(column.value_at(rank), least)
        low, high = (_end(column, rank, sign * reach) for sign in (-1.0, 1.0))
        found.append(Quantile(share, value, min(low, value), max(high, value), sampling, noise, grid))
        least = value
    return tuple(found)


def _end(column: Distribution, rank: float, reach: float) -> float:
    """An end of an interval, moved outward within its cell.

    If the cell has more rows than the whole interval, they may be a heap that no public row shows, anywhere in it: the
    end is then the last value of the cell.
    """
    at, known = rank + reach, column.known
    inside = column.distance_inside(at)
    if inside > 0 and 0 < at < known.total:
        cell = known.cell(at)
        borders = known.borders(cell)
        if known.masses[cell] > 2 * abs(reach) and np.isfinite(borders).all():
            return column.public.value(*borders, float(reach > 0))
    return column.value_at(at + math.copysign(_SLACK * inside, reach))


@dataclass(frozen=True)
class Share:
    """A share of rows.

    Attributes:
        value: the estimate, between 0 and 1.
        low, high: ends of its 95% interval, between 0 and 1.
        sampling: standard error from sampling.
        noise: standard error from privacy noise, and from the unknown shape inside a cell.
    """

    value: float
    low: float
    high: float
    sampling: float
    noise: float

    @property
    def rest(self) -> "Share":
        """The share of all other rows."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low, self.sampling, self.noise)


def _share(rows: float, sd: float, total: float, widening: float) -> Share:
    """Give the share that so many rows are of all, with an interval.

    The interval is Wilson's, with the variance of noise beside that of sampling: it is no empty one for values that few
    rows have, and never leaves 0 to 1.
    """
    share, of_law = min(max(rows / total, 0.0), 1.0), (Z * widening) ** 2 / total
    middle, whole = share + of_law / 2, 1 + of_law
    reach = math.sqrt(max(middle**2 - whole * (share**2 - (Z * sd / total) ** 2), 0.0))
    low, high = max((middle - reach) / whole, 0.0), min((middle + reach) / whole, 1.0)
    return Share(
        share, min(low, share), max(high, share), widening * math.sqrt(share * (1 - share) / total), sd / total
    )


def share_up_to(column: Distribution, value: float, widening: float = 1.0) -> Share:
    """Estimate the share of rows at or below a value; for arguments see `read`."""
    known = column.known
    cell = int(np.searchsorted(known.edges, value, side="left"))
    before, after = known.ranks(cell)
    rank = before + _share_inside(column, cell, value) * (after - before)
    sds = known.rank_sds(rank / known.total)
    noise = sds[cell] if rank == after and cell < len(sds) else sds[max(cell - 1, 0) : cell + 1].max()
    grid = _INSIDE * min(rank - before, after - rank)
    return _share(rank, math.hypot(noise, grid), known.total, widening)


def share_missing(column: Distribution, records: float, widening: float = 1.0) -> Share:
    """Estimate the share of records without the column."""
    missing = column.known.missing
    return _share(missing.rows, missing.sd, records, widening)


def shares_of_heaps(column: Distribution, widening: float = 1.0) -> dict[float, Share]:
    """Estimate the shares of values that have a cell of their own, among the rows that have the column."""
    known = column.known
    return {
        value: _share(float(known.masses[cell]), float(known.mass_sds[cell]), known.total, widening)
        for value, cell in column.heaps()
    }


def _share_inside(column: Distribution, cell: int, value: float) -> float:
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


def check_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Return ranks as floats.

    Raises:
        InvalidInput: none or too many, not between 0 and 1, or not rising.
    """
    try:
        floats = tuple(float(share) for share in shares)
    except (TypeError, ValueError):
        floats = ()
    if not 0 < len(floats) <= MOST_RANKS or not all(0 < share < 1 for share in floats):
        raise InvalidInput(f"give 1 to {MOST_RANKS} ranks between 0 and 1, such as at=(0.1, 0.5, 0.9)")
    if any(low >= high for low, high in pairwise(floats)):
        raise InvalidInput("ranks rise, each larger than the one before: at=(0.25, 0.5, 0.75)")
    return floats
