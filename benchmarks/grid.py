"""The grid of synthetic mixtures: every setting at every budget, beside what it must reach."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from statistics import median
from typing import Any, TypeVar

import numpy as np

import pubpriv as pp
from benchmarks.synthetic import SETTINGS, TABLES, Truth, covering_draw, draw, error, matched, oracle
from pubpriv.errors import InvalidInput
from pubpriv.flows.runtime import environment
from pubpriv.released.distances import dist_gmm, dist_param

_ZCDP = ("zcdp:0.1", "zcdp:0.5", "zcdp:1")
WORKERS = 2
DISTANCES = ("dist_gmm_lower", "dist_gmm_upper", "dist_param")
_NORMAL = 1.959964
"""Half the width of a 95% interval, in standard errors."""

_Cell = TypeVar("_Cell")
_Task = TypeVar("_Task")
_Found = TypeVar("_Found")


def runs_of(task: tuple[str, tuple[str, ...], int]) -> list[dict[str, Any]]:
    """Estimate one draw of a setting at each budget on the same rows.

    Args:
        task: (setting, budgets, seed).

    Returns:
        One row per budget: errors over those of the estimate that knows every row's component.
    """
    name, budgets, seed = task
    setting = SETTINGS[name]
    generator = np.random.default_rng(seed)
    truth = draw(setting, generator)
    public, missed = covering_draw(setting, truth, generator)
    rows, labels = truth.sample(setting.n, generator)
    best = error(truth, oracle(rows, labels, setting.k))
    found = []
    for budget in budgets:
        curator = pp.Curator.simulation(rows, pp.parse_budget(budget), seed)
        estimate = pp.estimate_mixture(public, curator, n_components=setting.k)
        numbers = Truth(estimate.weights, estimate.means, estimate.covariances)
        ours, apart = error(truth, numbers), dist_gmm(truth, numbers)
        found.append(
            {
                "setting": name,
                "budget": budget,
                "seed": seed,
                "redrawn": missed,
                "success": bool(ours.mean < max(0.5, 4 * best.mean)),
                "private": bool(estimate.diagnostics["private_model_chosen"]),
                "mean_ratio": ours.mean / best.mean,
                "covariance_ratio": ours.covariance / best.covariance,
                "weight_ratio": ours.weight / best.weight,
                "dist_gmm_lower": apart.lower,
                "dist_gmm_upper": apart.upper,
                "dist_param": dist_param(truth, numbers),
            }
            | covered(truth, numbers, estimate.standard_errors)
        )
    return found


def total_error(errors: Mapping[str, Any]) -> np.ndarray:
    """Standard errors of numbers from all sources together; errors: by source, `sampling` and `privacy` at least."""
    return np.asarray(np.sqrt(sum(np.asarray(part, dtype=float) ** 2 for part in errors.values())))


def covers(estimate: np.ndarray, truth: Any, errors: Mapping[str, Any]) -> np.ndarray:
    """Tell of each number whether its 95% interval holds the truth; errors: see `total_error`."""
    return np.asarray(np.abs(estimate - truth) <= _NORMAL * total_error(errors))


def covered(truth: Truth, estimate: Truth, errors: Any) -> dict[str, float]:
    """Share of weights, of coordinates of means and of entries of covariances whose 95% interval holds the truth."""
    order = matched(truth, estimate)
    found = {}
    for name in ("weights", "means", "covariances"):
        ordered = {part: np.asarray(values)[order] for part, values in errors[name].items()}
        inside = covers(getattr(estimate, name)[order], getattr(truth, name), ordered)
        found[f"{name}_covered"] = float(inside.mean())
    return found


def budgets_of(name: str, approximate: bool) -> tuple[str, ...]:
    """List the budgets at which a setting has a bound: rho, or (epsilon, delta)."""
    return tuple(text for text in TABLES["synthetic"][name]["mean"] if (text not in _ZCDP) == approximate)


def summary(name: str, budget: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one row of the table: medians over runs, their bounds, and whether all bounds are met."""
    rows = [row for row in found if (row["setting"], row["budget"]) == (name, budget)]
    bounds = TABLES["synthetic"][name]
    row: dict[str, Any] = {
        "setting": name,
        "budget": budget,
        "runs": len(rows),
        "success": sum(row["success"] for row in rows) / len(rows),
        "success_bound": TABLES["success"].get(budget.partition(":")[0], 0.0),
        "redrawn": sum(row["redrawn"] for row in rows) / sum(row["redrawn"] + 1 for row in rows),
    }
    for part in ("mean", "covariance", "weight"):
        row[f"{part}_ratio"] = float(median(row[f"{part}_ratio"] for row in rows))
        row[f"{part}_bound"] = TABLES["weight"] if part == "weight" else bounds.get(part, {}).get(budget)
    for distance in DISTANCES:
        row[distance] = float(median(row[distance] for row in rows))
    return row | {"met": _met(row)}


def _met(row: dict[str, Any]) -> bool:
    """Every bound of a row is kept."""
    kept = (
        row[f"{part}_bound"] is None or row[f"{part}_ratio"] <= row[f"{part}_bound"]
        for part in ("mean", "covariance", "weight")
    )
    return row["success"] >= row["success_bound"] and all(kept)


def names_of(approximate: bool, name: str | None = None) -> list[str]:
    """List the settings that have a bound at such budgets, or the one that is named.

    Raises:
        InvalidInput: an unknown setting, or one without such a bound.
    """
    known = [setting for setting in SETTINGS if budgets_of(setting, approximate)]
    if name is not None and name not in known:
        raise InvalidInput(f"setting must be one of {', '.join(known)}, not {name!r}")
    return known if name is None else [name]


def bench(
    names: list[str], approximate: bool, runs: int, first_seed: int = 0, workers: int = WORKERS
) -> dict[str, Any]:
    """Make the table of the settings `names` at rho 0.1, 0.5 and 1, or at (1, 1e-6)-DP.

    Args:
        names: see `names_of`.
        approximate: at (1, 1e-6)-DP.
        runs: of each cell, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
    """
    budgets = {name: budgets_of(name, approximate) for name in names}
    tasks = [(name, budgets[name], first_seed + run) for name in names for run in range(runs)]
    found = [row for rows in in_processes(runs_of, tasks, workers) for row in rows]
    table = [summary(name, budget, found) for name in names for budget in budgets[name]]
    ratio = max(row["mean_ratio"] / row["mean_bound"] for row in table)
    ratio_of = "largest median mean ratio to the true-label oracle, over its bound"
    return part_of("dp" if approximate else "grid", table, runs, first_seed, ratio, ratio_of)


def part_of(
    part: str, rows: list[dict[str, Any]], runs: int, first_seed: int, ratio: float, ratio_of: str, **more: Any
) -> dict[str, Any]:
    """Make what `pubpriv bench mixture --part` prints, of rows that each say whether they met their bound."""
    figures = {"runs": runs, "first_seed": first_seed, "ratio": ratio, "ratio_of": ratio_of}
    return {"bench": "mixture", "part": part, **more, **figures, "met": all(row["met"] for row in rows), "rows": rows}


def by_cell(
    work: Callable[[tuple[_Cell, int]], _Found], cells: Iterable[_Cell], runs: int, first_seed: int, workers: int
) -> dict[_Cell, list[_Found]]:
    """Work on every cell with the seeds `first_seed`, `first_seed` + 1, ...; give what was found by cell."""
    tasks = [(cell, first_seed + run) for cell in cells for run in range(runs)]
    found: dict[_Cell, list[_Found]] = {}
    for (cell, _), each in zip(tasks, in_processes(work, tasks, workers), strict=True):
        found.setdefault(cell, []).append(each)
    return found


def in_processes(work: Callable[[_Task], _Found], tasks: list[_Task], workers: int = WORKERS) -> Iterator[_Found]:
    """Work on every task, in order, in fresh processes of one BLAS thread each; with one worker, here."""
    if workers <= 1 or len(tasks) <= 1:
        yield from map(work, tasks)
        return
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    with environment(one_thread), ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, tasks)


def in_groups(work: Callable[[_Task], _Found], groups: list[list[_Task]], workers: int = WORKERS) -> list[list[_Found]]:
    """Work on the tasks of all groups, as `in_processes` does, and return what was found group by group."""
    found = iter(list(in_processes(work, [task for group in groups for task in group], workers)))
    return [list(islice(found, len(group))) for group in groups]
