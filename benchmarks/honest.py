"""Whether released intervals hold the truth, on rows that are not Gaussian: the grid, and what each cell must reach."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS
from benchmarks.intervals import COMPONENTS, ESTIMATORS, Task, measured
from benchmarks.laws import LAWS, Law, chosen_laws, listed
from benchmarks.record import recorded
from pubpriv.errors import InvalidInput

_ENOUGH = 5_000
"""Private rows from which the larger bound counts."""

_COVERED, _COVERED_SMOOTH, _FLAGGED = 0.90, 0.85, 0.90
_FALSE_ALARMS = 0.02
_AS_GOOD = 0.01
"""Nats a row by which a mixture may predict worse than the model of the public rows alone."""

_WIDTH, _WIDTH_OF_GAUSSIAN = 3.0, 1.25
"""How much wider than needed intervals may be: of any rows, and of Gaussian ones."""

_BULKS = ("gaussian", "whole-numbers", "correlated")
"""Laws that the target `gaussian` is meant for, besides those with odd rows."""

_NO_GAUSSIAN = ("poisson-0.5",)
"""Sound rows that are no Gaussian's: that target is to be flagged there."""


def bench(
    estimators: str = "mean,gaussian,mixture",
    laws: str | None = None,
    sizes: tuple[int, ...] = (500, 5_000, 100_000),
    dimensions: tuple[int, ...] = (1, 5, 20),
    runs: int = 20,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    public: int | None = None,
    record: Path | None = None,
) -> dict[str, Any]:
    """One row per estimator, law, n and d; the cell of a law without so many columns is left out.

    Shares are held against their bounds as they are: of 20 runs chance alone misses some, 200 runs decide. Of laws with
    odd rows the target `gaussian` and mixtures are of the other rows.

    Args:
        estimators: with commas between them, see `ESTIMATORS`.
        laws: with commas between them; None: all, or those with a Gaussian bulk for the target `gaussian`.
        sizes: n, private rows.
        dimensions: d, columns.
        runs: of each cell, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
        budget: of every run, as text.
        public: public rows; None: 30, or 3 for each column if that is more; 20 for each component.
        record: file of JSON lines, one for each run; runs that it has are not made again.

    Raises:
        InvalidInput: an unknown estimator or law, a bad budget, or a record that is none.
    """
    pp.parse_budget(budget)
    tasks = [
        Task(estimator, law.name, n, d, public or _public_rows(estimator, d), budget, first_seed + run)
        for estimator in listed(estimators, ESTIMATORS, f"estimators must be among {', '.join(ESTIMATORS)}")
        for law in _laws_of(estimator, laws)
        for n in sizes
        for d in dimensions
        if d >= law.least_columns
        for run in range(runs)
    ]
    if not tasks:
        raise InvalidInput("these laws take more columns than that: name others, or more columns")
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in recorded(measured, tasks, workers, record):
        cells[row["estimator"], row["law"], row["n"], row["d"]].append(row)
    table = [summary(rows) for rows in cells.values()]
    return {
        "bench": "honest",
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": sum(row["met"] for row in table) / len(table),
        "ratio_of": "cells that reach what they must, over all cells",
        "met": all(row["met"] for row in table),
        "rows": table,
    }


def _laws_of(estimator: str, names: str | None) -> list[Law]:
    if names is None and estimator == "gaussian-target":
        return [law for law in LAWS.values() if law.bulk is not None or law.name in _BULKS]
    return chosen_laws(names)


def _public_rows(estimator: str, d: int) -> int:
    return 20 * COMPONENTS if estimator == "mixture" else max(30, 3 * d)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one row of the table from the runs of one cell."""
    law, n = LAWS[rows[0]["law"]], rows[0]["n"]
    done = [row for row in rows if row["refused"] is None and row["failed"] is None]
    facts = {
        **{name: rows[0][name] for name in ("estimator", "law", "n", "d", "m")},
        "runs": len(rows),
        "refused": sum(row["refused"] is not None for row in rows),
        "failed": sum(row["failed"] is not None for row in rows),
        "bound": _COVERED if n >= _ENOUGH else _COVERED_SMOOTH if law.smooth else None,
    }
    if not done:
        return facts | {"misses": "failed" if facts["failed"] else "", "met": not facts["failed"]}
    row = facts | {"flagged": sum(row["flagged"] for row in done) / len(done)}
    for name in ("found", "gain", "whole_gain"):
        if name in done[0]:
            row[name] = sum(each[name] for each in done) / len(done)
    for part in ("means", "variances"):
        row |= _intervals(part, done)
    for part in ("mean", "covariance"):
        row |= _errors(part, done)
    misses = list(_misses(row, law))
    return row | {"misses": ", ".join(misses), "met": not misses}


def _intervals(part: str, done: list[dict[str, Any]]) -> dict[str, float]:
    """Coverage, bias and width of the worst kind of columns; widths are medians of runs that are not flagged."""
    if part not in done[0]:
        return {}
    kinds, flagged = np.array(done[0]["kinds"]), np.array([row["flagged"] for row in done])
    judged = {name: np.array([row[part][name] for row in done]) for name in done[0][part]}
    either = np.maximum(judged["covered"], flagged[:, None])
    biases = _by_kind(judged["off"], kinds)
    found = {
        f"{part}_covered": float(_by_kind(judged["covered"], kinds).min()),
        f"{part}_covered_or_flagged": float(_by_kind(either, kinds).min()),
        f"{part}_best_covered": float(_by_kind(judged["best_covered"], kinds).min()),
        f"{part}_bias": float(biases[np.abs(biases).argmax()]),
    }
    for name in ("width", "width_over_gaussian") if not flagged.all() else ():
        wide = judged[name][~flagged]
        found[f"{part}_{name}"] = max(float(np.median(wide[:, kinds == kind])) for kind in np.unique(kinds))
    return found


def _by_kind(values: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Means over runs and columns of one kind: values (runs, columns), kinds (columns,)."""
    return np.array([values[:, kinds == kind].mean() for kind in np.unique(kinds)])


def _errors(part: str, done: list[dict[str, Any]]) -> dict[str, float]:
    """The error over that of the non-private estimate of the same rows: medians, and roots of mean squares."""
    if f"{part}_error" not in done[0]:
        return {}
    ours, best = (np.array([row[name] for row in done]) for name in (f"{part}_error", f"best_{part}_error"))
    return {
        f"{part}_ratio": float(np.median(ours) / np.median(best)),
        f"{part}_ratio_rms": float(np.sqrt((ours**2).mean() / (best**2).mean())),
    }


def _misses(row: dict[str, Any], law: Law) -> Iterator[str]:
    """Say what a row does not reach: intervals that miss or are too wide, flags on sound rows, runs that failed."""
    if row["failed"]:
        yield "failed"
    sound = law.quiet and not (row["estimator"] == "gaussian-target" and law.name in _NO_GAUSSIAN)
    if sound and row["flagged"] > _FALSE_ALARMS:
        yield "alarms"
    if row.get("gain", 0.0) < -_AS_GOOD:
        yield "worse than public"
    if row["flagged"] >= _FLAGGED:
        return
    for part in ("means", "variances"):
        covered, width = row.get(f"{part}_covered"), row.get(f"{part}_width", 0.0)
        if covered is not None and row["bound"] is not None and covered < row["bound"]:
            yield part
        if width > (_WIDTH_OF_GAUSSIAN if law.name in ("gaussian", "correlated") else _WIDTH):
            yield f"{part} wide"
