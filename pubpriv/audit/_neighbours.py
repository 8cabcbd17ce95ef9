"""Neighbouring tables and the exact distance of their totals: Python integers and fractions, no float.

The distance is computed only from `question.parts`; no formula of the product's sensitivities is used.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import isqrt

import numpy as np

from pubpriv.audit._worlds import in_memory
from pubpriv.data.categories import ByCategory
from pubpriv.data.questions import Bisection, Completed, Question, Radial, Selection, StableCells
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable

COLUMNS = ("a", "log1p(b)")
"""As they are named to `parse_columns`; a region's points are given after the map."""

Integers = dict[str, list[int]]
"""Totals, or their difference, as Python integers."""

Record = tuple[float, float]

NOBODY: Record = (float("nan"), 0.0)
"""A record that belongs to no region."""

GROUPS = ByCategory("group", ("west", "east", "north"))
"""Groups of audited tables, by a column that follows from the cells, so that a record knows its own."""

_HIGH, _FAR = 10.0, 500.0
_WORDS = *GROUPS.values, "elsewhere", None


def _places_of(cells: np.ndarray) -> np.ndarray:
    """Place of each record's category (a, b) in `_WORDS`."""
    a, b = cells.T
    near = np.where(b >= _HIGH, 2, np.where(a < 0, 0, 1))
    return np.where(np.isnan(a), 4, np.where(np.abs(a) > _FAR, 3, near))


def categories_of(cells: np.ndarray) -> np.ndarray:
    """Give the category of each record (a, b): one of `GROUPS`, another one far out, and none where a is missing."""
    words: np.ndarray = np.array(_WORDS, dtype=object)
    return np.asarray(words[_places_of(cells)])


def with_groups(rows: Sequence[Record] | np.ndarray) -> ArrayTable:
    """Make a table in memory with columns `COLUMNS` and `GROUPS`."""
    cells = np.asarray(rows, dtype=np.float64)
    places = _places_of(cells)
    codes = np.where(places < GROUPS.n_regions, places, np.nan)
    return replace(in_memory(cells, COLUMNS), by=GROUPS, codes=codes)


def totals_of(question: Question, rows: Sequence[Record]) -> Integers:
    """Total a table in memory exactly, with columns `COLUMNS`, by the product's own scan."""
    return integers(scan(with_groups(rows), question, here=True))


def integers(totals: dict[str, np.ndarray]) -> Integers:
    """Turn totals into Python integers; totals of cells that are not listed become one part per cell (`cell_name`)."""
    if set(totals) == {"direction", "cell", "count"}:
        found: Integers = {}
        for direction, cell, count in zip(*(part.tolist() for part in totals.values()), strict=True):
            found[cell_name(direction, cell)] = [count + found.get(cell_name(direction, cell), [0])[0]]
        return found
    return {name: [int(value) for value in values] for name, values in totals.items()}


def cell_name(direction: int, cell: int) -> str:
    """Return the name of the part of a cell that is not listed beforehand."""
    return f"{_CELL}{direction} {cell}"


_CELL = "cell "


def are_cells(totals: Integers) -> bool:
    """Tell whether totals have a part for each cell that holds a record; of nobody there is none."""
    return all(name.startswith(_CELL) for name in totals)


def difference(first: Integers, second: Integers) -> Integers:
    """Subtract the first totals from the second, part by part; a cell that one has not is empty there."""
    if are_cells(first) and are_cells(second):
        moved = {name: second.get(name, [0])[0] - first.get(name, [0])[0] for name in {**first, **second}}
        return {name: [moved[name]] for name in sorted(moved) if moved[name]}
    _hold(list(first) == list(second), "neighbours have totals of other parts")
    return {name: [b - a for a, b in zip(first[name], second[name], strict=True)] for name in first}


def distance(question: Question, delta: Integers) -> Fraction:
    """Compute sum_k (factor Delta_k)^2 / sd_k^2; for a bisection, the worst over all sequences of thresholds.

    If noise is radial by region: the square of the sum, over regions, of the roots of these sums, rounded down.
    """
    if isinstance(question, Radial):
        return _by_region(question, delta) if question.by_region else distance(question.inner, delta)
    if isinstance(question, Completed):
        return distance(question.inner, delta)
    if isinstance(question, Bisection):
        part = question.parts["count"]
        changes = list(accumulate(delta["histogram"]))
        worst = _worst_path(changes, 0, 1 << question.steps)
        return worst * Fraction(part.factor, part.noise_scale) ** 2
    if isinstance(question, StableCells):
        part = question.parts["fullest"]
        return Fraction(part.factor, part.noise_scale) ** 2 * sum(count * count for (count,) in delta.values())
    if isinstance(question, Selection):
        part = question.parts["chosen"]
        # no score moves by more than a count does, and two scores at most decide
        return Fraction(2 * part.factor * max(map(abs, delta["inside"])), part.noise_scale) ** 2
    _hold(set(delta) == set(question.parts), "totals are of other parts than the question declares")
    found = Fraction(0)
    for name, part in question.parts.items():
        _hold(len(delta[name]) == part.size, f"the totals of {name} have another size than the question declares")
        found += Fraction(part.factor**2 * sum(d * d for d in delta[name]), part.noise_scale**2)
    return found


def _by_region(question: Radial, delta: Integers) -> Fraction:
    """Square the sum of what every region moves by, in units of its noise; totals are in the order of the regions."""
    total = Fraction(0)
    for region in range(question.blocks):
        own = {name: _of_region(values, region, question.blocks) for name, values in delta.items()}
        squared = sum(
            (
                Fraction(part.factor**2 * sum(d * d for d in own[name]), part.noise_scale**2)
                for name, part in question.parts.items()
            ),
            Fraction(0),
        )
        total += Fraction(isqrt(int(squared * _FINE**2)), _FINE)
    return total**2


def _of_region(values: list[int], region: int, regions: int) -> list[int]:
    size = len(values) // regions
    return values[region * size : (region + 1) * size]


_FINE = 10**15
"""Roots are rounded down to multiples of 1 / `_FINE`."""


def _hold(holds: bool, otherwise: str) -> None:
    """Raise unless something holds, under `python -O` too, where `assert` does nothing."""
    if not holds:
        raise AssertionError(otherwise)


def _worst_path(changes: list[int], low: int, high: int) -> int:
    """Largest sum of squared changes over the thresholds that any answers could make the bisection ask."""
    if high - low < 2:
        return 0
    middle = (low + high) // 2
    return changes[middle] ** 2 + max(_worst_path(changes, low, middle), _worst_path(changes, middle, high))
