"""Neighbouring tables and the exact distance of their totals: Python integers and fractions, no float.

The distance is worked out from `question.parts` alone; no formula of the product's sensitivities is used.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np

from pubpriv.audit.catalogue import COLUMNS
from pubpriv.data.columns import parse_columns
from pubpriv.data.questions import Bisection, Question
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable

Integers = dict[str, list[int]]
"""Totals, or their difference, as Python integers."""

Record = tuple[float, float]

NOBODY: Record = (float("nan"), 0.0)
"""A record that belongs to no region."""


@cache
def one_thread() -> ThreadPoolExecutor:
    """Where small tables are scanned."""
    return ThreadPoolExecutor(1)


def totals_of(question: Question, rows: Sequence[Record]) -> Integers:
    """Exact totals of a table in memory with columns `catalogue.COLUMNS`, by the product's own scan."""
    table = ArrayTable(np.array(rows, dtype=np.float64), parse_columns(COLUMNS))
    return integers(scan(table, question, one_thread()))


def integers(totals: dict[str, np.ndarray]) -> Integers:
    """Totals as Python integers."""
    return {name: [int(value) for value in values] for name, values in totals.items()}


def difference(first: Integers, second: Integers) -> Integers:
    """second - first, part by part."""
    _hold(list(first) == list(second), "neighbours have totals of other parts")
    return {name: [b - a for a, b in zip(first[name], second[name], strict=True)] for name in first}


def distance(question: Question, delta: Integers) -> Fraction:
    """sum_k (factor Delta_k)^2 / sd_k^2; for a bisection, the worst over all sequences of thresholds."""
    if isinstance(question, Bisection):
        part = question.parts["count"]
        changes = list(accumulate(delta["histogram"]))
        worst = _worst_path(changes, 0, 1 << question.steps)
        return worst * Fraction(part.factor, part.noise_scale) ** 2
    _hold(set(delta) == set(question.parts), "totals are of other parts than the question declares")
    found = Fraction(0)
    for name, part in question.parts.items():
        _hold(len(delta[name]) == part.size, f"the totals of {name} have another size than the question declares")
        found += Fraction(part.factor**2 * sum(d * d for d in delta[name]), part.noise_scale**2)
    return found


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


def check(question: Question, first: Integers, second: Integers) -> float:
    """Share of the declared squared distance between totals of two neighbours.

    Raises:
        AssertionError: they are further apart than the question says, or a bisection's count moves by more than
            one; not for a wrong choice of tables.
    """
    delta = difference(first, second)
    found = distance(question, delta)
    if isinstance(question, Bisection):
        _hold(max(map(abs, accumulate(delta["histogram"]))) <= 1, "a count moved by more than one")
    _hold(found <= question.squared_distance, "neighbours are further apart than the declared sensitivity")
    return float(found / question.squared_distance)


def outside(question: Question, alone: Integers) -> str | None:
    """What a single record adds beyond the bounds that its question declares; None if nothing.

    Args:
        question: what was asked.
        alone: totals of a table of one record.
    """
    if isinstance(question, Bisection):
        fits = alone["histogram"]
        return None if min(fits) >= 0 and sum(fits) <= 1 else "one record counts more than once"
    for name, part in question.parts.items():
        if max(map(abs, alone[name]), default=0) > part.bound:
            return f"one record adds more than {part.bound:,} to a coordinate of {name}"
    return None
