"""Does any replacement of one record move a question's integers further than the question declares?

A search, on the statistic code itself: records at every edge of the map (the spheres of the regions and just
beyond, records of one cell, cells that are missing, infinite, subnormal or huge), all pairs of them, then
hill-climbing from the best pair, then whole tables in which one record is replaced in place. Floats choose the pairs
to try; the result is decided in integers and fractions. A search that stays far from the bound is reported too: then
the question adds more noise than it needs, or this search no longer works.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

import numpy as np

from pubpriv.audit._catalogue import CENTERS, EAST, WEST, Example, at, bare, examples, unsound
from pubpriv.audit._neighbours import NOBODY, Integers, Record, are_cells, difference, distance, totals_of
from pubpriv.audit.finding import Finding
from pubpriv.data.questions import Bisection, Question, Selection, StableCells
from pubpriv.data.questions.completed import fill_of

_REACH = 0.99
"""Part of the attainable squared distance that a search must reach."""

_FAST, _FULL = (160, 4), (300, 30)
"""Steps uphill from the best pair, and neighbouring tables of several records."""

_LOG1P_CELLS = (-1.0, math.nextafter(-1.0, 0), math.nextafter(-1.0, -2), -2.0, -0.0, 1e-17, math.expm1(6.0))
_EXTREME_CELLS = (
    *(math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7e308, -1.7e308, 1e308, 1e154, -1.4e154),
    *(5e-324, -5e-324, -1e-310, 0.0, -0.0),
)
_STEPS = [i / 4 for i in range(-6, 7)]
_LONE = [*((WEST[0] + step, math.nan) for step in _STEPS), *((math.nan, math.expm1(step)) for step in _STEPS)]
"""Records of one cell, which are completed, and elsewhere are nobody's."""

_SHOWN = 6


@dataclass(frozen=True)
class _Pair:
    """Two records, and how far replacing one by the other moves the totals."""

    old: Record
    new: Record
    squared: Fraction


class _Broken(Exception):
    """A promise about single records that does not hold; its text says which."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Search for each example of the catalogue, then try each question that must not exist."""
    for example in examples():
        yield _searched(example, *(_FAST if fast else _FULL), seed)
    for name, make in unsound().items():
        yield _refused(name, make, seed)


def _searched(example: Example, climb: int, tables: int, seed: int) -> Finding:
    """Search for the furthest neighbours of one example.

    Args:
        example: the question, and the share of its bound that can be attained.
        climb: steps uphill.
        tables: neighbouring tables with bystanders.
        seed: of the search.
    """
    question, declared = example.question, example.question.squared_distance
    claimed = math.sqrt(declared)
    try:
        best, looked = _search(question, climb, tables, np.random.default_rng(seed))
    except _Broken as broken:
        return Finding("sensitivity", example.mechanism, claimed, None, False, str(broken))
    share = float(best.squared / declared)
    detail = f"reached {share:.2%} of the squared distance, {example.attainable:.2%} attainable, {looked:,} pairs"
    holds = best.squared <= declared and share >= _REACH * example.attainable
    if best.squared > declared:
        detail = f"replacing {best.old} by {best.new} moves the totals further than declared: {detail}"
    elif not holds:
        detail = f"more noise than needed, or a search that has gone blind: {detail}"
    return Finding("sensitivity", example.mechanism, claimed, math.sqrt(best.squared), holds, detail)


def _refused(name: str, make: Callable[[], Question], seed: int) -> Finding:
    """A question without a proof cannot be made; if it can, the search shows what that costs."""
    try:
        question = make()
    except ValueError:
        return Finding("sensitivity", name, None, None, True, "refused when it is built")
    found = _searched(Example(name, name, question, 0.0), *_FAST, seed)
    detail = f"built although its proof does not hold; {found.detail}"
    return Finding("sensitivity", name, found.claimed, found.found, False, detail)


def _search(question: Question, climb: int, tables: int, random: np.random.Generator) -> tuple[_Pair, int]:
    """The furthest pair, and how many were looked at."""
    records = [*_records(random), *(_LONE if fill_of(question) is not None else ())]
    alone = [_alone(question, record) for record in records]
    best = _best_of(question, records, alone)
    best = _climbed(question, best, climb, random)
    for _ in range(tables):
        rows = [records[i] for i in random.integers(len(records), size=6)]
        other = records[random.integers(len(records))]
        best = _in_a_table(question, rows, other, best)
    bystanders = [WEST, EAST, (0.0, 3.0), *(records[i] for i in random.integers(len(records), size=3))]
    best = _in_a_table(question, [best.old, *bystanders], best.new, best)
    return best, len(records) * (len(records) - 1) // 2 + climb + tables + 1


def _records(random: np.random.Generator) -> list[Record]:
    """Records at every edge of the maps of the catalogue, and some at random."""
    centers = sorted({center for points in CENTERS.values() for center in points})
    turns = [2 * math.pi * i / 48 for i in range(48)]
    around = [at(WEST, (math.cos(t), math.sin(t)), 2.0) for t in turns]
    around += [at(EAST, (math.cos(t), math.sin(t)), 3.0) for t in turns[::2]]
    far = [
        at(center, (math.cos(t), math.sin(t)), length) for center in centers for t in turns[::12] for length in (0, 2.0)
    ]
    # on the sphere of radius 1/2, and the next numbers beyond it
    rim = [at(WEST, (math.cos(t), math.sin(t)), 0.5 * (1 + i * 2**-51)) for t in turns[::8] for i in range(-1, 3)]
    odd = [
        *((cell, 0.0) for cell in _EXTREME_CELLS),
        *((-4.0, cell) for cell in (*_EXTREME_CELLS, *_LOG1P_CELLS)),
        *product((1.7e308, -1.7e308, math.nan), (1.7e308, -1.0, math.nan)),
        (900.0, 0.0),
        (0.5, math.expm1(0.5)),
    ]
    near = [tuple(row) for row in random.normal(0, 4, (12, 2)).tolist()]
    wide = [tuple(row) for row in (random.choice((-1, 1), (12, 2)) * 10 ** random.uniform(-320, 308, (12, 2))).tolist()]
    return [*around, *far, *rim, *odd, *near, *wide, NOBODY]


def _alone(question: Question, record: Record) -> Integers:
    """What one record adds, within the bounds of its parts."""
    try:
        totals = totals_of(question, [record])
    except Exception as error:
        raise _Broken(f"the statistic fails ({type(error).__name__}) on the record {record}") from None
    fault = _outside(question, totals)
    if fault:
        raise _Broken(f"{fault}: the record {record}")
    return totals


def _outside(question: Question, alone: Integers) -> str | None:
    """Say what a single record adds beyond the bounds that its question declares; None if nothing.

    Args:
        question: what was asked.
        alone: totals of a table of one record.
    """
    if isinstance(bare(question), Bisection):
        fits = alone["histogram"]
        return None if min(fits) >= 0 and sum(fits) <= 1 else "one record counts more than once"
    if isinstance(question, StableCells):
        directions = [name.split()[1] for name in alone]
        once = len(set(directions)) == len(directions) and all(count == [1] for count in alone.values())
        return None if once else "one record is in two cells of a direction, or counts more than once"
    if isinstance(question, Selection):
        return None if {*alone["inside"]} <= {0, 1} else "one record counts more than once in a half-plane"
    for name, part in question.parts.items():
        if max(map(abs, alone[name]), default=0) > part.bound:
            return f"one record adds more than {part.bound:,} to a coordinate of {name}"
    return None


def _best_of(question: Question, records: list[Record], alone: list[Integers]) -> _Pair:
    """The furthest of all pairs: the first few by floats, then exactly."""
    vectors = np.array([_weighted(question, totals) for totals in _side_by_side(alone)])
    norms = (vectors * vectors).sum(axis=1)
    squared = norms[:, None] + norms[None, :] - 2 * vectors @ vectors.T
    order = np.argsort(-squared, axis=None)[: 4 * _SHOWN : 2]  # each pair is there twice
    pairs = [divmod(int(k), len(records)) for k in order]
    found = [_Pair(records[i], records[j], distance(question, difference(alone[i], alone[j]))) for i, j in pairs]
    return max(found, key=lambda pair: pair.squared)


def _side_by_side(alone: list[Integers]) -> list[Integers]:
    """Totals that all have the same parts: of cells, one for each that any record is in."""
    if not all(map(are_cells, alone)):
        return alone
    names = sorted({name for totals in alone for name in totals})
    return [{"fullest": [totals.get(name, [0])[0] for name in names]} for totals in alone]


def _weighted(question: Question, totals: Integers) -> list[float]:
    """Totals in units of the noise, as floats; of a bisection, its counts at all thresholds."""
    if isinstance(bare(question), Bisection):
        return [float(count) for count in accumulate(totals["histogram"])]
    if isinstance(question, Selection):
        return [float(count) for count in totals["inside"]]
    parts = question.parts
    return [value * part.factor / part.noise_scale for name, part in parts.items() for value in totals[name]]


def _climbed(question: Question, best: _Pair, steps: int, random: np.random.Generator) -> _Pair:
    """Uphill by random changes of one record of the pair, smaller and smaller ones."""
    ends = {record: _alone(question, record) for record in (best.old, best.new)}
    for step in range(steps):
        width = 10 ** (-6 * step / steps)
        keep, move = (best.old, best.new) if random.random() < 0.5 else (best.new, best.old)
        a, b = (cell + width * random.normal() * max(1.0, abs(cell)) for cell in move)
        moved = (float(a), float(b))
        totals = _alone(question, moved)
        squared = distance(question, difference(ends[keep], totals))
        if squared > best.squared:
            best, ends = _Pair(keep, moved, squared), {keep: ends[keep], moved: totals}
    return best


def _in_a_table(question: Question, rows: list[Record], other: Record, best: _Pair) -> _Pair:
    """The first of `rows` replaced by `other` among the rest: no record's share depends on another's."""
    try:
        before, after = totals_of(question, rows), totals_of(question, [other, *rows[1:]])
    except Exception as error:
        raise _Broken(f"the statistic fails ({type(error).__name__}) on a table of records at the edges") from None
    delta = difference(before, after)
    if delta != difference(_alone(question, rows[0]), _alone(question, other)):
        raise _Broken(f"what a record adds depends on the others: replacing {rows[0]} by {other}")
    squared = distance(question, delta)
    return _Pair(rows[0], other, squared) if squared > best.squared else best
