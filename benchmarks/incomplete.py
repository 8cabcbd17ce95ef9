"""Gaussians of tables with missing cells: errors beside those of EM, without privacy, on the same incomplete rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from pubpriv.errors import InvalidInput, NoAnswer

_CORRELATION, _PUBLIC = 0.5, 100
"""Between any two columns; and the number of public rows, which are whole and of the same law."""

_SLOPE, _STEEP = 1.5, 3.0
"""How strongly the odds of a missing cell depend on another column, by its standard deviation; and where strongly."""

_STEPS, _CLOSE = 500, 1e-7
"""EM ends when it moves no number by more than this, or after so many steps."""

_BOUNDS = {2_000: 1.25, 20_000: 1.10}
"""Errors over those of EM that are aimed at, by the number of rows."""

_COVERED = 0.90
"""Part of the 95% intervals that are to hold the truth."""


@dataclass(frozen=True)
class Cell:
    """A table, and how its cells are missing.

    Attributes:
        rows: n.
        columns: d.
        kind: `mcar`, every cell with one probability; `mar`, cells of all columns but the first, by the first;
            `strong`, the same with twice the slope;
            `block`, the last third of the columns together, by the first; `dropout`, from a column on, by the last
            value before.
        share: of cells, or of rows that lack the block or drop out.
    """

    rows: int
    columns: int
    kind: str
    share: float

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw public rows, and private rows with missing cells."""
        rng = np.random.default_rng([self.rows, self.columns, round(100 * self.share), len(self.kind), seed])
        root = np.linalg.cholesky(covariance(self.columns))
        rows = rng.standard_normal((self.rows, self.columns)) @ root.T
        public = rng.standard_normal((_PUBLIC, self.columns)) @ root.T
        shape = rows.shape
        if self.kind == "mcar":
            rows[rng.random(shape) < self.share] = np.nan
        elif self.kind in ("mar", "strong"):
            odds = _odds(self.share, rows[:, :1], _SLOPE if self.kind == "mar" else _STEEP)
            rows[:, 1:][rng.random((shape[0], shape[1] - 1)) < odds] = np.nan
        elif self.kind == "block":
            rows[rng.random(shape[0]) < _odds(self.share, rows[:, 0]), -max(shape[1] // 3, 1) :] = np.nan
        elif self.kind == "dropout":
            hazard, there = 1 - (1 - self.share) ** (1 / (shape[1] - 1)), np.ones(shape[0], dtype=bool)
            for column in range(1, shape[1]):
                there &= rng.random(shape[0]) >= _odds(hazard, rows[:, column - 1])
                rows[~there, column] = np.nan
        else:
            raise InvalidInput(f"cells are missing by mcar, mar, strong, block or dropout, not {self.kind!r}")
        return public, rows


CELLS = tuple(
    Cell(rows, columns, kind, share)
    for rows in _BOUNDS
    for columns in (3, 10)
    for kind, share in (("mcar", 0.05), ("mcar", 0.3), ("mar", 0.3), ("strong", 0.3), ("block", 0.3), ("dropout", 0.3))
)


def covariance(d: int) -> np.ndarray:
    """Covariance of every table: variances of 1, and one correlation."""
    return _CORRELATION * np.ones((d, d)) + (1 - _CORRELATION) * np.eye(d)


def bench(
    runs: int = 30,
    first_seed: int = 0,
    workers: int = WORKERS,
    rows: int | None = None,
    missing: str = "estimate",
    kind: str | None = None,
    target: str = "gaussian",
) -> dict[str, Any]:
    """One row per cell, at zcdp:0.5: root mean square errors over those of EM, coverage, and bias in stated errors.

    Args:
        runs: runs of each cell.
        first_seed: of the first run.
        workers: processes.
        rows: cells with so many private rows; None: all.
        kind: cells whose cells are missing in this way; None: all.
        missing: `estimate`, or `drop` to see what that costs; a run that it refuses counts as refused.
    """
    cells = [cell for cell in CELLS if rows in (None, cell.rows) and kind in (None, cell.kind)]
    tasks = [(cell, first_seed + run, missing, target) for cell in cells for run in range(runs)]
    found = list(in_processes(_run, tasks, workers))
    table = [_row(cell, [each for each in found if each["cell"] == cell]) for cell in cells]
    ratios = [max(row["mean_ratio"], row["covariance_ratio"]) for row in table if row["mean_ratio"] is not None]
    return {
        "bench": "missing",
        "runs": runs,
        "first_seed": first_seed,
        "missing": missing,
        "target": target,
        "ratio": max(ratios, default=None),
        "ratio_of": "root mean square error over that of EM on the same incomplete rows, worst cell",
        "met": all(row["met"] for row in table),
        "rows": table,
    }


def _run(task: tuple[Cell, int, str, str]) -> dict[str, Any]:
    """Release one draw of a cell: (cell, seed, what is done with rows that lack cells, target)."""
    cell, seed, missing, target = task
    public, rows = cell.draw(seed)
    truth = covariance(cell.columns)
    whitening = np.linalg.inv(np.linalg.cholesky(truth))
    found: dict[str, Any] = {"cell": cell, "refused": False, "whole": int(np.isfinite(rows).all(axis=1).sum())}
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=seed)
    try:
        estimate = pp.estimate_gaussian(public, curator, target=target, missing=missing)
    except NoAnswer:
        return found | {"refused": True}
    mean, spread = np.array(estimate.mean), np.array(estimate.covariance)
    sds = {
        part: np.sqrt(sum(np.square(each) for each in estimate.standard_errors[part].values()))
        for part in ("mean", "covariance")
    }
    upper = np.triu_indices(cell.columns)
    best_mean, best_spread = em(rows)
    off = [np.linalg.norm(whitening @ each) for each in (mean, best_mean)]
    off += [np.linalg.norm(whitening @ (each - truth) @ whitening.T) for each in (spread, best_spread)]
    return found | {
        "converged": estimate.converged,
        "errors": off,
        "means": mean / sds["mean"],
        "covariances": ((spread - truth) / sds["covariance"])[upper],
    }


def _row(cell: Cell, runs: list[dict[str, Any]]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "n": cell.rows,
        "d": cell.columns,
        "kind": cell.kind,
        "share": cell.share,
        "runs": len(runs),
    }
    told |= {"whole": float(np.mean([run["whole"] for run in runs])), "bound": _BOUNDS[cell.rows]}
    answered = [run for run in runs if not run["refused"]]
    told["refused"] = len(runs) - len(answered)
    if not answered:
        return told | dict.fromkeys(("mean_ratio", "covariance_ratio", "means_covered", "covariances_covered")) | {
            "worst_bias": None, "flagged": 0, "met": False
        }  # fmt: skip
    mean, best_mean, spread, best_spread = np.sqrt(np.mean(np.square([run["errors"] for run in answered]), axis=0))
    means, spreads = (np.array([run[part] for run in answered]) for part in ("means", "covariances"))
    told |= {
        "mean_ratio": float(mean / best_mean),
        "covariance_ratio": float(spread / best_spread),
        "means_covered": float(np.mean(np.abs(means) < 1.96)),
        "covariances_covered": float(np.mean(np.abs(spreads) < 1.96)),
        "worst_bias": float(np.abs(means.mean(axis=0)).max()),
        "flagged": sum(not run["converged"] for run in answered),
    }
    worst = max(told["mean_ratio"], told["covariance_ratio"])
    covered = min(told["means_covered"], told["covariances_covered"])
    return told | {"met": not told["refused"] and worst <= told["bound"] and covered >= _COVERED}


def em(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood mean and covariance of incomplete rows, by EM from the truth of this bench."""
    rows = rows[~np.isnan(rows).all(axis=1)]
    masks, which = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    groups = [(~mask, rows[which.reshape(-1) == number][:, ~mask]) for number, mask in enumerate(masks)]
    sums = [(seen, len(own), own.sum(axis=0), own.T @ own) for seen, own in groups]
    d = rows.shape[1]
    mean, spread = np.zeros(d), covariance(d)
    for _ in range(_STEPS):
        first, second = np.zeros(d), np.zeros((d, d))
        for seen, count, total, squares in sums:
            slope = spread[:, seen] @ np.linalg.inv(spread[np.ix_(seen, seen)])
            rest = mean - slope @ mean[seen]
            moved = slope @ total
            first += count * rest + moved
            second += slope @ squares @ slope.T + np.outer(moved, rest) + np.outer(rest, moved)
            second += count * (np.outer(rest, rest) + spread - slope @ spread[seen])
        next_mean = first / len(rows)
        next_spread = second / len(rows) - np.outer(next_mean, next_mean)
        change = max(np.abs(next_mean - mean).max(), np.abs(next_spread - spread).max())
        mean, spread = next_mean, next_spread
        if change < _CLOSE:
            break
    return mean, spread


def _odds(share: float, values: np.ndarray, slope: float = _SLOPE) -> np.ndarray:
    """Chances (like `values`) of a missing cell that rise with a standard normal value, and are `share` on average."""
    grid = np.linspace(-6, 6, 1201)
    weights = np.exp(-grid * grid / 2)
    weights /= weights.sum()
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if weights @ (1 / (1 + np.exp(-middle - slope * grid))) < share else (low, middle)
    return np.asarray(1 / (1 + np.exp(-high - slope * values)))
