"""Quantiles of fifty groups in one run, from five rows to fifty thousand, and shares of thirty levels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from pubpriv.data.categories import ByCategory

AT = (0.1, 0.5, 0.9)
SIZES = np.geomspace(5, 50_000, 50).astype(int)
BANDS = ((5, 100), (100, 1_000), (1_000, 10_000), (10_000, 100_000))
"""Rows of groups, from and below."""

LEVELS = 30
CELLS = ((1_000, 0.1), (10_000, 0.1), (10_000, 0.01))
"""Rows and rho of the shares."""

_WEIGHTS = np.geomspace(1, 1e-3, LEVELS) / np.geomspace(1, 1e-3, LEVELS).sum()


def bench(of: str, runs: int = 20, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Give a row for each band of groups, or for each table with levels.

    Args:
        of: `groups` or `shares`.
        runs: draws.
        first_seed: of the first draw.
        workers: processes.
    """
    seeds = range(first_seed, first_seed + runs)
    if of == "groups":
        (drawn,) = in_groups(_groups, [list(seeds)], workers)
        rows = [_band(band, [each for draw in drawn for each in draw]) for band in BANDS]
    else:
        tasks = [[(*cell, seed) for seed in seeds] for cell in CELLS]
        rows = list(map(_shares_row, CELLS, in_groups(_shares, tasks, workers)))
    return {
        "bench": "quantiles",
        "part": of,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["coverage"] for row in rows if row["coverage"] is not None) / 0.95,
        "ratio_of": "share of 95% intervals that hold, over 0.95, least of all rows",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _groups(seed: int) -> list[tuple[int, bool, bool, float]]:
    """For each group and rank: its rows, whether it is given, whether its interval holds, its error over sampling."""
    random, names = np.random.default_rng([seed, 5]), tuple(f"g{i}" for i in range(len(SIZES)))
    middles = random.normal(10, 0.5, len(SIZES))
    rows = random.lognormal(np.repeat(middles, SIZES), 1)[:, None]
    by = ByCategory("ward", names), np.repeat(names, SIZES).tolist()
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed, columns=["income"], groups=by)
    found = pp.estimate_quantiles(random.lognormal(10, 1.1, (100, 1)), curator, AT)
    assert found.groups is not None
    told = []
    for group, size, middle in zip(found.groups.each, SIZES.tolist(), middles, strict=True):
        own = found.of_group(group.name).described
        law = stats.lognorm(1, scale=np.exp(middle))
        for rank in AT:
            given = rank in own.at
            quantile = own.quantile_at("income", rank) if given else None
            held = quantile is not None and bool(law.cdf(quantile.low) <= rank <= law.cdf(quantile.high))
            off = 0.0 if quantile is None else (law.cdf(quantile.value) - rank) / np.sqrt(rank * (1 - rank) / size)
            told.append((size, given, held, float(off)))
    return told


def _band(band: tuple[int, int], drawn: Sequence[tuple[int, bool, bool, float]]) -> dict[str, Any]:
    own = [each for each in drawn if band[0] <= each[0] < band[1]]
    given = [each for each in own if each[1]]
    coverage = float(np.mean([each[2] for each in given])) if given else None
    return {
        "rows": f"{band[0]:,} to {band[1]:,}",
        "given": len(given) / len(own),
        "coverage": coverage,
        "error": float(np.sqrt(np.mean([each[3] ** 2 for each in given]))) if given else None,
        "met": coverage is None or coverage >= 0.9,
    }


def _shares(task: tuple[int, float, int]) -> tuple[np.ndarray, np.ndarray]:
    """Whether the interval of each level holds, and its error over that of sampling."""
    n, rho, seed = task
    random = np.random.default_rng([seed, n])
    rows, public = (random.choice(LEVELS, m, p=_WEIGHTS).astype(float)[:, None] for m in (n, 100))
    public[:LEVELS, 0] = np.arange(LEVELS)
    curator = pp.Curator.simulation(rows, f"zcdp:{rho}", seed, columns=["level"])
    found = pp.estimate_quantiles(public, curator, shares=["level"])
    ends = np.array([found.share("level", str(level)) for level in range(LEVELS)])
    held = (ends[:, 1] <= _WEIGHTS) & (ends[:, 2] >= _WEIGHTS)
    return held, (ends[:, 0] - _WEIGHTS) / np.sqrt(_WEIGHTS * (1 - _WEIGHTS) / n)


def _shares_row(cell: tuple[int, float], draws: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    held, off = (np.array(each) for each in zip(*draws, strict=True))
    return {
        "rows": cell[0],
        "rho": cell[1],
        "coverage": float(held.mean()),
        "coverage_worst": float(held.mean(axis=0).min()),
        "error": float(np.sqrt(np.mean(off**2))),
        "error_of_most": float(np.sqrt(np.mean(off[:, 0] ** 2))),
        "met": bool(held.mean() >= 0.93 and held.mean(axis=0).min() >= 0.9 - 2 * np.sqrt(0.09 / len(held))),
    }
