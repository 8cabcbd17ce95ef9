"""How wrong the public rows may be: errors of the default estimates over those with public rows from the true law.

The private rows are of unit Gaussians. One seed draws the same private rows, and the same public ones before they are
spoiled, for every kind and level, so that only what is wrong differs. Every kind goes one random way.

| kind | level | what is wrong with the public rows |
|---|---|---|
| `shift` | standard deviations | all lie so far off |
| `wider`, `narrower` | factor of variances | their covariance, about the mean of the component |
| `wider line`, `narrower line` | factor of a variance | ... along one direction only |
| `garbage` | share | so many of them are 50 standard deviations off, each its own way |
| `copies` | times | each row stands there so often, and there are fewer different ones |
| `few` | rows | there are no more than that |
| `missing` | components | so many components of the mixture have no public row |
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_groups
from benchmarks.laws import listed
from benchmarks.synthetic import Truth, error
from pubpriv.errors import InvalidInput

_LOSS, _CAUGHT = 0.10, 0.90
"""Largest loss that counts as none, and least share of flagged or refused runs that counts as caught."""

_D, _SEPARATION, _GARBAGE = 5, 8.0, 50.0


@dataclass(frozen=True)
class _Setting:
    """An estimator, n private and m public rows, k components, and how few public rows are tried."""

    estimate: Callable[[np.ndarray, pp.Curator, int], Any]
    n: int
    m: int
    k: int
    few: tuple[float, ...]


def _mean(public: np.ndarray, curator: pp.Curator, k: int) -> Any:
    del k
    return pp.estimate_mean(public, curator)


def _gaussian(public: np.ndarray, curator: pp.Curator, k: int) -> Any:
    del k
    return pp.estimate_gaussian(public, curator)


def _mixture(public: np.ndarray, curator: pp.Curator, k: int) -> Any:
    return pp.estimate_mixture(public, curator, n_components=k)


_SETTINGS: Mapping[str, _Setting] = {
    "mean": _Setting(_mean, 5_000, 30, 1, (10, 3, 1)),
    "gaussian": _Setting(_gaussian, 5_000, 30, 1, (15, 8, _D + 1)),
    "mixture": _Setting(_mixture, 10_000, 60, 3, (30, 15, 9, 6, 3)),
}
ESTIMATORS = tuple(_SETTINGS)

_CLEAN = "clean"
_LEVELS: Mapping[str, tuple[float, ...]] = {
    "shift": (0.3, 1, 3, 10, 30, 100, 1e3, 1e4),
    "wider": (2, 4, 10, 100),
    "narrower": (2, 4, 10, 100),
    "wider line": (4, 10, 100, 1e4),
    "narrower line": (4, 10, 100, 1e4),
    "garbage": (0.05, 0.1, 0.2),
    "copies": (2, 3),
    "missing": (1,),
}
"""Levels of each kind, from the least to the worst."""

_Task = tuple[str, str, float, int, str, int | None]


def levels_of(estimator: str) -> list[tuple[str, float]]:
    """Every kind with its levels, for an estimator; the first is public rows from the true law."""
    setting = _SETTINGS[estimator]
    kinds = {name: levels for name, levels in _LEVELS.items() if name != "missing" or setting.k > 1}
    kinds["few"] = setting.few
    return [(_CLEAN, 0.0), *((kind, level) for kind, levels in kinds.items() for level in levels)]


def bench(
    estimators: str = "mean,gaussian,mixture",
    runs: int = 20,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    n: int | None = None,
) -> dict[str, Any]:
    """One row per estimator, kind and level in `levels`, and the level up to which each kind does no harm in `rows`.

    Args:
        estimators: with commas between them, see `ESTIMATORS`.
        runs: of each level, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows and noise.
        workers: processes.
        budget: of every run, as text.
        n: private rows; None: 5,000, or 10,000 of a mixture.

    Raises:
        InvalidInput: an unknown estimator, or a bad budget.
    """
    pp.parse_budget(budget)
    wanted = listed(estimators, ESTIMATORS, f"estimators must be among {', '.join(ESTIMATORS)}")
    cells = [(name, *cell) for name in wanted for cell in levels_of(name)]
    groups: list[list[_Task]] = [[(*cell, first_seed + run, budget, n) for run in range(runs)] for cell in cells]
    by_cell = dict(zip(cells, in_groups(run_of, groups, workers), strict=True))
    table = [_level(cell, rows, by_cell[cell[0], _CLEAN, 0.0]) for cell, rows in by_cell.items()]
    limits = list(_limits(table))
    return {
        "bench": "shift",
        "budget": budget,
        "n": n,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": sum(row["met"] for row in limits) / len(limits),
        "ratio_of": "kinds of wrong public rows that do no harm or are caught at every level, over all kinds",
        "met": all(row["met"] for row in limits),
        "rows": limits,
        "levels": table,
    }


def run_of(task: _Task) -> dict[str, Any]:
    """Run one task: (estimator, kind, level, seed, budget, private rows).

    Returns:
        `refused`; and if it was not, `flagged` and errors: of the mean, and of the covariance where there is one.
    """
    name, kind, level, seed, budget, n = task
    setting, generator = _SETTINGS[name], np.random.default_rng([seed, ESTIMATORS.index(name)])
    means = _SEPARATION / np.sqrt(2) * np.eye(_D)[: setting.k] if setting.k > 1 else np.zeros((1, _D))
    n = n or setting.n
    private = means[generator.integers(setting.k, size=n)] + generator.standard_normal((n, _D))
    public = _spoiled(kind, level, means, setting.m, generator)
    curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed)
    try:
        estimate = setting.estimate(public, curator, setting.k)
    except InvalidInput as problem:
        return {"refused": str(problem)}
    return {"refused": None, "flagged": not estimate.converged} | _errors(estimate, means)


def _spoiled(kind: str, level: float, means: np.ndarray, m: int, generator: np.random.Generator) -> np.ndarray:
    """Public rows (m, d) with something wrong; components take turns, so that each has rows."""
    noise, way = generator.standard_normal((m, _D)), _directions(1, generator)[0]
    labels = np.arange(m) % (len(means) - int(level if kind == "missing" else 0))
    along = np.outer(noise @ way, way)
    factors = {"wider": level**0.5, "narrower": level**-0.5} if level else {}
    noise = noise * factors.get(kind, 1.0)
    if kind.endswith(" line"):
        noise = noise + (factors[kind.removesuffix(" line")] - 1) * along
    rows = means[labels] + noise
    if kind == "shift":
        rows = rows + level * way
    if kind == "garbage":
        bad = round(level * m)
        rows[:bad] += _GARBAGE * _directions(bad, generator)
    if kind == "copies":
        rows = rows[np.arange(m) % int(m / level)]
    return np.asarray(rows[: int(level)] if kind == "few" else rows)


def _directions(count: int, generator: np.random.Generator) -> np.ndarray:
    """Random unit vectors (count, d)."""
    ways = generator.standard_normal((count, _D))
    return np.asarray(ways / np.linalg.norm(ways, axis=1, keepdims=True))


def _errors(estimate: Any, means: np.ndarray) -> dict[str, float]:
    """Errors of a mean and a covariance; of a mixture, those of its worst component."""
    if len(means) > 1:
        numbers = Truth(estimate.weights, estimate.means, estimate.covariances)
        truth = Truth(np.full(len(means), 1 / len(means)), means, np.stack([np.eye(_D)] * len(means)))
        found = error(truth, numbers)
        return {"mean": found.mean, "covariance": found.covariance}
    errors = {"mean": float(np.linalg.norm(estimate.mean - means[0]))}
    if estimate.law is not None:
        errors["covariance"] = float(np.linalg.norm(estimate.covariance - np.eye(_D)))
    return errors


def _level(cell: tuple[str, str, float], rows: list[dict[str, Any]], clean: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of `levels`: by how much errors grow in all runs and in those that are not flagged, and what that means.

    `harmless`: hardly a run is flagged, and errors are those of clean public rows. `caught`: nearly all runs are
    flagged or refused, or errors of the others are those of clean public rows.
    """
    pairs = [(row, best) for row, best in zip(rows, clean, strict=True) if row["refused"] is None]
    quiet = [(row, best) for row, best in pairs if not row["flagged"]]
    loss, quiet_loss = _loss(pairs), _loss(quiet)
    stopped = 1 - len(quiet) / len(rows)
    return {
        **dict(zip(("estimator", "kind", "level"), cell, strict=True)),
        "runs": len(rows),
        "refused": 1 - len(pairs) / len(rows),
        "flagged": (len(pairs) - len(quiet)) / len(rows),
        "loss": loss,
        "loss_of_unflagged": quiet_loss,
        "harmless": loss is not None and loss <= _LOSS and stopped <= _LOSS,
        "caught": stopped >= _CAUGHT or (stopped > 0 and quiet_loss is not None and quiet_loss <= _LOSS),
    }


def _loss(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> float | None:
    """Tell by how much the root mean square of errors grows over the clean ones, of mean or covariance, the larger."""
    if not pairs:
        return None
    parts = [part for part in ("mean", "covariance") if part in pairs[0][1]]
    squares = np.array([[[run[part] for part in parts] for run in pair] for pair in pairs]) ** 2
    ours, best = squares.mean(axis=0)
    return float(np.sqrt(ours / best).max() - 1)


def _limits(table: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One row per estimator and kind: the last level up to which there is no harm, and what comes after it."""
    for (estimator, kind), group in groupby(table, key=lambda row: (row["estimator"], row["kind"])):
        if kind == _CLEAN:
            continue
        levels = list(group)
        harmless = next((i for i, row in enumerate(levels) if not row["harmless"]), len(levels))
        beyond = levels[harmless:]
        neither = [row["level"] for row in beyond if not row["caught"] and not row["harmless"]]
        yield {
            "estimator": estimator,
            "kind": kind,
            "tried_to": levels[-1]["level"],
            "harmless_to": levels[harmless - 1]["level"] if harmless else None,
            "caught": [row["level"] for row in beyond if row["caught"]],
            "neither": neither,
            "met": not neither,
        }
