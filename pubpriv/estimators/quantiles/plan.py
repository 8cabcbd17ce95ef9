"""Plan of a run: four rounds of one question each, which asks all columns at once.

Price: a record is in one cell of each of d columns, so the counts of a round cost 2 d w^2, whatever the number of cells
and of ranks. So cells are as many as is useful, and noise is that of d columns together: "ten columns cost each what a
tenth of the budget costs one".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from pubpriv.data.codec import public_value
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.questions import JointCounts
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.privacy.budgets import KINDS, Purse

_SHARES = (Fraction(20, 100), Fraction(15, 100), Fraction(15, 100), Fraction(50, 100))
"""Shares of the rounds: three find where a rank lies, however far from the public rows, and the last one measures it.
Shares of 0.1 to 0.25 for the first three, and 0.5 to 0.7 for the last, change errors by less than 1%."""

_CELLS = 40
"""Cells of a column in the placeholder of a round; the price does not depend on it."""

_NOISE = 2.5
"""Variance of the noise in a pooled rank, in d / rho: 1.5 to 2.9 with five ranks (`pubpriv bench quantiles`)."""

_DROWNED = 3.0
"""Sampling errors beyond which the noise of a rank says nothing of the rows."""

MOST_RANKS = 50
"""Most ranks: each needs cells of its own."""

FEWEST_PUBLIC = 8
"""Fewest public rows: with fewer, the first round has two cells among them."""


def cells_question(edges: Sequence[Sequence[float]], ask: Ask) -> JointCounts:
    """Return the question that counts the cells of all columns, between edges for each."""
    partitions = tuple(ColumnCells(j, tuple(map(float, each))) for j, each in enumerate(edges))
    return JointCounts.priced(partitions, ask.price)


@public_value
@dataclass(frozen=True)
class QuantilesPlan(Plan):
    """The questions of a run."""

    @classmethod
    def of(cls, purse: Purse, d: int) -> "QuantilesPlan":
        """Split a purse over the rounds of d columns."""
        law = KINDS[purse.kind].noise_law
        asks = []
        for number, price in enumerate(purse.split(list(_SHARES)), 1):
            ask = Ask(f"quantiles/round-{number}", price.numerator, price.denominator, law=law)
            edges = [tuple(map(float, range(_CELLS - 1)))] * d
            question = ask.as_asked(cells_question(edges, ask))
            asks.append(Ask(ask.label, price.numerator, price.denominator, question, law))
        return cls(tuple(asks))


def rank_noise(d: int, rho: float) -> float:
    """Return the sd of the noise in a rank, in rows."""
    return math.sqrt(_NOISE * d / rho)


def ratio(n: float, d: int, rho: float, share: float) -> float:
    """Return the predicted error of a rank, in units of its sampling error alone."""
    return math.sqrt(1 + _NOISE * d / (rho * n * share * (1 - share)))


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


def check_ranks(shares: Sequence[float], n: float, d: int, rho: float) -> None:
    """Refuse ranks of which a run would say nothing, and say what would do.

    Raises:
        InvalidInput: noise moves a rank by more than three sampling errors, or as far as to the end of the column.
    """
    noise = rank_noise(d, rho)
    for share in shares:
        sampling, least = math.sqrt(n * share * (1 - share)), min(share, 1 - share)
        if noise <= _DROWNED * sampling and _DROWNED * noise <= n * least:
            continue
        rows = max(noise**2 / (_DROWNED**2 * share * (1 - share)), _DROWNED * noise / least)
        factor = max((noise / (_DROWNED * sampling)) ** 2, (_DROWNED * noise / (n * least)) ** 2)
        raise InvalidInput(
            f"noise would move the rank {share:g} of {n:,.0f} rows by about {noise:,.0f} rows, so it would drown: ask "
            f"one of {d} columns or a rank nearer to 0.5, or take {rows:,.0f} rows or {factor:.2g} times the budget"
        )
