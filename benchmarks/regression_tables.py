"""Regressions of released real tables beside least squares of the same rows, without privacy.

The tables are those of `benchmarks.verdicts`, chosen by its rule: blocks of three to five columns of every table that
statsmodels and scikit-learn bring. The last column of a block is regressed on the others. A draw takes 60 rows as
public ones and at most 5,000 others as private.
"""

from typing import Any
from zlib import crc32

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from benchmarks.library_tables import blocks_of_tables
from benchmarks.regression import least_squares_of
from pubpriv.errors import PubPrivError
from pubpriv.released.numbers import State

_PUBLIC, _MOST, _LEAST = 60, 5_000, 3
"""Public rows, most private rows, and fewest columns of a block."""

_SOUND, _BOUND = 3.0, 0.985
"""Stated errors within which coefficients that are not doubtful should be, and the least share of them that is."""

_CLEAR = 4.0
"""A coefficient is clear if without privacy it is so many standard errors from zero."""


def bench(
    runs: int = 4,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    tables: str = "all",
    fitted: bool = False,
) -> dict[str, Any]:
    """One row for each block: coefficients within three stated errors of those without privacy, and clear ones found.

    Args:
        runs: draws of each block.
        first_seed: of rows and noise.
        workers: processes.
        budget: of every run, as text.
        tables: names of blocks with commas between them; `all`.
        fitted: `estimate_regression`, not read from a Gaussian.
    """
    pp.parse_budget(budget)
    named = [name for name, (columns, _) in blocks_of_tables().items() if len(columns) >= _LEAST]
    chosen = named if tables == "all" else tables.split(",")
    jobs = [(name, budget, first_seed + run, fitted) for name in chosen for run in range(runs)]
    drawn = list(in_processes(_drawn, jobs, workers))
    rows = [_row(name, [found for job, found in zip(jobs, drawn, strict=True) if job[0] == name]) for name in chosen]
    told = [each for found in drawn for each in found["coefficients"] if each["state"] != State.DOUBTFUL]
    sound = float(np.mean([each["off"] <= _SOUND for each in told])) if told else None
    return {
        "bench": "regression",
        "part": "tables",
        "fitted": fitted,
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "refused": float(np.mean([found["refused"] for found in drawn])),
        "ratio": sound,
        "ratio_of": "coefficients that are not doubtful within three stated errors of those without privacy",
        "met": sound is not None and sound >= _BOUND,
        "rows": rows,
    }


def _row(name: str, drawn: list[dict[str, Any]]) -> dict[str, Any]:
    each = [coefficient for found in drawn for coefficient in found["coefficients"]]
    told = [coefficient for coefficient in each if coefficient["state"] != State.DOUBTFUL]
    clear = [coefficient for coefficient in told if coefficient["clear"]]
    return {
        "table": name,
        "n": drawn[0]["n"],
        "runs": len(drawn),
        "refused": sum(found["refused"] for found in drawn),
        "doubtful": len(each) - len(told),
        "coefficients": len(told),
        "within": float(np.mean([one["off"] <= _SOUND for one in told])) if told else None,
        "furthest": max((one["off"] for one in told), default=None),
        "width": float(np.median([one["width"] for one in told])) if told else None,
        "clear": len(clear),
        "found": sum(one["found"] for one in clear),
        "wrong_sign": sum(one["wrong"] for one in told),
    }


def _drawn(job: tuple[str, str, int, bool]) -> dict[str, Any]:
    """Release a draw of a block: what each coefficient is worth."""
    name, budget, seed, fitted = job
    rows = blocks_of_tables()[name][1]
    order = np.random.default_rng([seed, crc32(name.encode())]).permutation(len(rows))
    public, private = rows[order[:_PUBLIC]], rows[order[_PUBLIC : _PUBLIC + _MOST]]
    own, errors, _ = least_squares_of(private, robust=fitted)
    told = {"n": len(private), "refused": False, "coefficients": []}
    try:
        curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
        outcome = curator.columns[-1]
        if fitted:
            found = pp.estimate_regression(public, curator, outcome=outcome).regression
        else:
            found = pp.estimate_gaussian(public, curator).regress(outcome)
    except PubPrivError:
        return told | {"refused": True}
    coefficients = []
    for figure, value, error in zip(found.coefficients[1:], own, errors, strict=True):
        low, high = figure.interval()
        apart = low > 0 or high < 0
        same = np.sign(figure.value) == np.sign(value)
        coefficients.append(
            {
                "state": figure.state,
                "off": float(abs(figure.value - value) / figure.error),
                "width": float(figure.error / error),
                "clear": bool(abs(value) > _CLEAR * error),
                "found": bool(apart and same),
                "wrong": bool(apart and not same),
            }
        )
    return told | {"coefficients": coefficients}
