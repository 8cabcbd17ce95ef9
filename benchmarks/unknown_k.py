"""How often a mixture's number of components is found, and how often a single Gaussian is left whole."""

from collections import Counter
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, by_cell, part_of
from benchmarks.synthetic import TABLES, Setting, covering_draw, draw

_POINTS = TABLES["unknown-k"]
_BUDGET = "zcdp:0.5"


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row per setting: the share of runs that find the right k, beside what it must be.

    Args:
        runs: of each setting, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
    """
    table = [_row(*cell) for cell in by_cell(_components_of, _POINTS, runs, first_seed, workers).items()]
    ratio = min(row["right"] / row["bound"] for row in table)
    ratio_of = "share of runs that find the right number of components, over what it must be, least"
    return part_of("unknown-k", table, runs, first_seed, ratio, ratio_of, budget=_BUDGET)


def _components_of(task: tuple[str, int]) -> int:
    """Components that a run finds which is not told how many there are.

    Args:
        task: (setting, seed).
    """
    name, seed = task
    setting = Setting.of(_POINTS[name])
    generator = np.random.default_rng(seed)
    truth = draw(setting, generator)
    public, _ = covering_draw(setting, truth, generator)
    rows, _ = truth.sample(setting.n, generator)
    return len(pp.estimate_mixture(public, pp.Curator.simulation(rows, pp.parse_budget(_BUDGET), seed)).weights)


def _row(name: str, found: list[int]) -> dict[str, Any]:
    right = sum(k == _POINTS[name]["k"] for k in found) / len(found)
    return {
        "setting": f"d {_POINTS[name]['d']}, k {_POINTS[name]['k']}",
        "runs": len(found),
        "right": right,
        "bound": _POINTS[name]["right"],
        "found": ", ".join(f"{k} ({count}x)" for k, count in sorted(Counter(found).items())),
        "met": right >= _POINTS[name]["right"],
    }
