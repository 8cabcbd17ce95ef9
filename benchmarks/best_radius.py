"""Covariances of open tables, by default: errors beside those of the best clip radius in hindsight."""

import math
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, covers, in_processes, total_error
from benchmarks.library_tables import MOST_PUBLIC, PLAIN, SKEWED, opened, opened_file
from pubpriv.errors import InvalidInput

_TRIED = 60
"""Clip radii that are tried in hindsight, from the median length of a row to the largest."""

_TOWARDS_BEST = {"light": 1.25, "heavy": 1.6}
"""Bounds of the median, over tables, of the error over that of the best radius."""


def bench(
    runs: int = 10,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    file: Path | None = None,
    columns: str | None = None,
) -> dict[str, Any]:
    """One row per table: errors of the covariance, and what its intervals cover.

    A draw takes 60 rows as public ones; the others are the private rows, and the truth is their own covariance S. An
    error is the Frobenius norm of S^(-1/2) C S^(-1/2) - I. The best radius in hindsight knows S, spends the whole
    budget on one release, and is chosen by its error.

    Args:
        runs: draws of each table, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of public rows and noise.
        workers: processes.
        budget: of every run, as text; in rho.
        file: CSV or Parquet file in the place of the open tables.
        columns: of the file, with commas between them; None: all that are numbers.

    Raises:
        InvalidInput: a library that brings a table is missing, the budget is not in rho, or a file cannot be read or is
            too short.
    """
    allotment = pp.parse_budget(budget)
    if not isinstance(allotment, pp.ZeroConcentratedDP):
        raise InvalidInput(f"the best radius is known under zcdp:RHO only, not {budget!r}")
    if file is None:
        cells = {name: ("light", opened(table)[1]) for name, table in PLAIN.items()}
        cells |= {name: ("heavy", opened(table)[1]) for name, table in SKEWED.items()}
    else:
        cells = {name: ("given", rows) for name, (_, rows) in opened_file(file, columns).items()}
    tasks = [(name, rows, first_seed + run, allotment) for name, (_, rows) in cells.items() for run in range(runs)]
    found = list(in_processes(_draw_of, tasks, workers))
    table = [_row(name, tail, [draw for draw in found if draw["table"] == name]) for name, (tail, _) in cells.items()]
    medians = {
        tail: float(np.median([row["ratio"] for row in table if row["tail"] == tail]))
        for tail in dict.fromkeys(row["tail"] for row in table)
    }
    return {
        "bench": "best-radius",
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(medians.values()),
        "ratio_of": "error over that of the best clip radius in hindsight, median over tables, worst kind of tables",
        "medians": medians,
        "met": all(median <= _TOWARDS_BEST.get(tail, math.inf) for tail, median in medians.items()),
        "rows": table,
    }


def _draw_of(task: tuple[str, np.ndarray, int, pp.ZeroConcentratedDP]) -> dict[str, Any]:
    """Release one draw of a table: (name, rows, seed, budget)."""
    name, rows, seed, allotment = task
    order = np.random.default_rng(seed).permutation(len(rows))
    public, private = rows[order[:MOST_PUBLIC]], rows[order[MOST_PUBLIC:]]
    estimate = pp.estimate_gaussian(public, pp.Curator.simulation(private, allotment, seed))
    truth = np.cov(private.T, bias=True)
    values, vectors = np.linalg.eigh(truth)
    whitening = vectors / np.sqrt(values)
    off = whitening.T @ estimate.covariance @ whitening - np.eye(len(truth))
    errors = {part: np.diag(each) for part, each in estimate.standard_errors["covariance"].items()}
    variances = np.diag(truth)
    return {
        "table": name,
        "n": len(private),
        "d": len(truth),
        "error": float(np.linalg.norm(off)),
        "best": best_error((private - private.mean(axis=0)) @ whitening, float(allotment.rho)),
        "flagged": not estimate.converged,
        "covered": float(covers(np.diag(estimate.covariance), variances, errors).mean()),
        "width": float(np.median(total_error(errors) / variances)),
    }


def best_error(white: np.ndarray, rho: float) -> float:
    """Compute the root mean square error of the best clip radius for rows (n, d) with mean 0 and covariance I.

    Mean and second moment are released together, the sum with weight theta = 2 / d, see `final_theta`.
    """
    n, d = white.shape
    lengths = np.linalg.norm(white, axis=1)
    noise = (1 + (2 / d if d > 1 else 1.0) / 2) / (n * math.sqrt(rho)) * math.sqrt(d * (d + 1) / 2)
    errors = []
    for radius in np.geomspace(np.median(lengths), lengths.max(), _TRIED):
        clipped = white * np.minimum(1, radius / np.maximum(lengths, 1e-12))[:, None]
        lost = np.linalg.norm(np.cov(clipped.T, bias=True) - np.eye(d))
        errors.append(math.hypot(float(lost), noise * radius**2))
    return min(errors)


def _row(name: str, tail: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table: roots of mean squares of errors, shares, and a median."""
    error, best = (math.sqrt(float(np.mean([draw[part] ** 2 for draw in found]))) for part in ("error", "best"))
    return {
        "table": name,
        "tail": tail,
        "n": found[0]["n"],
        "d": found[0]["d"],
        "runs": len(found),
        "error": error,
        "best": best,
        "ratio": error / best,
        "covered": float(np.mean([draw["covered"] for draw in found])),
        "flagged": float(np.mean([draw["flagged"] for draw in found])),
        "width": float(np.median([draw["width"] for draw in found])),
    }
