"""How often 95% intervals made of a mixture's standard errors hold the truth."""

from typing import Any

from benchmarks.grid import WORKERS, in_processes, runs_of
from benchmarks.synthetic import TABLES

_PLAN = TABLES["coverage"]
_BOUNDED = ("weights", "means")


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row per setting and budget: shares of weights, coordinates of means and entries of covariances.

    An interval is the estimate, plus and minus 1.96 times the root of the squared sampling and privacy errors; the
    truth is that of the mixture, so a record that went to the wrong component counts as well.

    Args:
        runs: of S2, and four times as many of S1; seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
    """
    budgets = tuple(_PLAN["budgets"])
    tasks = [(name, budgets, first_seed + run) for name, times in _PLAN["times"].items() for run in range(times * runs)]
    found = [row for rows in in_processes(runs_of, tasks, workers) for row in rows]
    table = [_row(name, budget, found) for name in _PLAN["times"] for budget in budgets]
    shares = [row[part] for row in table for part in _BOUNDED]
    return {
        "bench": "mixture",
        "part": "coverage",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": max(0.95 / min(shares), max(shares) / 0.95),
        "ratio_of": "share of intervals for weights and means that hold the truth, over 95% or under it, worst row",
        "least": _PLAN["least"],
        "most": _PLAN["most"],
        "met": all(row["met"] for row in table),
        "rows": table,
    }


def _row(name: str, budget: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for row in found if (row["setting"], row["budget"]) == (name, budget)]
    shares = {
        part: sum(row[f"{part}_covered"] for row in rows) / len(rows) for part in ("weights", "means", "covariances")
    }
    met = all(_PLAN["least"] <= shares[part] <= _PLAN["most"] for part in _BOUNDED)
    return {"setting": name, "budget": budget, "runs": len(rows), **shares, "met": met}
