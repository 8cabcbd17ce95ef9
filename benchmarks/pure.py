"""Means, Gaussians and mixtures under pure DP, over the estimate without privacy of the same rows."""

import math
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks import learner, synthetic
from benchmarks.gaussian import MeanSetting
from pubpriv.errors import InvalidInput

_EPSILONS = (1, 2, 4)
_MEANS = tuple((d, n) for d in (1, 5, 20) for n in (1_000, 10_000))
_GAUSSIANS = ((2, 3, 1_000, 4), (2, 3, 10_000, 1), (5, 6, 10_000, 1), (5, 6, 10_000, 4), (5, 30, 10_000, 1))
_LARGE = ((10, 11, 10_000, 4), (5, 6, 100_000, 1))
_LINE = ((1, 2), (3, 4), (5, 6), (10, 11))
"""(d, m) of runs at the line of feasibility: n is what epsilon = 1 takes there."""

_MIXTURES = ((2, 2, 10_000, 1), (2, 2, 10_000, 4), (5, 3, 100_000, 1), (5, 3, 100_000, 4))
_SEPARATION = 8.0

_MOST = {"mean": 1.1, "gaussian": 1.4, "mixture": 1.2}
"""Bounds of ratios: of the mean over the predicted one, of a covariance, and of a mixture's means at epsilon 4."""


def bench(part: str = "all", runs: int = 30, first: int = 0) -> dict[str, Any]:
    """Measure all parts, and give their rows.

    Args:
        part: `mean`, `gaussian`, `line`, `mixture` or `all`.
        runs: of each row.
        first: seed of the first run.

    Raises:
        InvalidInput: there is no such part.
    """
    if part not in ("all", *_PARTS):
        raise InvalidInput(f"part must be one of all, {', '.join(_PARTS)}, not {part!r}")
    rows = [row for name, measured in _PARTS.items() if part in ("all", name) for row in measured(runs, first)]
    return {
        "bench": "pure",
        "runs": runs,
        "first_seed": first,
        "ratio": max(row["ratio"] / row["bound"] for row in rows if row["bound"] is not None) if rows else math.nan,
        "ratio_of": "ratio of errors over its bound, largest of all rows that have one",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }


def _means(runs: int, first: int) -> Iterator[dict[str, Any]]:
    """Root mean square errors, one public row; the bound is a tenth more than the plan predicts."""
    for (d, n), epsilon in ((size, epsilon) for size in _MEANS for epsilon in _EPSILONS):
        setting, ours, best, told, flagged = MeanSetting(n, d, 0.0), [], [], 0.0, 0
        for seed in range(first, first + runs):
            public, private = setting.draw(seed)
            found = pp.estimate_mean(public, pp.Curator.simulation(private, pp.PureDP(epsilon), seed), force=True)
            ours.append(setting.error(found.mean))
            best.append(setting.error(private.mean(axis=0)))
            told, flagged = found.diagnostics["predicted_ratio_to_non_private"], flagged + (not found.converged)
        ratio = _trimmed(ours) / _trimmed(best)
        yield _row("mean", d, 1, n, epsilon, ratio, flagged, _MOST["mean"] * told, predicted=told)


def _gaussians(runs: int, first: int) -> Iterator[dict[str, Any]]:
    """Covariances, relative and Frobenius; for the target gaussian bounded where n epsilon is 25 d^3, and 10,000."""
    for target in ("gaussian", "auto"):
        for d, m, n, epsilon in (*_GAUSSIANS, *_LARGE):
            bounded = target == "gaussian" and n * epsilon >= max(25 * d**3, 10_000)
            yield _gaussian(target, d, m, n, epsilon, runs, first, _MOST["gaussian"] if bounded else None)


def _line(runs: int, first: int) -> Iterator[dict[str, Any]]:
    """Covariances just above the line below which a run is refused."""
    for d, m in _LINE:
        yield _gaussian("auto", d, m, 12 * d**3 + 1_500, 1, runs, first, None) | {"part": "line"}


def _gaussian(
    target: str, d: int, m: int, n: int, epsilon: int, runs: int, first: int, bound: float | None
) -> dict[str, Any]:
    setting = learner.Setting(n, d, m, condition=10.0, shift=3.0)
    found = learner.measure(
        setting, lambda w, c: pp.estimate_gaussian(w.public, c, target=target), f"pure:{epsilon}", runs, first
    )
    return _row(target, d, m, n, epsilon, found["ratio"], found["flagged"], bound, mean_ratio=found["mean_ratio"])


def _mixtures(runs: int, first: int) -> Iterator[dict[str, Any]]:
    """Medians over runs of the largest error of a component's mean, and of a covariance, over the oracle's."""
    for d, k, n, epsilon in _MIXTURES:
        setting = synthetic.Setting(d, k, _SEPARATION, max(k * (d + 1), 12 * k), n)
        means, covariances, flagged = [], [], 0
        for seed in range(first, first + runs):
            generator = np.random.default_rng(seed)
            truth = synthetic.draw(setting, generator)
            public = synthetic.draw_public(setting, truth, generator)
            rows, labels = truth.sample(n, generator)
            best = synthetic.error(truth, synthetic.oracle(rows, labels, k))
            curator = pp.Curator.simulation(rows, pp.PureDP(epsilon), seed)
            estimate = pp.estimate_mixture(public, curator, n_components=k)
            ours = synthetic.error(truth, synthetic.Truth(estimate.weights, estimate.means, estimate.covariances))
            means.append(ours.mean / best.mean)
            covariances.append(ours.covariance / best.covariance)
            flagged += not estimate.converged
        bound = _MOST["mixture"] if epsilon == 4 else None
        row = _row("mixture", d, setting.m, n, epsilon, median(means), flagged, bound)
        yield row | {"covariance_ratio": median(covariances)}


_PARTS: dict[str, Callable[[int, int], Iterator[dict[str, Any]]]] = {
    "mean": _means,
    "gaussian": _gaussians,
    "line": _line,
    "mixture": _mixtures,
}


def _row(
    part: str, d: int, m: int, n: int, epsilon: int, ratio: float, flagged: int, bound: float | None, **also: float
) -> dict[str, Any]:
    sizes = {"part": part, "d": d, "m": m, "n": n, "epsilon": epsilon}
    return sizes | {"ratio": ratio, "bound": bound, "flagged": flagged, "met": bound is None or ratio <= bound} | also


def _trimmed(errors: list[float]) -> float:
    """10% trimmed mean, each side."""
    from scipy.stats import trim_mean

    return float(trim_mean(errors, 0.1))
