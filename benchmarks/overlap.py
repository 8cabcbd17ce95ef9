"""Mixtures whose components share rows: errors beside those of EM on the same rows, and how often intervals hold."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, by_cell, covered, part_of
from benchmarks.synthetic import TABLES, Truth, matched
from pubpriv.released.kinds import MixtureEstimate

_PLAN = TABLES["overlap"]
_QUANTITIES = ("weights", "means", "covariances")


@dataclass(frozen=True)
class Cell:
    """Three components in d columns, each as many standard deviations from the others.

    Attributes:
        d: number of columns.
        apart: distance of any two means, in standard deviations of either component along their line or more.
        shape: `round`: all covariances the identity, weights equal; `unlike`: each component has variances between
            one and a quarter along axes of its own, and weights are one, two and three sixths.
    """

    d: int
    apart: float
    shape: str


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """Make a row for each dimension, distance and shape.

    Errors are root mean squares over runs and numbers: of weights, of means in standard deviations of their component,
    and of whitened covariances. EM begins with the truth, so it is at the optimum that is meant.

    Args:
        runs: of each row, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of laws, rows and noise.
        workers: processes.
    """
    cells = [Cell(d, apart, shape) for shape in _PLAN["shapes"] for d in _PLAN["d"] for apart in _PLAN["apart"]]
    found = by_cell(_run_of, cells, runs, first_seed, workers)
    table = [_row(cell, rows) for cell, rows in found.items()]
    ratio = max(row[f"{name}_ratio"] for row in table for name in _QUANTITIES)
    return part_of("overlap", table, runs, first_seed, ratio, "error over that of EM on the same rows, largest")


def _row(cell: Cell, found: list[dict[str, Any]]) -> dict[str, Any]:
    row = {"shape": cell.shape, "d": cell.d, "apart": cell.apart, "runs": len(found)}
    for name in _QUANTITIES:
        ours, theirs = (np.mean([run[whose][name] for run in found]) for whose in ("ours", "theirs"))
        row[f"{name}_ratio"] = float(np.sqrt(ours / theirs))
        row[f"{name}_covered"] = float(np.mean([run[f"{name}_covered"] for run in found]))
    row["doubtful"] = float(np.mean([not run["sound"] for run in found]))
    near = all(row[f"{name}_ratio"] <= _PLAN["ratio"] for name in _QUANTITIES)
    return row | {"met": near and all(row[f"{name}_covered"] >= _PLAN["covered"] for name in _QUANTITIES)}


def _run_of(task: tuple[Cell, int]) -> dict[str, Any]:
    """Estimate one draw of a cell beside EM on the same rows."""
    cell, seed = task
    random = np.random.default_rng([seed, cell.d, int(10 * cell.apart), len(cell.shape)])
    truth = law(cell, random)
    rows, _ = truth.sample(_PLAN["n"], random)
    public, _ = truth.sample(_PLAN["m"], random)
    curator = pp.Curator.simulation(rows, pp.parse_budget(_PLAN["budget"]), seed)
    found = pp.estimate_mixture(public, curator, n_components=len(truth.weights))
    theirs = _em(rows, truth)
    return {"ours": _squares(truth, _numbers(found)), "theirs": _squares(truth, theirs), "sound": found.converged} | (
        covered(truth, _numbers(found), found.standard_errors)
    )


def law(cell: Cell, random: np.random.Generator) -> Truth:
    """Draw the components of a cell: their means are corners of a regular triangle that is turned at random."""
    corners = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]]) / np.sqrt(3)
    plane = np.linalg.qr(random.standard_normal((cell.d, 2)))[0]
    weights, covariances = np.ones(3), np.stack([np.eye(cell.d)] * 3)
    if cell.shape == "unlike":
        weights = np.arange(1.0, 4.0)
        for j in range(3):
            axes = np.linalg.qr(random.standard_normal((cell.d, cell.d)))[0]
            covariances[j] = (axes * np.exp(random.uniform(-np.log(4), 0, cell.d))) @ axes.T
    return Truth(weights / weights.sum(), cell.apart * corners @ plane.T, covariances)


def _numbers(found: MixtureEstimate) -> Truth:
    return Truth(found.weights, found.means, found.covariances)


def _em(rows: np.ndarray, truth: Truth) -> Truth:
    """Run EM without privacy, from the truth."""
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(
        len(truth.weights),
        weights_init=truth.weights,
        means_init=truth.means,
        precisions_init=np.linalg.inv(truth.covariances),
        tol=1e-7,
        max_iter=2_000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows)
    return Truth(model.weights_, model.means_, model.covariances_)


def _squares(truth: Truth, estimate: Truth) -> dict[str, float]:
    """Give mean squared errors, whitened by the true components."""
    order = matched(truth, estimate)
    shifts, bends = [], []
    for j, own in enumerate(order):
        whiten = np.linalg.inv(np.linalg.cholesky(truth.covariances[j]))
        shifts.append(whiten @ (estimate.means[own] - truth.means[j]))
        bends.append(whiten @ (estimate.covariances[own] - truth.covariances[j]) @ whiten.T)
    off = {"weights": estimate.weights[order] - truth.weights, "means": shifts, "covariances": bends}
    return {name: float(np.mean(np.square(values))) for name, values in off.items()}
