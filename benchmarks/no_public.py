"""A Gaussian without public rows against the non-private estimate of the same rows, by simulation."""

import time
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.errors import InvalidInput, NoAnswer

_CELLS = [(d, n) for d in (2, 5, 10) for n in (2_000, 10_000, 100_000)]
_REACHED = {"approx:4,1e-6": 1.2}
"""Median ratio that has to be reached, by budget; for others there is no bound."""


def bench(budget: str, runs: int, first_seed: int) -> dict[str, Any]:
    """Measure the median ratios of errors to the non-private ones, where the law is standard.

    Scales are 10^-6 to 10^6, the condition number is up to 1e3 besides, and the mean is a thousand standard deviations
    from zero. In few dimensions single errors vary more, so two columns are run three times as often.
    """
    rows = [_row(d, n, budget, runs * (3 if d == 2 else 1), first_seed) for d, n in _CELLS]
    told = [row["covariance"] for row in rows if row["answers"]]
    return {
        "bench": "no-public",
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(told, default=None),
        "ratio_of": "largest median error of a covariance over the non-private one, where there are answers",
        "rows": rows,
    }


def _row(d: int, n: int, budget: str, runs: int, first_seed: int) -> dict[str, Any]:
    start, errors, best, unsure = time.perf_counter(), [], [], 0
    for seed in range(first_seed, first_seed + runs):
        rows, mean, root = _world(seed, d, n)
        curator = pp.Curator.simulation(rows, pp.parse_budget(budget), seed)
        try:
            found = pp.estimate_gaussian(None, curator, method="no-public")
        except (NoAnswer, InvalidInput):
            continue
        unsure += not found.converged
        errors.append(_errors(found.mean, found.covariance, mean, root))
        best.append(_errors(rows.mean(axis=0), np.cov(rows.T), mean, root))
    ratios: list[Any] = (np.median(errors, axis=0) / np.median(best, axis=0)).tolist() if errors else [None, None]
    bound = _REACHED.get(budget, np.inf)
    return {
        "d": d,
        "n": n,
        "runs": runs,
        "answers": len(errors),
        "flagged": unsure,
        "covariance": ratios[0],
        "mean": ratios[1],
        "bound": bound,
        "met": bool(errors) and bool(ratios[0] <= bound),
        "seconds_per_run": (time.perf_counter() - start) / runs,
    }


def _world(seed: int, d: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, mean, root of the covariance)."""
    random = np.random.default_rng([seed, d, n])
    turn = np.linalg.qr(random.standard_normal((d, d)))[0]
    axes = turn * np.exp(random.uniform(0, np.log(1e3), d) / 2)
    root = 10.0 ** random.uniform(-6, 6, (d, 1)) * axes
    mean = root @ random.standard_normal(d) * 1e3
    return mean + random.standard_normal((n, d)) @ root.T, mean, root


def _errors(mean: np.ndarray, covariance: np.ndarray, truth: np.ndarray, root: np.ndarray) -> tuple[float, float]:
    """(Frobenius error of the covariance, length of the error of the mean), where the law is standard."""
    whiten = np.linalg.inv(root)
    spread = whiten @ covariance @ whiten.T - np.eye(len(truth))
    return float(np.linalg.norm(spread)), float(np.linalg.norm(whiten @ (mean - truth)))
