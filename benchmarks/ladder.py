"""How near a run that finds the number of components by itself comes to the best number that could have been given."""

from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes, part_of
from benchmarks.synthetic import TABLES
from pubpriv.deployments import randhie
from pubpriv.errors import InvalidInput

_LADDER = TABLES["ladder"]
_PUBLIC, _HELD_OUT = 100, 5000
_GAPS = ("gap", "largest_gap", "gap_bound", "over_one")


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row per table and budget: nats per held-out row by which the best number that is given is better.

    The best fixed number is the one that is best on the mean of all runs. The largest gap of one run is to the best of
    that run's eight models, of which each ended in an optimum of its own.

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


def _draw_of(task: tuple[str, str, int]) -> dict[str, Any]:
    """The number of components found, and held-out nats per row of it and of the models of 1 to 8 components.

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
        return {"k": len(own.weights), "nats": 0.0, "given": []}
    given = [float(released(k).log_density(held_out).mean()) for k in range(1, 9)]
    return {"k": len(own.weights), "nats": float(own.log_density(held_out).mean()), "given": given}


def _row(name: str, budget: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    about = {
        "table": name,
        "budget": budget,
        "runs": len(found),
        "components": ", ".join(str(each["k"]) for each in found),
    }
    if name in _LADDER["whole"]:
        right = sum(each["k"] == 1 for each in found) / len(found)
        return about | dict.fromkeys(_GAPS) | {"right": right, "met": right >= _LADDER["right"]}
    nats, given = np.array([each["nats"] for each in found]), np.array([each["given"] for each in found])
    gap, over_one = float(given.mean(axis=0).max() - nats.mean()), float((nats - given[:, 0]).min())
    gaps = given.max(axis=1) - nats
    return about | {
        "gap": gap,
        "largest_gap": float(gaps.max()),
        "gap_bound": _LADDER["gap"],
        "over_one": over_one,
        "right": float((gaps <= _LADDER["gap"]).mean()),
        "met": gap <= _LADDER["gap"] and over_one >= -_LADDER["slack"],
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
