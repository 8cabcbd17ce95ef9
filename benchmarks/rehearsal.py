"""What a rehearsal is worth: how wide intervals come out beside what it said, and how many doubtful runs it foretells.

The tables are those of `benchmarks.verdicts`, by its rule. Of the draws of all blocks some end doubtful and some do
not; of both kinds the same number is rehearsed, taken from one block after the other, so that no block is most of them.
The rehearsal has the 60 public rows of the draw, and nothing else.

Noise alone decides much of it: with the same public and the same private rows, another run may end otherwise. So each
draw is released again a few times with other noise. `at_best` is what whoever knows these runs would foretell, and
`mean_again` and `sd_again` say how often intervals of one such run are as wide as those of another.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from benchmarks.library_tables import MOST_PUBLIC, blocks_of_tables
from pubpriv.data.tables import PublicTable
from pubpriv.errors import PubPrivError
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.public_rows import usable
from pubpriv.estimators.rehearsal.rehearsal import rehearse
from pubpriv.released.estimate import Estimate
from pubpriv.released.numbers import Z95, of_quantity

_MOST_PRIVATE = 5_000
"""Most private rows of a draw."""

_FACTOR = 1.3
"""An interval is foretold if it is wider or narrower than was said by at most this factor."""

_AGAIN = 3
"""Further runs of each draw, with other noise."""

_ESTIMATORS = {each.name: each for each in ESTIMATORS if each.name in ("mean", "gaussian")}

_Draw = tuple[str, str, int, str]
"""Estimator, block, seed and budget."""

BOUNDS = {"foretold": 0.8, "false_alarms": 0.1, "mean_within": 0.9}
"""What must be reached: doubtful runs foretold, sound ones called doubtful, and intervals of means foretold."""


def bench(
    each: int = 30, seeds: int = 6, first_seed: int = 0, budget: str = "zcdp:0.5", workers: int = WORKERS
) -> dict[str, Any]:
    """Give one row per estimator and for both: shares of runs and of intervals that were foretold.

    Args:
        each: doubtful runs that are rehearsed, and sound ones, of each estimator; fewer if there are not so many.
        seeds: draws of each block, of public rows and noise.
        first_seed: of the first.
        budget: of every run, as text.
        workers: processes.
    """
    pp.parse_budget(budget)
    draws = [
        (name, block, first_seed + seed, budget)
        for name in _ESTIMATORS
        for block in blocks_of_tables()
        for seed in range(seeds)
    ]
    ends = dict(zip(draws, in_processes(_doubtful, draws, workers), strict=True))
    chosen = [
        draw
        for name in _ESTIMATORS
        for end in (True, False)
        for draw in _in_turn([draw for draw in draws if draw[0] == name and ends[draw] is end])[:each]
    ]
    found = list(in_processes(_rehearsed, chosen, workers))
    rows = [_row(name, [row for row in found if name in (row["estimator"], "both")]) for name in (*_ESTIMATORS, "both")]
    return {
        "bench": "rehearsal",
        "budget": budget,
        "seeds": seeds,
        "first_seed": first_seed,
        "factor": _FACTOR,
        "ratio": rows[-1]["foretold"],
        "ratio_of": "doubtful runs that the rehearsal called likely doubtful, over all of them",
        "met": all(row["met"] for row in rows),
        "rows": rows,
        "each": found,
    }


def _in_turn(draws: list[_Draw]) -> list[_Draw]:
    """Order draws so that the first of each block come first, then the second ones."""
    by_block = defaultdict[str, list[_Draw]](list)
    for draw in draws:
        by_block[draw[1]].append(draw)
    turns = [(turn, number, draw) for number, own in enumerate(by_block.values()) for turn, draw in enumerate(own)]
    return [draw for _, _, draw in sorted(turns, key=lambda each: each[:2])]


def _rows(draw: _Draw) -> tuple[PublicTable, np.ndarray]:
    """Draw public and private rows."""
    _, block, seed, _ = draw
    columns, rows = blocks_of_tables()[block]
    order = np.random.default_rng([seed, crc32(block.encode()), 0]).permutation(len(rows))
    private = rows[order[MOST_PUBLIC : MOST_PUBLIC + _MOST_PRIVATE]]
    return usable(PublicTable(columns, rows[order[:MOST_PUBLIC]])), private


def _released(draw: _Draw, noise: int = 0) -> Estimate | None:
    """Release one draw; None: it was refused."""
    name, block, seed, budget = draw
    public, private = _rows(draw)
    curator = pp.Curator.simulation(private, budget, crc32(f"{block} {seed} {noise}".encode()), public.columns)
    try:
        return pp.estimate_mean(public, curator) if name == "mean" else pp.estimate_gaussian(public, curator)
    except PubPrivError:
        return None


def _doubtful(draw: _Draw) -> bool | None:
    estimate = _released(draw)
    return None if estimate is None else not estimate.converged


def _halves(estimate: Estimate) -> dict[tuple[str, str], float]:
    """Halves of the 95% intervals, by quantity and column."""
    numbers = [number for what in ("mean", "sd") for number in of_quantity(estimate.numbers(), what)]
    return {(number.quantity, str(number.column)): Z95 * number.error for number in numbers}


def _rehearsed(draw: _Draw) -> dict[str, Any]:
    """Rehearse one draw, and compare what was said with the release, and another release with that one."""
    estimate, *again = (_released(draw, noise) for noise in range(_AGAIN + 1))
    assert estimate is not None
    ends = [each is None or not each.converged for each in again]
    public, private = _rows(draw)
    estimator = _ESTIMATORS[draw[0]]
    said = rehearse(estimator, estimator.settings(), public, len(private), pp.parse_budget(draw[3]))
    told = {(each.quantity, each.column): each.half for each in said.widths}
    came = _halves(estimate)
    other = {} if again[0] is None else _halves(again[0])
    return {
        "estimator": draw[0],
        "of": draw[1],
        "seed": draw[2],
        "doubtful": not estimate.converged,
        "likely": said.likely_doubtful,
        "trials": [said.doubtful, said.trials],
        "again": float(np.mean(ends)),
        **{f"{what}_ratios": list(_ratios(told, came, what)) for what in ("mean", "sd")},
        **{f"{what}_again": list(_ratios(other, came, what)) for what in ("mean", "sd")},
    }


def _ratios(one: dict[tuple[str, str], float], other: dict[tuple[str, str], float], what: str) -> Iterator[float]:
    for (quantity, column), half in other.items():
        if quantity == what and half > 0 and (quantity, column) in one:
            yield one[quantity, column] / half


def _row(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    doubtful, sound = ([row for row in found if row["doubtful"] is end] for end in (True, False))
    row: dict[str, Any] = {
        "estimator": name,
        "doubtful": len(doubtful),
        "sound": len(sound),
        "foretold": _share(row["likely"] for row in doubtful),
        "false_alarms": _share(row["likely"] for row in sound),
        "at_best": _share(row["again"] > 0.5 for row in doubtful),
        "at_best_false": _share(row["again"] > 0.5 for row in sound),
        "right_when_said": _share(row["again"] for row in found if row["likely"]),
    }
    for what in ("mean", "sd"):
        for kind, key in (("within", "ratios"), ("again", "again")):
            ratios = [ratio for row in sound for ratio in row[f"{what}_{key}"]]
            row[f"{what}_{kind}"] = _share(1 / _FACTOR <= ratio <= _FACTOR for ratio in ratios)
    good = (row["foretold"] or 0.0) >= BOUNDS["foretold"] and (row["false_alarms"] or 0.0) <= BOUNDS["false_alarms"]
    return row | {"met": bool(good and (row["mean_within"] or 0.0) >= BOUNDS["mean_within"])}


def _share(of: Any) -> float | None:
    values = list(of)
    return float(np.mean(values)) if values else None
