"""Means and standard deviations of open tables with skewed columns, by default: within their errors, or flagged."""

from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes, total_error
from benchmarks.intervals import judged_variances
from benchmarks.library_tables import MOST_PUBLIC, SKEWED, opened, opened_file
from pubpriv.errors import InvalidInput

_FEWEST = 40
"""Least public rows of a draw."""

_WITHIN = 3.0
"""Standard errors within which a number counts as right."""

_WIDTH = 3.0
"""How much wider than needed the intervals of a column may be."""


def bench(
    runs: int = 10,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    file: Path | None = None,
    columns: str | None = None,
) -> dict[str, Any]:
    """One row per table: in how many draws every mean and standard deviation was within three errors, or flagged.

    A draw takes 40 to 60 rows as public ones; all others are the private rows, and the truth is their own. `width` is
    that of the widest interval of a variance over what the rows need, see `intervals.measured`.

    Args:
        runs: draws of each table, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of public rows and noise.
        workers: processes.
        budget: of every run, as text.
        file: CSV or Parquet file in the place of the open tables.
        columns: of the file, with commas between them; None: all that are numbers.

    Raises:
        InvalidInput: a library that brings a table is missing, or a file cannot be read or is too short.
    """
    pp.parse_budget(budget)
    cells = {name: opened(table) for name, table in SKEWED.items()} if file is None else opened_file(file, columns)
    tasks = [(name, *table, first_seed + run, budget) for name, table in cells.items() for run in range(runs)]
    found = list(in_processes(_draw_of, tasks, workers))
    table = [_row(name, [row for row in found if row["table"] == name]) for name in cells]
    return {
        "bench": "honest",
        "part": "tables",
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["within_or_flagged"] for row in table),
        "ratio_of": "draws in which all means and sds are within three standard errors or flagged, over all, least",
        "met": all(row["met"] for row in table),
        "rows": table,
    }


def _draw_of(task: tuple[str, tuple[str, ...], np.ndarray, int, str]) -> dict[str, Any]:
    """Release one draw of a table: (name, columns, rows, seed, budget)."""
    name, columns, rows, seed, budget = task
    generator = np.random.default_rng(seed)
    order, m = generator.permutation(len(rows)), int(generator.integers(_FEWEST, MOST_PUBLIC + 1))
    public, private = rows[order[:m]], rows[order[m:]]
    curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
    found: dict[str, Any] = {"table": name, "n": len(private), "d": len(columns)}
    try:
        estimate = pp.estimate_gaussian(public, curator)
    except InvalidInput as problem:
        return found | {"refused": str(problem)}
    tiny = np.finfo(float).tiny
    variances = {part: np.diag(values) for part, values in estimate.standard_errors["covariance"].items()}
    judged = judged_variances(np.diag(estimate.covariance), private.var(axis=0), variances, private)
    sds = np.sqrt(np.maximum(np.diag(estimate.covariance), tiny))
    off = {
        "mean": (estimate.mean - private.mean(axis=0))
        / np.maximum(total_error(estimate.standard_errors["mean"]), tiny),
        "sd": (sds - private.std(axis=0)) / np.maximum(total_error(variances) / (2 * sds), tiny),
    }
    return found | {
        "refused": None,
        "flagged": not estimate.converged,
        "width": max(judged["width"]),
        "off": {
            f"{part} of {column}": float(z) for part, zs in off.items() for column, z in zip(columns, zs, strict=True)
        },
        "sd_bias": {column: float(bias) for column, bias in zip(columns, sds / private.std(axis=0) - 1, strict=True)},
    }


def _row(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table: shares of draws; of those that were not flagged, what was furthest off, and the width."""
    done = [row for row in found if row["refused"] is None]
    within = [max(map(abs, row["off"].values())) <= _WITHIN for row in done]
    sound = [row for row in done if not row["flagged"]]
    either = [inside or row["flagged"] for inside, row in zip(within, done, strict=True)]
    furthest = max((item for row in sound for item in row["off"].items()), key=lambda item: abs(item[1]), default=None)
    biases = [max(row["sd_bias"].items(), key=lambda item: abs(item[1])) for row in done]
    width = float(np.median([row["width"] for row in sound])) if sound else None
    return {
        "table": name,
        "n": found[0]["n"],
        "d": found[0]["d"],
        "runs": len(found),
        "refused": len(found) - len(done),
        "flagged": len(done) - len(sound),
        "within": sum(within),
        "within_or_flagged": sum(either) / len(done) if done else 1.0,
        "furthest": None if furthest is None else furthest[0],
        "errors_off": None if furthest is None else furthest[1],
        "largest_sd_bias": float(np.median([abs(bias) for _, bias in biases])) if biases else None,
        "width": width,
        "met": all(either) and (width is None or width <= _WIDTH),
    }
