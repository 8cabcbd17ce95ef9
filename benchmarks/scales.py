"""Mixtures whose components differ in scale by factors of 10 to 1,000: all found, and none lost without a word."""

from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, by_cell, part_of
from benchmarks.synthetic import TABLES, Truth, error, matched, oracle

_PLAN = TABLES["scales"]
_BUDGET = "zcdp:0.5"


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row for each number of scales: runs that find every component, and failures that nothing flags.

    Args:
        runs: of each row, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of settings, rows, public rows and noise.
        workers: processes.
    """
    table = [_row(*cell) for cell in by_cell(_run_of, _PLAN["scales"], runs, first_seed, workers).items()]
    ratio = min(row["found"] / row["bound"] for row in table)
    ratio_of = "share of runs that find every component, over what it must be, least"
    return part_of("scales", table, runs, first_seed, ratio, ratio_of, budget=_BUDGET)


def _row(scales: int, found: list[dict[str, Any]]) -> dict[str, Any]:
    good = sum(run["good"] for run in found) / len(found)
    silent = sum(run["converged"] and not run["good"] for run in found)
    return {
        "scales": scales,
        "runs": len(found),
        "found": good,
        "bound": _PLAN["found"],
        "mean_ratio": float(np.median([run["mean_ratio"] for run in found])),
        "covariance_ratio": float(np.median([run["covariance_ratio"] for run in found])),
        "worst_covariance_ratio": max(run["covariance_ratio"] for run in found),
        "flagged": sum(not run["converged"] for run in found),
        "silent": silent,
        "met": good >= _PLAN["found"] and silent == 0,
    }


def _run_of(task: tuple[int, int]) -> dict[str, Any]:
    """Estimate one draw: its errors over those of the estimate that knows every row's component.

    Args:
        task: (number of scales, seed).
    """
    scales, seed = task
    generator = np.random.default_rng([scales, seed])
    truth, m = _draw(scales, generator)
    k = len(truth.weights)
    while True:
        public, labels = truth.sample(m, generator)
        if np.bincount(labels, minlength=k).min() >= 2:
            break
    rows, labels = truth.sample(_PLAN["n"], generator)
    estimate = pp.estimate_mixture(public, pp.Curator.simulation(rows, pp.parse_budget(_BUDGET), seed), n_components=k)
    numbers, best = Truth(estimate.weights, estimate.means, estimate.covariances), oracle(rows, labels, k)
    ours, least = error(truth, numbers), error(truth, best)
    ratio = float(_covariance_ratios(truth, numbers, best).max())
    return {
        "converged": estimate.converged,
        "mean_ratio": ours.mean / least.mean,
        "covariance_ratio": ratio,
        "good": ours.mean < max(0.5, 4 * least.mean) and ratio <= _PLAN["covariance"],
    }


def _covariance_ratios(truth: Truth, estimate: Truth, best: Truth) -> np.ndarray:
    """Relative Frobenius error of each true component's covariance, over the oracle's."""
    order, roots = matched(truth, estimate), [np.linalg.inv(np.linalg.cholesky(own)) for own in truth.covariances]
    away = [
        [np.linalg.norm(root @ own @ root.T - np.eye(len(root))) for root, own in zip(roots, covariances, strict=True)]
        for covariances in (estimate.covariances[order], best.covariances)
    ]
    return np.array(away[0]) / np.array(away[1])


def _draw(scales: int, generator: np.random.Generator) -> tuple[Truth, int]:
    """(a mixture of so many scales, public rows): d 10 to 50, k 4 to 8, 12 to 20 public rows a component.

    Neighbouring scales differ by a factor of 10 to 1,000. Components of one scale lie 8 to 12 of their top standard
    deviations apart. Scales are nested, each inside the layout of the next one, or lie apart from one another.
    """
    d, k = int(generator.integers(10, 51)), int(generator.integers(max(4, scales), 9))
    m, separation = k * int(generator.integers(12, 21)), generator.uniform(8, 12)
    sizes = np.cumprod([1.0, *10 ** generator.uniform(1, 3, scales - 1)])
    level = np.sort(np.append(np.arange(scales), generator.integers(scales, size=k - scales)))
    nested = bool(generator.random() < 0.5)
    means = np.zeros((k, d))
    for number, size in enumerate(sizes):
        own = np.flatnonzero(level == number)
        means[own] += np.linalg.qr(generator.standard_normal((d, len(own))))[0].T * separation * size / np.sqrt(2)
        direction = generator.standard_normal(d)
        away = direction / np.linalg.norm(direction)
        if not nested:
            means[own] += away * 30 * sizes[-1] * (number + 1)
        elif number + 1 < scales:
            means[level <= number] += away * separation * sizes[number + 1]
    covariances = np.stack([sizes[own] ** 2 * _shape(d, generator) for own in level])
    return Truth(np.full(k, 1 / k), means, covariances), m


def _shape(d: int, generator: np.random.Generator) -> np.ndarray:
    """A covariance with a log-uniform spectrum of condition number about 10 and random axes; its top is 1."""
    values = np.exp(generator.uniform(-np.log(10.0), 0, d))
    axes = np.linalg.qr(generator.standard_normal((d, d)))[0]
    return np.asarray((axes * (values / values.max())) @ axes.T)
