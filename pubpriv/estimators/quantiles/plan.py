"""Plan of a run: four rounds of one question each, which asks all columns at once.

Price: a record is in one cell of each of d columns, so the counts of a round cost 2 d w^2, whatever the number of cells
and of ranks. So cells are as many as is useful, and noise is that of d columns together: "ten columns cost each what a
tenth of the budget costs one".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import public_value
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.questions import JointCounts
from pubpriv.data.refined import Refined
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.estimators.groups.plan import METHOD
from pubpriv.privacy.budgets import KINDS, Purse, percent
from pubpriv.released.distributions.reading import check_shares

_SHARES = (percent(20), percent(15), percent(15), percent(50))
"""Shares of the rounds: three find where a rank lies, however far from the public rows, and the last one measures it.
Shares of 0.1 to 0.25 for the first three, and 0.5 to 0.7 for the last, change errors by less than 1%."""

_CELLS = 40
"""Cells of a column in the placeholder of a round; the price does not depend on it."""

_NOISE = 2.5
"""Variance of the noise in a pooled rank, in d / rho: 1.5 to 2.9 with five ranks (`pubpriv bench quantiles`)."""

_DROWNED = 3.0
"""Sampling errors beyond which the noise of a rank says nothing of the rows."""

DESCRIBED = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Ranks of a description."""

FEWEST_PUBLIC = 8
"""Fewest public rows: with fewer, the first round has two cells among them."""


def cells_question(edges: Sequence[Sequence[float]], ask: Ask) -> JointCounts:
    """Return the question that counts the cells of all columns, between edges for each."""
    partitions = tuple(ColumnCells(j, tuple(map(float, each))) for j, each in enumerate(edges))
    return JointCounts.priced(partitions, ask.price)


def groups_question(by: ByCategory, edges: Sequence[Sequence[Sequence[float]]], ask: Ask) -> JointCounts:
    """Return the question that counts the cells of all columns of all groups, between edges for each group."""
    inner = [[ColumnCells(j, tuple(map(float, each))) for j, each in enumerate(own)] for own in edges]
    partitions = tuple(Refined(by, tuple(cells)) for cells in zip(*inner, strict=True))
    return JointCounts.priced(partitions, ask.price)


@public_value
@dataclass(frozen=True)
class QuantilesPlan(Plan):
    """The questions of a run."""

    @classmethod
    def of(cls, purse: Purse, d: int, by: ByCategory | None = None) -> "QuantilesPlan":
        """Split a purse over the rounds of d columns, of all rows or by group."""
        law = KINDS[purse.kind].noise_law
        asks = []
        for number, price in enumerate(purse.split(list(_SHARES)), 1):
            method = "quantiles" if by is None else METHOD
            ask = Ask(f"{method}/round-{number}", price.numerator, price.denominator, law=law)
            edges = (tuple(map(float, range(_CELLS - 1))),) * d
            blank = cells_question(edges, ask) if by is None else groups_question(by, (edges,) * by.n_regions, ask)
            question = ask.as_asked(blank)
            asks.append(Ask(ask.label, price.numerator, price.denominator, question, law))
        return cls(tuple(asks))


def rank_noise(d: int, rho: float) -> float:
    """Return the sd of the noise in a rank, in rows."""
    return math.sqrt(_NOISE * d / rho)


def ratio(n: float, d: int, rho: float, share: float) -> float:
    """Return the predicted error of a rank, in units of its sampling error alone."""
    return math.sqrt(1 + _NOISE * d / (rho * n * share * (1 - share)))


def check_ranks(shares: Sequence[float], n: float, d: int, rho: float) -> None:
    """Refuse ranks of which a run would say nothing, and say what would do.

    Raises:
        InvalidInput: noise moves a rank by more than three sampling errors, or as far as to the end of the column.
    """
    noise = rank_noise(d, rho)
    for share in shares:
        if not drowns(share, n, noise):
            continue
        sampling, least = math.sqrt(n * share * (1 - share)), min(share, 1 - share)
        rows = max(noise**2 / (_DROWNED**2 * share * (1 - share)), _DROWNED * noise / least)
        factor = max((noise / (_DROWNED * sampling)) ** 2, (_DROWNED * noise / (n * least)) ** 2)
        fewer = f"ask {int(d / factor)} of the {d} columns, " if d > int(d / factor) > 0 else ""
        raise InvalidInput(
            f"noise would move the rank {share:g} of {n:,.0f} rows by about {noise:,.0f} rows, so it would drown: "
            f"{fewer}leave out ranks as far from 0.5, or take {rows:,.0f} rows or {factor:.2g} times the budget"
        )


def wanted(at: Sequence[float] | None) -> tuple[float, ...]:
    """Return the ranks that a run begins with: as given, or the nine of a description.

    Raises:
        InvalidInput: they are no ranks.
    """
    return DESCRIBED if at is None else check_shares(at)


def held(at: Sequence[float] | None, n: float, d: int, rho: float) -> tuple[float, ...]:
    """Return the ranks that n rows hold: all that were given, or of a description those that noise does not drown.

    Raises:
        InvalidInput: one that was given would drown, or even the median of a description.
    """
    if at is not None:
        check_ranks(shares := check_shares(at), n, d, rho)
        return shares
    check_ranks((0.5,), n, d, rho)
    return tuple(share for share in DESCRIBED if not drowns(share, n, rank_noise(d, rho)))


def check_public(public: PublicTable) -> PublicTable:
    """Return public rows that make cells.

    Raises:
        InvalidInput: they are too few.
    """
    if len(public.rows) < FEWEST_PUBLIC:
        raise InvalidInput(f"quantiles need {FEWEST_PUBLIC} public rows, which make the first cells, and 30 are good")
    return public


def drowns(share: float, n: float, noise: float) -> bool:
    """Return whether noise of this sd moves the rank of n rows so far that an answer would say nothing."""
    sampling, least = math.sqrt(n * share * (1 - share)), min(share, 1 - share)
    return noise > _DROWNED * sampling or _DROWNED * noise > n * least
