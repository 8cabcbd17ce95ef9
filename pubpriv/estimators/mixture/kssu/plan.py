"""The most that a search without public rows may ask, and the price of each question, from public facts."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.questions import Counts, LiftedGram, Moments, Question
from pubpriv.data.regions import Cells, Everything, Partition
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse, worth_of
from pubpriv.estimators.mixture.rounds import CROWD, GRAM_SHARES, MOMENT_SHARES, measuring_rounds, round_question
from pubpriv.privacy.budgets import Purse, percent

BINS = 64
"""Number of bins of a column in one zoom."""

MOST_CELLS = 2000
"""Most cells of the grid in one question, in all parts together."""

_SEARCH, _COARSE = Fraction(1, 2), percent(5)
"""Shares of the budget: of the search for the parts, over all levels, and of the coarse answer about them. Rounds have
the rest."""

_ZOOM, _LOOK, _GRID = percent(35), percent(20), percent(45)
"""Shares of zooms, look and cuts in the budget of a level."""

_FIRST_ZOOMS, _ZOOMS, _CUTS = 4, 2, 9
"""Numbers of zooms on the first level and on the others, and number of refinements of the grid."""

_MOST_LEVELS, _MOST_DIRECTIONS = 3, 4
"""Most levels of the search, and most directions of a grid; both are also limited by k, and directions by d."""


@public_value
@dataclass(frozen=True)
class SearchLevel:
    """The questions of one level.

    Attributes:
        zooms: for each zoom, counts in the bins of each column.
        look: count, sum and second moment of each part.
        cuts: counts in the grid, one refinement after the other.
    """

    zooms: tuple[tuple[Ask, ...], ...]
    look: Ask
    cuts: tuple[Ask, ...]


@public_value
@dataclass(frozen=True)
class KssuPlan(Plan):
    """The questions of a run; those that released answers make unnecessary are not asked, and not charged.

    Attributes:
        levels: levels of the recursion.
        coarse: centre and spread of each part.
        rounds: the measuring rounds.
    """

    levels: tuple[SearchLevel, ...]
    coarse: Ask
    rounds: tuple[Ask, ...]


def directions(d: int, k: int) -> int:
    """Give the number of directions of a grid that separates k components."""
    return min(k, d, _MOST_DIRECTIONS)


def kssu_plan(purse: Purse, n: int, d: int, k: int, covariance_type: str) -> KssuPlan:
    """Make the plan of a run on n rows of d columns that looks for k components."""
    whole, frames, radii = Cells((Frame((0.0,) * d),) * k, (0.0,) * k), (Frame((0.0,) * d),) * k, (1.0,) * k
    line = Frame((0.0,) * d, ((0.0,) * d,))

    def bins(ask: Ask) -> Question:
        return Counts.priced(GridCells(whole, (line,) * k, (tuple((i,) for i in range(BINS)),) * k), ask.price)

    def look(ask: Ask) -> Question:
        return LiftedGram.priced(whole, frames, radii, ask.price, GRAM_SHARES)

    def cut(ask: Ask) -> Question:
        return Counts.priced(GridCells(Everything(), (line,), (tuple((i,) for i in range(MOST_CELLS)),)), ask.price)

    def coarse(ask: Ask) -> Question:
        return Moments.priced(whole, frames, radii, ask.price, MOMENT_SHARES)

    levels = min(k, _MOST_LEVELS) if k > 1 else 1
    zooms = [_FIRST_ZOOMS] + [_ZOOMS] * (levels - 1)
    shares: dict[str, tuple[Fraction, Blank]] = {}
    for level, count in enumerate(zooms, start=1):
        own = _SEARCH / levels
        columns = [(zoom, j) for zoom in range(1, count + 1) for j in range(1, d + 1)]
        shares |= {_bins(level, *at): (own * _ZOOM / len(columns), bins) for at in columns}
        shares[f"level-{level}/look"] = own * _LOOK, look
        shares |= {_cut(level, number): (own * _GRID / _CUTS, cut) for number in range(1, _CUTS + 1)}
    shares["coarse"] = _COARSE, coarse
    measure = partial(_measure, covariance_type, whole, frames)
    shares |= measuring_rounds(
        1 - _SEARCH - _COARSE, worth_of(purse, measure, CROWD), d, n / k, covariance_type, measure
    )
    asks = split_purse(purse, "mixture", shares, CROWD)
    return KssuPlan(
        asks=tuple(asks.values()),
        levels=tuple(
            SearchLevel(
                tuple(tuple(asks[_bins(level, zoom, j)] for j in range(1, d + 1)) for zoom in range(1, count + 1)),
                asks[f"level-{level}/look"],
                tuple(asks[_cut(level, number)] for number in range(1, _CUTS + 1)),
            )
            for level, count in enumerate(zooms, start=1)
        ),
        coarse=asks["coarse"],
        rounds=tuple(asks[name] for name in ("round-1", "round-2") if name in asks),
    )


def _measure(covariance_type: str, whole: Partition, frames: tuple[Frame, ...], ask: Ask) -> Question:
    return round_question(covariance_type, whole, frames, ask)


def _bins(level: int, zoom: int, column: int) -> str:
    return f"level-{level}/zoom-{zoom}/column-{column}"


def _cut(level: int, number: int) -> str:
    return f"level-{level}/cut-{number}"
