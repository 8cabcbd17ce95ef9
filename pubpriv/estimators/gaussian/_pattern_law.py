"""Which cells rows lack: a released law of the patterns of missing cells.

Newton's step needs the share of each pattern. An error in it costs speed, not correctness: the fixed point of the
rounds is that of the likelihood whatever law the steps assume. So a fiftieth of the budget counts patterns that are
listed beforehand, rows by how many cells they lack, and the missing cells of each column, and what is not listed gets
the odds of the columns.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.questions import Completed, Counts, JointCounts
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step
from pubpriv.ledger.unit import Size

MOST_COLUMNS = 20
"""Most columns of an estimate with missing cells: with more, few of the patterns that rows have can be listed."""

_ALL = 10
"""Up to so many columns all patterns are listed."""

_CLEAR, _CLEAR_NUMBERS = 4.0, 3.0
"""A listed pattern stands out by so many sds of its count, and unlisted rows of one number of missing cells by so many:
low enough for patterns that matter, high enough that thousands of empty ones add next to nothing."""

_HALVINGS = 60
"""Halvings of an interval until no float lies between its ends."""

_DRAWN = 256
"""Patterns that stand for all unlisted ones with one number of missing cells: shares of columns are off by a tenth."""


@public_value
@dataclass(frozen=True)
class PatternLaw:
    """Shares of patterns among the rows that have some cell and no infinite one.

    Attributes:
        rows: number of these rows.
        rows_sd: sd of the noise in it.
        missing: patterns, each the indices of the missing columns.
        shares: of each, adding up to 1.
        columns: share of rows that lack each column.
        sd: of the noise in one of these.
    """

    rows: float
    rows_sd: float
    missing: tuple[tuple[int, ...], ...]
    shares: tuple[float, ...]
    columns: tuple[float, ...]
    sd: float

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Which columns each pattern has, bool (patterns, d), and the shares (patterns,)."""
        return _has(self.missing, len(self.columns)), np.array(self.shares)

    def used(self, size: Size) -> Size:
        """Return the size of the table without the rows that no completed question is about."""
        return replace(size, rows=max(2, round(self.rows)))

    def cells(self) -> np.ndarray:
        """Shares of rows with 1 to d cells, (d,)."""
        has, shares = self.arrays
        return np.bincount(has.sum(axis=1), shares, minlength=has.shape[1] + 1)[1:]

    def median_length(self) -> float:
        """Return the median length of completed standard rows: chi with as many degrees as they have cells."""
        from scipy.special import gammainc

        cells = self.cells()
        half = np.arange(1, len(cells) + 1) / 2
        low, high = 0.0, 4.0 * math.sqrt(len(cells))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = float(cells @ gammainc(half, middle**2 / 2))
            low, high = (middle, high) if below < 0.5 else (low, middle)
        return high


def listed_patterns(d: int) -> tuple[tuple[int, ...], ...]:
    """List all patterns of a few columns; of more, whole rows, one or two missing cells, and first or last columns."""
    every = range(d)
    if d <= _ALL:
        return tuple(lacking for size in every for lacking in combinations(every, size))
    ends = [*(tuple(range(k)) for k in range(3, d)), *(tuple(range(k, d)) for k in range(1, d - 2))]
    return (*(lacking for size in range(3) for lacking in combinations(every, size)), *ends)


def patterns_question(d: int, ask: Ask) -> JointCounts:
    """Count rows by pattern, by number of missing cells, and by column that they lack."""
    every = tuple(range(d))
    by_pattern = MissingPatterns(every, listed_patterns(d), by_number=True)
    by_column = (MissingPatterns((j,), ((j,),), by_number=False) for j in every)
    return JointCounts.priced((by_pattern, MissingPatterns(every, (), by_number=True), *by_column), ask.price)


def some_cell_question(fill: Frame, ask: Ask) -> Completed:
    """Count rows that have some cell, and no infinite one: those that completed questions are about."""
    return Completed(Counts.priced(Everything(), ask.price), fill)


@step(title="patterns of missing cells", private=True)
def count_patterns(curator: Curator, fill: Frame, some: Ask, patterns: Ask) -> PatternLaw:
    """Release the number of rows that have some cell, and the law of patterns.

    Privacy: a `Completed` `Counts` and a `JointCounts`, mu^2 at most the two prices.
    """
    one = curator.release(some_cell_question(fill, some), some.label)
    rows = (
        min(max(float(one.values["count"][0]), 2.0), float(curator.n_rows)),
        float(one.question.noise()["count"].max()),
    )
    answer = curator.release(patterns_question(fill.dimension, patterns), patterns.label)
    return law_of(*rows, answer.values["count"], float(answer.question.noise()["count"].max()), fill.dimension)


def law_of(rows: float, rows_sd: float, counts: np.ndarray, sd: float, d: int) -> PatternLaw:
    """Make the law of counts as `patterns_question` asks them; post-processing.

    Args:
        rows: number of rows with some cell.
        rows_sd: sd of the noise in it.
        counts: released, (listed + 2 (d + 1) + d,).
        sd: of their noise.
        d: number of columns.
    """
    listed = listed_patterns(d)
    of_listed, _, of_numbers, of_columns = np.split(counts, np.cumsum([len(listed), d + 1, d + 1]))
    numbers = np.array([len(lacking) for lacking in listed])
    has = _has(listed, d)
    kept = np.where((of_listed > _CLEAR * sd) & (numbers > 0), of_listed, 0.0)
    kept[numbers == 0] = max(of_numbers[0], 1.0)
    rest = of_numbers[:d] - np.bincount(numbers, kept, minlength=d)
    rest = np.where(rest > _CLEAR_NUMBERS * sd, rest, 0.0)
    rest[0] = 0.0
    total = kept.sum() + rest.sum()
    left = np.maximum(of_columns - kept @ ~has, 0.0)
    rate = np.clip(left / max(float(rest.sum() + kept[numbers == 0].sum()), 1.0), 1e-4, 0.9)
    law = dict(zip(listed, kept.tolist(), strict=True))
    for size in np.flatnonzero(rest).tolist():
        odds = _of_size(d, size, rate)
        odds = {each: part for each, part in odds.items() if law.get(each, 0.0) == 0.0} or odds
        for each, part in odds.items():
            law[each] = law.get(each, 0.0) + float(rest[size]) * part / sum(odds.values())
    shown = {lacking: weight / total for lacking, weight in law.items() if weight > 0}
    columns = np.clip(of_columns / rows, 0.0, 1.0)
    return PatternLaw(rows, rows_sd, tuple(shown), tuple(shown.values()), tuple(columns.tolist()), sd / rows)


def _has(patterns: tuple[tuple[int, ...], ...], d: int) -> np.ndarray:
    """Tell which of d columns each pattern has, bool (patterns, d)."""
    has = np.ones((len(patterns), d), dtype=bool)
    for row, lacking in zip(has, patterns, strict=True):
        row[list(lacking)] = False
    return has


def _of_size(d: int, size: int, rate: np.ndarray) -> dict[tuple[int, ...], float]:
    """Patterns of one number of missing cells with their odds: all of them, or how often some are drawn by the odds."""
    odds = rate / (1 - rate)
    if d <= _ALL:
        return {each: math.prod(odds[j] for j in each) for each in combinations(range(d), size)}
    random = np.random.default_rng((d, size))
    # of uniform numbers to the power of 1 / odds the largest ones are those of a weighted draw without repeats
    drawn = np.argsort(-np.log(random.random((_DRAWN, d))) / odds, axis=1)[:, :size]
    return dict(Counter(tuple(sorted(each)) for each in drawn.tolist()))
