"""The Private Populous Estimator, in simulation: how often it answers without public rows, and how far off."""

from statistics import median
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from benchmarks.papers.populous.driver import estimate_mixture_ppe
from benchmarks.synthetic import Setting, Truth, draw, error
from pubpriv.estimators.sample_sizes.populous import populous_mixture
from pubpriv.estimators.sample_sizes.terms import ALPHA, BETA

_DELTA = 1e-6
_SEPARATION = 8.0
_FAR = 1e4
"""Distance of the origin from a mixture, in standard deviations: nothing tells the estimator where to look."""

_CELLS = (
    (2, 1, 1, 300_000),
    (2, 1, 4, 100_000),
    (5, 1, 4, 300_000),
    (2, 2, 1, 1_000_000),
    (2, 2, 4, 200_000),
    (5, 2, 4, 1_000_000),
)
"""Columns, components, epsilon, rows."""


def run(task: tuple[int, int, int, int, int]) -> dict[str, Any]:
    """Run one draw of a cell; its errors, if there was an answer.

    Args:
        task: (columns, components, epsilon, rows, seed).
    """
    d, k, epsilon, n, seed = task
    generator = np.random.default_rng(seed)
    truth = draw(Setting(d, k, _SEPARATION, 0, n), generator)
    truth = Truth(truth.weights, truth.means + _FAR * generator.standard_normal(d), truth.covariances)
    rows, _ = truth.sample(n, generator)
    found = estimate_mixture_ppe(pp.Curator.simulation(rows, pp.ApproximateDP(epsilon, _DELTA), seed), k, seed=seed)
    told: dict[str, Any] = {"answered": found.converged, "h_index": found.simulated["h_index"]}
    if found.weights is None or found.means is None or found.covariances is None:
        return told
    away = error(truth, Truth(found.weights, found.means, found.covariances))
    return told | {"mean": away.mean, "covariance": away.covariance, "weight": away.weight}


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Make a row for each cell: answers, median errors of those, and what theorem 6.2 asks for."""
    groups = [[(*cell, first_seed + number) for number in range(runs)] for cell in _CELLS]
    rows = list(map(_row, _CELLS, in_groups(run, groups, workers)))
    return {
        "bench": "mixture",
        "part": "ppe",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["answered"] for row in rows),
        "ratio_of": "share of runs with an answer, least",
        "rows": rows,
    }


def _row(cell: tuple[int, int, int, int], found: list[dict[str, Any]]) -> dict[str, Any]:
    d, k, epsilon, n = cell
    answers = [each for each in found if each["answered"]]
    return {
        "d": d,
        "k": k,
        "budget": f"approx:{epsilon},{_DELTA:g}",
        "n": n,
        "runs": len(found),
        "answered": len(answers) / len(found),
        "h_index": median(each["h_index"] for each in found),
        **{
            name: median(each[name] for each in answers) if answers else None
            for name in ("mean", "covariance", "weight")
        },
        "theorem_n": f"{populous_mixture(d, k, 1 / k, epsilon, _DELTA, ALPHA, BETA):.0e}",
    }
