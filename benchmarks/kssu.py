"""Mixtures without public rows: how often all components are found, within a bound of 1,200 standard deviations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, by_cell, part_of
from benchmarks.synthetic import Truth, error
from pubpriv.errors import NoAnswer

_BUDGET, _OFF = "zcdp:0.5", 500.0

BOUND = 1200.0
"""Distance from zero within which every row lies, in every column."""

FOUND = 0.5
"""A run succeeds if no mean is further off than this, in standard deviations of its component."""


@dataclass(frozen=True)
class Cell:
    """k components in d columns, any two at least so many standard deviations apart.

    Covariances have condition numbers up to 10, and the components lie far from zero. Where they are `nested`, half of
    them are thirty times as large as the others, and lie apart from those.
    """

    d: int
    k: int
    apart: float
    n: int
    nested: bool = False
    bound: float = 1.0


_CELLS = (
    Cell(5, 2, 8.0, 3_000),
    Cell(10, 3, 6.0, 10_000),
    Cell(10, 4, 6.0, 100_000, nested=True),
    Cell(10, 4, 10.0, 100_000, nested=True),
    Cell(5, 3, 8.0, 10_000),
    Cell(2, 3, 8.0, 5_000),
)


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Make a row for each cell: the share of runs that find every component, and failures that nothing flags.

    Args:
        runs: of each row, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of laws, rows and noise.
        workers: processes.
    """
    found = by_cell(_run_of, range(len(_CELLS)), runs, first_seed, workers)
    table = [_row(_CELLS[number], rows) for number, rows in found.items()]
    ratio = min(row["success"] / row["bound"] for row in table)
    ratio_of = "share of runs that find every component, over what it must be, least"
    return part_of("kssu", table, runs, first_seed, ratio, ratio_of, budget=_BUDGET)


def _row(cell: Cell, found: list[dict[str, Any]]) -> dict[str, Any]:
    good = [run for run in found if run["good"]]
    return {
        "d": cell.d,
        "k": cell.k,
        "apart": cell.apart,
        "n": cell.n,
        "nested": cell.nested,
        "runs": len(found),
        "success": len(good) / len(found),
        "bound": cell.bound,
        "mean": float(np.median([run["mean"] for run in good])) if good else None,
        "covariance": float(np.median([run["covariance"] for run in good])) if good else None,
        "silent": sum(run["converged"] and not run["good"] for run in found),
        "met": len(good) >= cell.bound * len(found),
    }


def _run_of(task: tuple[int, int]) -> dict[str, Any]:
    """Estimate one draw: (number of the cell, seed)."""
    number, seed = task
    cell, random = _CELLS[number], np.random.default_rng([number, seed])
    truth = law(cell, random)
    rows, _ = truth.sample(cell.n, random)
    curator = pp.Curator.simulation(rows, pp.parse_budget(_BUDGET), seed)
    try:
        found = pp.estimate_mixture(None, curator, n_components=cell.k, method="kssu", bound=BOUND)
    except NoAnswer:
        return {"good": False, "converged": False}
    if len(found.weights) < cell.k:
        return {"good": False, "converged": found.converged}
    off = error(truth, Truth(found.weights, found.means, found.covariances))
    return {
        "good": bool(off.mean < FOUND),
        "converged": found.converged,
        "mean": off.mean,
        "covariance": off.covariance,
    }


def law(cell: Cell, random: np.random.Generator) -> Truth:
    """Draw components of equal weight, as far from zero as the cells say."""
    k, d = cell.k, cell.d
    covariances = np.empty((k, d, d))
    for j in range(k):
        axes = np.linalg.qr(random.standard_normal((d, d)))[0]
        values = np.exp(random.uniform(-np.log(10), 0, d))
        covariances[j] = (axes * (values / values.max())) @ axes.T
    means = random.standard_normal((k, d))
    if k > 1:
        means *= cell.apart / min(np.linalg.norm(means[i] - means[j]) for i in range(k) for j in range(i))
    means -= means.mean(axis=0)
    if cell.nested:
        large = np.arange(k) >= k // 2
        means[large] = 30 * means[large] + (_OFF * 2 / 3) * np.eye(d)[0]
        covariances[large] *= 900
    away = random.standard_normal(d)
    return Truth(np.full(k, 1 / k), means + _OFF * away / np.linalg.norm(away), covariances)
