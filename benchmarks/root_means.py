"""Means in original units of columns that were estimated through their square roots: what intervals hold."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups

_Sample = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, _Sample] = {
    "lognormal 0.7": lambda g, n: g.lognormal(7, 0.7, n),
    "lognormal 1": lambda g, n: g.lognormal(7, 1, n),
    "lognormal 1.5": lambda g, n: g.lognormal(7, 1.5, n),
    "gamma 0.7": lambda g, n: g.gamma(0.7, 500, n),
    "gamma 2": lambda g, n: g.gamma(2, 500, n),
    "two clusters": lambda g, n: np.exp(np.where(g.random(n) < 0.8, g.normal(7, 0.5, n), g.normal(8.2, 0.7, n))),
    "pareto 3": lambda g, n: 1000 * (1 + g.pareto(3, n)),
    "zeros": lambda g, n: np.where(g.random(n) < 0.3, 0.0, g.lognormal(7, 1, n)),
    "counts": lambda g, n: g.negative_binomial(1.2, 0.1, n).astype(float),
}

SIZES = ((1_000, 0.5), (5_000, 0.5))
"""Private rows and rho; 60 public rows."""

_HOLD = 0.9


def bench(runs: int = 40, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Give a row for each law and size: error of the mean over that of the sample, and what intervals hold.

    Args:
        runs: draws.
        first_seed: of the first draw.
        workers: processes.
    """
    cells = [(law, *size) for law in LAWS for size in SIZES]
    groups = [[(*cell, first_seed + run) for run in range(runs)] for cell in cells]
    rows = list(map(_row, cells, in_groups(_drawn, groups, workers)))
    return {
        "bench": "bounds",
        "part": "roots",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(row["ratio"] for row in rows),
        "ratio_of": "error of the mean in original units over that of the sample, largest of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _drawn(task: tuple[str, int, float, int]) -> dict[str, float]:
    """Estimate one draw; errors are parts of the mean."""
    name, n, rho, seed = task
    generator, mean = np.random.default_rng([seed, n, list(LAWS).index(name)]), _mean_of(name)
    rows, public = (np.sqrt(LAWS[name](generator, count))[:, None] for count in (n, 60))
    curator = pp.Curator.simulation(rows**2, f"zcdp:{rho}", int(generator.integers(2**31)), columns=["sqrt(cost)"])
    (found,) = pp.estimate_mean(public, curator, covariance="unknown").in_original_units()
    return {
        "ours": found.value / mean - 1,
        "sample": float((rows**2).mean()) / mean - 1,
        "held": found.low <= mean <= found.high,
        "width": (found.high - found.low) / 2 / mean,
        "doubtful": found.state == "doubtful",
    }


@cache
def _mean_of(name: str) -> float:
    return float(LAWS[name](np.random.default_rng(0), 4_000_000).mean())


def _row(cell: tuple[str, int, float], draws: Sequence[dict[str, float]]) -> dict[str, Any]:
    of = {key: np.array([draw[key] for draw in draws], dtype=float) for key in draws[0]}
    ours, sample = (float(np.sqrt(np.mean(of[key] ** 2))) for key in ("ours", "sample"))
    sure = of["doubtful"] == 0
    coverage = float(of["held"][sure].mean()) if sure.any() else None
    return {
        "law": cell[0],
        "n": cell[1],
        "rho": cell[2],
        "ratio": ours / sample,
        "coverage": coverage,
        "width": float(np.median(of["width"])) / (1.96 * sample),
        "doubtful": float(of["doubtful"].mean()),
        "met": bool(coverage is None or coverage >= _HOLD),
    }
