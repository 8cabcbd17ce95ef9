"""Mixtures of real tables: the share of the gap between public-only and non-private models that a release closes."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from benchmarks.synthetic import TABLES
from benchmarks.tables import census_rows
from pubpriv.data.tables import PublicTable
from pubpriv.deployments import randhie
from pubpriv.deployments.comparison import others, scored

_REAL = TABLES["real"]
_MEDIANS = ("public_only", "released", "non_private", "gap_closed")
_CENSUS = ("age", "education_num", "hours_per_week", "log1p(capital_gain)", "log1p(capital_loss)")


def bench(adult: Path | None, runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """The table of people, person-years and, where its file is given, the census: one row per table and budget.

    Args:
        adult: CSV or Parquet file of the census extract, which does not come with this project; None: left out.
        runs: draws of public, private and held-out rows, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of draws and noise.
        workers: processes.

    Raises:
        InvalidInput: a file that cannot be read, or statsmodels is missing.
    """
    names = [name for name in _REAL["closes"] if name != "adult" or adult is not None]
    tasks = [(name, first_seed + run, adult) for name in names for run in range(runs)]
    found = [row for rows in in_processes(_draws_of, tasks, workers) for row in rows]
    table = [summary(name, budget, found) for name in names for budget in _REAL["budgets"]]
    return {
        "bench": "mixture",
        "part": "real",
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["gap_closed"] / row["bound"] for row in table if row["bound"] is not None),
        "ratio_of": "median share of the gap closed, over what it must be, least over tables",
        "met": all(row["met"] for row in table),
        "left_out": [] if adult else ["adult: its file does not come with pubpriv, give it by --adult FILE"],
        "rows": table,
        "draws": found,
    }


def _draws_of(task: tuple[str, int, Path | None]) -> list[dict[str, Any]]:
    """One draw of a table, released at each budget: scores on held-out rows, in nats per row.

    Args:
        task: (table, seed, file of the census).
    """
    name, seed, adult = task
    public, private, held_out = _parts(name, seed, adult)
    k = _REAL["components"]
    models = others(public, private, k, seed)
    found = []
    for budget in _REAL["budgets"]:
        curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
        estimate = pp.estimate_mixture(public.rows, curator, n_components=k)
        scores = scored(estimate, models, held_out)
        facts = {"table": name, "budget": budget, "seed": seed, "gap_closed": scores.gap_closed}
        found.append(facts | scores.__dict__ | {"private": bool(estimate.diagnostics["private_model_chosen"])})
    return found


def _parts(name: str, seed: int, adult: Path | None) -> tuple[PublicTable, np.ndarray, np.ndarray]:
    """(public rows, private rows (n, d), held-out rows (t, d)): no person is in two of them."""
    if name != "adult":
        found = randhie.split(seed, name)
        split = (found.public, found.private, found.held_out)
        public, private, held_out = (PublicTable.open(part, randhie.COLUMNS) for part in split)
        return public, private.rows, held_out.rows
    rows = census_rows(adult, _CENSUS)
    rows = rows[np.random.default_rng(seed).permutation(len(rows))]
    first, last = _REAL["public_rows"], _REAL["public_rows"] + len(rows) // 4
    return PublicTable(_CENSUS, rows[:first]), rows[last:], rows[first:last]


def summary(name: str, budget: str, found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table: medians over draws, and whether the bounds are kept.

    The share of the gap is bounded at the larger budget, the loss against the public-only model at every budget.
    """
    rows = [row for row in found if (row["table"], row["budget"]) == (name, budget)]
    bound = _REAL["closes"][name] if budget == _REAL["closes_at"] else None
    row = {
        "table": name,
        "budget": budget,
        "draws": len(rows),
        **{part: median(row[part] for row in rows) for part in _MEDIANS},
        "bound": bound,
        "worst": min(row["released"] - row["public_only"] for row in rows),
        "worst_bound": _REAL["worst"],
        "kept_public": sum(not row["private"] for row in rows),
    }
    return row | {"met": row["worst"] >= _REAL["worst"] and (bound is None or row["gap_closed"] >= bound)}
