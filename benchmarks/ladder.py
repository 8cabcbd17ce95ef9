"""How near a run that finds the number of components by itself comes to the best number that could have been told."""

from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes, part_of
from benchmarks.synthetic import TABLES
from pubpriv.deployments import randhie
from pubpriv.errors import InvalidInput

_LADDER = TABLES["ladder"]
_PUBLIC, _HELD_OUT = 100, 5000


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row per table and budget: held-out nats per row that the best told number is better by, and components.

    Args:
        runs: of each, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.

    Raises:
        InvalidInput: statsmodels is missing, which has the real tables.
    """
    names = [*_LADDER["tables"], *_LADDER["whole"]]
    tasks = [(name, budget, first_seed + run) for name in names for budget in _LADDER["budgets"] for run in range(runs)]
    found = dict(zip(tasks, in_processes(_draw_of, tasks, workers), strict=True))
    table = [
        _row(name, budget, [found[name, budget, first_seed + run] for run in range(runs)])
        for name in names
        for budget in _LADDER["budgets"]
    ]
    ratio_of = "share of runs that are near enough to the best number, or leave one component whole, least"
    return part_of("ladder", table, runs, first_seed, min(row["right"] for row in table), ratio_of)


def _draw_of(task: tuple[str, str, int]) -> dict[str, float]:
    """Held-out nats per row that the best number of components, and one, are better by than the number found.

    Args:
        task: (table, budget, seed).
    """
    name, budget, seed = task
    rows = _rows(name, np.random.default_rng(seed))
    public, held_out, private = np.split(rows, [_PUBLIC, _PUBLIC + min(_HELD_OUT, len(rows) // 4)])
    private = private[: _LADDER["rows"]]

    def released(k: int | str) -> Any:
        curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
        return pp.estimate_mixture(public, curator, n_components=k)

    own = released("auto")
    if name in _LADDER["whole"]:
        return {"k": len(own.weights), "gap": 0.0, "over_one": 0.0}
    told = [float(released(k).log_density(held_out).mean()) for k in range(1, 9)]
    nats = float(own.log_density(held_out).mean())
    return {"k": len(own.weights), "gap": max(told) - nats, "over_one": nats - told[0]}


def _row(name: str, budget: str, found: list[dict[str, float]]) -> dict[str, Any]:
    whole = name in _LADDER["whole"]
    good = [each["k"] == 1 if whole else each["gap"] <= _LADDER["gap"] for each in found]
    least = min(each["over_one"] for each in found)
    return {
        "table": name,
        "budget": budget,
        "runs": len(found),
        "components": ", ".join(str(each["k"]) for each in found),
        "gap": None if whole else max(each["gap"] for each in found),
        "gap_bound": None if whole else _LADDER["gap"],
        "over_one": None if whole else least,
        "right": sum(good) / len(good),
        "met": sum(good) >= _LADDER["right"] * len(good) and least >= -_LADDER["slack"],
    }


def _rows(name: str, generator: np.random.Generator) -> np.ndarray:
    """Rows of a table in random order: real ones, or drawn."""
    if name == "person-year":
        table, _ = randhie.rows_of(name)
        columns = (np.log1p(table.mdvis), table.lpi, table.fmde, np.log1p(table.disea), table.lncoins)
        return generator.permutation(np.column_stack(columns))
    if name == "marriages":
        try:
            from statsmodels.datasets import fair
        except ImportError:
            raise InvalidInput("the table comes with statsmodels: pip install 'pubpriv[demo]'") from None
        table = fair.load_pandas().data
        return generator.permutation(np.column_stack((table.age, table.yrs_married, table.children, table.educ)))
    count = _LADDER["rows"] + _PUBLIC + _HELD_OUT
    rows = generator.standard_normal((count, 5)) * np.geomspace(0.3, 1.5, 5)
    if name in ("two classes", "skewed classes"):
        second = generator.random(count) < 0.3
        rows[second] = rows[second] * [0.5, 1.5, 0.7, 1.2, 0.6] + [0.4, 0.0, 0.9, -0.8, 1.2]
    if name == "skewed classes":
        rows = np.exp(0.45 * rows)
    if name == "student":
        rows /= np.sqrt(generator.chisquare(5, size=(count, 1)) / 5)
    return np.rint(2.5 * rows) if name == "whole numbers" else rows
