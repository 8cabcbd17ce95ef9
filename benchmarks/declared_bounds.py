"""Means of columns with declared bounds, beside a plain clipped mean at the same price on the same rows."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups

HIGH = 300_000.0
"""Bounds are 0 and this."""

_Sample = Callable[[np.random.Generator, int], np.ndarray]

LAWS: dict[str, _Sample] = {
    "incomes": lambda g, n: g.lognormal(10, 1, n),
    "uniform": lambda g, n: g.uniform(0, HIGH, n),
    "at both ends": lambda g, n: np.where(g.random(n) < 0.3, HIGH, 0.0),
    "two clusters": lambda g, n: np.where(g.random(n) < 0.5, g.normal(3e4, 1e4, n), g.normal(2.7e5, 1e4, n)),
    "heavy": lambda g, n: 2e4 * g.pareto(1.5, n),
    "rare": lambda g, n: np.where(g.random(n) < 0.02, g.uniform(0, HIGH, n), 0.0),
    "rare, far": lambda g, n: np.where(g.random(n) < 0.01, 0.9 * HIGH, 0.0) + np.abs(g.normal(0, 500, n)),
    "narrow": lambda g, n: g.normal(1e5, 3e3, n),
    "safety net": lambda g, n: g.normal(1e5, 10, n),
}

CELLS = tuple((law, n, 0.5, m) for law in LAWS for n, m in ((1_000, 60), (1_000, 5), (20_000, 60)))
"""Law, private rows, rho, public rows."""

_AT_MOST = 1.0
"""Bound of the error over that of the plain mean, beside what `_chance` leaves."""


def bench(runs: int = 40, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Give a row for each law and size: our error over that of a plain clipped mean, and what intervals hold.

    The plain mean is the sum of the clipped rows with Gaussian noise, over the public number of rows; its error is
    known. Errors are root mean squares of the distance from the mean of the clipped rows; intervals are to hold the
    mean of the law between the bounds.

    Args:
        runs: draws.
        first_seed: of the first draw.
        workers: processes.
    """
    groups = [[(*cell, first_seed + run) for run in range(runs)] for cell in CELLS]
    rows = list(map(_row, CELLS, in_groups(_drawn, groups, workers)))
    return {
        "bench": "bounds",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(row["ratio"] for row in rows),
        "ratio_of": "error over that of a plain clipped mean at the same price, largest of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _drawn(task: tuple[str, int, float, int, int]) -> dict[str, float]:
    """Estimate one draw: distances from the mean of the clipped rows, in half widths of the bounds."""
    name, n, rho, m, seed = task
    generator = np.random.default_rng([seed, n, m])
    rows, public = (np.clip(LAWS[name](generator, count), 0, HIGH)[:, None] for count in (n, m))
    noise_seed = int(np.random.default_rng([seed, list(LAWS).index(name), n, m]).integers(2**31))
    curator = pp.Curator.simulation(rows, f"zcdp:{rho}", noise_seed, columns=[f"clip(income, 0, {HIGH:g})"])
    made = pp.estimate_mean(public, curator)
    truth, half, noise = float(rows.mean()), HIGH / 2, (2 / rho) ** 0.5 / n
    (number,) = made.numbers()
    return {
        "ours": (number.value - truth) / half,
        "stated": number.privacy / half / noise,
        "held": number.interval[0] <= _mean_of(name) <= number.interval[1],
        "flagged": not made.converged,
        "sum": made.method.startswith("declared-bounds"),
    }


@cache
def _mean_of(name: str) -> float:
    return float(np.clip(LAWS[name](np.random.default_rng(0), 4_000_000), 0, HIGH).mean())


def _row(cell: tuple[str, int, float, int], draws: Sequence[dict[str, float]]) -> dict[str, Any]:
    law, n, rho, m = cell
    of = {key: np.array([draw[key] for draw in draws], dtype=float) for key in draws[0]}
    noise = (2 / rho) ** 0.5 / n
    measured = float(np.sqrt(np.mean(of["ours"] ** 2))) / noise
    return {
        "law": law,
        "n": n,
        "rho": rho,
        "public": m,
        "ratio": measured,
        "ratio_stated": float(np.mean(of["stated"])),
        "sums": float(of["sum"].mean()),
        "coverage": float(of["held"].mean()),
        "flagged": float(of["flagged"].mean()),
        "met": bool(measured <= _AT_MOST + _chance(len(draws)) and (of["flagged"] * of["sum"]).sum() == 0),
    }


def _chance(draws: int) -> float:
    """Two and a half standard errors of a root mean square of so many normal variables, as a part of it."""
    return float(2.5 / np.sqrt(2 * draws))
